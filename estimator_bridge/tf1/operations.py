"""Operations and graphs as in 1.x: their attributes, and the operation of `tf.add`."""

import functools
from typing import Any

import tensorflow as tf

__all__ = ["add", "install"]


class _Inputs(tuple[Any, ...]):
    """The inputs of an operation, of which a slice is a list, so that lists can be added to it."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return list(found) if type(key) is slice else found


@functools.cache
def install() -> None:
    """Gives operations, tensors and graphs what 1.x had, private names that programs read too.

    `tf.add` makes an `Add` operation, for which programs look by its type. In 2.x it makes an
    `AddV2`, as the operator `+` does in both.
    """
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
    tf.Operation._set_attr = _set_unless_mark(tf.Operation._set_attr)
    v1 = tf.compat.v1
    v1.add = v1.math.add = add


def _set_unless_mark(original: Any) -> Any:
    """Returns a method that does not mark operations on which others depend, as 1.x does not.

    TensorFlow 2 marks them for its own statistics. The core warns of each mark of an operation that
    a session has run, since other attributes that are set then have no effect.

    Args:
      original: the method that sets an attribute.
    """

    @functools.wraps(original)
    def set_attribute(self, name, value):
        if name != "_has_manual_control_dependencies":
            original(self, name, value)

    return set_attribute


_present_add = tf.compat.v1.add


# Its module stays this one, by which pickle finds it.
@functools.wraps(_present_add, assigned=("__doc__",))
def add(x, y, name=None):
    """Returns `x + y` by the operation of 1.15."""
    # Only the function of 2.x adds ragged tensors, and the tensors of Keras outside of graphs.
    is_ragged = isinstance(x, tf.RaggedTensor) or isinstance(y, tf.RaggedTensor)
    if is_ragged or tf.executing_eagerly():
        return _present_add(x, y, name)
    return tf.raw_ops.Add(x=x, y=y, name=name)
