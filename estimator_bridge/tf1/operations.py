"""Attributes of operations and graphs as in 1.x."""

import functools
from typing import Any

import tensorflow as tf

__all__ = ["install"]


class _Inputs(tuple[Any, ...]):
    """The inputs of an operation, of which a slice is a list, so that lists can be added to it."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return list(found) if type(key) is slice else found


@functools.cache
def install() -> None:
    """Gives operations, tensors and graphs what 1.x had, private names that programs read too."""
    inputs = tf.Operation.inputs.fget

    def read_inputs(self: Any) -> Any:
        found = self._inputs_val
        if type(found) is not _Inputs:
            found = self._inputs_val = _Inputs(inputs(self))
        return found

    tf.Operation.inputs = property(read_inputs, doc=tf.Operation.inputs.__doc__)
    tf.Operation._outputs = property(lambda self: self.outputs)
    tf.Tensor._value_index = property(lambda self: self.value_index)
    for name in ("_version", "_last_id"):
        setattr(tf.Graph, name, property(lambda self: self.version))
