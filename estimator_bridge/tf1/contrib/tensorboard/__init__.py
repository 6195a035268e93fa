"""`tf.contrib.tensorboard`; `plugins.projector` is what of it was used."""

from estimator_bridge.tf1.contrib.package import lookup as _lookup
from estimator_bridge.tf1.contrib.tensorboard import plugins

__all__ = ["plugins"]

__getattr__, _advice_for = _lookup(globals())
