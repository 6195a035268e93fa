"""Batch prediction: the rows of files through an export, into files, resumable by shards."""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import numpy as np
import pyarrow as pa

from trainer import config as config_lib
from trainer import job_layout, storage
from trainer.console import Console
from trainer.errors import UserError
from trainer.export.serving_session import describe_error
from trainer.features.columns import list_csv_inputs, list_inputs
from trainer.inputs.dataset import ReadOptions, RowSource
from trainer.inputs.files import DataFile, find_files
from trainer.inputs.shuffle import Chunk
from trainer.prediction.predictor import Predictor
from trainer.prediction.writers import FORMATS, open_writer
from trainer.schema import Schema, Statistics, parse_statistics, resolve_defaults

# Rows asked at once: on two cores throughput is within a few per cent of its best from 2k to 32k.
BATCH_ROWS = 8_192
# Says the same in every row; what it says is in the schema.
CONSTANT_OUTPUTS = ("all_class_ids", "all_classes")
# Outputs that people look for first, in this order.
FIRST_OUTPUTS = ("predictions", "classes", "class_ids", "logistic", "probabilities")
MANIFEST = "_predictions.json"
# Of an input, its size, its time and so many bytes at both ends are compared.
COMPARED_BYTES = 1 << 16


class Request(NamedTuple):
    """What is asked for.

    Attributes:
        data: files, globs, directories.
        output: a file, or a folder for a shard of each input file.
        format: csv, parquet or jsonl.
        copied: columns of the input handed on besides the key.
        outputs: outputs of the model that are kept; empty: all but constant ones.
        data_config: format, delimiter and header of the input.
        overwrite: whether what is there and is not ours may be replaced.
    """

    data: Sequence[str]
    output: Path
    format: str
    copied: Sequence[str]
    outputs: Sequence[str]
    data_config: config_lib.DataConfig
    overwrite: bool


class Description(NamedTuple):
    """What an export's inputs mean."""

    schema: Schema
    statistics: Statistics


def describe_export(export: str) -> Description:
    """Finds the schema and the statistics that an export was made with.

    They are in its own assets.extra, or in the job_dir that it is in.

    Raises:
        UserError: they are in neither.
    """
    folder = Path(export).resolve()
    for candidate in (folder / "assets.extra", *folder.parents[:3]):
        schema = storage.read_json(candidate / job_layout.SCHEMA)
        statistics = storage.read_json(candidate / job_layout.STATISTICS)
        if schema is not None and statistics is not None:
            return Description(Schema.model_validate(schema), parse_statistics(statistics))
    raise UserError(
        f"export {export}: no schema.json and statistics.json in its assets.extra, nor in a folder "
        "around it; name an export inside its job_dir, or copy the two files into assets.extra"
    )


def run(predictor: Predictor, request: Request, console: Console, copies: storage.Copies) -> str:
    """Predicts every row of some files.

    Args:
        predictor: asks an export.
        request: what is asked for.
        console: shows progress.
        copies: keeps the output, which may be in Cloud Storage.

    Raises:
        UserError: the data do not fit the model, or the output cannot be written.

    Returns:
        a line for people: how much was done, how fast, and where it is.
    """
    description = describe_export(predictor.path)
    files = find_files(request.data, request.data_config.format, "data")
    asker = _Asker(predictor, description, request)
    started = time.monotonic()
    progress = _Progress(console, len(files))
    try:
        if names_file(request.output) and not request.output.is_dir():
            _refuse_existing(request.output, request, copies)
            request.output.parent.mkdir(parents=True, exist_ok=True)
            _write(request.output, files, asker, progress, request.format)
            copies.store_output(request.output)
            told = "1 file"
        else:
            told = _write_shards(files, asker, progress, request, predictor.path, copies)
    except OSError as error:
        raise UserError(
            f"--output={request.output}: {error.strerror or error}; choose another, or make room"
        ) from error
    if not progress.rows:
        return f"nothing to do; {told}: {request.output}"
    secs = max(time.monotonic() - started, 1e-9)
    return (
        f"{progress.rows:,} rows in {secs:.1f} s, {progress.rows / secs:,.0f} rows/s; {told}: "
        f"{request.output}"
    )


class _Progress:
    """Rows so far, shown now and then."""

    def __init__(self, console: Console, num_files: int):
        self._console = console
        self._started = time.monotonic()
        self.num_files = num_files
        self.file = 0
        self.rows = 0

    def add(self, rows: int) -> None:
        self.rows += rows
        if self._console.is_due():
            rate = self.rows / max(time.monotonic() - self._started, 1e-9)
            self._console.progress(
                f"file {self.file}/{self.num_files} · {self.rows:,} rows · {rate:,.0f} rows/s"
            )


class _Asker:
    """Turns files into tables of predictions."""

    def __init__(self, predictor: Predictor, description: Description, request: Request):
        schema = description.schema
        self._predictor = predictor
        self._name = predictor.find_signature("predict", "json")
        self._dtypes = predictor.signatures[self._name].inputs
        self._description, self._request = description, request
        unknown = [name for name in request.copied if name not in schema.columns]
        if unknown:
            raise UserError(
                f"--columns: no column {unknown[0]!r}"
                f"{config_lib.nearest(unknown[0], schema.columns)} in the model's schema"
            )
        self._copied = [name for name in request.copied if name != schema.key]
        self._inputs = [name for name in self._dtypes if name in schema.columns]
        if set(self._inputs) != set(self._dtypes):
            strange = sorted(set(self._dtypes) - set(self._inputs))
            raise UserError(
                f"export {predictor.path}: input {strange[0]!r} is no column of its schema; "
                "ask it with --row"
            )
        self.names = self._name_outputs(predictor)

    def _name_outputs(self, predictor: Predictor) -> list[str]:
        key, known = self._description.schema.key, predictor.signatures[self._name].outputs
        for name in self._request.outputs:
            if name not in known:
                raise UserError(
                    f"--outputs: no output {name!r}{config_lib.nearest(name, known)} "
                    f"(there are {', '.join(sorted(known))})"
                )
        twice = [name for name in self._copied if name in known]
        if twice:
            raise UserError(f"--columns: {twice[0]!r} is also the name of an output; leave it out")
        wanted = list(self._request.outputs)
        if not wanted:
            wanted = [name for name in FIRST_OUTPUTS if name in known]
            rest = sorted(set(known) - set(wanted) - set(CONSTANT_OUTPUTS) - {key})
            wanted += rest
        return [key, *(name for name in wanted if name != key)] if key in known else wanted

    def ask(self, file: DataFile, progress: _Progress) -> Iterator[pa.RecordBatch]:
        """Yields the predictions for a file, in its order."""
        schema, statistics = self._description
        names = [n for n in schema.columns if n in set(self._inputs) | set(self._copied)]
        source = RowSource(
            [file],
            schema,
            self._request.data_config,
            resolve_defaults(schema, statistics),
            0,
            ReadOptions(names, [list_csv_inputs(schema), list_inputs(schema)]),
        )
        for chunk in source.read():
            rows = len(chunk[names[0]])
            for start in range(0, rows, BATCH_ROWS):
                part = {name: array[start : start + BATCH_ROWS] for name, array in chunk.items()}
                batch = self._ask(part)
                progress.add(batch.num_rows)
                yield batch

    def _ask(self, chunk: Chunk) -> pa.RecordBatch:
        from estimator_bridge import tf

        inputs = {
            name: chunk[name].astype(self._dtypes[name].as_numpy_dtype, copy=False)
            for name in self._inputs
        }
        try:
            outputs = self._predictor.run(self._name, inputs)
        except tf.errors.OpError as error:
            raise UserError(
                f"the export cannot answer these rows: {describe_error(error)}"
            ) from error
        rows = len(chunk[self._inputs[0]])
        columns = {}
        for name in self.names:
            array = outputs[name]
            if array.ndim == 0 or len(array) != rows:
                raise UserError(
                    f"the export's output {name!r} has the shape {list(array.shape)} for {rows} "
                    "rows; leave it out with --outputs"
                )
            columns[name] = _to_arrow(array.reshape(rows, -1))
        key = self._description.schema.key
        first = {name: columns.pop(name) for name in [key] if name in columns}
        copied = {name: _to_arrow(chunk[name].reshape(rows, 1)) for name in self._copied}
        return pa.RecordBatch.from_pydict({**first, **copied, **columns})


def _to_arrow(array: np.ndarray) -> pa.Array:
    """An array [rows, n] as a column: plain for one value a row, else a list of n."""
    flat = array.reshape(-1)
    values = pa.array(flat, pa.binary() if flat.dtype == object else None)
    if pa.types.is_binary(values.type):
        try:
            values = values.cast(pa.string())
        except pa.ArrowInvalid:
            values = pa.array([word.decode(errors="replace") for word in flat.tolist()])
    if array.shape[1] == 1:
        return values
    return pa.FixedSizeListArray.from_arrays(values, array.shape[1])


def _write(path: Path, files, asker: _Asker, progress: _Progress, file_format: str) -> int:
    """Writes the predictions for some files into one, whole or not at all; returns the rows."""
    temporary = path.with_name(f".{path.name}.tmp")
    rows, writer = 0, None
    try:
        for file in files:
            progress.file += 1
            for batch in asker.ask(file, progress):
                if writer is None:
                    writer = open_writer(temporary, file_format, batch.schema)
                writer.write(batch)
                rows += batch.num_rows
        writer.close()
        writer = None
        temporary.replace(path)
    finally:
        if writer is not None:
            writer.close()
        temporary.unlink(missing_ok=True)
    return rows


def _refuse_existing(path: Path, request: Request, copies: storage.Copies) -> None:
    if copies.find_size(path) is not None and not request.overwrite:
        raise UserError(
            f"--output={request.output}: {path} is there already; choose another, or --overwrite"
        )


def _write_shards(files, asker, progress, request: Request, export: str, copies) -> str:
    """A shard for each input file; those that are finished are passed over."""
    folder = request.output
    folder.mkdir(parents=True, exist_ok=True)
    copies.fetch_output(folder / MANIFEST)
    manifest = storage.read_json(folder / MANIFEST) or {}
    model = fingerprint_export(export)
    written, passed = 0, 0
    names = name_shards(files, request.format)
    for file, name in zip(files, names):
        path, mark = folder / name, _fingerprint(file, model, asker, request)
        entry = manifest.get(name)
        if entry and copies.find_size(path) == entry["bytes"]:
            if entry["fingerprint"] == mark:
                progress.file += 1
                passed += 1
                continue
        elif entry is None:
            _refuse_existing(path, request, copies)
        rows = _write(path, [file], asker, progress, request.format)
        manifest[name] = {
            "input": file.path,
            "fingerprint": mark,
            "rows": rows,
            "bytes": path.stat().st_size,
        }
        copies.store_output(path)
        # After the shard: a crash in between costs that shard's time, never its truth.
        storage.write_json(folder / MANIFEST, manifest)
        copies.store_output(folder / MANIFEST)
        written += 1
    told = f"{written} shard(s) written, {passed} finished before"
    others = sorted(set(manifest) - set(names))
    if others:
        told += f", {len(others)} of other inputs left as they were"
    return told


def name_shards(files: Sequence[DataFile], file_format: str) -> list[str]:
    """A file name for the predictions of each input: its own, told apart where two are alike."""
    stems = [Path(file.path).name.split(".")[0] or "data" for file in files]
    return [
        f"{stem}.{file_format}"
        if stems.count(stem) == 1
        else f"{stem}-{hashlib.sha256(file.path.encode()).hexdigest()[:8]}.{file_format}"
        for stem, file in zip(stems, files)
    ]


def fingerprint_export(export: str) -> str:
    """A hash of the graph, the variables and the assets of a SavedModel."""
    digest = hashlib.sha256()
    for path in sorted(Path(export).rglob("*")):
        if path.is_file() and path.name != "fingerprint.pb":
            digest.update(str(path.relative_to(export)).encode())
            with path.open("rb") as stream:
                for block in iter(lambda: stream.read(1 << 20), b""):  # noqa: B023
                    digest.update(block)
    return digest.hexdigest()


def _fingerprint(file: DataFile, model: str, asker: _Asker, request: Request) -> str:
    path = Path(file.local_path)
    size = path.stat().st_size
    # The name of a file that was fetched holds its version; its time is that of its last use.
    version = path.stat().st_mtime_ns if str(path) == file.path else path.name
    with path.open("rb") as stream:
        head = stream.read(COMPARED_BYTES)
        stream.seek(max(0, size - COMPARED_BYTES))
        tail = stream.read()
    said: dict[str, Any] = {
        "model": model,
        "input": [size, version, hashlib.sha256(head + tail).hexdigest()],
        "outputs": asker.names,
        "copied": list(request.copied),
        "format": request.format,
        "delimiter": request.data_config.delimiter,
        "header": request.data_config.header,
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def names_file(output: Union[str, Path]) -> bool:
    """Whether an output's name is that of a file; else of a folder."""
    return Path(output).suffix.lstrip(".") in FORMATS


def choose_format(output: Path, wanted: Optional[str]) -> str:
    """The output's format: what is wanted, else what the file name says, else csv.

    Raises:
        UserError: the two contradict each other.
    """
    said = output.suffix.lstrip(".")
    if said in FORMATS and wanted and wanted != said and not output.is_dir():
        raise UserError(f"--format={wanted}: --output={output} ends in .{said}; remove one of them")
    return wanted or (said if said in FORMATS else "csv")
