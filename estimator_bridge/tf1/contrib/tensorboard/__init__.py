"""`tf.contrib.tensorboard`; `plugins.projector` is what of it was used."""

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.tensorboard import plugins

__all__ = ["plugins"]

__getattr__, _advice_for = _unsupported_names(globals())
