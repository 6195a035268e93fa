"""Divides rows into shuffled windows, and windows into batches of exactly the requested size."""

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Callable, NamedTuple, Optional

import numpy as np

from trainer.errors import UserError
from trainer.inputs.prefetch import prefetch

# Column name → array; all arrays have the same first dimension, the rows.
Chunk = dict[str, np.ndarray]
# Concatenates chunks.
Join = Callable[[list[Chunk]], Chunk]

# Key in a chunk of the index of the file that each row was read from, int32 [rows].
FILE = "//file"
ROW = "//row"
# Number of last groups whose files a FileHistory keeps: more groups than can be prefetched.
HISTORY_GROUPS = 16
# Number of rows in one group of batches if no `count_at` determines it.
GROUP_ROWS = 16_384


class Window(NamedTuple):
    """Rows that are shuffled together.

    Attributes:
        chunk: the rows.
        order: indices of the rows in shuffled order, int64 [rows]; None: not shuffled.
    """

    chunk: Chunk
    order: Optional[np.ndarray] = None


class Group(NamedTuple):
    """Consecutive batches of one size.

    Attributes:
        step: global step before the training step that uses the first batch.
        rows: number of rows in each batch.
        chunk: the rows of all batches.
    """

    step: int
    rows: int
    chunk: Chunk


class BatchSchedule(NamedTuple):
    """The sizes of batches, and the number of batches in a group.

    Attributes:
        size_at: returns the number of rows in a batch that follows a global step.
        step: global step of the first batch.
        batches_per_step: number of batches that one step uses; with a synchronous strategy, the
            number of replicas.
        count_at: returns the number of batches in a group that begins at a global step; a group has
            fewer batches if the batch size changes. None: a group has about GROUP_ROWS rows.
        size: number of rows in each batch, if it never changes. A step of known sizes has fewer
            operations.
        find_step: returns the global step of the first batch whenever the input begins, as in a
            session that is made again; None: `step`.
    """

    size_at: Callable[[int], int]
    step: int = 0
    batches_per_step: int = 1
    count_at: Optional[Callable[[int], int]] = None
    size: Optional[int] = None
    find_step: Optional[Callable[[], int]] = None

    def begin(self) -> "BatchSchedule":
        """Returns the schedule of an input that begins now."""
        return self if self.find_step is None else self._replace(step=self.find_step())


def count_rows(chunk: Chunk) -> int:
    """Returns the number of rows of a chunk.

    Args:
        chunk: at least one column.
    """
    return len(next(iter(chunk.values())))


def concatenate(chunks: list[Chunk]) -> Chunk:
    """Returns one chunk with the rows of several chunks.

    Args:
        chunks: chunks with the same columns and types.
    """
    if len(chunks) == 1:
        return chunks[0]
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def cut_windows(
    chunks: Iterable[Chunk], num_rows: int, join: Join = concatenate
) -> Iterator[Chunk]:
    """Yields chunks of `num_rows` rows each; the last one may have fewer.

    Args:
        chunks: the rows.
        num_rows: number of rows in a window.
        join: concatenates chunks.
    """
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
    """A stream of the rows of successive windows.

    Args:
        windows: the windows.
        join: concatenates chunks.
    """

    def __init__(self, windows: Iterator[Window], join: Join = concatenate):
        self._windows = windows
        self._join = join
        self._window: Optional[Window] = None
        self._start = 0

    def take(self, rows: int) -> Optional[Chunk]:
        """Returns the next rows; fewer rows at the end of the stream; None after it.

        Args:
            rows: number of rows.
        """
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


def cut_groups(stream: RowStream, schedule: BatchSchedule) -> Iterator[Group]:
    """Yields groups of batches of one size; a smaller last batch is a separate group.

    Args:
        stream: the rows.
        schedule: sizes of batches and groups.
    """
    size_at, step, batches_per_step, count_at, *_ = schedule
    number = 0
    while True:
        first = step + number // batches_per_step
        size = size_at(first)
        wanted = count_at(first) if count_at else max(1, GROUP_ROWS // size)
        # All batches of one step are in the same group.
        wanted += -wanted % batches_per_step
        count = 1
        while count < wanted and size_at(step + (number + count) // batches_per_step) == size:
            count += 1
        chunk = stream.take(count * size)
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
    """Repeats rows epoch after epoch, shuffled within windows.

    Args:
        read: yields all rows once; its argument is the order of the files, int [files], or None
            for the given order.
        num_files: number of files.
        num_rows: approximate number of rows.
        window_rows: number of rows that are shuffled together; 1 keeps their order.
        join: concatenates chunks.
    """

    def __init__(
        self,
        read: Callable[[Optional[Sequence[int]]], Iterator[Chunk]],
        num_files: int,
        num_rows: int,
        window_rows: int,
        join: Join = concatenate,
    ):
        self._read = read
        self._num_files = num_files
        self._num_rows = num_rows
        self._window_rows = window_rows
        self._join = join
        self._all_rows: Optional[Chunk] = None

    def iterate(self, seed: Sequence[int]) -> Iterator[Window]:
        """Yields windows endlessly; the seed and the number of the epoch determine their order.

        Args:
            seed: seed of the shuffle.

        Raises:
            UserError: there are no rows.
        """
        epochs = itertools.count()
        if self._num_rows > self._window_rows:
            yield from prefetch(
                lambda: (window for epoch in epochs for window in self._shuffle([*seed, epoch]))
            )
        # All rows fit into one window, so read them only once and keep them.
        if self._all_rows is None:
            chunks = list(self._read(None))
            if not chunks:
                raise UserError(
                    "data.train: none of its rows is for this process; give more rows, or train "
                    "with fewer processes"
                )
            self._all_rows = self._join(chunks)
        for epoch in epochs:
            rng = np.random.default_rng([*seed, epoch])
            yield _shuffle(rng, self._all_rows) if self._window_rows > 1 else Window(self._all_rows)

    def _shuffle(self, seed: Sequence[int]) -> Iterator[Window]:
        if self._window_rows == 1:
            yield from map(Window, self._read(None))
            return
        rng = np.random.default_rng(seed)
        chunks = self._read(rng.permutation(self._num_files).tolist())
        for chunk in cut_windows(chunks, self._window_rows, self._join):
            yield _shuffle(rng, chunk)


def _shuffle(rng: np.random.Generator, chunk: Chunk) -> Window:
    return Window(chunk, rng.permutation(count_rows(chunk)))


class FileHistory:
    """Records which files the rows of the last groups were read from.

    Args:
        paths: paths of the files.
    """

    def __init__(self, paths: Sequence[str]):
        self._paths = paths
        self._recent: deque[tuple[int, int, np.ndarray]] = deque(maxlen=HISTORY_GROUPS)

    def add(self, group: Group, batches_per_step: int = 1) -> None:
        """Records a group of batches.

        Args:
            group: the batches.
            batches_per_step: number of batches that one step uses.
        """
        self._recent.append((group.step, group.rows * batches_per_step, group.chunk[FILE]))

    def list_files_at(self, step: int) -> list[str]:
        """Returns the paths of the files that a step's rows were read from; empty if unknown.

        Args:
            step: global step before that step.
        """
        # The thread of the input may add groups meanwhile.
        for first, rows, numbers in list(self._recent):
            start = (step - first) * rows
            if 0 <= start < len(numbers):
                found = np.unique(numbers[start : start + rows])
                return [self._paths[number] for number in found]
        return []
