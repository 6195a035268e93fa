"""Encoded rows to tf.data: from text, encoding them on the way, or from the cache."""

from collections.abc import Iterator, Sequence
from typing import Any, Callable, Optional

import numpy as np

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.features.encoding import IDS, NUMBERS
from trainer.inputs.cache import CacheFolder, Entry, Writer
from trainer.inputs.cache_key import build_key
from trainer.inputs.dataset import RowSource, to_input_fn
from trainer.inputs.records import ROWS, Records
from trainer.inputs.shuffle import FILE, Chunk, Epochs, Group, RowStream, Window, cut_groups
from trainer.schema import Schema


class EncodedRows:
    """The rows of a source, encoded.

    In training and in evaluation they come in the same order as the source's, whether they are
    read and encoded or taken from the cache. What the cache does not have is put into it while all
    of the files are read for the first time.

    Args:
        source: the rows as they are; nothing else reads from it.
        schema: labels and weight.
        encoder: a trainer.features.numpy_encoder.Encoder.
        cache: where encoded rows are kept; None: nowhere.

    Attributes:
        encoding: what the ids and numbers are.
        layout: how a row is kept.
        num_rows: about how many rows there are.
        file_history: which files the batches handed on were from.
        error: what was wrong with the data, once reading has failed.
        origin: where the rows come from at first: "text", or "cache".
    """

    def __init__(
        self, source: RowSource, schema: Schema, encoder: Any, cache: Optional[CacheFolder] = None
    ):
        self._source = source
        self._schema = schema
        self._encoder = encoder
        self._cache = cache
        self._key = build_key(source, schema, encoder) if cache else ""
        self._entry: Optional[Entry] = None
        self.encoding = encoder.encoding
        self.layout = Records(self.encoding, schema)
        self.file_history = source.file_history
        self._epochs = Epochs(
            self._read, len(source.files), source.num_rows, source.data.shuffle_rows
        )
        self._open()
        self.origin = "text" if self._entry is None else "cache"

    @property
    def num_rows(self) -> int:
        """Rows of the source."""
        return self._source.num_rows

    @property
    def error(self) -> Optional[UserError]:
        """What was wrong with the data, once reading has failed."""
        return self._source.error

    @error.setter
    def error(self, error: UserError) -> None:
        self._source.error = error

    def list_files_at(self, step: int) -> list[str]:
        """Paths of the files that the rows of the step after a global step were from, if known."""
        return self._source.list_files_at(step)

    def describe(self) -> str:
        """Where the rows come from, for people."""
        if self._entry is None:
            return "files"
        size = f"the cache ({self._entry.num_bytes / 1e6:,.1f} MB)"
        return size if self.origin == "cache" else f"files, now in {size}"

    def iterate(self, seed: Sequence[int]) -> RowStream:
        """Epoch after epoch, shuffled within windows of `data.shuffle_rows`."""
        return RowStream(self._epochs.iterate(seed))

    def iterate_in_order(self) -> RowStream:
        """The rows once as they stand."""
        return RowStream(map(Window, self._read()))

    def _open(self) -> None:
        if self._cache is not None and self._entry is None:
            self._entry = self._cache.open(self._key, self.layout.dtype, len(self._source.files))

    def _read(self, order: Optional[Sequence[int]] = None) -> Iterator[Chunk]:
        """Yields all rows once; of the files in the order given."""
        self._open()
        order = range(len(self._source.files)) if order is None else order
        if self._entry is not None:
            for index in order:
                for piece in self._entry.read(index):
                    yield {ROWS: piece, FILE: np.full(len(piece), index, np.int32)}
            return
        writer = self._begin_writing()
        if writer is None:
            yield from self._encode(order)
            return
        with writer:
            for chunk in self._encode(order):
                writer.add(int(chunk[FILE][0]), chunk[ROWS])
                yield chunk
            # Of a source that has changed while it was read the key tells nothing.
            key = build_key(self._source, self._schema, self._encoder)
            writer.finish(key == self._key, len(self._source.files))
        self._open()

    def _begin_writing(self) -> Optional[Writer]:
        if self._cache is None:
            return None
        num_bytes = self.num_rows * self.layout.dtype.itemsize
        return self._cache.begin(self._key, self.layout.dtype, num_bytes)

    def _encode(self, order: Sequence[int]) -> Iterator[Chunk]:
        names = [*self._encoder.names, *self.layout.raw_names]
        for chunk, words in self._source.read_split(order, list(dict.fromkeys(names))):
            ids, numbers = self._encoder.encode(chunk, words)
            yield {ROWS: self.layout.pack(ids, numbers, chunk, words), FILE: chunk[FILE]}


def make_encoded_train_input_fn(
    rows: EncodedRows,
    batch_size_at: Callable[[int], int],
    seed: Sequence[int],
    step: int,
    batches_per_step: int = 1,
    steps_at: Optional[Callable[[int], int]] = None,
    begin_preparing: Optional[Callable[[], Callable]] = None,
):
    """Makes the input_fn of training on encoded rows: the same rows in the same order as
    dataset.make_train_input_fn gives with the same seed and step.

    Args:
        rows: the training rows.
        batch_size_at, seed, step, batches_per_step: as of make_train_input_fn.
        steps_at: how many batches are to come together from a global step on, as one element with
            a dimension [steps] before that of the batch; there are fewer where the size of a batch
            changes. None: one batch an element, without that dimension.
        begin_preparing: with steps_at, called in the graph of the input; what it returns is called
            with (features, labels) of each element and returns the features that are handed on.

    Returns:
        a function without arguments returning a tf.data.Dataset of (features, labels): features
        are "ids", int32 [(steps,) batch, fields], "numbers", float32 [(steps,) batch, numbers],
        the weight and further labels by name [(steps,) batch]; labels are as of
        make_train_input_fn.
    """

    def make_groups():
        sizes = (batch_size_at, step, batches_per_step, steps_at)
        for group in cut_groups(rows.iterate((*seed, step)), *sizes):
            rows.file_history.note(group, batches_per_step)
            yield group

    return _make_input_fn(rows, make_groups, steps_at is not None, begin_preparing)


def make_encoded_eval_input_fn(rows: EncodedRows, batch_size: int):
    """Makes the input_fn of evaluation: one pass in order; the last batch may be smaller."""
    return _make_input_fn(
        rows,
        lambda: cut_groups(rows.iterate_in_order(), lambda step: batch_size),
        is_stacked=False,
    )


def _make_input_fn(
    rows: EncodedRows,
    make_groups: Callable[[], Iterator[Group]],
    is_stacked: bool,
    begin_preparing: Optional[Callable[[], Callable]] = None,
):
    layout = rows.layout

    def generate():
        try:
            for group in make_groups():
                yield layout.unpack(group.chunk[ROWS], group.rows)
        except UserError as error:
            rows.error = error
            raise

    def finish(arrays):
        """What the model takes: labels of classes as text, where the files have text."""
        columns = {IDS: arrays[IDS], NUMBERS: arrays[NUMBERS]}
        columns.update({name: layout.restore(name, arrays[name]) for name in layout.raw_names})
        labels = columns.pop(layout.label)
        return columns, tf.cast(labels, tf.float32) if layout.label_is_number else labels

    specs = {
        IDS: tf.TensorSpec([None, None, layout.num_fields], tf.int32),
        NUMBERS: tf.TensorSpec([None, None, layout.num_numbers], tf.float32),
        **{
            name: tf.TensorSpec([None, None], layout.stored_type(name)) for name in layout.raw_names
        },
    }

    def build():
        groups = tf.data.Dataset.from_generator(generate, output_signature=specs).map(finish)
        if is_stacked:
            if begin_preparing is not None:
                prepare = begin_preparing()
                groups = groups.map(lambda features, labels: (prepare(features, labels), labels))
            return groups.prefetch(2)
        groups = groups.prefetch(1)
        if layout.num_fields and layout.num_numbers:
            return groups.unbatch().prefetch(4)
        # unbatch crashes the process on tensors of no elements (TensorFlow 2.15.1 to 2.21.0).
        slices = tf.data.Dataset.from_tensor_slices
        return groups.flat_map(lambda *group: slices(group)).prefetch(4)

    return to_input_fn(build)
