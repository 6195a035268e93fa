"""Assigns rows to slices: by the values of columns, or of pairs of columns.

The rows come in chunks. Of each chunk, only numbers are kept: per row and column 4 or 8 bytes, and
each different word once. The names of slices are made when they are read, because a column may have
as many different values as rows, and few of them are shown.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Optional, Union, overload

import numpy as np
import pyarrow as pa

from trainer.inputs.shuffle import Chunk
from trainer.schema import Column, Range, Schema

# A numeric column with at most this many different values has one slice per value.
FEW_NUMBERS = 12
MISSING = "(missing)"


class Grouping(NamedTuple):
    """The slice of each row.

    Attributes:
        names: names of the slices.
        codes: int32 or int64 [rows], indices into names.
        ordered: whether the names have a natural order.
    """

    names: Sequence[str]
    codes: np.ndarray
    ordered: bool = False


class _Names(Sequence[str]):
    """Names that are made when they are read."""

    def __init__(self, count: int, make: Callable[[int], str]):
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[str, Sequence[str]]:
        chosen = range(self._count)[index]
        if isinstance(chosen, range):
            return [self._make(one) for one in chosen]
        return self._make(chosen)


class Grouper:
    """Assigns the rows of chunks to slices.

    Args:
        by: names of the columns of each slicing.
        schema: types and buckets of the columns.
        ranges: statistics of the training data. Their bins are the slices of a numeric column
            without buckets.
    """

    def __init__(self, by: Sequence[Sequence[str]], schema: Schema, ranges: dict[str, Range]):
        self._by = by
        self._schema = schema
        self._ranges = ranges
        names = dict.fromkeys(name for names in by for name in names)
        self._words: dict[str, Words] = {
            name: Words() for name in names if schema.columns[name].raw_type == "string"
        }
        self._numbers: dict[str, list[np.ndarray]] = {
            name: [] for name in names if name not in self._words
        }

    def add(self, chunk: Chunk) -> None:
        """Takes the next rows.

        Args:
            chunk: at least the columns to slice by.
        """
        for name, words in self._words.items():
            words.add(chunk[name])
        for name, parts in self._numbers.items():
            parts.append(chunk[name])

    def merge(self, later: "Grouper") -> None:
        """Takes the rows of another object, which come after those of this one.

        Args:
            later: of the same slicings; must not be used afterwards.
        """
        for name, words in self._words.items():
            words.merge(later._words[name])
        for name, parts in self._numbers.items():
            parts.extend(later._numbers[name])

    def clear(self) -> None:
        """Forgets the rows, and takes no more."""
        self._words, self._numbers = {}, {}

    def finish(self) -> dict[str, Grouping]:
        """Returns column, or columns joined by * → slice of each row; for at least one chunk."""
        single = {name: words.finish() for name, words in self._words.items()}
        for name, parts in self._numbers.items():
            values = np.concatenate(parts)
            parts.clear()
            single[name] = _group_numbers(
                name, values, self._schema.columns[name], self._ranges.get(name)
            )
        return {"*".join(names): _combine([single[name] for name in names]) for names in self._by}


def group(
    chunks: Iterable[Chunk],
    by: Sequence[Sequence[str]],
    schema: Schema,
    ranges: dict[str, Range],
) -> dict[str, Grouping]:
    """Returns column, or columns joined by * → slice of each row.

    Args:
        chunks: at least one; the columns to slice by.
        by: names of the columns of each slicing.
        schema: see Grouper.
        ranges: see Grouper.
    """
    grouper = Grouper(by, schema, ranges)
    for chunk in chunks:
        grouper.add(chunk)
    return grouper.finish()


class Words:
    """The codes of a column of words: each different word has a number, by its first row."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._codes: list[np.ndarray] = []

    def add(self, array: np.ndarray) -> None:
        """Takes the next rows.

        Args:
            array: bytes, [rows].
        """
        encoded = pa.array(array, pa.binary()).dictionary_encode()
        self._codes.append(self._number(encoded.dictionary.to_pylist())[encoded.indices.to_numpy()])

    def merge(self, later: "Words") -> None:
        """Takes the rows of another object, which come after those of this one.

        Args:
            later: must not be used afterwards.
        """
        known = self._number(later._numbers)
        self._codes.extend(known[codes] for codes in later._codes)

    def _number(self, words: Iterable[bytes]) -> np.ndarray:
        numbers = self._numbers
        return np.array([numbers.setdefault(word, len(numbers)) for word in words], np.int32)

    def finish(self) -> Grouping:
        """Returns the word of each row; for at least one array."""
        words, codes = list(self._numbers), np.concatenate(self._codes)
        self._numbers, self._codes = {}, []
        names = _Names(len(words), lambda code: words[code].decode(errors="replace") or MISSING)
        return Grouping(names, codes)


def _combine(groupings: Sequence[Grouping]) -> Grouping:
    """Returns the slices of all combinations of slices that occur."""
    names, codes, ordered = groupings[0]
    for other in groupings[1:]:
        width = max(len(other.names), 1)
        # Only the pairs that occur: the others may be many times more.
        pairs, codes = np.unique(codes.astype(np.int64) * width + other.codes, return_inverse=True)
        names = _Names(len(pairs), _name_pairs(names, other.names, pairs, width))
    return Grouping(names, codes, ordered and len(groupings) == 1)


def _name_pairs(
    first: Sequence[str], second: Sequence[str], pairs: np.ndarray, width: int
) -> Callable[[int], str]:
    def name(code: int) -> str:
        high, low = divmod(int(pairs[code]), width)
        return f"{first[high]}, {second[low]}"

    return name


def _group_numbers(
    name: str, values: np.ndarray, column: Column, trained: Optional[Range]
) -> Grouping:
    is_float = values.dtype.kind == "f"
    present = ~np.isnan(values) if is_float else np.ones(len(values), bool)
    distinct = np.unique(values[present])
    names: Sequence[str]
    if column.is_categorical or (len(distinct) <= FEW_NUMBERS and not column.buckets):
        edges = distinct
        codes = np.searchsorted(distinct, values)
        names = _Names(
            len(distinct), lambda code: f"{distinct[code]:g}" if is_float else str(distinct[code])
        )
    else:
        edges = _choose_edges(column, trained, distinct)
        codes = np.searchsorted(edges, values, side="right")
        names = _name_bins(name, edges)
    # NaN comes after all edges, and so into no slice of its own.
    codes = np.where(present, codes, len(names)).astype(np.int32)
    count = len(names)
    named = _Names(count + 1, lambda code: names[code] if code < count else MISSING)
    return Grouping(named, codes, ordered=True)


def _choose_edges(column: Column, trained: Optional[Range], distinct: np.ndarray) -> np.ndarray:
    if column.buckets:
        return np.asarray(column.buckets, np.float64)
    if trained is not None and trained.bins is not None:
        return np.asarray(trained.bins.edges, np.float64)
    return np.unique(np.quantile(distinct, np.arange(0.1, 1, 0.1)))


def _name_bins(name: str, edges: np.ndarray) -> list[str]:
    texts = [f"{edge:.6g}" for edge in edges.tolist()]
    if not texts:
        return ["all"]
    between = [f"{low} <= {name} < {high}" for low, high in zip(texts, texts[1:])]
    return [f"{name} < {texts[0]}", *between, f"{name} >= {texts[-1]}"]
