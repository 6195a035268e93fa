"""Converts tf.feature_column objects to columns of a Plan.

Columns are recognized by the names of their classes, and only the fields of their constructors are
read. This works for the columns of both APIs and of every TensorFlow version.
"""

from collections.abc import Iterable
from typing import Any, Optional

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
      sparse: names of the features fed as SparseTensors, which matters for crosses by name.
      version: API version of the Estimator, 1 or 2.

    Attributes:
      sequences: names of the features that are sequences.
    """

    def __init__(self, sparse: Iterable[str] = (), version: int = 2):
        self._sparse = frozenset(sparse)
        self._version = version
        self.sequences: set[str] = set()
        self._normalizers: dict[int, Normalizer] = {}

    def read(self, column: Any) -> Any:
        """Returns the plan column of a feature column.

        Args:
          column: the feature column.

        Raises:
          BridgeError: the column, or a part of it, cannot be converted.
        """
        kind = type(column).__name__.lstrip("_")
        reader = getattr(self, f"_read_{kind}", None)
        if reader is None:
            raise BridgeError(
                f"column {getattr(column, 'name', column)!r}: {kind} cannot be converted; "
                "replace it with a Keras layer of your own"
            )
        return reader(column)

    def _read_NumericColumn(self, column: Any) -> Numeric:
        width, dtype = int(np.prod(column.shape)), column.dtype.name
        shape = tuple(column.shape) if len(column.shape) > 1 else ()
        function, normalizer = column.normalizer_fn, None
        if function is not None:
            # There is one Normalizer per function, so that the code of the column is written once.
            normalizer = self._normalizers.setdefault(
                id(function), trace_normalizer(function, column.key, shape or (width,), dtype)
            )
        return Numeric(column.key, width, dtype, normalizer, shape)

    def _read_SequenceNumericColumn(self, column: Any) -> SequenceNumeric:
        width, dtype = int(np.prod(column.shape)), column.dtype.name
        function, normalizer = column.normalizer_fn, None
        if function is not None:
            normalizer = trace_normalizer(function, column.key, (width,), dtype, sparse=True)
        self.sequences.add(column.key)
        return SequenceNumeric(column.key, width, dtype, normalizer, float(column.default_value))

    def _read_SequenceCategoricalColumn(self, column: Any) -> Any:
        source = self.read(column.categorical_column)
        if isinstance(source, (Crossed, Weighted)):
            raise BridgeError(
                f"column {column.name!r}: crossed or weighted sequences cannot be converted; "
                "replace it with a Keras layer of your own"
            )
        self.sequences.add(source.key)
        return source

    def _read_BucketizedColumn(self, column: Any) -> Bucketized:
        return Bucketized(self.read(column.source_column), tuple(map(float, column.boundaries)))

    def _read_HashedCategoricalColumn(self, column: Any) -> Hashed:
        return Hashed(column.key, column.dtype.name, column.hash_bucket_size)

    def _read_VocabularyListCategoricalColumn(self, column: Any) -> Vocabulary:
        return Vocabulary(
            column.key,
            "string" if column.dtype.name == "string" else "int64",
            tuple(_to_python(value) for value in column.vocabulary_list),
            column.num_oov_buckets,
            column.default_value,
        )

    def _read_VocabularyFileCategoricalColumn(self, column: Any) -> Vocabulary:
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

    def _read_IdentityCategoricalColumn(self, column: Any) -> Identity:
        return Identity(
            column.key,
            getattr(column, "number_buckets", None) or column.num_buckets,
            column.default_value,
        )

    def _read_CrossedColumn(self, column: Any) -> Crossed:
        parts: list[Any] = []
        for key in column.keys:
            if isinstance(key, str):
                # A name does not define the dtype. Another column of this feature may.
                parts.append(Raw(key, "string", key in self._sparse))
            else:
                part = self.read(key)
                parts += part.keys if isinstance(part, Crossed) else [part]
        hash_key = HASH_KEY if column.hash_key is None else column.hash_key
        return Crossed(tuple(parts), column.hash_bucket_size, hash_key)

    def _read_WeightedCategoricalColumn(self, column: Any) -> Weighted:
        return Weighted(self.read(column.categorical_column), column.weight_feature_key)

    def _read_IndicatorColumn(self, column: Any) -> Indicator:
        return Indicator(self.read(column.categorical_column))

    def _read_EmbeddingColumn(self, column: Any) -> Embedding:
        return Embedding(
            self.read(column.categorical_column),
            column.dimension,
            column.combiner,
            column.max_norm,
            table=column.name,
            shared=False,
            trainable=column.trainable,
        )

    def _read_SharedEmbeddingColumn(self, column: Any) -> Embedding:
        creator: Optional[Any] = getattr(column, "shared_embedding_column_creator", None)
        if creator is None:
            dimension, table = column.dimension, column.shared_embedding_collection_name
            trainable = column.trainable
        else:
            dimension, table = creator._dimension, creator._name
            # A v2 Estimator trains only the variables of its Keras model. The table of a shared
            # embedding is not one of them.
            trainable = self._version == 1 and creator._trainable
        return Embedding(
            self.read(column.categorical_column),
            dimension,
            column.combiner,
            column.max_norm,
            table=table,
            shared=True,
            trainable=trainable,
        )


def _to_python(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    return value.item() if isinstance(value, np.generic) else value
