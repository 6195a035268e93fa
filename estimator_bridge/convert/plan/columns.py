"""The kinds of feature columns, as plain values; and what they tell of the raw features below them.

Nothing here imports TensorFlow.
"""

import json
import math
import re
import zlib
from typing import Any, NamedTuple, Optional, Union

from estimator_bridge.errors import BridgeError

__all__ = [
    "HASH_KEY", "Bucketized", "Crossed", "Embedding", "Hashed", "Identity", "Indicator", "Input",
    "Normalizer", "Numeric", "Raw", "SequenceNumeric", "SharedTable", "Vocabulary", "Weighted",
    "dtypes_of", "hashing_order", "inputs_of", "layer_name", "name_of", "num_ids", "quoted",
    "safe_name",
]  # fmt: skip

# The key with which feature columns hash a cross unless told otherwise.
HASH_KEY = 0xDECAFCAFFE
_SAFE_NAME, _UNSAFE = re.compile(r"[A-Za-z0-9_.\-]+"), re.compile(r"[^A-Za-z0-9_.\-]")


class Normalizer(NamedTuple):
    """A number's normalisation.

    Attributes:
      expression: Keras code of one variable `x`, float32 or as in the data.
      function: the same on TensorFlow tensors, for building the Estimator anew.
    """

    expression: str
    function: Any


class Numeric(NamedTuple):
    """`width` numbers a row, normalised; `shape` of them where it has more than one dimension."""

    key: str
    width: int
    dtype: str
    normalizer: Optional[Normalizer]
    shape: tuple[int, ...] = ()


class Bucketized(NamedTuple):
    """Numbers as the index of the interval between ascending boundaries."""

    source: Numeric
    boundaries: tuple[float, ...]


class Vocabulary(NamedTuple):
    """Known values numbered from 0; others share `oov_buckets` or are `default` (-1: no value)."""

    key: str
    dtype: str
    values: tuple[Any, ...]
    oov_buckets: int
    default: int


class Hashed(NamedTuple):
    """Values hashed by FarmHash64 of their text."""

    key: str
    dtype: str
    buckets: int


class Identity(NamedTuple):
    """Integers that are ids; one outside 0 … buckets is `default`, or an error where that is
    None.
    """

    key: str
    buckets: int
    default: Optional[int]


class Raw(NamedTuple):
    """A feature as it stands, in a cross.

    Attributes:
      key, dtype: the feature.
      sparse: whether the input function gives a SparseTensor. Of a dense tensor "" and -1 are
        values like any other
        in a cross.
    """

    key: str
    dtype: str
    sparse: bool


class Crossed(NamedTuple):
    """Every combination of its parts' values, hashed.

    Attributes:
      keys: the parts, in the order in which they are named; crosses among them replaced by their
        own parts.
      buckets: hashed into so many ids.
      hash_key: start of the hash.
    """

    keys: tuple[Any, ...]
    buckets: int
    hash_key: int


class Weighted(NamedTuple):
    """A categorical column whose values carry weights, from another feature of the same width."""

    source: Any
    weight_key: str


Categorical = Union[Bucketized, Vocabulary, Hashed, Identity, Crossed, Weighted]


class Indicator(NamedTuple):
    """How often each id is there: a row of `num_ids` numbers."""

    source: Categorical


class Embedding(NamedTuple):
    """A learned vector for each id, combined over the values of a row.

    Attributes:
      source: categorical column.
      dimension: length of a vector.
      combiner: sum, mean or sqrtn.
      max_norm: vectors are scaled down to this length; None: as they are.
      table: name of the table; columns of one name share it.
      shared: whether the table's name is not the column's own.
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
    """Several categorical columns in one table: the means of their vectors side by side."""

    sources: tuple[Any, ...]
    dimension: int


class SequenceNumeric(NamedTuple):
    """`width` numbers a step of a sequence, normalised; after its end there are NaNs.

    Attributes:
      default: stands for what is missing, the steps after the end among it.
    """

    key: str
    width: int
    dtype: str
    normalizer: Optional[Normalizer]
    default: float


class Input(NamedTuple):
    """A raw feature of the model.

    Attributes:
      name: as the Estimator's input function calls it.
      dtype: float32, float64, int32, int64 or string.
      width: values a row; None: any number, padded with `filler`.
      shape: of a row's values where it has more than one dimension.
      filler: what a row of any number of values is padded with.
    """

    name: str
    dtype: str
    width: Optional[int]
    shape: tuple[int, ...] = ()
    filler: Any = None

    @property
    def dimensions(self) -> tuple[Optional[int], ...]:
        """Shape of one row."""
        return self.shape or (self.width,)


def hashing_order(column: Crossed) -> tuple[Any, ...]:
    """The parts in the order in which they are hashed: TensorFlow takes sparse tensors before
    dense ones.
    """
    dense = [part for part in column.keys if isinstance(part, Raw) and not part.sparse]
    return (*(part for part in column.keys if part not in dense), *dense)


def name_of(column: Any) -> str:
    """The name that the feature column has, and its variables with it."""
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
    return column.key


def num_ids(column: Categorical) -> int:
    """Number of ids of a categorical column: rows of its tables."""
    if isinstance(column, Bucketized):
        return (len(column.boundaries) + 1) * column.source.width
    if isinstance(column, Vocabulary):
        return len(column.values) + column.oov_buckets
    if isinstance(column, Weighted):
        return num_ids(column.source)
    return column.buckets


def _features_of(column: Any):
    """Yields (key, dtype, width or None for one value) of every raw feature below a column."""
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


def dtypes_of(column: Any):
    """Yields (key, dtype, whether it is crossed by name) of every raw feature below a column."""
    if isinstance(column, Crossed):
        for part in column.keys:
            yield from dtypes_of(part)
    elif isinstance(column, (Indicator, Embedding)):
        yield from dtypes_of(column.source)
    else:
        for key, dtype, _ in _features_of(column):
            yield key, dtype, isinstance(column, Raw)


def _input(key, dtype, width, shape, numbers) -> Input:
    if width is not None:
        return Input(key, dtype, width, shape)
    fillers = {"string": "", "int64": -1, "int32": -1}
    return Input(key, dtype, None, (), fillers.get(dtype, math.nan if numbers else 0.0))


def safe_name(name: str) -> str:
    """A feature's own name, or one that scopes of a graph can have.

    It is the rule of the trainer, by which the variables of its checkpoints are called.
    """
    if _SAFE_NAME.fullmatch(name):
        return name
    return f"{_UNSAFE.sub('_', name)}_{zlib.crc32(name.encode()):08x}"


def layer_name(name: str) -> str:
    """What Keras calls the layer of an input: its name, or a safe one for one with a slash."""
    return safe_name(name) if "/" in name else name


def quoted(name: str) -> str:
    """A name as Python code."""
    return json.dumps(name, ensure_ascii=False)


def inputs_of(columns, multivalued=(), known_dtypes=None) -> tuple[Input, ...]:
    """The raw features of some columns.

    Args:
      columns: plan columns.
      multivalued: names of features with any number of values a row.
      known_dtypes: name -> dtype, where the data say more than the columns do (ints in a cross by
        name).

    Raises:
      BridgeError: two columns want one feature as different things.
    """
    found: dict[str, Input] = {}
    for column in columns:
        for key, dtype, width in _features_of(column):
            dtype = (known_dtypes or {}).get(key, dtype)
            shape = width if isinstance(width, tuple) else ()
            width = math.prod(shape) if shape else width or 1
            numbers = isinstance(column, SequenceNumeric)
            width = None if key in multivalued or numbers else width
            seen = _input(key, dtype, width, shape, numbers)
            # A cross by name says nothing of the type; whoever else uses the feature does.
            first = found.setdefault(key, seen)
            if first.dtype != seen.dtype and "string" in (first.dtype, seen.dtype):
                raise BridgeError(
                    f"feature {key!r} is used both as {first.dtype} and as {seen.dtype}; "
                    "one of the columns on it cannot have worked"
                )
            if first.width != seen.width:
                raise BridgeError(
                    f"feature {key!r} has {first.width} values for one column and "
                    f"{seen.width} for another"
                )
    return tuple(found.values())
