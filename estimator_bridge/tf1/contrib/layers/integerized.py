"""The columns of ids of `tf.contrib.layers`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column_v2 as _fc

__all__ = ["IntegerizedColumn", "as_given"]


class IntegerizedColumn(_fc.IdentityCategoricalColumn):
    """A column of ids that are taken modulo their number."""

    # Transformed features are cached by column: the ids as given are those of another column.
    def __eq__(self, other):
        return type(other) is type(self) and tuple(other) == tuple(self)

    def __hash__(self):
        return hash((type(self), tuple(self)))

    def _transform_input_tensor(self, input_tensor):
        found = super()._transform_input_tensor(input_tensor)
        ids = tf.floormod(found.values, self.number_buckets)
        return tf.SparseTensor(found.indices, ids, found.dense_shape)


def as_given(column):
    """Returns what a cross combines: ids are hashed before they are taken modulo their number.

    Args:
      column: feature column.

    Returns:
      Feature column.
    """
    whole = isinstance(column, IntegerizedColumn)
    return _fc.IdentityCategoricalColumn(*column) if whole else column
