"""`tf.contrib.compiler`: `jit` and `xla`."""

import types

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import tf_decorator

__all__ = ["jit", "xla"]

_scope = tf.xla.experimental.jit_scope


def _estimator_model_fn(target_model_fn=None):
    """Returns a model_fn compiled by XLA; also a decorator, with or without parentheses."""
    if target_model_fn is None:
        return _estimator_model_fn

    def model_fn(*args, **kwargs):
        with _scope():
            return target_model_fn(*args, **kwargs)

    # The Estimator inspects parameter names, through TensorFlow's own decorators only.
    return tf_decorator.make_decorator(target_model_fn, model_fn)


def _module(name, **names):
    module = types.ModuleType(f"tf.contrib.compiler.{name}")
    module.__dict__.update(names)
    return module


jit = _module("jit", experimental_jit_scope=_scope)
xla = _module("xla", compile=tf.xla.experimental.compile, estimator_model_fn=_estimator_model_fn)
