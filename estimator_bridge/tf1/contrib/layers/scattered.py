"""`scattered_embedding_column` of `tf.contrib.layers`: embeddings in one vector of parameters."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column as _v1

__all__ = [
    "SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY",
    "ScatteredEmbeddingColumn",
    "scattered_embedding_column",
]

# The hash key of 1.x where no other is given.
SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = 956888297470
# What 1.x looks up for an example without values.
_MISSING, _MISSING_NUMBER = "6ZxWzWOHxZ", 1288896567


class ScatteredEmbeddingColumn(
    _v1._DenseColumn,
    collections.namedtuple(
        "_ScatteredEmbeddingColumn",
        ["column_name", "size", "dimension", "hash_key", "combiner", "initializer"],
    ),
):
    """A dense column whose embeddings share the elements of one vector `weights` [size].

    The arguments are those of `scattered_embedding_column`.
    """

    @property
    def name(self):
        """The name of the variable scope."""
        return f"{self.column_name}_scattered_embedding"

    @property
    def config(self):
        """The specification by which examples are parsed."""
        return self._parse_example_spec

    @property
    def _parse_example_spec(self):
        return {self.column_name: tf.VarLenFeature(tf.string)}

    @property
    def _variable_shape(self):
        return tf.TensorShape([self.dimension])

    def _transform_feature(self, inputs):
        return inputs.get(self.column_name)

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        """Returns the embeddings, [batch, dimension]; creates the variable."""
        values = inputs.get(self)
        if not isinstance(values, tf.SparseTensor):
            raise TypeError(f"{self.column_name}: a scattered embedding needs a SparseTensor")
        weights = tf.get_variable(
            *("weights", [self.size], tf.float32, self.initializer),
            trainable=trainable is not False,
            collections=weight_collections,
        )
        missing = _MISSING if values.dtype == tf.string else _MISSING_NUMBER
        values, _ = tf.sparse_fill_empty_rows(values, tf.constant(missing, values.dtype))
        each, places = tf.unique(values.values)
        found = tf.gather(weights, self._places(each))
        rows = tf.to_int32(values.indices[:, 0])
        combine = {
            "mean": tf.sparse_segment_mean,
            "sqrtn": tf.sparse_segment_sqrt_n,
            "sum": tf.sparse_segment_sum,
        }[self.combiner]
        return combine(found, places, rows)

    def _places(self, values):
        """Returns where the components of values are in the vector, [values, dimension]."""
        number = tf.shape(values)[0]
        components = tf.tile(tf.range(self.dimension, dtype=tf.int64), [number])
        repeated = tf.repeat(values, self.dimension)
        crossed = tf.sparse.cross_hashed(
            [tf.reshape(one, [-1, 1]) for one in (components, repeated)], self.size, self.hash_key
        )
        return tf.reshape(crossed.values, [-1, self.dimension])


def scattered_embedding_column(
    column_name, size, dimension, hash_key, combiner="mean", initializer=None
):
    """Returns a dense column of embeddings whose components are hashed into one vector.

    Component i of the embedding of a value is the parameter at the fingerprint of the pair (i,
    value) modulo `size` (Chen et al., 2015).

    Args:
      column_name: str, name of the feature, a SparseTensor of strings.
      size: int, number of parameters.
      dimension: int, size of the embedding.
      hash_key: int, key of the fingerprint hash.
      combiner: `mean`, `sqrtn` or `sum`, for examples with more than one value.
      initializer: initializer of the parameters; None for a truncated normal distribution with the
        standard deviation 0.1.

    Returns:
      Dense column [dimension].

    Raises:
      ValueError: size or dimension is below 1, or the combiner is unknown.
    """
    if dimension < 1 or size < 1:
        raise ValueError(
            f"Dimension and size must be greater than 0. dimension: {dimension}, size: {size}, "
            f"column_name: {column_name}"
        )
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(
            "Combiner must be one of 'mean', 'sqrtn' or 'sum'. "
            f"combiner: {combiner}, column_name: {column_name}"
        )
    initializer = initializer or tf.truncated_normal_initializer(mean=0.0, stddev=0.1)
    return ScatteredEmbeddingColumn(
        *(column_name, size, dimension, hash_key, combiner, initializer)
    )
