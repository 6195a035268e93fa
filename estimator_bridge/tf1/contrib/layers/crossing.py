"""The crosses of `tf.contrib.layers` without a hash key, which have buckets of their own in 1.x."""

from estimator_bridge.contrib_operations import cross
from estimator_bridge.private_tf import feature_column_v2 as _fc

__all__ = ["CrossedColumn"]


def _leaves(column):
    """Yields the features and columns that a cross combines, those of crosses in it too."""
    for key in column.keys:
        if isinstance(key, _fc.CrossedColumn):
            yield from _leaves(key)
        else:
            yield key


class CrossedColumn(_fc.CrossedColumn):
    """A cross without a hash key, with the buckets of 1.x."""

    def _transform_feature(self, inputs):
        tensors = [
            inputs.get(leaf)
            if isinstance(leaf, str)
            else leaf._get_sparse_tensors(inputs).id_tensor
            for leaf in _leaves(self)
        ]
        return cross(tensors, self.hash_bucket_size)

    def transform_feature(self, transformation_cache, state_manager):
        """Returns the buckets of the combinations.

        Args:
          transformation_cache: cache of transformed features.
          state_manager: owner of the columns' resources.

        Returns:
          int64 SparseTensor [batch, combinations].
        """
        tensors = [
            transformation_cache.get(leaf, state_manager)
            if isinstance(leaf, str)
            else leaf.get_sparse_tensors(transformation_cache, state_manager).id_tensor
            for leaf in _leaves(self)
        ]
        return cross(tensors, self.hash_bucket_size)
