"""`tf.contrib.linear_optimizer.SDCAOptimizer`: from feature columns to the solver."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import feature_column as _v1
from estimator_bridge.private_tf import feature_column_v2 as _fc
from estimator_bridge.tf1.contrib.layers.feature_inputs import column_order
from estimator_bridge.tf1.contrib.linear_optimizer.model import SdcaModel, SparseFeatureColumn

__all__ = ["SDCAOptimizer"]


class SDCAOptimizer:
    """Stochastic dual coordinate ascent for linear models of `tf.contrib.learn`.

    Args:
      example_id_column: name of the string feature with a unique id per example.
      num_loss_partitions: int, number of workers that train at once.
      num_table_shards: int, number of tables with the state of the examples; None for one.
      symmetric_l1_regularization: strength of the L1 regularization.
      symmetric_l2_regularization: strength of the L2 regularization; the solver takes at least 1.
      adaptive: whether examples with a larger gap are taken more often.
      partitioner: partitioner of the variables, or None.
    """

    def __init__(
        self,
        example_id_column,
        num_loss_partitions=1,
        num_table_shards=None,
        symmetric_l1_regularization=0.0,
        symmetric_l2_regularization=1.0,
        adaptive=True,
        partitioner=None,
    ):
        self._example_id_column = example_id_column
        self._num_loss_partitions = num_loss_partitions
        self._num_table_shards = num_table_shards
        self._symmetric_l1_regularization = symmetric_l1_regularization
        self._symmetric_l2_regularization = symmetric_l2_regularization
        self._adaptive = adaptive
        self._partitioner = partitioner

    def get_name(self):
        """Returns the name of the optimizer."""
        return "SDCAOptimizer"

    @property
    def example_id_column(self):
        """Name of the feature with the ids."""
        return self._example_id_column

    @property
    def num_loss_partitions(self):
        """Number of workers."""
        return self._num_loss_partitions

    @property
    def num_table_shards(self):
        """Number of tables, or None."""
        return self._num_table_shards

    @property
    def symmetric_l1_regularization(self):
        """Strength of the L1 regularization."""
        return self._symmetric_l1_regularization

    @property
    def symmetric_l2_regularization(self):
        """Strength of the L2 regularization."""
        return self._symmetric_l2_regularization

    @property
    def adaptive(self):
        """Whether examples with a larger gap are taken more often."""
        return self._adaptive

    @property
    def partitioner(self):
        """Partitioner of the variables, or None."""
        return self._partitioner

    def get_train_step(
        self, columns_to_variables, weight_column_name, loss_type, features, targets, global_step
    ):
        """Builds the solver.

        Args:
          columns_to_variables: {column: list of its variables}.
          weight_column_name: name of the feature with the examples' weights, or None.
          loss_type: as in SdcaModel.
          features: {feature or column: tensor}.
          targets: tensor [batch] or [batch, 1], the labels.
          global_step: variable that a step increments.

        Returns:
          SdcaModel, and the operation of a step.

        Raises:
          ValueError: a column is neither real-valued nor sparse.
        """
        transformed = _v1._LazyBuilder(features)
        examples = {"sparse_features": [], "dense_features": []}
        variables = {"sparse_features_weights": [], "dense_features_weights": []}
        for column in sorted(columns_to_variables, key=column_order):
            if isinstance(column, _fc.CategoricalColumn):
                kind, values = "sparse_features", _sparse_values(column, transformed)
            elif isinstance(column, _fc.NumericColumn):
                kind, values = "dense_features", _dense_values(column, transformed)
            else:
                raise ValueError(
                    f"SDCAOptimizer does not support column type {type(column).__name__}"
                )
            examples[kind].append(values)
            weights = columns_to_variables[column]
            variables[f"{kind}_weights"].append(weights if len(weights) > 1 else weights[0])
        rows = tf.shape(targets)[0]
        weights = (
            tf.reshape(features[weight_column_name], [-1])
            if weight_column_name
            else tf.ones(tf.stack([rows]))
        )
        examples.update(
            example_labels=tf.cast(tf.reshape(targets, [-1]), tf.float32),
            example_weights=weights,
            example_ids=features[self._example_id_column],
        )
        model = SdcaModel(
            examples,
            variables,
            {
                "symmetric_l1_regularization": self._symmetric_l1_regularization,
                "symmetric_l2_regularization": self._symmetric_l2_regularization,
                "adaptive": self._adaptive,
                "num_loss_partitions": self._num_loss_partitions,
                "num_table_shards": self._num_table_shards,
                "loss_type": loss_type,
            },
        )
        return model, model.minimize(global_step=global_step)


def _dense_values(column, transformed):
    size = column._variable_shape.num_elements()
    return tf.reshape(tf.cast(column._get_dense_tensor(transformed), tf.float32), [-1, size])


def _sparse_values(column, transformed):
    """Returns each id of an example once, with the sum of its values; unknown words have none."""
    found = column._get_sparse_tensors(transformed)
    ids, rows = tf.to_int64(found.id_tensor.values), found.id_tensor.indices[:, 0]
    if found.weight_tensor is None:
        values = tf.ones_like(ids, tf.float32)
    else:
        values = tf.cast(found.weight_tensor.values, tf.float32)
    known = ids >= 0
    ids, rows = tf.boolean_mask(ids, known), tf.boolean_mask(rows, known)
    size = tf.constant(column._num_buckets, tf.int64)
    pairs, places = tf.unique(rows * size + ids)
    count = tf.shape(pairs)[0]
    values = tf.unsorted_segment_sum(tf.boolean_mask(values, known), places, count)
    return SparseFeatureColumn(tf.floordiv(pairs, size), tf.floormod(pairs, size), values)
