"""Rows in windows, shuffled, and cut into batches of exactly the wanted size."""

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Callable, NamedTuple, Optional

import numpy as np

from trainer.inputs.prefetch import prefetch

# name → one array, all with the same number of rows first.
Chunk = dict[str, np.ndarray]

# Key under which a chunk keeps the number of the file that each row is from.
FILE = "//file"
# Groups of batches whose files are remembered: more than can be prefetched.
HISTORY_GROUPS = 16
# Rows of the batches that are handed on together where nothing else limits them.
GROUP_ROWS = 16_384


class Window(NamedTuple):
    """Rows that are shuffled together.

    Attributes:
        chunk: the rows.
        order: the places of the rows in the order wanted, int [rows]; None: as they stand.
    """

    chunk: Chunk
    order: Optional[np.ndarray] = None


class Group(NamedTuple):
    """Consecutive batches of one size.

    Attributes:
        step: the global step that the first of them is for.
        rows: rows in each of them.
        chunk: the rows of all of them.
    """

    step: int
    rows: int
    chunk: Chunk


def count_rows(chunk: Chunk) -> int:
    """Rows of a chunk."""
    return len(next(iter(chunk.values())))


def concatenate(chunks: list[Chunk]) -> Chunk:
    """Chunks as one; the names and types of the first are those of all."""
    if len(chunks) == 1:
        return chunks[0]
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def cut_windows(
    chunks: Iterable[Chunk],
    num_rows: int,
    join: Callable[[list[Chunk]], Chunk] = concatenate,
) -> Iterator[Chunk]:
    """Joins and cuts chunks so that each has `num_rows` rows, the last one maybe less."""
    held: list[Chunk] = []
    rows = 0
    for chunk in chunks:
        start, length = 0, count_rows(chunk)
        while rows + length - start >= num_rows:
            end = start + num_rows - rows
            held.append(_slice(chunk, start, end))
            yield join(held)
            held, rows, start = [], 0, end
        if start < length:
            held.append(_slice(chunk, start, length))
            rows += length - start
    if held:
        yield join(held)


class RowStream:
    """Takes rows one after the other out of windows.

    Args:
        windows: the windows.
        join: makes one chunk of several.
    """

    def __init__(
        self,
        windows: Iterator[Window],
        join: Callable[[list[Chunk]], Chunk] = concatenate,
    ):
        self._windows = windows
        self._join = join
        self._window: Optional[Window] = None
        self._start = 0

    def take(self, rows: int) -> Optional[Chunk]:
        """The next rows, fewer at the end; None after it."""
        parts: list[Chunk] = []
        while rows:
            if self._window is None:
                self._window, self._start = next(self._windows, None), 0
                if self._window is None:
                    break
            chunk, order = self._window
            end = min(self._start + rows, count_rows(chunk))
            picked = slice(self._start, end) if order is None else order[self._start : end]
            parts.append({name: array[picked] for name, array in chunk.items()})
            rows -= end - self._start
            self._start = end
            if end == count_rows(chunk):
                self._window = None
        return self._join(parts) if parts else None


def cut_groups(
    taker: RowStream,
    size_at: Callable[[int], int],
    step: int = 0,
    batches_per_step: int = 1,
    count_at: Optional[Callable[[int], int]] = None,
) -> Iterator[Group]:
    """Cuts rows into groups of batches of one size; a last batch that is short is its own group.

    Args:
        taker: the rows.
        size_at: rows in a batch that follows a global step.
        step: global step of the first batch.
        batches_per_step: batches that one step takes.
        count_at: batches in a group that begins at a global step, fewer where the size changes;
            None: as many as make GROUP_ROWS.
    """
    number = 0
    while True:
        first = step + number // batches_per_step
        size = size_at(first)
        wanted = count_at(first) if count_at else max(1, GROUP_ROWS // size)
        # A step's batches stay together.
        wanted += -wanted % batches_per_step
        count = 1
        while count < wanted and size_at(step + (number + count) // batches_per_step) == size:
            count += 1
        chunk = taker.take(count * size)
        if chunk is None:
            return
        rows = count_rows(chunk)
        short = rows % size
        if rows > short:
            yield Group(first, size, _slice(chunk, 0, rows - short))
        if short:
            last = step + (number + rows // size) // batches_per_step
            yield Group(last, short, _slice(chunk, rows - short, rows))
        if rows < count * size:
            return
        number += count


def _slice(chunk: Chunk, start: int, end: int) -> Chunk:
    return {name: array[start:end] for name, array in chunk.items()}


class Epochs:
    """Epoch after epoch of some rows, shuffled within windows.

    Args:
        read: reads the rows once, of the files in the order given, or as they stand for None.
        num_files: how many there are.
        num_rows: about how many rows.
        window_rows: rows that are shuffled together; 1 keeps their order.
        join: makes one chunk of several.
    """

    def __init__(
        self,
        read: Callable[[Optional[Sequence[int]]], Iterator[Chunk]],
        num_files: int,
        num_rows: int,
        window_rows: int,
        join: Callable[[list[Chunk]], Chunk] = concatenate,
    ):
        self._read = read
        self._num_files = num_files
        self._num_rows = num_rows
        self._window_rows = window_rows
        self._join = join
        self._whole: Optional[Chunk] = None

    def iterate(self, seed: Sequence[int]) -> Iterator[Window]:
        """Yields windows without end; the seed and the number of the epoch decide their order."""
        epochs = itertools.count()
        if self._num_rows > self._window_rows:
            yield from prefetch(
                lambda: (window for epoch in epochs for window in self._shuffle([*seed, epoch]))
            )
        # The whole set is one window: read it once and keep it.
        if self._whole is None:
            self._whole = self._join(list(self._read(None)))
        for epoch in epochs:
            rng = np.random.default_rng([*seed, epoch])
            yield _shuffle(rng, self._whole) if self._window_rows > 1 else Window(self._whole)

    def _shuffle(self, seed: Sequence[int]) -> Iterator[Window]:
        if self._window_rows == 1:
            yield from map(Window, self._read(None))
            return
        rng = np.random.default_rng(seed)
        chunks = self._read(rng.permutation(self._num_files))
        for chunk in cut_windows(chunks, self._window_rows, self._join):
            yield _shuffle(rng, chunk)


def _shuffle(rng: np.random.Generator, chunk: Chunk) -> Window:
    return Window(chunk, rng.permutation(count_rows(chunk)))


class FileHistory:
    """Which files the rows of the last groups were from.

    Args:
        paths: of the files.
    """

    def __init__(self, paths: Sequence[str]):
        self._paths = paths
        self._recent: deque = deque(maxlen=HISTORY_GROUPS)

    def note(self, group: Group, batches_per_step: int = 1) -> None:
        """Notes a group that is handed on."""
        self._recent.append((group.step, group.rows * batches_per_step, group.chunk[FILE]))

    def list_files_at(self, step: int) -> list[str]:
        """Paths of the files that the rows of the step after a global step were from, if known."""
        for first, rows, numbers in self._recent:
            start = (step - first) * rows
            if 0 <= start < len(numbers):
                found = np.unique(numbers[start : start + rows])
                return [self._paths[number] for number in found]
        return []
