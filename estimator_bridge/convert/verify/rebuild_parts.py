"""Rebuilds parts of the trainer's Estimators that TensorFlow does not have, for a comparison.

These are embedding tables that several columns share, and the recurrent network.
"""

import math
from collections import namedtuple
from typing import Any, Callable

from ..plan.model import Cell

__all__ = ["build_recurrent", "shared_table"]


def shared_table(columns: tuple[Any, ...], dimension: int, name: str) -> Any:
    """Returns a dense feature column of several categorical columns with one embedding table.

    Args:
      columns: categorical feature columns.
      dimension: length of an embedding vector.
      name: name of the column.
    """
    from estimator_bridge import tf

    class SharedTableColumn(
        namedtuple("SharedTableColumn", ("columns",)), tf.__internal__.feature_column.DenseColumn
    ):
        """Concatenates the mean vectors of the columns, float32 [batch, columns * dimension]."""

        _is_v2_column = True
        name = property(lambda self: name)
        parents = property(lambda self: list(self.columns))
        variable_shape = property(lambda self: tf.TensorShape([len(self.columns) * dimension]))
        parse_example_spec = property(
            lambda self: {k: v for one in self.columns for k, v in one.parse_example_spec.items()}
        )

        def create_state(self, state_manager):
            start = tf.compat.v1.truncated_normal_initializer(stddev=1 / math.sqrt(dimension))
            state_manager.create_variable(
                self,
                name="embedding_weights",
                shape=(self.columns[0].num_buckets, dimension),
                initializer=start,
            )

        def transform_feature(self, transformation_cache, state_manager):
            given = (transformation_cache, state_manager)
            return tuple(one.get_sparse_tensors(*given) for one in self.columns)

        def get_dense_tensor(self, transformation_cache, state_manager):
            table = state_manager.get_variable(self, "embedding_weights")
            looked_up = [
                tf.nn.safe_embedding_lookup_sparse(table, ids, weights, combiner="mean")
                for ids, weights in transformation_cache.get(self, state_manager)
            ]
            return tf.concat(looked_up, axis=1)

        def get_config(self):
            raise NotImplementedError

        @classmethod
        def from_config(cls, config, custom_objects=None, columns_by_name=None):
            raise NotImplementedError

    return SharedTableColumn(columns)


def build_recurrent(
    cells: tuple[Cell, ...],
    steps: list[Any],
    context: list[Any],
    make_optimizer: Callable[[], Any],
    options: dict[str, Any],
) -> Any:
    """Returns the trainer's Estimator of model.type rnn.

    Args:
      cells: the stacked cells.
      steps: dense feature columns of sequences.
      context: dense feature columns that are joined to every step.
      make_optimizer: builds the Keras 2 optimizer inside the graph.
      options: head and config of the Estimator.
    """
    from estimator_bridge import estimator, tf

    layers = tf.keras.layers

    class Network(tf.keras.Model):
        """Maps sequences to logits, float32 [batch, num_logits]."""

        def __init__(self, num_logits):
            super().__init__(name="rnn")
            self.of_steps = tf.keras.experimental.SequenceFeatures(steps, name="steps")
            self.beside = layers.DenseFeatures(context, name="context") if context else None
            stacked = [
                getattr(layers, f"{cell.kind}Cell")(cell.units, name=cell.name, **cell.options)
                for cell in cells
            ]
            self.cells = layers.RNN(stacked, name="cells")
            self.to_logits = layers.Dense(num_logits, name="logits")

        def call(self, features, training):
            net, lengths = self.of_steps(features)
            if self.beside is not None:
                beside = self.beside(features)[:, None, :]
                net = tf.concat([net, tf.repeat(beside, tf.shape(net)[1], axis=1)], axis=2)
            # A batch may have no steps.
            net = tf.pad(net, [[0, 0], [0, 1], [0, 0]])
            mask = tf.sequence_mask(lengths, tf.shape(net)[1])
            return self.to_logits(self.cells(net, mask=mask, training=training))

    def model_fn(features, labels, mode):
        training = mode == estimator.ModeKeys.TRAIN
        network = Network(options["head"].logits_dimension)
        logits = network(features, training=training)
        optimizer = make_optimizer() if training else None
        if training:
            optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
        return options["head"].create_estimator_spec(
            features=features,
            mode=mode,
            logits=logits,
            labels=labels,
            optimizer=optimizer,
            trainable_variables=network.trainable_variables,
        )

    return estimator.Estimator(model_fn, config=options["config"])
