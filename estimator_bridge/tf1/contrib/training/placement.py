"""Spreading variables over parameter servers: `ps_strategy` of tf.train.replica_device_setter."""

import numpy as np
import tensorflow.compat.v1 as tf

__all__ = ["GreedyLoadBalancingStrategy", "RandomStrategy", "byte_size_load_fn"]


def byte_size_load_fn(op):
    """Returns the bytes of a variable's value. ValueError: its shape is not known."""
    shape = tf.TensorShape(op.get_attr("shape"))
    if not shape.is_fully_defined():
        raise ValueError(f"The shape of {op.name} must be known to tell its size, got {shape}")
    return (
        shape.num_elements() * op.outputs[0].dtype.size
        if op.outputs[0].dtype != tf.resource
        else (shape.num_elements() * tf.as_dtype(op.get_attr("dtype")).size)
    )


class GreedyLoadBalancingStrategy:
    """Each variable goes to the parameter server with the least load so far."""

    def __init__(self, num_tasks, load_fn):
        self._load_fn = load_fn
        self._loads = np.zeros(num_tasks)

    def __call__(self, op):
        task = int(np.argmin(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


class RandomStrategy:
    """Each variable goes to a parameter server by chance, the same for the same seed."""

    def __init__(self, num_ps_tasks, seed=0):
        self._num_tasks = num_ps_tasks
        self._random = np.random.RandomState(seed)

    def __call__(self, op):
        del op
        return int(self._random.randint(self._num_tasks))
