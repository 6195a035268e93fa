"""Joins served rows with labels that arrived later, and writes training and evaluation files."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from trainer import storage
from trainer.errors import UserError
from trainer.inputs.files import DataFile
from trainer.inputs.split import Split
from trainer.prediction.writers import Writer, open_writer
from trainer.schema import Schema
from trainer.schema.columns import Column
from trainer.watching.batches import Wanted, decode
from trainer.watching.labelling import WEIGHT
from trainer.watching.reading import LogFile, ReadState, read_log

TRAIN, EVAL = "train.parquet", "eval.parquet"


class Labels(NamedTuple):
    """Labels by key.

    Attributes:
        rows: key, label and weight of each key; if a key has several labels, the last one.
        places: key → index of its row.
        weighted: whether any file of labels has weights.
    """

    rows: pa.RecordBatch
    places: dict[object, int]
    weighted: bool


class Joined(NamedTuple):
    """The result of a join.

    Attributes:
        served: number of served rows that were read.
        train: number of training rows.
        eval: number of evaluation rows.
        unserved: number of labels without a served row.
        notes: a line for each log with damaged records, or an incomplete end.
    """

    served: int
    train: int
    eval: int
    unserved: int
    notes: list[str]


def read_labels(files: Sequence[DataFile], key: str, schema: Schema) -> Labels:
    """Reads labels; memory grows with their number.

    Args:
        files: files with the columns of key and label; label_next.csv also has weights.
        key: key column.
        schema: types of the columns.

    Raises:
        UserError: a file is damaged, or none of its rows has a key and a known label.
    """
    label = schema.label.column
    columns = {**schema.columns, WEIGHT: Column(type="float", use=())}
    wanted = Wanted(schema.model_copy(update={"columns": columns}), [key, label, WEIGHT])
    parts: list[pa.RecordBatch] = []
    for file in files:
        found = [decode(batch.columns) for batch in read_log(file, wanted, 0, ReadState())]
        known = [_select_known(part, key, schema) for part in found]
        if found and not any(part.num_rows for part in known):
            raise UserError(
                f"{file.path}: no row has a value in {key} and a known label in {label}; check both"
            )
        parts += known
    if not parts:
        raise UserError("--labels: the files contain no rows; name other files")
    rows = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
    places: dict[object, int] = {
        one: place for place, one in enumerate(rows.column(key).to_pylist())
    }
    weights = rows.column(WEIGHT)
    return Labels(rows, places, weights.null_count < len(weights))


def _select_known(rows: pa.RecordBatch, key: str, schema: Schema) -> pa.RecordBatch:
    labels = rows.column(schema.label.column)
    known = np.asarray(rows.column(key).is_valid()) & np.asarray(labels.is_valid())
    if schema.label.classes:
        classes = {str(one) for one in schema.label.classes}
        known &= np.array([str(one) in classes for one in labels.to_pylist()], bool)
    return rows.take(pa.array(np.flatnonzero(known)))


class _Join:
    """Selects labelled rows, each key once."""

    def __init__(self, labels: Labels, key: str, label: str):
        self._labels, self._key, self._label = labels, key, label
        self._done = np.zeros(labels.rows.num_rows, bool)
        self.served = 0

    def join(self, served: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the rows that have a label and a new key, together with the label."""
        self.served += served.num_rows
        chosen, places = [], []
        for row, key in enumerate(served.column(self._key).to_pylist()):
            place = self._labels.places.get(key)
            if place is not None and not self._done[place]:
                self._done[place] = True
                chosen.append(row)
                places.append(place)
        given = self._labels.rows.take(pa.array(places, pa.int64()))
        rows = served.take(pa.array(chosen, pa.int64()))
        rows = rows.append_column(self._label, given.column(self._label))
        if not self._labels.weighted:
            return rows
        # A row that `trainer.watch --label_next` did not draw has weight 1.
        return rows.append_column(WEIGHT, given.column(WEIGHT).fill_null(1.0))

    def count_unserved(self) -> int:
        """Returns the number of labels without a served row."""
        return len(self._labels.places) - int(self._done.sum())


def join_rows(
    requests: Sequence[LogFile],
    labels: Labels,
    key: str,
    schema: Schema,
    split: Split,
    folder: Path,
) -> Joined:
    """Writes the served rows that have a label to train.parquet and eval.parquet.

    Existing files are replaced when both are complete. One of them may have no rows.

    Args:
        requests: the logs.
        labels: labels that read_labels returned.
        key: column by which they are joined.
        schema: types of the columns.
        split: chooses the evaluation rows.
        folder: where the files are written.

    Raises:
        UserError: a log is damaged, or no served row has a label.
        OSError: a file cannot be written.
    """
    label = schema.label.column
    given = (label, key, *([WEIGHT] if labels.weighted else ()))
    names = [name for name in schema.columns if name not in given]
    join, notes = _Join(labels, key, label), []

    def read() -> Iterator[pa.RecordBatch]:
        for log in requests:
            progress = ReadState()
            for batch in read_log(log.file, Wanted(schema, [key, *names]), 0, progress):
                rows = join.join(_complete(batch.columns, schema))
                if rows.num_rows:
                    yield rows
            notes.extend(progress.list_problems(log.file.path))
            if progress.tail:
                notes.append(f"{log.file.path}: {progress.tail}")

    counts = [0, 0]
    with ExitStack() as stack:
        files = [stack.enter_context(storage.replaced(folder / name)) for name in (TRAIN, EVAL)]
        # Closed before the files are replaced.
        writers = stack.enter_context(_Writers(files))
        for rows in read():
            is_eval = split.choose(rows)
            for part, chosen in enumerate((~is_eval, is_eval)):
                writers.write(part, decode(rows.take(pa.array(np.flatnonzero(chosen)))))
                counts[part] += int(chosen.sum())
        if not join.served:
            raise UserError("--requests: the files contain no rows; check the path")
        if not sum(counts):
            raise UserError(
                f"none of {join.served:,} served rows has a label; check that requests and labels "
                f"have the column {key} and are of the same days"
            )
    train, evaluation = counts
    return Joined(join.served, train, evaluation, join.count_unserved(), notes)


def _complete(rows: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """Returns rows with weight 1 where none was logged; requests usually contain no weights."""
    if schema.weight is None or schema.weight not in rows.schema.names:
        return rows
    place = rows.schema.get_field_index(schema.weight)
    return rows.set_column(place, schema.weight, rows.column(place).fill_null(1))


class _Writers:
    """Writes rows to several Parquet files with the same columns."""

    def __init__(self, paths: Sequence[Path]):
        self._paths = paths
        self._writers: list[Writer] = []

    def __enter__(self) -> "_Writers":
        return self

    def write(self, part: int, rows: pa.RecordBatch) -> None:
        """Appends rows to a file; the first rows give all files their types."""
        if not self._writers:
            self._writers = [open_writer(path, "parquet", rows.schema) for path in self._paths]
        self._writers[part].write(rows)

    def __exit__(self, *exception: object) -> None:
        for writer in self._writers:
            writer.close()
