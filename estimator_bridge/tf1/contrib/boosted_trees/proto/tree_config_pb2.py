"""The trees."""

from estimator_bridge.gradient_trees.messages import TREES as _messages

globals().update(_messages)
__all__ = sorted(_messages)
