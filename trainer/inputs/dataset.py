"""Rows to tf.data: shuffled and repeated for training, in order for evaluation and prediction."""

from collections.abc import Iterator, Sequence
from typing import Any, Callable, Optional

import numpy as np
import pyarrow as pa

from estimator_bridge import tf
from trainer import config as config_lib
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows, refuse_missing
from trainer.inputs.files import DataFile
from trainer.inputs.scan import list_input_columns
from trainer.inputs.shuffle import (
    FILE,
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


class RowSource:
    """The rows of some files, decoded, as chunks of NumPy arrays.

    Attributes:
        files, data, defaults, shard: what is read, and how.
        num_rows: rows of this source.
        file_history: which files the batches handed on were from.
        error: what was wrong with the data, once reading has failed; TensorFlow passes on only the
            text of an exception raised in an input pipeline.
    """

    def __init__(
        self,
        files: Sequence[DataFile],
        schema: Schema,
        data: config_lib.DataConfig,
        defaults: dict[str, Any],
        num_rows: int,
        names: Optional[Sequence[str]] = None,
        layouts: Sequence[Sequence[str]] = (),
        shard: tuple[int, int] = (0, 1),
    ):
        self._schema = schema
        self._names = list_input_columns(schema) if names is None else list(names)
        self._layouts = layouts
        self._words = {
            name: WordIndex() for name in self._names if schema.columns[name].raw_type == "string"
        }
        self.files = list(files)
        self.data = data
        self.defaults = defaults
        self.shard = shard
        self.num_rows = num_rows
        self.error: Optional[UserError] = None
        self.file_history = FileHistory([file.path for file in self.files])
        self._epochs = Epochs(
            self._read_numbered, len(self.files), num_rows, data.shuffle_rows, self._join
        )

    def read(
        self, order: Optional[Sequence[int]] = None, names: Optional[Sequence[str]] = None
    ) -> Iterator[Chunk]:
        """Yields the rows file by file; `order` permutes the files, `names` picks columns."""
        for chunk, words in self.read_split(order, names):
            yield {**chunk, **{name: array[chunk[name]] for name, array in words.items()}}

    def read_split(
        self, order: Optional[Sequence[int]] = None, names: Optional[Sequence[str]] = None
    ) -> Iterator[tuple[Chunk, dict[str, np.ndarray]]]:
        """As `read`, with text as places, int32 [rows], in the words that come with a chunk."""
        bad = BadRows(self.data.max_bad_rows) if self.data.max_bad_rows else None
        for index in order if order is not None else range(len(self.files)):
            file = self.files[index]
            for batch in read_batches(
                file, self._schema, self._names, self.data, bad, self._layouts
            ):
                words: dict[str, np.ndarray] = {}
                chunk = {
                    name: self._decode(batch, name, words)
                    for name in (self._names if names is None else names)
                }
                chunk[FILE] = np.full(batch.columns.num_rows, index, np.int32)
                chunk = self._take_shard(chunk, batch.first_row + index)
                if count_rows(chunk):
                    yield chunk, words

    def _read_numbered(self, order: Optional[Sequence[int]] = None) -> Iterator[Chunk]:
        """As `read`, with the numbers of words in the place of text, as long as these are few."""
        for chunk, words in self.read_split(order):
            for name, array in words.items():
                numbers = self._words[name].number(array)
                chunk[name] = (array if numbers is None else numbers)[chunk[name]]
            yield chunk

    def _take_shard(self, chunk: Chunk, first: int) -> Chunk:
        """Every n-th row, counted in its file: the same in whatever order the files are read."""
        number, count = self.shard
        if count == 1:
            return chunk
        return {name: array[(number - first) % count :: count] for name, array in chunk.items()}

    def list_files_at(self, step: int) -> list[str]:
        """Paths of the files that the rows of the step after a global step were from, if known."""
        return self.file_history.list_files_at(step)

    def describe(self) -> str:
        """Where the rows come from, for people."""
        return "files"

    def iterate(self, seed: Sequence[int]) -> RowStream:
        """Epoch after epoch, shuffled within windows of `data.shuffle_rows`; see split_text."""
        return RowStream(self._epochs.iterate(seed), self._join)

    def iterate_in_order(self) -> RowStream:
        """The rows once as they stand; see split_text."""
        return RowStream(map(Window, self._read_numbered()), self._join)

    def _decode(self, batch: Batch, name: str, words: dict[str, np.ndarray]) -> np.ndarray:
        column = batch.columns.column(name)
        default = self.defaults.get(name)
        if default is None:
            refuse_missing(batch.file.path, batch.first_row, batch.columns, name)
        if not pa.types.is_dictionary(column.type):
            return column.fill_null(default).to_numpy() if column.null_count else column.to_numpy()
        words[name], places = split_words(column, (default or "").encode())
        return places

    def _join(self, chunks: list[Chunk]) -> Chunk:
        """Chunks as one; a column that is text in some of them is text in all."""
        joined = {}
        for name in chunks[0]:
            arrays = [chunk[name] for chunk in chunks]
            if len({array.dtype == object for array in arrays}) > 1:
                words = self._words[name].list()
                arrays = [a if a.dtype == object else words[a] for a in arrays]
            joined[name] = np.concatenate(arrays) if len(arrays) > 1 else arrays[0]
        return joined

    def split_text(self, name: str, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A column that was text, as words, bytes [words], and numbers of these [rows]."""
        if values.dtype == object:
            return values, np.arange(len(values), dtype=np.int32)
        return self._words[name].list(), values


def make_train_input_fn(
    source: RowSource,
    schema: Schema,
    batch_size_at: Callable[[int], int],
    seed: Sequence[int],
    step: int,
    batches_per_step: int = 1,
):
    """Makes the input_fn of training: endless, shuffled, batches of exactly the wanted size.

    Args:
        source: the training rows.
        schema: names the label.
        batch_size_at: rows in the batch that follows a global step.
        seed: seed of the shuffle, numbers that differ from process to process.
        step: global step at which training starts; a resumed run then draws other rows first.
        batches_per_step: batches that one step takes: the replicas of a synchronous strategy.

    Returns:
        a function without arguments returning a tf.data.Dataset of (features, labels): features
        maps name → tensor [batch_size]; labels is [batch_size].
    """

    def make_groups():
        taker = source.iterate((*seed, step))
        for group in cut_groups(taker, batch_size_at, step, batches_per_step):
            source.file_history.note(group, batches_per_step)
            yield group

    return _make_input_fn(source, schema, make_groups)


def make_eval_input_fn(source: RowSource, schema: Schema, batch_size: int):
    """Makes the input_fn of evaluation: one pass in order; the last batch may be smaller."""
    return _make_input_fn(
        source,
        schema,
        lambda: cut_groups(source.iterate_in_order(), lambda step: batch_size),
    )


def _make_input_fn(source, schema, make_groups: Callable[[], Iterator[Group]]):
    label = schema.label.column
    kinds = {name: schema.columns[name].raw_type for name in list_input_columns(schema)}
    # A classifier with named classes wants its labels as text.
    as_text = schema.label.vocabulary is not None and kinds[label] == "int"
    as_float = not schema.num_classes

    def generate():
        try:
            for group in make_groups():
                arrays = {}
                for name, kind in kinds.items():
                    values = group.chunk[name]
                    arrays[name] = source.split_text(name, values) if kind == "string" else values
                yield arrays, group.rows
        except UserError as error:
            source.error = error
            raise

    def split(arrays, rows):
        """A group's columns [batches, rows]: text out of its words."""
        columns = {}
        for name, values in arrays.items():
            values = tf.gather(*values) if kinds[name] == "string" else values
            columns[name] = tf.reshape(values, [-1, rows])
        labels = columns.pop(label)
        if as_text:
            labels = tf.strings.as_string(labels)
        return columns, tf.cast(labels, tf.float32) if as_float else labels

    text = (tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int32))
    specs = {
        name: text if kind == "string" else tf.TensorSpec([None], DTYPES[kind])
        for name, kind in kinds.items()
    }

    def build():
        groups = tf.data.Dataset.from_generator(
            generate, output_signature=(specs, tf.TensorSpec([], tf.int32))
        )
        return groups.map(split).prefetch(1).unbatch().prefetch(4)

    return to_input_fn(build)


def to_input_fn(build: Callable[[], Any]) -> Callable[[], Any]:
    """An input_fn of the dataset that `build` returns, whose stages stay as they are written.

    TensorFlow's tuner has nothing to choose in ours, and its thread, which looks at them less and
    less often, may keep a session from closing until it looks again (seen: 4 to 5 seconds after
    5 seconds of training, TensorFlow 2.15.1). AutoGraph has nothing to translate, and would take a
    tenth of a second or two to find that out.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    build = tf.autograph.experimental.do_not_convert(build)
    return lambda: build().with_options(options)
