"""Functions of shapes that `tensorflow.python.framework.common_shapes` had in 1.x."""

from typing import Any

import tensorflow.compat.v1 as tf

__all__ = [
    "get2d_conv_output_size",
    "get_conv_output_size",
    "has_fully_defined_shape",
    "no_outputs",
    "output_shapes",
    "rank",
    "scalar_shape",
    "unchanged_shape",
    "unchanged_shape_with_rank",
    "unchanged_shape_with_rank_at_least",
    "unchanged_shape_with_rank_at_most",
    "unknown_shape",
]


def rank(tensor: Any) -> Any:
    """Returns the number of dimensions; None if it is not known.

    Args:
      tensor: a tensor.
    """
    return tensor.shape.ndims


def has_fully_defined_shape(tensor: Any) -> bool:
    """Returns whether all dimensions are known.

    Args:
      tensor: a tensor.
    """
    return bool(tensor.shape.is_fully_defined())


def no_outputs(unused_op: Any) -> list[Any]:
    """Returns the shapes of an operation without outputs.

    Args:
      unused_op: not used.
    """
    return []


def scalar_shape(unused_op: Any) -> list[Any]:
    """Returns the shapes of an operation with a scalar.

    Args:
      unused_op: not used.
    """
    return [tf.TensorShape([])]


def unknown_shape(op: Any) -> list[Any]:
    """Returns an unknown shape for each output.

    Args:
      op: an operation.
    """
    return [tf.TensorShape(None) for _ in op.outputs]


def unchanged_shape(op: Any) -> list[Any]:
    """Returns the shape of the first input.

    Args:
      op: an operation.
    """
    return [op.inputs[0].shape]


def output_shapes(op: Any) -> list[Any]:
    """Returns the shape of each output, as TensorFlow infers it.

    Args:
      op: an operation.
    """
    return [one.shape for one in op.outputs]


def unchanged_shape_with_rank(rank: int) -> Any:
    """Returns a function from an operation to the shape of its first input, of this rank.

    Args:
      rank: the number of dimensions.
    """
    return lambda op: [op.inputs[0].shape.with_rank(rank)]


def unchanged_shape_with_rank_at_least(rank: int) -> Any:
    """Returns a function from an operation to the shape of its first input, of at least this rank.

    Args:
      rank: the smallest number of dimensions.
    """
    return lambda op: [op.inputs[0].shape.with_rank_at_least(rank)]


def unchanged_shape_with_rank_at_most(rank: int) -> Any:
    """Returns a function from an operation to the shape of its first input, of at most this rank.

    Args:
      rank: the largest number of dimensions.
    """
    return lambda op: [op.inputs[0].shape.with_rank_at_most(rank)]


def get_conv_output_size(
    input_size: Any, filter_size: Any, strides: Any, padding_type: bytes
) -> tuple[Any, ...]:
    """Returns the sizes of the output of a convolution; None for unknown ones.

    Args:
      input_size: the size of each dimension, or None.
      filter_size: the size of the filter in each dimension.
      strides: the step in each dimension.
      padding_type: b"VALID" or b"SAME".

    Raises:
      ValueError: the padding is another one, or the filter is larger than the input.
    """
    pairs = list(zip(input_size, filter_size, strides))
    if any(size is not None and size < width for size, width, _ in pairs):
        raise ValueError(
            "Filter must not be larger than the input: "
            f"Filter: {tuple(filter_size)} Input: {tuple(input_size)}"
        )
    if padding_type not in (b"VALID", b"SAME"):
        raise ValueError(f"Invalid padding: {padding_type!r}")

    def find(size: Any, width: Any, stride: Any) -> Any:
        whole = size if padding_type == b"SAME" else size - width + 1
        return (whole + stride - 1) // stride

    return tuple(None if one[0] is None else find(*one) for one in pairs)


def get2d_conv_output_size(  # noqa: PLR0913 - as in 1.x
    input_height: Any,
    input_width: Any,
    filter_height: Any,
    filter_width: Any,
    row_stride: Any,
    col_stride: Any,
    padding_type: bytes,
) -> tuple[Any, ...]:
    """Returns height and width of the output of a convolution, as get_conv_output_size does.

    Args:
      input_height: int or None.
      input_width: int or None.
      filter_height: int.
      filter_width: int.
      row_stride: int.
      col_stride: int.
      padding_type: b"VALID" or b"SAME".
    """
    return get_conv_output_size(
        (input_height, input_width),
        (filter_height, filter_width),
        (row_stride, col_stride),
        padding_type,
    )
