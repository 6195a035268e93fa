"""`replicate_model_fn` of `tf.contrib.estimator`, for one device."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import device_lib as _devices
from estimator_bridge.tf1.unsupported import NotSuppliedError, advise

__all__ = ["TowerOptimizer", "replicate_model_fn"]

_STRATEGY = (
    "pass tf.estimator.RunConfig(train_distribute=tf.distribute.MirroredStrategy()) and the plain "
    "model_fn and optimizer"
)


def replicate_model_fn(
    model_fn, loss_reduction=tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS, devices=None
):
    """Returns the model_fn itself, which is correct for a single tower.

    Args:
      model_fn: model_fn of an Estimator.
      loss_reduction: ignored; a single tower needs no reduction.
      devices: list of devices, or None for all GPUs.

    Returns:
      `model_fn`.

    Raises:
      NotSuppliedError: there is more than one GPU or device.
    """
    del loss_reduction  # A single tower needs no reduction.
    if devices is None:
        devices = [d.name for d in _devices.list_local_devices() if d.device_type == "GPU"]
    if len(devices) > 1:
        symbol = f"tf.contrib.estimator.replicate_model_fn over {len(devices)} devices"
        raise NotSuppliedError(advise(symbol, _STRATEGY))
    return model_fn


class TowerOptimizer(tf.train.Optimizer):
    """A wrapper that applies gradients as they are, which is correct for a single tower.

    Args:
      optimizer_or_optimizer_fn: tf.train.Optimizer, or a function that returns one.
    """

    def __init__(self, optimizer_or_optimizer_fn):
        given = optimizer_or_optimizer_fn
        self._wrapped = given if isinstance(given, tf.train.Optimizer) else given()
        super().__init__(False, self._wrapped.get_name())

    def compute_gradients(self, *args, **kwargs):
        return self._wrapped.compute_gradients(*args, **kwargs)

    def apply_gradients(self, *args, **kwargs):
        return self._wrapped.apply_gradients(*args, **kwargs)

    def get_slot(self, *args, **kwargs):
        return self._wrapped.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._wrapped.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._wrapped.variables()
