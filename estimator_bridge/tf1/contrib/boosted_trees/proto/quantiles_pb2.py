"""Quantiles that are being collected."""

from estimator_bridge.gradient_trees.messages import QUANTILES as _messages

globals().update(_messages)
__all__ = sorted(_messages)
