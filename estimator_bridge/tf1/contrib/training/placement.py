"""Strategies of tf.train.replica_device_setter that place variables on parameter servers."""

import numpy as np
import tensorflow.compat.v1 as tf

__all__ = ["GreedyLoadBalancingStrategy", "RandomStrategy", "byte_size_load_fn"]


def byte_size_load_fn(op):
    """Returns the size of a variable's value in bytes.

    Args:
      op: operation of the variable.

    Returns:
      int.

    Raises:
      ValueError: the shape is unknown.
    """
    shape = tf.TensorShape(op.get_attr("shape"))
    if not shape.is_fully_defined():
        raise ValueError(f"{op.name}: the shape must be known to compute the size, got {shape}")
    return (
        shape.num_elements() * op.outputs[0].dtype.size
        if op.outputs[0].dtype != tf.resource
        else (shape.num_elements() * tf.as_dtype(op.get_attr("dtype")).size)
    )


class GreedyLoadBalancingStrategy:
    """Places each variable on the parameter server with the smallest load.

    Args:
      num_tasks: int, number of parameter servers.
      load_fn: function from an operation to its load, a number.
    """

    def __init__(self, num_tasks, load_fn):
        self._load_fn = load_fn
        self._loads = np.zeros(num_tasks)

    def __call__(self, op):
        task = int(np.argmin(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


class RandomStrategy:
    """Places each variable on a random parameter server.

    Args:
      num_ps_tasks: int, number of parameter servers.
      seed: int; the same seed gives the same placement.
    """

    def __init__(self, num_ps_tasks, seed=0):
        self._num_tasks = num_ps_tasks
        self._random = np.random.RandomState(seed)

    def __call__(self, op):
        del op
        return int(self._random.randint(self._num_tasks))
