"""Makes tf.data datasets of rows: shuffled and repeated for training, in order for evaluation."""

from collections.abc import Iterator, Sequence
from typing import Any, Callable, NamedTuple, Optional

import numpy as np
import pyarrow as pa

from estimator_bridge import tf
from estimator_bridge.array_datasets import autotuning
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows, require_good_rows, require_value
from trainer.inputs.files import DataFile
from trainer.inputs.raw_batches import AS_IN_SCHEMA, ReadDetails
from trainer.inputs.shuffle import (
    FILE,
    ROW,
    BatchSchedule,
    Chunk,
    Epochs,
    FileHistory,
    Group,
    RowStream,
    Window,
    count_rows,
    cut_groups,
)
from trainer.inputs.tables import Batch, read_batches
from trainer.inputs.words import WordIndex, split_words
from trainer.schema import Schema

DTYPES = {"float": tf.float32, "int": tf.int64, "string": tf.string}


class ReadOptions(NamedTuple):
    """Which part of the files a source reads.

    Attributes:
        names: the columns to read; None: those that the schema uses.
        details: how the files are read other than the schema says.
        shard: (index, count): every count-th row of each file, starting at index.
        checked: the columns whose values must fit the schema, for files that were not scanned
            before.
        bad_rows: collects the rows in which they do not; None: data.max_bad_rows decides.
        is_numbered: whether chunks have the number of each row in its file, as the column ROW.
    """

    names: Optional[Sequence[str]] = None
    details: ReadDetails = AS_IN_SCHEMA
    shard: tuple[int, int] = (0, 1)
    checked: Sequence[str] = ()
    bad_rows: Optional[BadRows] = None
    is_numbered: bool = False


READ_ALL = ReadOptions()


class RowSource:
    """The decoded rows of some files, as chunks of NumPy arrays.

    Args:
        files: what to read.
        schema: types of the columns.
        data: delimiter and header of CSV files, size of the shuffle window, tolerated bad rows.
        defaults: column → value that replaces missing values; None or no entry: a missing value is
            an error.
        num_rows: approximate number of rows of this source.
        options: which part of the files is read.

    Attributes:
        files, data, defaults, num_rows: as given.
        shard: (index, count), as in the options.
        dropped: the bad rows of the last reading, which data.max_bad_rows allows; None: none is.
        file_history: records which files the rows of the last batches were read from.
    """

    def __init__(
        self,
        files: Sequence[DataFile],
        schema: Schema,
        data: config_lib.DataConfig,
        defaults: dict[str, Any],
        num_rows: int,
        options: ReadOptions = READ_ALL,
    ):
        self._schema = schema
        names = options.names
        self._names = schema.input_columns if names is None else list(names)
        self._details = options.details
        self._checked = options.checked
        self._bad_rows = options.bad_rows
        self._is_numbered = options.is_numbered
        self._words = {
            name: WordIndex() for name in self._names if schema.columns[name].raw_type == "string"
        }
        self.files = list(files)
        self.data = data
        self.defaults = defaults
        self.shard = options.shard
        self.num_rows = num_rows
        self.dropped: Optional[BadRows] = None
        self._error: Optional[UserError] = None
        self.file_history = FileHistory([file.path for file in self.files])
        self._epochs = Epochs(
            self._read_indexed, len(self.files), num_rows, data.shuffle_rows, self._join
        )

    @property
    def error(self) -> Optional[UserError]:
        """The error that ended reading; None if there was none.

        If an input pipeline raises an exception, TensorFlow keeps only its text.
        """
        return self._error

    def record_error(self, error: UserError) -> None:
        """Keeps the error for `error`.

        Args:
            error: the error that ended reading.
        """
        self._error = error

    def read(
        self, order: Optional[Sequence[int]] = None, names: Optional[Sequence[str]] = None
    ) -> Iterator[Chunk]:
        """Yields the rows file by file; each column is float32, int64, or bytes as objects, [rows].

        Columns that `details` names as exact are float64.

        Args:
            order: indices of the files in the order to read them; None: the order of `files`.
            names: the columns to return; None: all columns that the source reads.
        """
        for chunk, words in self.read_split(order, names):
            yield {**chunk, **{name: array[chunk[name]] for name, array in words.items()}}

    def read_split(
        self, order: Optional[Sequence[int]] = None, names: Optional[Sequence[str]] = None
    ) -> Iterator[tuple[Chunk, dict[str, np.ndarray]]]:
        """Yields the rows file by file, with text columns as indices into their distinct values.

        Args:
            order: indices of the files in the order to read them; None: the order of `files`.
            names: the columns to return; None: all columns that the source reads.

        Yields:
            a chunk whose text columns are indices, int32 [rows]; and a dict of text column →
            distinct values, bytes as objects [words].
        """
        bad_rows, checked, details = self._bad_rows, self._names, self._details
        if bad_rows is not None:
            checked = [name for name in self._names if name in self._checked]
            details = details._replace(unchecked=[*details.unchecked, *self._names])
        elif self.data.max_bad_rows:
            bad_rows = self.dropped = BadRows(self.data.max_bad_rows)
        for index in order if order is not None else range(len(self.files)):
            for batch in read_batches(
                self.files[index], self._schema, checked, self.data, bad_rows, details
            ):
                if self._checked and bad_rows is None:
                    place = batch.file.path, batch.numbers
                    require_good_rows(*place, batch.columns, self._schema, self._checked)
                words: dict[str, np.ndarray] = {}
                chunk = {
                    name: self._decode(batch, name, words)
                    for name in (self._names if names is None else names)
                }
                chunk[FILE] = np.full(batch.columns.num_rows, index, np.int32)
                if self._is_numbered:
                    chunk[ROW] = batch.numbers
                chunk = self._take_shard(chunk, int(batch.numbers[0]) + index)
                if count_rows(chunk):
                    yield chunk, words

    @property
    def names(self) -> list[str]:
        """The columns that the source reads."""
        return self._names

    def decode(self, batch: Batch) -> Chunk:
        """Returns rows with defaults for missing values; texts are bytes as objects, [rows].

        Args:
            batch: at least the columns that the source reads, in the types of the schema.

        Raises:
            UserError: a value is missing and has no default.
        """
        words: dict[str, np.ndarray] = {}
        chunk = {name: self._decode(batch, name, words) for name in self._names}
        return {**chunk, **{name: array[chunk[name]] for name, array in words.items()}}

    def _read_indexed(self, order: Optional[Sequence[int]] = None) -> Iterator[Chunk]:
        """Yields the rows, with WordIndex indices for text columns with few distinct values."""
        for chunk, words in self.read_split(order):
            for name, array in words.items():
                indices = self._words[name].index(array)
                chunk[name] = (array if indices is None else indices)[chunk[name]]
            yield chunk

    def _take_shard(self, chunk: Chunk, first: int) -> Chunk:
        """Returns the rows of this source's shard, which do not depend on the order of the files.

        Args:
            chunk: rows of one file.
            first: number of the first row in the file, plus the index of the file.
        """
        index, count = self.shard
        if count == 1:
            return chunk
        return {name: array[(index - first) % count :: count] for name, array in chunk.items()}

    def list_files_at(self, step: int) -> list[str]:
        """Returns the paths of the files that a step's rows were read from; empty if unknown.

        Args:
            step: global step before that step.
        """
        return self.file_history.list_files_at(step)

    def describe(self) -> str:
        """Returns where the rows are read from, as text for log and report."""
        return "files"

    def iterate(self, seed: Sequence[int]) -> RowStream:
        """Returns the rows epoch after epoch, shuffled within windows of `data.shuffle_rows`.

        Args:
            seed: seed of the shuffle.
        """
        return RowStream(self._epochs.iterate(seed), self._join)

    def iterate_in_order(self) -> RowStream:
        """Returns the rows once, in the order of `files`."""
        return RowStream(map(Window, self._read_indexed()), self._join)

    def iterate_by_chunk(self) -> Iterator[RowStream]:
        """Yields a stream for each chunk of rows that is read, in order."""
        for chunk in self._read_indexed():
            yield RowStream(iter([Window(chunk)]), self._join)

    def _decode(self, batch: Batch, name: str, words: dict[str, np.ndarray]) -> np.ndarray:
        """Returns a column [rows] with defaults; for text, adds the distinct values to `words`."""
        column = batch.columns.column(name)
        default = self.defaults.get(name)
        if default is None:
            kind = self._schema.columns[name].type
            require_value(batch.file.path, batch.numbers, batch.columns, name, kind)
        if not pa.types.is_dictionary(column.type):
            if column.null_count:
                if isinstance(default, int) and pa.types.is_floating(column.type):
                    # Arrow takes no whole number above 2**63 for a float.
                    default = float(default)
                column = column.fill_null(default)
            values: np.ndarray = column.to_numpy()
            return values
        words[name], indices = split_words(column, (default or "").encode())
        return indices

    def _join(self, chunks: list[Chunk]) -> Chunk:
        """Concatenates chunks; a column is text in the result if it is text in any chunk."""
        joined = {}
        for name in chunks[0]:
            arrays = [chunk[name] for chunk in chunks]
            if len({array.dtype == object for array in arrays}) > 1:
                words = self._words[name].to_array()
                arrays = [a if a.dtype == object else words[a] for a in arrays]
            joined[name] = np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
        return joined

    def split_text(self, name: str, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Splits a text column of a stream into distinct values and indices.

        Args:
            name: the column.
            values: its values in a chunk, bytes as objects or int32 indices, [rows].

        Returns:
            bytes as objects [words], and int32 [rows].
        """
        if values.dtype == object:
            return values, np.arange(len(values), dtype=np.int32)
        return self._words[name].to_array(), values


def make_train_input_fn(
    source: RowSource, schema: Schema, schedule: BatchSchedule, seed: Sequence[int]
) -> Callable[[], Any]:
    """Makes the input_fn of training: endless shuffled batches of exactly the requested size.

    Args:
        source: the training rows.
        schema: names the label.
        schedule: sizes of batches. The step at which training starts is part of the shuffle's
            seed, so a resumed run starts with other rows.
        seed: seed of the shuffle; processes that train together need different ones.

    Returns:
        a function without arguments that returns a tf.data.Dataset of (features, labels): features
        maps name → tensor [batch_size]; labels is [batch_size].
    """

    def make_groups() -> Iterator[Group]:
        begun = schedule.begin()
        for group in cut_groups(source.iterate((*seed, begun.step)), begun):
            source.file_history.add(group, begun.batches_per_step)
            yield group

    return _make_input_fn(source, schema, make_groups)


def make_eval_input_fn(
    source: RowSource, schema: Schema, batch_size: int, by_chunk: bool = False
) -> Callable[[], Any]:
    """Makes the input_fn of evaluation: one pass in order; the last batch may be smaller.

    Args:
        source: the rows.
        schema: names the label.
        batch_size: number of rows in a batch.
        by_chunk: whether no batch has rows of two chunks that the source reads, so that the
            predictions for a share of a file do not depend on the rows before: the last bit can
            depend on the place of a row in its batch.

    Returns:
        a function without arguments that returns a tf.data.Dataset of (features, labels): features
        maps name → tensor [batch_size]; labels is [batch_size].
    """
    schedule = BatchSchedule(lambda step: batch_size)

    def make_groups() -> Iterator[Group]:
        for stream in source.iterate_by_chunk() if by_chunk else [source.iterate_in_order()]:
            yield from cut_groups(stream, schedule)

    return _make_input_fn(source, schema, make_groups)


def _make_input_fn(
    source: RowSource, schema: Schema, make_groups: Callable[[], Iterator[Group]]
) -> Callable[[], Any]:
    label = schema.label.column
    kinds = {name: schema.columns[name].raw_type for name in schema.input_columns}
    # A classifier with named classes needs its labels as text.
    as_text = schema.label.vocabulary is not None and kinds[label] == "int"
    as_float = not schema.num_classes

    def generate() -> Iterator[Any]:
        try:
            for group in make_groups():
                arrays: dict[str, Any] = {}
                for name, kind in kinds.items():
                    values = group.chunk[name]
                    arrays[name] = source.split_text(name, values) if kind == "string" else values
                yield arrays, group.rows
        except UserError as error:
            source.record_error(error)
            raise

    def split(arrays: Any, rows: Any) -> Any:
        """Returns a group as (columns, labels) [batches, rows]; replaces indices by their text."""
        columns, shape = {}, tf.stack([-1, rows])
        for name, values in arrays.items():
            values = tf.gather(*values) if kinds[name] == "string" else values
            columns[name] = tf.reshape(values, shape)
        labels = columns.pop(label)
        if as_text:
            labels = tf.strings.as_string(labels)
        return columns, tf.cast(labels, tf.float32) if as_float else labels

    text = (tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int32))
    specs = {
        name: text if kind == "string" else tf.TensorSpec([None], DTYPES[kind])
        for name, kind in kinds.items()
    }

    def build() -> Any:
        groups = tf.data.Dataset.from_generator(
            generate, output_signature=(specs, tf.TensorSpec([], tf.int32))
        )
        return groups.map(split).prefetch(1).unbatch().prefetch(4)

    return to_input_fn(build)


def to_input_fn(build: Callable[[], Any]) -> Callable[[], Any]:
    """Returns an input_fn without tf.data's autotuning and without AutoGraph.

    Autotuning has no parameter to choose here, and its thread may delay the closing of a session:
    by 4 to 5 seconds after 5 seconds of training (TensorFlow 2.15.1). AutoGraph has nothing to
    translate here, but needs one or two tenths of a second to detect that.

    Args:
        build: returns a tf.data.Dataset.
    """
    build = tf.autograph.experimental.do_not_convert(build)
    return lambda: autotuning.turn_off(build())
