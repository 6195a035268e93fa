"""Columns and matrices of them, in a graph."""

from collections.abc import Sequence
from typing import Any, Callable

from estimator_bridge import tf


def stack_columns(columns: Sequence[Any]) -> Any:
    """Stacks columns; those that were unstacked from one matrix are taken from it.

    TensorFlow would copy each value twice to undo what it has just done; copies of texts are slow.

    Args:
        columns: tensors [batch] of one type.

    Returns:
        A tensor [batch, columns].
    """
    if not tf.executing_eagerly():
        source = columns[0].op
        is_matrix = source.type == "Unpack" and source.get_attr("axis") == 1
        if is_matrix and all(column.op is source for column in columns):
            (matrix,) = source.inputs
            places = [column.value_index for column in columns]
            if places == list(range(len(source.outputs))):
                return matrix
            return tf.gather(matrix, places, axis=1)
    return tf.stack(columns, axis=1)


def map_parts(compute: Callable[[Any], Any], matrix: Any) -> Any:
    """Applies a function to the matrices of which one was concatenated, and joins the results.

    The inputs of an export are joined, but a request feeds one. If ids are computed before that,
    no text is copied, and the ids of the other inputs are constants of the session.

    Args:
        compute: from a matrix [rows, columns] to another, of which a row depends on the same row.
        matrix: its rows may be concatenated.

    Returns:
        The result of compute for the matrix.
    """
    if not tf.executing_eagerly() and matrix.op.type == "ConcatV2":
        *parts, axis = matrix.op.inputs
        if tf.get_static_value(axis) == 0:
            return tf.concat([compute(part) for part in parts], axis=0)
    return compute(matrix)
