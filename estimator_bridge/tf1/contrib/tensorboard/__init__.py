"""`tf.contrib.tensorboard`; programs used its `plugins.projector`."""

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.tensorboard import plugins

__all__ = ["plugins"]

__getattr__, _advice_for = _unsupported_names(globals())
