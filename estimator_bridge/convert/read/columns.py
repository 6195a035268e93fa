"""tf.feature_column objects as columns of a Plan.

They are told apart by the names of their classes, so that columns of both views of TensorFlow and
of any version are
understood; nothing is asked of them but the fields that they were made with.
"""

from typing import Any

import numpy as np

from estimator_bridge.errors import BridgeError

from ..plan.columns import (
    HASH_KEY,
    Bucketized,
    Crossed,
    Embedding,
    Hashed,
    Identity,
    Indicator,
    Normalizer,
    Numeric,
    Raw,
    SequenceNumeric,
    Vocabulary,
    Weighted,
)
from .traced_functions import trace_normalizer

__all__ = ["ColumnReader"]


class ColumnReader:
    """Reads feature columns.

    Args:
      sparse: names of features fed as SparseTensors: it matters for a cross by their name.
      version: of the Estimator, 1 or 2.

    Attributes:
      sequences: names of the features that are sequences.
    """

    def __init__(self, sparse=(), version: int = 2):
        self._sparse = frozenset(sparse)
        self._version = version
        self.sequences: set[str] = set()
        self._normalizers: dict[int, Normalizer] = {}

    def read(self, column: Any) -> Any:
        """The plan column of a feature column.

        Raises:
          BridgeError: a kind that cannot be converted, or a part of it; names the column.
        """
        kind = type(column).__name__.lstrip("_")
        reader = getattr(self, f"_read_{kind}", None)
        if reader is None:
            raise BridgeError(
                f"column {getattr(column, 'name', column)!r}: {kind} cannot be converted; "
                "leave it to a Keras layer of your own"
            )
        return reader(column)

    def _read_NumericColumn(self, column):
        width, dtype = int(np.prod(column.shape)), column.dtype.name
        shape = tuple(column.shape) if len(column.shape) > 1 else ()
        function, normalizer = column.normalizer_fn, None
        if function is not None:
            # The same function gives the same object, so that the column's code is written once.
            normalizer = self._normalizers.setdefault(
                id(function), trace_normalizer(function, column.key, shape or (width,), dtype)
            )
        return Numeric(column.key, width, dtype, normalizer, shape)

    def _read_SequenceNumericColumn(self, column):
        width, dtype = int(np.prod(column.shape)), column.dtype.name
        function, normalizer = column.normalizer_fn, None
        if function is not None:
            normalizer = trace_normalizer(function, column.key, (width,), dtype, sparse=True)
        self.sequences.add(column.key)
        return SequenceNumeric(column.key, width, dtype, normalizer, float(column.default_value))

    def _read_SequenceCategoricalColumn(self, column):
        source = self.read(column.categorical_column)
        if isinstance(source, (Crossed, Weighted)):
            raise BridgeError(f"column {column.name!r}: crossed or weighted steps are not known")
        self.sequences.add(source.key)
        return source

    def _read_BucketizedColumn(self, column):
        return Bucketized(self.read(column.source_column), tuple(map(float, column.boundaries)))

    def _read_HashedCategoricalColumn(self, column):
        return Hashed(column.key, column.dtype.name, column.hash_bucket_size)

    def _read_VocabularyListCategoricalColumn(self, column):
        return Vocabulary(
            column.key,
            "string" if column.dtype.name == "string" else "int64",
            tuple(_plain(value) for value in column.vocabulary_list),
            column.num_oov_buckets,
            column.default_value,
        )

    def _read_VocabularyFileCategoricalColumn(self, column):
        from estimator_bridge import tf

        path = column.vocabulary_file
        try:
            with tf.io.gfile.GFile(path, "rb") as file:
                lines = [line.decode("utf-8") for line in file.read().splitlines()]
        except tf.errors.OpError as error:
            raise BridgeError(
                f"column {column.key!r}: its vocabulary file {path} cannot be read: {error.message}"
            ) from error
        lines = lines[: column.vocabulary_size or len(lines)]
        is_text = column.dtype.name == "string"
        return Vocabulary(
            column.key,
            "string" if is_text else "int64",
            tuple(lines) if is_text else tuple(map(int, lines)),
            column.num_oov_buckets,
            -1 if column.default_value is None else column.default_value,
        )

    def _read_IdentityCategoricalColumn(self, column):
        return Identity(
            column.key,
            getattr(column, "number_buckets", None) or column.num_buckets,
            column.default_value,
        )

    def _read_CrossedColumn(self, column):
        parts = []
        for key in column.keys:
            if isinstance(key, str):
                # By its name alone nothing is known of the type; another column may tell.
                parts.append(Raw(key, "string", key in self._sparse))
            else:
                part = self.read(key)
                parts += part.keys if isinstance(part, Crossed) else [part]
        key = HASH_KEY if column.hash_key is None else column.hash_key
        return Crossed(tuple(parts), column.hash_bucket_size, key)

    def _read_WeightedCategoricalColumn(self, column):
        return Weighted(self.read(column.categorical_column), column.weight_feature_key)

    def _read_IndicatorColumn(self, column):
        return Indicator(self.read(column.categorical_column))

    def _read_EmbeddingColumn(self, column):
        table = column.name
        return self._embedding(column, column.dimension, table, False, column.trainable)

    def _read_SharedEmbeddingColumn(self, column):
        creator = getattr(column, "shared_embedding_column_creator", None)
        if creator is None:
            table = column.shared_embedding_collection_name
            return self._embedding(column, column.dimension, table, True, column.trainable)
        # A table that its creator holds is not among the variables of the Keras model that a v2
        # Estimator trains.
        trainable = self._version == 1 and creator._trainable
        return self._embedding(column, creator._dimension, creator._name, True, trainable)

    def _embedding(self, column, dimension, table, shared, trainable):
        return Embedding(
            self.read(column.categorical_column),
            dimension,
            column.combiner,
            column.max_norm,
            table,
            shared,
            trainable,
        )


def _plain(value):
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return value.item() if isinstance(value, np.generic) else value
