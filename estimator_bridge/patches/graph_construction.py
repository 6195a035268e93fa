"""Builds graphs with less Python. Slow in all TensorFlow versions.

TensorFlow makes two things anew for each operation of a graph: the text of an error, with the names
of all types that the operation takes, although the type is one of them; and the message of a
constant, although the same few numbers are the axes, sizes and bounds of slices in each graph.
"""

import functools
from typing import Any, Optional

from ..private_tf import op_def_library, tensor_util

__all__ = ["apply"]

# Constants whose messages are kept, and the most numbers in one of them.
_KEPT_CONSTANTS = 2_000
_MOST_NUMBERS = 8


def apply() -> None:
    """Writes no error for a type that is allowed, and computes each small constant once.

    The second holds for TensorFlow's own calls; the tf.make_tensor_proto of 2.x stays as it is.
    """
    if getattr(tensor_util.make_tensor_proto, "_bridged", False):
        return
    make = _copy_small_ones(tensor_util.make_tensor_proto)
    vars(make)["_bridged"] = True
    tensor_util.make_tensor_proto = make
    op_def_library._SatisfiesTypeConstraint = _check_quickly(
        op_def_library._SatisfiesTypeConstraint
    )


def _check_quickly(original: Any) -> Any:
    """Returns TensorFlow's check of a type, which runs only where it raises an error."""
    import tensorflow as tf

    @functools.wraps(original)
    def check(dtype: Any, attr_def: Any, param_name: str) -> None:
        if attr_def.HasField("allowed_values"):
            number = dtype if type(dtype) is int else tf.as_dtype(dtype).as_datatype_enum
            if number not in attr_def.allowed_values.list.type:
                original(dtype, attr_def, param_name)

    return check


def _copy_small_ones(original: Any) -> Any:
    """Returns make_tensor_proto, which computes the messages of a few Python numbers once."""
    import tensorflow as tf

    # Of TensorFlow's own message class, whichever version of protocol buffers it has.
    message = type(original(0))

    @functools.lru_cache(_KEPT_CONSTANTS)
    def compute(kind: Any, numbers: Any, *options: Any) -> Any:
        values = float.fromhex(numbers) if kind is float else kind(numbers)
        return original(values, *options)

    @functools.wraps(original)
    def make(
        values: Any,
        dtype: Any = None,
        shape: Any = None,
        verify_shape: Any = False,
        allow_broadcast: Any = False,
    ) -> Any:
        kind: Any = type(values)
        numbers = _describe(values)
        is_known = dtype is None or isinstance(dtype, tf.DType)
        if numbers is None or not is_known or shape is not None:
            return original(values, dtype, shape, verify_shape, allow_broadcast)
        copy = message()
        copy.CopyFrom(compute(kind, numbers, dtype, None, verify_shape, allow_broadcast))
        return copy

    return make


def _describe(values: Any) -> Optional[Any]:
    """Returns what tells a small constant from all others of its Python type; None for others."""
    kind = type(values)
    if kind is int or kind is bool:
        return values
    if kind is float:
        # Not the number: 0.0 equals -0.0, and no NaN equals itself.
        return values.hex()
    if (kind is list or kind is tuple) and len(values) <= _MOST_NUMBERS:
        return tuple(values) if all(type(each) is int for each in values) else None
    return None
