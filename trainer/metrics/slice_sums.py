"""Sums of the rows of each slice of one slicing, in memory that does not grow with the rows."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from trainer.errors import UserError
from trainer.inputs.shuffle import Chunk
from trainer.metrics.cells import Cells, reduce
from trainer.metrics.grouping import Grouper
from trainer.schema import Range, Schema

# Each place has at most so many bins.
BINS = 1 << 31
_Values = tuple[Any, ...]


class Rows(NamedTuple):
    """What is added of some rows, for one kind of sum.

    Attributes:
        places: where each row counts, int64 [rows], below `width`.
        limbs: int64 [rows, columns].
        width: number of places.
        max_bins: a place is a multiple of BINS and a bin. If more different bins occur than this,
            each two neighbours become one, as often as it takes. 0: no place is a bin.
    """

    places: np.ndarray
    limbs: np.ndarray
    width: int
    max_bins: int = 0


class Slice(NamedTuple):
    """The sums of a slice.

    Attributes:
        value: of the slice.
        sums: kind → its places, ascending, int64 [places], and their sums, int64 [places, columns].
        levels: kind → how often neighbouring bins became one.
        widths: kind → number of places.
        ordered: whether the slices have a natural order.
    """

    value: str
    sums: dict[str, tuple[np.ndarray, np.ndarray]]
    levels: dict[str, int]
    widths: dict[str, int]
    ordered: bool


class SliceSums:
    """The sums of one slicing.

    Rows are kept apart by the values of the columns. If there are too many different ones, numbers
    are replaced by the bins of the training data.

    Args:
        names: columns of the slicing; none: all rows are one slice.
        schema: types and buckets of the columns.
        ranges: statistics of the training data.
        max_values: there may be so many different values.
    """

    def __init__(
        self, names: Sequence[str], schema: Schema, ranges: dict[str, Range], max_values: int
    ):
        self._max_values = max_values
        self._names = list(names)
        self._schema = schema
        self._ranges = ranges
        self._codes: dict[_Values, int] = {}
        self._edges: dict[str, np.ndarray] = {
            name: np.asarray(schema.columns[name].buckets, np.float64)
            for name in names
            if schema.columns[name].buckets and not schema.columns[name].is_categorical
        }
        self._cells: dict[str, Cells] = {}
        self._widths: dict[str, int] = {}
        self._max_bins: dict[str, int] = {}
        self._levels: dict[str, int] = {}
        self._is_refused = False

    def add(self, chunk: Chunk, kinds: dict[str, Rows]) -> None:
        """Adds rows.

        Args:
            chunk: at least the columns of the slicing.
            kinds: kind of sum → what is added.
        """
        if self._is_refused:
            return
        codes = self._number(chunk, len(next(iter(kinds.values())).places))
        for kind, rows in kinds.items():
            self._widths[kind], self._max_bins[kind] = rows.width, rows.max_bins
            places = _join_bins(rows.places, self._levels.setdefault(kind, 0))
            self._cells.setdefault(kind, Cells()).add(codes * rows.width + places, rows.limbs)
            self._reduce(kind, is_last=False)
        self._shrink()

    def _reduce(self, kind: str, is_last: bool) -> None:
        """Joins bins if there are too many: whenever they take memory, and before they are read."""
        cells, limit = self._cells[kind], self._max_bins[kind]
        if not is_last and not cells.is_full():
            return
        while (held := cells.get()) and limit and len(np.unique(held[0] % BINS)) > limit:
            self._levels[kind] += 1
            cells.rename(functools.partial(_join_bins, level=1))

    def _number(self, chunk: Chunk, num_rows: int) -> np.ndarray:
        """Returns the code of each row, int64 [rows]."""
        joined, distinct = np.zeros(num_rows, np.int64), [()]
        for name in self._names:
            values, indices = _encode(self._to_bins(name, chunk[name]))
            pairs, joined = np.unique(joined * len(values) + indices, return_inverse=True)
            distinct = [
                (*distinct[pair // len(values)], values[pair % len(values)])
                for pair in pairs.tolist()
            ]
        return self._look_up(distinct)[joined]

    def _look_up(self, distinct: Sequence[_Values]) -> np.ndarray:
        codes = self._codes
        return np.array([codes.setdefault(one, len(codes)) for one in distinct], np.int64)

    def _to_bins(self, name: str, values: np.ndarray) -> np.ndarray:
        """Returns numbers of the same bins, one for each bin; other columns as they are."""
        edges = self._edges.get(name)
        if edges is None:
            return values
        places = np.searchsorted(edges, values, side="right")
        numbers = np.concatenate([[np.nextafter(edges[0], -np.inf)], edges])[places]
        return np.where(np.isnan(values), np.nan, numbers)

    def _shrink(self) -> None:
        """Replaces numbers by bins if there are too many different values."""
        if len(self._codes) <= self._max_values:
            return
        for name in self._names:
            column, trained = self._schema.columns[name], self._ranges.get(name)
            if column.raw_type == "string" or column.is_categorical or trained is None:
                continue
            if trained.bins is not None:
                self._edges.setdefault(name, np.asarray(trained.bins.edges, np.float64))
        self._rebin()
        if len(self._codes) > self._max_values:
            self._is_refused = True
            self._codes, self._cells = {}, {}

    def _rebin(self) -> None:
        """Applies the edges to the values that are there."""
        before, self._codes = list(self._codes), {}
        columns = []
        for place, name in enumerate(self._names):
            values = [one[place] for one in before]
            if name in self._edges:
                numbers = np.array([np.nan if one is None else one for one in values], np.float64)
                found, indices = _encode(self._to_bins(name, numbers))
                values = [found[index] for index in indices]
            columns.append(values)
        codes = self._look_up(list(zip(*columns)))
        for kind, cells in self._cells.items():
            width = self._widths[kind]
            cells.rename(_rename(codes, width))

    def merge(self, other: "SliceSums") -> None:
        """Adds the sums of other rows.

        Args:
            other: of the same slicing; must not be used afterwards.
        """
        if self._is_refused or other._is_refused:
            self._is_refused = True
            self._codes, self._cells = {}, {}
            return
        if set(self._edges) != set(other._edges):
            edges = {**self._edges, **other._edges}
            for one in (self, other):
                one._edges = dict(edges)
                one._rebin()
        codes = self._look_up(list(other._codes))
        for kind, cells in other._cells.items():
            self._widths[kind], self._max_bins[kind] = other._widths[kind], other._max_bins[kind]
            level = max(self._levels.get(kind, 0), other._levels[kind])
            for one in (self, other):
                more = level - one._levels.get(kind, 0)
                one._levels[kind] = level
                if more and kind in one._cells:
                    one._cells[kind].rename(functools.partial(_join_bins, level=more))
            mine = self._cells.setdefault(kind, Cells())
            mine.merge(cells, _rename(codes, self._widths[kind]))
            self._reduce(kind, is_last=False)
        self._shrink()

    def finish(self) -> list[Slice]:
        """Returns the slices, in their natural order if there is one; for at least one row.

        Raises:
            UserError: there are too many.
        """
        by = "*".join(self._names)
        if self._is_refused:
            raise UserError(
                f"--by={by}: more than {self._max_values:,} slices; so many are measured of few "
                "rows only: name columns of fewer values, or give numbers buckets in the schema"
            )
        places, names, ordered = np.zeros(1, np.int64), [""], False
        if self._names:
            places, names, ordered = self._group(by)
        found = [Slice(name, {}, self._levels, self._widths, ordered) for name in names]
        for kind, cells in self._cells.items():
            width = self._widths[kind]
            self._reduce(kind, is_last=True)
            held = cells.get()
            assert held is not None
            keys, limbs = reduce(_rename(places, width)(held[0]), held[1])
            ends = np.searchsorted(keys, np.arange(len(names) + 1) * width)
            for number, one in enumerate(found):
                part = slice(ends[number], ends[number + 1])
                one.sums[kind] = keys[part] % width, limbs[part]
        return found

    def _group(self, by: str) -> tuple[np.ndarray, list[str], bool]:
        """Returns the slice of each code, and names and order of the slices, as of the rows."""
        columns = dict(self._schema.columns)
        for name, edges in self._edges.items():
            columns[name] = columns[name].model_copy(update={"buckets": edges.tolist()})
        schema = self._schema.model_copy(update={"columns": columns})
        grouper = Grouper([self._names], schema, self._ranges)
        values = zip(*self._codes)
        grouper.add({name: _to_array(one) for name, one in zip(self._names, values)})
        grouping = grouper.finish()[by]
        used, places = np.unique(grouping.codes, return_inverse=True)
        names = [grouping.names[int(code)] for code in used]
        return places.astype(np.int64), names, grouping.ordered


def _join_bins(keys: np.ndarray, level: int) -> np.ndarray:
    """Returns keys whose neighbouring bins have become one, as often as the level says."""
    bins = keys % BINS
    joined: np.ndarray = keys - bins + (bins >> level)
    return joined


def _rename(codes: np.ndarray, width: int) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function from keys of some codes to those of the others: code * width + place."""
    return lambda keys: codes[keys // width] * width + keys % width


def _encode(values: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """Returns the different values, None for a missing number, and the index of each row's."""
    kind = pa.binary() if values.dtype == object else None
    encoded = pa.array(values, kind, from_pandas=True).dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    indices = encoded.indices.fill_null(len(distinct)).to_numpy().astype(np.int64)
    return [*distinct, None], indices


def _to_array(values: tuple[Any, ...]) -> np.ndarray:
    if any(isinstance(value, bytes) for value in values):
        return np.array(values, object)
    return np.array([np.nan if value is None else value for value in values])
