"""Makes tf.data datasets of encoded rows, either from the cache or encoded while reading."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Callable, NamedTuple, Optional

import numpy as np

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.features.encoding import IDS, NUMBERS
from trainer.features.growing import GrowingIds, list_growing, list_specs
from trainer.features.numpy_encoder import Encoder
from trainer.inputs.bucket_cache import AnyStage, Cache
from trainer.inputs.cache import Writer
from trainer.inputs.cache_entry import Damaged, Entry, Part
from trainer.inputs.cache_key import build_key
from trainer.inputs.dataset import RowSource, to_input_fn
from trainer.inputs.files import DataFile
from trainer.inputs.records import ROWS, Records
from trainer.inputs.shuffle import (
    FILE,
    BatchSchedule,
    Chunk,
    Epochs,
    RowStream,
    Window,
    cut_groups,
)
from trainer.schema import Schema

# A function that is called in the graph of the input. It returns a function of (features, labels)
# that returns features.
BeginPreparing = Callable[[], Callable[[Any, Any], Any]]


class EncodedRows:
    """The encoded rows of a source.

    The order of the rows is that of the source, both for rows that are encoded now and for rows
    from the cache. If the rows are not in the cache, the first pass over all files writes them to
    it.

    Args:
        source: the rows; no other object may read from it.
        schema: labels and weight.
        encoder: encodes the rows.
        cache: stores encoded rows; None: no cache is used.

    Attributes:
        encoder: encodes the rows.
        encoding: describes the ids and numbers of a row.
        layout: how a row is stored.
        file_history: records which files the rows of the last batches were read from.
        origin: where the first pass reads the rows from: "text" or "cache".
    """

    def __init__(
        self,
        source: RowSource,
        schema: Schema,
        encoder: Encoder,
        cache: Optional[Cache] = None,
    ):
        self._source = source
        self._schema = schema
        self.encoder = encoder
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
        """Approximate number of rows."""
        return self._source.num_rows

    @property
    def files(self) -> list[DataFile]:
        """The files of the source."""
        return self._source.files

    @property
    def error(self) -> Optional[UserError]:
        """The error that ended reading; None if there was none."""
        return self._source.error

    def record_error(self, error: UserError) -> None:
        """Keeps the error for `error`.

        Args:
            error: the error that ended reading.
        """
        self._source.record_error(error)

    def list_files_at(self, step: int) -> list[str]:
        """Returns the paths of the files that a step's rows were read from; empty if unknown.

        Args:
            step: global step before that step.
        """
        return self._source.list_files_at(step)

    def describe(self) -> str:
        """Returns where the rows are read from, as text for log and report."""
        if self._entry is None:
            return "files"
        size = f"the cache ({self.describe_entry()})"
        return size if self.origin == "cache" else f"files, now in {size}"

    def describe_entry(self) -> str:
        """Returns the size of the cached rows as text; they are in the cache."""
        assert self._entry is not None
        return f"{self._entry.num_bytes / 1e6:,.1f} MB"

    def iterate(self, seed: Sequence[int]) -> RowStream:
        """Returns the rows epoch after epoch, shuffled within windows of `data.shuffle_rows`.

        Args:
            seed: seed of the shuffle.
        """
        return RowStream(self._epochs.iterate(seed))

    def iterate_in_order(self) -> RowStream:
        """Returns the rows once, in the order of the files."""
        return RowStream(map(Window, self._read()))

    @property
    def is_cached(self) -> bool:
        """Whether the rows are in the cache."""
        self._open()
        return self._entry is not None

    @property
    def num_bytes(self) -> int:
        """Approximate size of the encoded rows."""
        return self.num_rows * self.layout.dtype.itemsize

    def store(self) -> bool:
        """Reads the files once and writes the rows to the cache; returns whether they are there.

        Raises:
            UserError: a file cannot be read.
        """
        for _ in self._read():
            pass
        return self.is_cached

    def stage(self) -> Optional[AnyStage]:
        """Returns a folder for files of rows that others write; None if another process writes."""
        assert self._cache is not None
        return self._cache.stage(self._key, self.num_bytes)

    def publish(self, stage: AnyStage, parts: Sequence[Part]) -> bool:
        """Puts files of rows into the cache; returns whether the source is unchanged.

        Args:
            stage: returned by `stage`.
            parts: the files of rows, with all rows of the source.

        Raises:
            UserError: they cannot be written.
        """
        # If the source has changed meanwhile, its key has changed too.
        if build_key(self._source, self._schema, self.encoder) != self._key:
            return False
        stage.publish(parts, self.layout.dtype, len(self._source.files))
        return self.is_cached

    def _open(self) -> None:
        if self._cache is not None and self._entry is None:
            self._entry = self._cache.open(self._key, self.layout.dtype, len(self._source.files))

    def _read(self, order: Optional[Sequence[int]] = None) -> Iterator[Chunk]:
        """Yields all rows once, file by file in the given order."""
        self._open()
        order = range(len(self._source.files)) if order is None else order
        if self._entry is not None:
            yield from self._read_entry(order)
            return
        writer = self._begin_writing()
        if writer is None:
            yield from self._encode(order)
            return
        with writer:
            for chunk in self._encode(order):
                writer.add(int(chunk[FILE][0]), chunk[ROWS])
                yield chunk
            # If the source has changed during this pass, its key has changed too.
            if build_key(self._source, self._schema, self.encoder) == self._key:
                writer.finish(self.layout.dtype, len(self._source.files))
        self._open()

    def _read_entry(self, order: Sequence[int]) -> Iterator[Chunk]:
        """Yields the cached rows; from damaged rows on, reads the files."""
        assert self._entry is not None and self._cache is not None
        for position, index in enumerate(order):
            num_read = 0
            try:
                for records in self._entry.read(index):
                    yield {ROWS: records, FILE: np.full(len(records), index, np.int32)}
                    num_read += len(records)
            except Damaged as error:
                self._cache.discard(self._key, str(error))
                self._entry = None
                yield from _skip(self._encode(order[position:]), num_read)
                return

    def _begin_writing(self) -> Optional[Writer]:
        if self._cache is None:
            return None
        return self._cache.begin(self._key, self.num_bytes)

    def _encode(self, order: Sequence[int]) -> Iterator[Chunk]:
        return encode_files(self._source, self.encoder, self.layout, order)


def encode_files(
    source: RowSource, encoder: Encoder, layout: Records, order: Sequence[int]
) -> Iterator[Chunk]:
    """Yields the encoded rows of some files.

    Args:
        source: the rows.
        encoder: encodes them.
        layout: how a row is stored.
        order: indices of the files.

    Raises:
        UserError: a file cannot be read.
    """
    names = list(dict.fromkeys([*encoder.names, *layout.raw_names]))
    for chunk, words in source.read_split(order, names):
        ids, numbers = encoder.encode(chunk, words)
        yield {ROWS: layout.pack(ids, numbers, chunk, words), FILE: chunk[FILE]}


def _skip(chunks: Iterator[Chunk], num_rows: int) -> Iterator[Chunk]:
    """Yields chunks without their first rows."""
    for chunk in chunks:
        if num_rows < len(chunk[FILE]):
            yield {name: array[num_rows:] for name, array in chunk.items()}
        num_rows = max(0, num_rows - len(chunk[FILE]))


def make_encoded_train_input_fn(
    rows: EncodedRows,
    schedule: BatchSchedule,
    seed: Sequence[int],
    begin_preparing: Optional[BeginPreparing] = None,
    checkpoint: Optional[str] = None,
) -> Callable[[], Any]:
    """Makes the input_fn of training on encoded rows.

    Rows and order are the same as those of dataset.make_train_input_fn with the same arguments.

    Args:
        rows: the training rows.
        schedule: sizes of batches. If it has `count_at`, the batches of a group are stacked into
            one element, with a dimension [steps] before the batch dimension.
        seed: seed of the shuffle.
        begin_preparing: used only if the schedule has `count_at`; called in the graph of the input.
            It returns a function that is called with (features, labels) of each element and returns
            the features for the model.
        checkpoint: from which training continues; None at step 0. It is read if there are growing
            columns; then the schedule must have `count_at`.

    Returns:
        a function without arguments that returns a tf.data.Dataset of (features, labels): features
        are "ids", int32 [(steps,) batch, fields], "numbers", float32 [(steps,) batch, numbers], and
        the weight and further labels by name, [(steps,) batch]; labels are the same as those of
        dataset.make_train_input_fn. With growing columns, the first hash of each is replaced by
        the id in the model, and there are the results of GrowingIds.assign.
    """

    growing = list_growing(rows.encoding)

    def make_arrays() -> Iterator[dict[str, np.ndarray]]:
        ids = GrowingIds(growing, checkpoint) if growing else None
        begun = schedule.begin()
        for group in cut_groups(rows.iterate((*seed, begun.step)), begun):
            rows.file_history.add(group, begun.batches_per_step)
            arrays = rows.layout.unpack(group.chunk[ROWS], group.rows)
            if ids is not None:
                arrays.update(ids.assign(arrays[IDS], group.step))
            yield arrays

    more = list_specs(growing)
    if schedule.count_at is None:
        return _make_input_fn(rows, make_arrays, more=more)
    return _make_input_fn(rows, make_arrays, _Stacking(begin_preparing, schedule.size), more)


def make_encoded_eval_input_fn(rows: EncodedRows, batch_size: int) -> Callable[[], Any]:
    """Makes the input_fn of evaluation: one pass in order; the last batch may be smaller.

    Args:
        rows: the rows.
        batch_size: number of rows in a batch.

    Returns:
        a function without arguments that returns a tf.data.Dataset with the elements described in
        make_encoded_train_input_fn, without the dimension [steps].
    """
    schedule = BatchSchedule(lambda step: batch_size)

    def make_arrays() -> Iterator[dict[str, np.ndarray]]:
        for group in cut_groups(rows.iterate_in_order(), schedule):
            yield rows.layout.unpack(group.chunk[ROWS], group.rows)

    return _make_input_fn(rows, make_arrays)


class _Stacking(NamedTuple):
    """How the batches of a group are stacked.

    Attributes:
        begin_preparing: see make_encoded_train_input_fn.
        size: number of rows in each batch; None: it changes.
    """

    begin_preparing: Optional[BeginPreparing]
    size: Optional[int]


def _make_input_fn(
    rows: EncodedRows,
    make_arrays: Callable[[], Iterator[dict[str, np.ndarray]]],
    stacking: Optional[_Stacking] = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Callable[[], Any]:
    """Makes an input_fn of groups of batches; `more` are the specs of further arrays."""
    layout = rows.layout

    def generate() -> Iterator[Any]:
        try:
            yield from make_arrays()
        except UserError as error:
            rows.record_error(error)
            raise

    def finish(arrays: Any) -> Any:
        """Returns (columns, labels), with classes as text if they are text in the files."""
        columns = {name: arrays[name] for name in (IDS, NUMBERS, *more)}
        columns.update({name: layout.restore(name, arrays[name]) for name in layout.raw_names})
        labels = columns.pop(layout.label)
        return columns, tf.cast(labels, tf.float32) if layout.label_is_number else labels

    shape = [None, stacking.size if stacking else None]
    specs = {
        IDS: tf.TensorSpec([*shape, layout.num_fields], tf.int32),
        NUMBERS: tf.TensorSpec([*shape, layout.num_numbers], tf.float32),
        **{name: tf.TensorSpec(shape, layout.stored_type(name)) for name in layout.raw_names},
        **more,
    }

    def build() -> Any:
        groups = tf.data.Dataset.from_generator(generate, output_signature=specs).map(finish)
        if stacking is not None:
            if stacking.begin_preparing is not None:
                prepare = stacking.begin_preparing()
                groups = groups.map(lambda features, labels: (prepare(features, labels), labels))
            return groups.prefetch(2)
        groups = groups.prefetch(1)
        if layout.num_fields and layout.num_numbers:
            return groups.unbatch().prefetch(4)
        # unbatch crashes the process on tensors without elements (TensorFlow 2.15.1 to 2.21.0).
        slices = tf.data.Dataset.from_tensor_slices
        return groups.flat_map(lambda *group: slices(group)).prefetch(4)

    return to_input_fn(build)
