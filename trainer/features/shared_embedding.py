"""Categorical columns that share one embedding, as one dense feature column."""

import math
from collections import namedtuple
from typing import Any

from estimator_bridge import tf


class SharedEmbeddingColumn(
    namedtuple("SharedEmbeddingColumn", ("columns", "dimension")),
    tf.__internal__.feature_column.DenseColumn,
):
    """Looks the ids of several categorical columns up in one table.

    The columns' embeddings stand side by side, float32 [batch, number of columns * dimension]; of
    several values in a row the mean, of none zeros. TensorFlow's own shared_embeddings keeps its
    table outside the layers: the canned Estimators of version 2 save it but never train it. Here
    the layer that reads the features owns the table, and so it is trained like any embedding.

    Attributes:
        columns: categorical feature columns of equal numbers of ids.
        dimension: of the table.
    """

    @property
    def _is_v2_column(self) -> bool:
        return True

    @property
    def name(self) -> str:
        """Of the column, and so of the scope of its table."""
        return "_".join(column.name for column in self.columns) + "_shared_embedding"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Of all columns, for parsing tf.Example."""
        return {
            name: feature
            for column in self.columns
            for name, feature in column.parse_example_spec.items()
        }

    @property
    def variable_shape(self) -> Any:
        """[number of columns * dimension]."""
        return tf.TensorShape([len(self.columns) * self.dimension])

    @property
    def parents(self) -> list:
        """The columns that it reads."""
        return list(self.columns)

    def create_state(self, state_manager: Any) -> None:
        """Creates the table, float32 [ids, dimension]."""
        state_manager.create_variable(
            self,
            name="embedding_weights",
            shape=(self.columns[0].num_buckets, self.dimension),
            dtype=tf.float32,
            trainable=True,
            use_resource=True,
            # As of an embedding column.
            initializer=tf.compat.v1.truncated_normal_initializer(
                stddev=1 / math.sqrt(self.dimension)
            ),
        )

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> tuple:
        """The ids of each column, sparse int64 [batch, most in a row], and their weights."""
        return tuple(
            column.get_sparse_tensors(transformation_cache, state_manager)
            for column in self.columns
        )

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """The embeddings side by side, float32 [batch, number of columns * dimension]."""
        table = state_manager.get_variable(self, "embedding_weights")
        return tf.concat(
            [
                tf.nn.safe_embedding_lookup_sparse(table, ids, weights, combiner="mean")
                for ids, weights in transformation_cache.get(self, state_manager)
            ],
            axis=1,
        )

    def get_config(self) -> dict[str, Any]:
        """What from_config takes."""
        serialize = tf.__internal__.feature_column.serialize_feature_column
        return {
            "columns": [serialize(column) for column in self.columns],
            "dimension": self.dimension,
        }

    @classmethod
    def from_config(
        cls, config: dict, custom_objects=None, columns_by_name=None
    ) -> "SharedEmbeddingColumn":
        """The reverse of get_config."""
        deserialize = tf.__internal__.feature_column.deserialize_feature_column
        columns = [
            deserialize(column, custom_objects, columns_by_name) for column in config["columns"]
        ]
        return cls(tuple(columns), config["dimension"])
