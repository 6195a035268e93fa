"""Rejects `TPUEstimator(use_tpu=True)` with one clear error."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.errors import BridgeError

__all__ = ["refuse_tpu"]

_MARK = "refuses_tpu"


def refuse_tpu() -> None:
    """Makes `TPUEstimator(use_tpu=True)` raise BridgeError.

    The class itself is patched, once, because programs subclass it and compare it.
    """
    estimator = tf.estimator.tpu.TPUEstimator
    original = estimator.__init__
    if hasattr(original, _MARK):
        return

    @functools.wraps(original)
    def checked(
        self, model_fn=None, model_dir=None, config=None, params=None, use_tpu=True, *args, **kwargs
    ):
        if use_tpu:
            raise BridgeError(
                "TPUEstimator(use_tpu=True): this TensorFlow no longer has Estimator support for "
                "TPUs; pass use_tpu=False (most programs have the flag --use_tpu=False) to train "
                "on CPU or GPU"
            )
        original(self, model_fn, model_dir, config, params, use_tpu, *args, **kwargs)

    setattr(checked, _MARK, True)
    estimator.__init__ = checked
