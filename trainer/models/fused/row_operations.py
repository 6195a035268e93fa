"""Reads, writes and sums rows of tables, without operations that are slow on some TensorFlows."""

from typing import Any

from estimator_bridge import tf, versions

# From 2.20 on, TensorFlow's operations that handle one row of several numbers after the other take
# two to five times as long as before (2.15 to 2.17; 2.18 and 2.19 were not measured).
HAS_SLOW_ROWS = versions.parse(tf.__version__) >= (2, 20)
# TensorFlow's product of a sparse matrix handles fewer columns than this without such an operation.
_FEW_NUMBERS = 32


def read_rows(variable: Any, rows: Any) -> Any:
    """Returns rows of a variable, float32 [rows, dimension].

    Args:
        variable: float32 [number, dimension].
        rows: int [rows].
    """
    return tf.raw_ops.ResourceGather(resource=variable.handle, indices=rows, dtype=tf.float32)


def write_rows(variable: Any, rows: Any, values: Any) -> Any:
    """Returns the operation that writes rows of a variable.

    Args:
        variable: [number, ...].
        rows: int [rows]. A row that is given several times gets one of its values.
        values: [rows, ...], of the type of the variable.
    """
    return tf.raw_ops.ResourceScatterUpdate(resource=variable.handle, indices=rows, updates=values)


def sum_rows(values: Any, places: Any, count: Any, may_lack: bool) -> Any:
    """Sums the rows that belong to the same place.

    Args:
        values: float32 [rows, dimension].
        places: int32 [rows], from -1 to `count` - 1; a row of the place -1 is left out.
        count: int32 scalar, or int: how many places there are.
        may_lack: whether places may be -1.

    Returns:
        float32 [count, dimension]. Both operations give bit-identical results.
    """
    dimension = values.shape[1]
    if not HAS_SLOW_ROWS or not 1 < dimension < _FEW_NUMBERS:
        return tf.math.unsorted_segment_sum(values, places, count)
    # The product with a matrix that has a 1 in each column, where the row belongs. Rows that are
    # left out get a place of their own: as an unsigned number, -1 is the largest.
    number = tf.convert_to_tensor(count, tf.int32)
    if may_lack:
        unsigned = tf.minimum(tf.bitcast(places, tf.uint32), tf.bitcast(number, tf.uint32))
        places, number = tf.bitcast(unsigned, tf.int32), number + 1
    size = tf.size(places)
    product = tf.raw_ops.SparseTensorDenseMatMul(
        a_indices=tf.stack([places, tf.range(size)], axis=1),
        a_values=tf.ones([size]),
        a_shape=tf.cast(tf.stack([number, size]), tf.int64),
        b=values,
    )
    summed = product[:count] if may_lack else product
    summed.set_shape([count if isinstance(count, int) else None, dimension])
    return summed
