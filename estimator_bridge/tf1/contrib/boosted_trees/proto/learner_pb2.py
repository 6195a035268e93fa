"""The options of training."""

from estimator_bridge.gradient_trees.messages import LEARNER as _messages

globals().update(_messages)
__all__ = sorted(_messages)
