"""A dense feature column: the embeddings of several categorical columns that share a table."""

import math
from collections import namedtuple
from typing import Any

from estimator_bridge import tf


class SharedEmbeddingColumn(
    namedtuple("SharedEmbeddingColumn", ("columns", "dimension")),
    tf.__internal__.feature_column.DenseColumn,
):
    """Embeds the ids of several categorical columns in one table.

    The output concatenates the embeddings of the columns, float32 [batch, columns * dimension]. The
    embedding of a column is the mean over the values of the row, or zeros for a row without values.

    TensorFlow's own shared_embeddings creates its table outside the layers. Therefore the canned
    Estimators of version 2 save the table but never train it. Here the layer that reads the
    features owns the table, so the table is trained like any embedding.

    Attributes:
        columns: categorical feature columns with equal numbers of ids.
        dimension: width of the table.
    """

    @property
    def _is_v2_column(self) -> bool:
        return True

    @property
    def name(self) -> str:
        """Name of the column, and of the scope of its table."""
        return "_".join(column.name for column in self.columns) + "_shared_embedding"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Parsing spec of all columns for tf.Example."""
        return {
            name: feature
            for column in self.columns
            for name, feature in column.parse_example_spec.items()
        }

    @property
    def variable_shape(self) -> Any:
        """Shape of a row: [columns * dimension]."""
        return tf.TensorShape([len(self.columns) * self.dimension])

    @property
    def parents(self) -> list[Any]:
        """The columns that this one reads."""
        return list(self.columns)

    def create_state(self, state_manager: Any) -> None:
        """Creates the table, float32 [ids, dimension].

        Args:
            state_manager: owns the variables of a layer.
        """
        state_manager.create_variable(
            self,
            name="embedding_weights",
            shape=(self.columns[0].num_buckets, self.dimension),
            dtype=tf.float32,
            trainable=True,
            use_resource=True,
            # The initializer of an embedding column.
            initializer=tf.compat.v1.truncated_normal_initializer(
                stddev=1 / math.sqrt(self.dimension)
            ),
        )

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> tuple[Any, ...]:
        """Returns the ids of each column and their weights, sparse int64 and float32.

        Args:
            transformation_cache: computes what the columns need, once each.
            state_manager: owns the variables of a layer.
        """
        return tuple(
            column.get_sparse_tensors(transformation_cache, state_manager)
            for column in self.columns
        )

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Returns the concatenated embeddings, float32 [batch, columns * dimension].

        Args:
            transformation_cache: computes what the columns need, once each.
            state_manager: owns the variables of a layer.
        """
        table = state_manager.get_variable(self, "embedding_weights")
        return tf.concat(
            [
                tf.nn.safe_embedding_lookup_sparse(table, ids, weights, combiner="mean")
                for ids, weights in transformation_cache.get(self, state_manager)
            ],
            axis=1,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the argument `config` of from_config."""
        serialize = tf.__internal__.feature_column.serialize_feature_column
        return {
            "columns": [serialize(column) for column in self.columns],
            "dimension": self.dimension,
        }

    @classmethod
    def from_config(
        cls, config: dict[str, Any], custom_objects: Any = None, columns_by_name: Any = None
    ) -> "SharedEmbeddingColumn":
        """Returns the column that a result of get_config describes.

        Args:
            config: a result of get_config.
            custom_objects: name → class of further columns.
            columns_by_name: columns that exist already.
        """
        deserialize = tf.__internal__.feature_column.deserialize_feature_column
        columns = [
            deserialize(column, custom_objects, columns_by_name) for column in config["columns"]
        ]
        return cls(tuple(columns), config["dimension"])
