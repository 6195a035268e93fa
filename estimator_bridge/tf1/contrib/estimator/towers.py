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
    """Returns model_fn itself, which is what one tower comes to.

    Raises:
      NotSuppliedError: there are several GPUs, or several devices are named.
    """
    del loss_reduction  # One tower has nothing to reduce.
    if devices is None:
        devices = [d.name for d in _devices.list_local_devices() if d.device_type == "GPU"]
    if len(devices) > 1:
        symbol = f"tf.contrib.estimator.replicate_model_fn over {len(devices)} devices"
        raise NotSuppliedError(advise(symbol, _STRATEGY))
    return model_fn


class TowerOptimizer(tf.train.Optimizer):
    """The optimizer that it is given: with one tower its gradients are applied as they are."""

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
