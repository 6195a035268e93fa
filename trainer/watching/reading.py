"""Reads logged requests of any format, starting after the rows that an earlier run has read."""

import contextlib
import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Callable, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import estimator_bridge as bridge
from trainer import storage
from trainer.errors import UserError, nearest
from trainer.export.serving_api import require_serving_api
from trainer.inputs.files import GZIP, JSON_SUFFIXES, PARQUET, DataFile, list_paths
from trainer.watching.batches import Batch, Row, Wanted, from_rows, from_table
from trainer.watching.prediction_logs import LogParser

# Number of rows in a batch, which bounds the memory. Batches of JSON and TFRecord rows are smaller,
# because these rows are first Python objects.
BATCH_ROWS, TABLE_ROWS = 8_192, 65_536
# Bytes at the start of a file from which its format is recognised, even if they are compressed.
HEAD_BYTES = 1024
# Maximum size of the last line of a CSV file that is recognised as incomplete.
TAIL_BYTES = 1 << 20
# Maximum number of names in a message.
SHOWN_NAMES = 20


class LogFile(NamedTuple):
    """A file of logged requests.

    Attributes:
        file: the file and its format: tfrecord, json, csv or parquet.
        mark: size and modification time, or generation; it changes with the content.
        time: modification time, seconds since 1970; used for rows without a time.
    """

    file: DataFile
    mark: str
    time: float


class ReadState:
    """The position up to which a file has been read.

    Args:
        limit: number of records after which reading stops.

    Attributes:
        records: number of records or rows that have been read, including skipped ones.
        skipped: number of records that contain no row, including unreadable ones.
        unreadable: number of records that are damaged.
        damage: what they are, and where the first of them is; "" if there are none.
        tail: why reading stopped before the end of the file; "" if it did not.
    """

    def __init__(self, limit: int = sys.maxsize) -> None:
        self.limit = limit
        self.records = 0
        self.skipped = 0
        self.unreadable = 0
        self.damage = ""
        self.tail = ""

    def skip_unreadable(self, damage: str) -> None:
        """Counts a damaged record.

        Args:
            damage: what such records are, and where this one is.
        """
        self.damage = self.damage or damage
        self.unreadable += 1
        self.skipped += 1

    def list_problems(self, path: str) -> list[str]:
        """Returns a line about the damaged records; empty if there are none.

        Args:
            path: path of the file.
        """
        if not self.unreadable:
            return []
        return [
            f"{path}: {self.unreadable:,} {self.damage}; they are skipped; correct what writes it"
        ]


def find_logs(patterns: list[str], option: str) -> list[LogFile]:
    """Returns the files that match paths, globs and folders; there may be none.

    Args:
        patterns: local or gs:// paths.
        option: the option that contains them, for messages.

    Raises:
        UserError: a bucket cannot be read, or a package that TFRecord files need is not installed.
    """
    found = []
    for path in dict.fromkeys(path for one in patterns for path in list_paths(one, option)):
        if storage.is_remote(path):
            _, generation, size, _ = storage.identify_data(path)
            mark, time = f"{size} {generation}", float(generation or 0) / 1e6
        else:
            try:
                status = Path(path).stat()
            except FileNotFoundError:
                # Logs are rotated.
                continue
            size, time = status.st_size, status.st_mtime
            mark = f"{size} {status.st_mtime_ns}"
        if size:
            found.append(LogFile(_inspect(path), mark, time))
    if any(log.file.format == "tfrecord" for log in found):
        require_serving_api("PredictionLog records")
        bridge.set_verbosity("error")
    return found


def _inspect(path: str) -> DataFile:
    try:
        head = storage.read_head(path, HEAD_BYTES)
    except OSError:
        # Whoever reads the file says why.
        head = b""
    gzipped = head.startswith(GZIP)
    if gzipped:
        with contextlib.suppress(zlib.error):
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head)
    name = path.lower().removesuffix(".gz")
    if head.startswith(PARQUET):
        return DataFile(path, "parquet", False)
    if name.endswith(JSON_SUFFIXES) or head.lstrip().startswith(b"{"):
        return DataFile(path, "json", gzipped)
    if "tfrecord" not in name and (name.endswith((".csv", ".txt")) or head[4:8] != bytes(4)):
        return DataFile(path, "csv", gzipped)
    return DataFile(path, "tfrecord", gzipped)


def check_names(files: Sequence[LogFile], names: Mapping[str, str]) -> None:
    """Raises if no row of JSON lines and tables has a field that was named for its time or version.

    Only the rows up to the first one with all names are read. Files that cannot be read are left to
    read_log, and TFRecord files have no such fields.

    Args:
        files: files of the log, the likeliest first.
        names: flag → name of the field.

    Raises:
        UserError: no row has the field.
    """
    missing, known = dict(names), set()
    for log in files:
        try:
            for found in _list_names(log.file):
                known |= found
                missing = {flag: name for flag, name in missing.items() if name not in found}
                if not missing:
                    return
        except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError, zlib.error, UserError):
            continue
    for flag, name in missing.items() if known else ():
        shown = ", ".join(sorted(known)[:SHOWN_NAMES])
        raise UserError(f"{flag}: no row has {name!r}{nearest(name, known)}; the rows have {shown}")


def _list_names(file: DataFile) -> Iterator[set[str]]:
    if file.format == "parquet":
        yield set(pa.parquet.ParquetFile(file.local_path).schema_arrow.names)
    elif file.format == "csv":
        yield set(_read_header(file))
    elif file.format == "json":
        with open_content(file) as stream:
            for line in stream:
                with contextlib.suppress(ValueError, RecursionError):
                    values = json.loads(line)
                    if isinstance(values, dict):
                        yield set(values)


def open_content(file: DataFile) -> BinaryIO:
    """Returns the content of a file, without compression.

    Args:
        file: the file; one in Cloud Storage is fetched first.

    Raises:
        OSError: it cannot be read.
    """
    opened: Any = gzip.open if file.gzipped else open
    stream: BinaryIO = opened(file.local_path, "rb")
    return stream


def read_log(file: DataFile, wanted: Wanted, done: int, progress: ReadState) -> Iterator[Batch]:
    """Yields the rows of a file after those that an earlier run has read.

    The file may still be written: an incomplete last record is left for the next run.

    Args:
        file: the file.
        wanted: the fields to read from each row.
        done: number of records at the start of the file to skip.
        progress: updated as batches are yielded.

    Raises:
        UserError: the file is damaged or of another kind.
    """
    readers: dict[str, Callable[[DataFile, Wanted, int, ReadState], Iterator[Batch]]] = {
        "tfrecord": _read_tfrecord,
        "json": _read_json,
        "csv": _read_tables,
        "parquet": _read_tables,
    }
    progress.records = done
    try:
        yield from readers[file.format](file, wanted, done, progress)
    except UnicodeDecodeError as error:
        # Of the names of columns; values are decoded later.
        raise UserError(f"{file.path}: its header is not UTF-8; write the file in UTF-8") from error
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        message = " ".join(str(error).split())[:150]
        raise UserError(f"{file.path}: {message}; remove the file, or log it again") from error


def _read_tfrecord(
    file: DataFile, wanted: Wanted, done: int, progress: ReadState
) -> Iterator[Batch]:
    parser = LogParser(wanted)
    dataset = bridge.tf.data.TFRecordDataset(
        file.local_path, compression_type="GZIP" if file.gzipped else ""
    )

    def list_rows() -> Iterator[Iterable[Row]]:
        try:
            records = dataset.skip(done).take(progress.limit - done).as_numpy_iterator()
            for number, record in enumerate(records, done + 1):
                known = parser.unreadable
                yield parser.parse(record)
                # The rows of the record have been taken by now.
                if parser.unreadable > known:
                    progress.skip_unreadable(f"records are damaged, the first is record {number:,}")
        except bridge.tf.errors.DataLossError:
            progress.tail = "its last record is incomplete or damaged"

    yield from _collect(file, wanted, progress, list_rows())
    progress.skipped += parser.skipped
    if progress.records > done and progress.skipped == progress.records - done:
        raise UserError(
            f"{file.path}: the file contains no PredictionLog records with rows; log requests as "
            "docs/watch.md describes"
        )


def _read_json(file: DataFile, wanted: Wanted, done: int, progress: ReadState) -> Iterator[Batch]:
    def list_rows() -> Iterator[Iterable[Row]]:
        with open_content(file) as stream:
            for number, line in enumerate(stream):
                if number < done:
                    continue
                if number >= progress.limit:
                    return
                try:
                    values = json.loads(line)
                except (ValueError, RecursionError):
                    if not line.endswith(b"\n"):
                        progress.tail = "its last line is incomplete"
                        return
                    if line.strip():
                        progress.skip_unreadable(
                            f"lines are not JSON, the first is line {number + 1:,}"
                        )
                        yield ()
                        continue
                    values = None
                if not isinstance(values, dict):
                    progress.skipped += 1
                    yield ()
                    continue
                yield _parse_object(values, wanted)

    yield from _collect(file, wanted, progress, list_rows())


def _parse_object(values: dict[str, Any], wanted: Wanted) -> list[Row]:
    """Returns the rows of a line: a flat row, or the bodies of a request and its response."""
    body, answer = (
        values[name] if isinstance(values.get(name), dict) else values
        for name in ("request", "response")
    )
    time = next((values[name] for name in wanted.times if name in values), None)
    version = next((values[name] for name in wanted.versions if name in values), "")
    instances, predictions = body.get("instances"), answer.get("predictions")
    if not isinstance(instances, list):
        instances, predictions = [values], [values]
    if not isinstance(predictions, list):
        predictions = []
    rows = []
    for number, instance in enumerate(instances):
        if not isinstance(instance, dict):
            continue
        score = predictions[number] if number < len(predictions) else None
        if isinstance(score, dict):
            score = next((score[name] for name in wanted.scores if name in score), None)
        rows.append(Row(instance, score, time, "" if version is None else str(version)))
    return rows


def _collect(
    file: DataFile, wanted: Wanted, progress: ReadState, records: Iterator[Iterable[Row]]
) -> Iterator[Batch]:
    """Yields batches of the rows of records; `progress` counts whole records."""
    rows: list[Row] = []
    first = progress.records + 1
    for record in records:
        rows.extend(record)
        progress.records += 1
        if len(rows) >= BATCH_ROWS:
            yield from_rows(file, first, rows, wanted)
            rows, first = [], progress.records + 1
    if rows:
        yield from_rows(file, first, rows, wanted)


def _read_tables(file: DataFile, wanted: Wanted, done: int, progress: ReadState) -> Iterator[Batch]:
    passed = 0
    for table in _open_table(file, progress):
        start = min(table.num_rows, max(0, done - passed))
        rest = table.slice(start, max(0, progress.limit - passed - start))
        passed += table.num_rows
        for place in range(0, rest.num_rows, TABLE_ROWS):
            part = rest.slice(place, TABLE_ROWS)
            first = progress.records + 1
            progress.records += part.num_rows
            yield from_table(file, first, part, wanted)


def _open_table(file: DataFile, progress: ReadState) -> Iterator[pa.RecordBatch]:
    if file.format == "parquet":
        yield from pa.parquet.ParquetFile(file.local_path).iter_batches(TABLE_ROWS)
        return

    unfinished = _read_last_line(file)

    def skip(row: Any) -> str:
        if row.text.encode() == unfinished:
            progress.tail = "its last line is incomplete"
        else:
            progress.skip_unreadable("rows have another number of values than the header")
        return "skip"

    names = _read_header(file)
    yield from pa.csv.open_csv(
        file.local_path,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
        # Binary: a value that is no number must not end the reading.
        convert_options=pa.csv.ConvertOptions(
            column_types={name: pa.binary() for name in names},
            null_values=[""],
            strings_can_be_null=True,
        ),
    )


def _read_header(file: DataFile) -> list[str]:
    options = pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=lambda row: "skip")
    with pa.csv.open_csv(file.local_path, parse_options=options) as head:
        names: list[str] = head.schema.names
        return names


def _read_last_line(file: DataFile) -> bytes:
    """Returns what follows the last end of a line; b"" if nothing, or if the file is compressed."""
    if file.gzipped:
        return b""
    with open(file.local_path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - TAIL_BYTES))
        return stream.read().replace(b"\r", b"\n").rpartition(b"\n")[2]
