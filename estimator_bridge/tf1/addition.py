"""Adds with the operation of 1.x."""

import functools
from typing import Any

__all__ = ["install"]


@functools.cache
def install(tensorflow: Any) -> None:
    """Makes `tf.add` an `Add` operation, as in 1.15; the operator `+` is `AddV2` in both.

    Programs look for operations by their type, and 2.x makes an `AddV2` of both.

    Args:
      tensorflow: the 2.x module.
    """
    v1 = tensorflow.compat.v1
    present, ragged = v1.add, tensorflow.RaggedTensor

    @functools.wraps(present)
    def add(x, y, name=None):
        # Only the function of 2.x adds ragged tensors, and the tensors of Keras outside of graphs.
        in_graph = not tensorflow.executing_eagerly()
        if in_graph and not any(isinstance(one, ragged) for one in (x, y)):
            return tensorflow.raw_ops.Add(x=x, y=y, name=name)
        return present(x, y, name)

    v1.add = v1.math.add = add
