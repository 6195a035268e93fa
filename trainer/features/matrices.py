"""Columns and matrices of them, in a graph."""

from collections.abc import Sequence
from typing import Any

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
