"""The kinds of feature columns as plain values, and the raw features that they read.

This module does not import TensorFlow.
"""

import json
import math
import re
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Optional, Union

from estimator_bridge.errors import BridgeError

__all__ = [
    "HASH_KEY", "Bucketized", "Crossed", "Embedding", "Hashed", "Identity", "Indicator", "Input",
    "Normalizer", "Numeric", "Raw", "SequenceNumeric", "SharedTable", "Vocabulary", "Weighted",
    "dtypes_of", "hashing_order", "inputs_of", "layer_name", "name_of", "num_ids", "quoted",
    "safe_name",
]  # fmt: skip

# The key with which tf.feature_column.crossed_column hashes by default.
HASH_KEY = 0xDECAFCAFFE
_SAFE_NAME, _UNSAFE = re.compile(r"[A-Za-z0-9_.\-]+"), re.compile(r"[^A-Za-z0-9_.\-]")


class Normalizer(NamedTuple):
    """The normalization of a numeric feature.

    Attributes:
      expression: Keras code of one variable `x`, which is float32 or has the dtype of the data.
      function: the same computation on TensorFlow tensors, for rebuilding the Estimator.
    """

    expression: str
    function: Any


class Numeric(NamedTuple):
    """Numbers, normalized.

    Attributes:
      key: name of the feature.
      width: numbers per row.
      dtype: dtype of the raw feature.
      normalizer: None without normalization.
      shape: shape of one row if it has more than one dimension, else ().
    """

    key: str
    width: int
    dtype: str
    normalizer: Optional[Normalizer]
    shape: tuple[int, ...] = ()


class Bucketized(NamedTuple):
    """Numbers replaced by the index of their interval; the boundaries are ascending."""

    source: Numeric
    boundaries: tuple[float, ...]


class Vocabulary(NamedTuple):
    """Known values, numbered from 0.

    Attributes:
      key: name of the feature.
      dtype: string or int64.
      values: the vocabulary.
      oov_buckets: number of out-of-vocabulary buckets, numbered after the values.
      default: id of an unknown value if there are no such buckets; -1 ignores the value.
    """

    key: str
    dtype: str
    values: tuple[Any, ...]
    oov_buckets: int
    default: int


class Hashed(NamedTuple):
    """Values hashed into `buckets` ids by FarmHash64 of their text."""

    key: str
    dtype: str
    buckets: int


class Identity(NamedTuple):
    """Integers that are ids from 0 to `buckets` - 1.

    Attributes:
      key: name of the feature.
      buckets: number of ids.
      default: id of an integer out of range; with None, such an integer is an error.
    """

    key: str
    buckets: int
    default: Optional[int]


class Raw(NamedTuple):
    """A feature that a cross reads by its name, and not through a feature column.

    Attributes:
      key: name of the feature.
      dtype: dtype of the feature.
      sparse: whether the input function returns a SparseTensor. In a dense tensor, "" and -1 are
        ordinary values of a cross.
    """

    key: str
    dtype: str
    sparse: bool


class Crossed(NamedTuple):
    """Every combination of the values of several features, hashed.

    Attributes:
      keys: the parts in the order of their definition; a part that is a cross is replaced by the
        parts of that cross.
      buckets: number of ids.
      hash_key: initial value of the hash.
    """

    keys: tuple[Any, ...]
    buckets: int
    hash_key: int


class Weighted(NamedTuple):
    """A categorical column whose values are weighted by another feature of the same width."""

    source: Any
    weight_key: str


Categorical = Union[Bucketized, Vocabulary, Hashed, Identity, Crossed, Weighted]


class Indicator(NamedTuple):
    """The number of occurrences of each id in a row: `num_ids` numbers."""

    source: Categorical


class Embedding(NamedTuple):
    """A learned vector per id, combined over the values of a row.

    Attributes:
      source: categorical column.
      dimension: length of a vector.
      combiner: sum, mean or sqrtn.
      max_norm: vectors are scaled down to this length; None leaves them unchanged.
      table: name of the embedding table; columns with the same table name share the table.
      shared: whether the table has a name that does not depend on the column.
      trainable: whether the Estimator trains the table.
    """

    source: Categorical
    dimension: int
    combiner: str
    max_norm: Optional[float]
    table: str
    shared: bool
    trainable: bool = True


class SharedTable(NamedTuple):
    """Categorical columns with one embedding table; their mean vectors are concatenated."""

    sources: tuple[Any, ...]
    dimension: int


class SequenceNumeric(NamedTuple):
    """A sequence of numbers, normalized and padded with NaN.

    Attributes:
      key: name of the feature.
      width: numbers per step.
      dtype: dtype of the raw feature.
      normalizer: None without normalization.
      default: replaces missing numbers, including the padding.
    """

    key: str
    width: int
    dtype: str
    normalizer: Optional[Normalizer]
    default: float


class Input(NamedTuple):
    """A raw feature of the model.

    Attributes:
      name: name of the feature in the Estimator's input function.
      dtype: float32, float64, int32, int64 or string.
      width: values per row; None for a multivalent feature, padded with `filler`.
      shape: shape of one row if it has more than one dimension, else ().
      filler: padding value of a multivalent feature.
    """

    name: str
    dtype: str
    width: Optional[int]
    shape: tuple[Optional[int], ...] = ()
    filler: Any = None

    @property
    def dimensions(self) -> tuple[Optional[int], ...]:
        """Shape of one row."""
        return self.shape or (self.width,)


def hashing_order(column: Crossed) -> tuple[Any, ...]:
    """Returns the parts of a cross in the order of hashing: sparse tensors before dense ones.

    Args:
      column: the cross.
    """
    dense = [part for part in column.keys if isinstance(part, Raw) and not part.sparse]
    return (*(part for part in column.keys if part not in dense), *dense)


def name_of(column: Any) -> str:
    """Returns the name of the feature column, which is part of the names of its variables.

    Args:
      column: any column of this module.
    """
    if isinstance(column, Bucketized):
        return f"{name_of(column.source)}_bucketized"
    if isinstance(column, Crossed):
        return "_X_".join(sorted(name_of(part) for part in column.keys))
    if isinstance(column, Weighted):
        return f"{name_of(column.source)}_weighted_by_{column.weight_key}"
    if isinstance(column, Indicator):
        return f"{name_of(column.source)}_indicator"
    if isinstance(column, SharedTable):
        return "_".join(map(name_of, column.sources)) + "_shared_embedding"
    if isinstance(column, Embedding):
        suffix = "_shared_embedding" if column.shared else "_embedding"
        return f"{name_of(column.source)}{suffix}"
    return str(column.key)


def num_ids(column: Categorical) -> int:
    """Returns the number of ids of a categorical column: the rows of its tables.

    Args:
      column: the column.
    """
    if isinstance(column, Bucketized):
        return (len(column.boundaries) + 1) * column.source.width
    if isinstance(column, Vocabulary):
        return len(column.values) + column.oov_buckets
    if isinstance(column, Weighted):
        return num_ids(column.source)
    return column.buckets


def _features_of(column: Any) -> Iterator[tuple[str, str, Any]]:
    """Yields (key, dtype, size) of each raw feature. The size is a width, a shape or None (1)."""
    if isinstance(column, Numeric):
        yield column.key, column.dtype, column.shape or column.width
    elif isinstance(column, SequenceNumeric):
        yield column.key, column.dtype, None
    elif isinstance(column, (Bucketized, Indicator, Embedding)):
        yield from _features_of(column.source)
    elif isinstance(column, Crossed):
        for part in column.keys:
            yield from _features_of(part)
    elif isinstance(column, Weighted):
        yield from _features_of(column.source)
        yield column.weight_key, "float32", None
    else:
        yield column.key, "int64" if isinstance(column, Identity) else column.dtype, None


def dtypes_of(column: Any) -> Iterator[tuple[str, str, bool]]:
    """Yields (key, dtype, whether a cross reads it by name) of each raw feature of a column.

    Args:
      column: any column of this module.
    """
    if isinstance(column, Crossed):
        for part in column.keys:
            yield from dtypes_of(part)
    elif isinstance(column, (Indicator, Embedding)):
        yield from dtypes_of(column.source)
    else:
        for key, dtype, _ in _features_of(column):
            yield key, dtype, isinstance(column, Raw)


def _input(
    key: str, dtype: str, width: Optional[int], shape: tuple[int, ...], is_sequence: bool
) -> Input:
    if width is not None:
        return Input(key, dtype, width, shape)
    fillers = {"string": "", "int64": -1, "int32": -1}
    return Input(key, dtype, None, (), fillers.get(dtype, math.nan if is_sequence else 0.0))


def safe_name(name: str) -> str:
    """Returns the name, or a replacement if graph scopes do not allow the name.

    The trainer names the variables of its checkpoints by the same rule.

    Args:
      name: name of a feature.
    """
    if _SAFE_NAME.fullmatch(name):
        return name
    return f"{_UNSAFE.sub('_', name)}_{zlib.crc32(name.encode()):08x}"


def layer_name(name: str) -> str:
    """Returns the name of the Keras layer of an input; `safe_name` replaces a name with a slash.

    Args:
      name: name of a feature.
    """
    return safe_name(name) if "/" in name else name


def quoted(name: str) -> str:
    """Returns a string literal of Python code.

    Args:
      name: any text.
    """
    return json.dumps(name, ensure_ascii=False)


def inputs_of(
    columns: Iterable[Any],
    multivalued: Container[str] = (),
    known_dtypes: Optional[Mapping[str, str]] = None,
) -> tuple[Input, ...]:
    """Returns the raw features of some columns.

    Args:
      columns: plan columns.
      multivalued: names of the multivalent features.
      known_dtypes: feature -> dtype, for features whose dtype the columns do not define (integers
        that a cross reads by name).

    Raises:
      BridgeError: two columns read one feature with different dtypes or widths.
    """
    found: dict[str, Input] = {}
    for column in columns:
        is_sequence = isinstance(column, SequenceNumeric)
        for key, dtype, size in _features_of(column):
            dtype = (known_dtypes or {}).get(key, dtype)
            shape = size if isinstance(size, tuple) else ()
            width = math.prod(shape) if shape else size or 1
            is_padded = key in multivalued or is_sequence
            feature = _input(key, dtype, None if is_padded else width, shape, is_sequence)
            # A cross by name does not define the dtype; the first column that defines it decides.
            first = found.setdefault(key, feature)
            if first.dtype != feature.dtype and "string" in (first.dtype, feature.dtype):
                raise BridgeError(
                    f"feature {key!r}: columns read it both as {first.dtype} and as "
                    f"{feature.dtype}; use one dtype in all of them"
                )
            if first.width != feature.width:
                raise BridgeError(
                    f"feature {key!r}: one column reads {first.width} values per row, another "
                    f"{feature.width}; use one shape in all of them"
                )
    return tuple(found.values())
