"""Batch prediction: from data files to one file, or to a folder of shards that can be resumed."""

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Optional, TextIO

import pyarrow as pa

from estimator_bridge.processor import count_cores
from trainer import config as config_lib
from trainer import storage
from trainer.console import Console, Progress
from trainer.errors import UserError
from trainer.export.fingerprint import fingerprint_export
from trainer.inputs.files import DataFile
from trainer.inputs.prefetch import prefetch
from trainer.inputs.row_estimate import estimate_rows
from trainer.prediction import rejected
from trainer.prediction.cores import count_processes
from trainer.prediction.file_predictor import FilePredictor
from trainer.prediction.output_lock import lock_output
from trainer.prediction.parallel import FilesWork, Predictions, predict_here
from trainer.prediction.predictor import Predictor
from trainer.prediction.shards import (
    SUCCESS,
    Manifest,
    Settings,
    fingerprint_shard,
    mark_complete,
    name_manifest,
    name_shards,
)
from trainer.prediction.writers import FORMATS, Writer, is_file_name, open_writer


class BatchRequest(NamedTuple):
    """The data to predict, and the place of the predictions.

    Attributes:
        files: the input.
        output: a file, or a folder for a shard per input file.
        format: one of FORMATS.
        copied: columns of the input that are copied to the predictions, in addition to the key.
        outputs: outputs of the model to keep; empty: all except constant outputs.
        data_config: format, delimiter and header of the input.
        overwrite: whether existing files that do not belong to this job may be replaced.
        escape_formulas: csv: whether text that a spreadsheet would run gets an apostrophe.
        part: (index, count): of the files, those of one of several processes.
        rejects: whether the rows that the model cannot take are written to a file of their own,
            in the folder _bad_rows beside the predictions; otherwise the first is an error.
        processes: number of processes of this machine that predict; 0: as many as are worthwhile.
        marks: whether the folder is marked when all is there, and not before; an engine does so.
    """

    files: Sequence[DataFile]
    output: Path
    format: str
    copied: Sequence[str]
    outputs: Sequence[str]
    data_config: config_lib.DataConfig
    overwrite: bool
    escape_formulas: bool = False
    part: tuple[int, int] = (0, 1)
    rejects: bool = False
    processes: int = 0
    marks: bool = True


class Written(NamedTuple):
    """What was written.

    Attributes:
        num_rows: number of rows that were predicted.
        num_written: number of shards that were written; None: one file.
        num_skipped: number of shards that were finished before.
        num_others: number of shards of other inputs in the folder.
        num_rejected: number of rows that the model could not take.
    """

    num_rows: int
    num_written: Optional[int] = None
    num_skipped: int = 0
    num_others: int = 0
    num_rejected: int = 0

    def add(self, other: "Written") -> "Written":
        """Returns what both have written.

        Args:
            other: of other files.
        """
        return Written(
            self.num_rows + other.num_rows,
            (self.num_written or 0) + (other.num_written or 0),
            self.num_skipped + other.num_skipped,
            max(self.num_others, other.num_others),
            self.num_rejected + other.num_rejected,
        )

    def describe(self, output: Path, secs: float) -> str:
        """Returns a message for the user: the number of rows, the speed, and the output.

        Args:
            output: a file or folder.
            secs: seconds that it took.
        """
        summary = "1 file"
        if self.num_written is not None:
            summary = f"{self.num_written} shard(s) written, {self.num_skipped} finished before"
        if self.num_others:
            summary += f", {self.num_others} of other inputs unchanged"
        if self.num_rejected:
            summary += f"; {self.num_rejected:,} bad rows, with reasons in {rejected.FOLDER}"
        if not self.num_rows and not self.num_rejected:
            return f"nothing to do; {summary}: {output}"
        secs = max(secs, 1e-9)
        return (
            f"{self.num_rows:,} rows in {secs:.1f} s, {self.num_rows / secs:,.0f} rows/s; "
            f"{summary}: {output}"
        )


def predict_files(
    predictor: Predictor, request: BatchRequest, console: Console, copies: storage.Copies
) -> Written:
    """Predicts every row of some files.

    Args:
        predictor: a loaded export.
        request: the data to predict, and the place of the predictions.
        console: shows progress.
        copies: uploads the output if it is in Cloud Storage.

    Raises:
        UserError: the data do not fit the model, or the output cannot be written.
    """
    files, output = request.files, request.output
    file_predictor = FilePredictor(predictor, request.data_config, request.copied, request.outputs)
    job = _Job(file_predictor, request, console, copies)
    try:
        if is_file_name(output) and not output.is_dir():
            with lock_output(output.with_name(f".{output.name}.lock"), output):
                return job.write_file(files)
        part = name_manifest(*request.part)
        # An engine may run the same part twice, and takes the first result.
        is_alone = request.part[1] == 1
        with lock_output(output / f".{part}.lock", output) if is_alone else nullcontext():
            return job.write_shards(files, fingerprint_export(predictor.path))
    except OSError as error:
        raise UserError(
            f"--output={request.output}: {error.strerror or error}; choose another, or make room"
        ) from error


class _Shard(NamedTuple):
    """An input, the file name of its predictions, and what these depend on."""

    file: DataFile
    name: str
    fingerprint: str


class _Job:
    """Writes the predictions of one request.

    Attributes:
        num_rows: number of rows predicted so far.
    """

    def __init__(
        self,
        predictor: FilePredictor,
        request: BatchRequest,
        console: Console,
        copies: storage.Copies,
    ):
        self._predictor = predictor
        self._request = request
        self._copies = copies
        self._waiting: list[DataFile] = []
        # Of other processes; None: this one predicts.
        self._predictions: Optional[Predictions] = None
        # Rows of the files that are finished.
        self._num_finished = self._num_rejected = 0
        self._progress = Progress(
            console, "predicting", "rows", self._estimate_rows, is_estimate=True
        )
        self.num_rows = 0

    def write_file(self, files: Sequence[DataFile]) -> Written:
        """Writes all predictions to one file."""
        output = self._request.output
        self._require_absent(output)
        with self._begin(list(files), output.with_name(f".{output.name}.waiting")):
            self._write(output, files)
        self._copies.store_output(output)
        return Written(self.num_rows, num_rejected=self._num_rejected)

    def write_shards(self, files: Sequence[DataFile], model: str) -> Written:
        """Writes the shards that are not complete yet."""
        request, copies = self._request, self._copies
        folder = request.output
        folder.mkdir(parents=True, exist_ok=True)
        index, count = request.part
        # Processes that share a folder do not share a file.
        part = name_manifest(index, count)
        copies.fetch_output(folder / part)
        manifest = Manifest(folder, part)
        settings = Settings(
            model,
            self._predictor.outputs,
            request.copied,
            request.format,
            request.data_config,
            request.escape_formulas,
            request.rejects,
        )
        names = name_shards(files, request.format)
        shards = [
            _Shard(file, name, fingerprint_shard(file, settings))
            for file, name in list(zip(files, names))[index::count]
        ]
        waiting = [shard for shard in shards if not self._is_complete(shard, manifest)]
        with self._begin([shard.file for shard in waiting], folder / f".{part}.waiting"):
            for shard in waiting:
                self._write_shard(shard, manifest)
        # Of several parts, none knows when the others are complete.
        if request.marks and count == 1:
            mark_complete(folder, copies)
        num_skipped = len(shards) - len(waiting)
        others = manifest.count_others(names)
        return Written(self.num_rows, len(waiting), num_skipped, others, self._num_rejected)

    def _is_complete(self, shard: "_Shard", manifest: Manifest) -> bool:
        entry = manifest.get(shard.name)
        if entry is None or entry["fingerprint"] != shard.fingerprint or entry["bytes"] is None:
            return False
        return bool(self._copies.find_size(self._request.output / shard.name) == entry["bytes"])

    def _write_shard(self, shard: "_Shard", manifest: Manifest) -> None:
        path, copies = self._request.output / shard.name, self._copies
        entry = {"input": shard.file.path, "fingerprint": shard.fingerprint, "bytes": None}
        is_new = manifest.get(shard.name) is None
        if is_new:
            self._require_absent(path)
        if self._request.marks:
            copies.remove_output(path.with_name(SUCCESS))
        if is_new:
            # A shard that is there without its rows was begun by this job, and is made again.
            manifest.add(shard.name, entry)
            copies.store_output(manifest.path)
        rows = self._write(path, [shard.file])
        # The local copy of a shard in a bucket is removed once it is stored.
        size = path.stat().st_size
        copies.store_output(path)
        # The shard is complete when its size has been recorded.
        manifest.add(shard.name, {**entry, "rows": rows, "bytes": size})
        copies.store_output(manifest.path)

    @contextmanager
    def _begin(self, files: list[DataFile], folder: Path) -> Iterator[None]:
        """Within the block, several processes may predict files; `folder` is for their results."""
        self._waiting = files
        request = self._request
        count = count_processes(request.processes, files)
        if count == 1:
            yield
            return
        columns = (request.copied, request.outputs)
        threads = max(1, count_cores() // count)
        export = self._predictor.export
        work = FilesWork(export, request.data_config, columns, request.rejects, threads)
        self._predictions = Predictions(work, list(files), count, folder)
        try:
            yield
        finally:
            self._predictions.close()

    def _write(self, path: Path, files: Sequence[DataFile]) -> int:
        """Writes the predictions for some files, all or nothing; returns the number of rows."""
        num_before = self.num_rows
        with ExitStack() as stack:
            temporary = stack.enter_context(self._open_temporary(path))
            bad_rows = None
            if self._request.rejects:
                bad_rows = stack.enter_context(self._open_bad_rows(path))
            writer: Optional[Writer] = None
            for batch in self._predict(files, bad_rows):
                if writer is None:
                    writer = self._open_writer(temporary, batch.schema)
                    stack.callback(writer.close)
                writer.write(batch)
            if writer is None:
                # All rows are bad.
                writer = self._open_writer(temporary, self._predictor.find_schema())
                stack.callback(writer.close)
        return self.num_rows - num_before

    def _open_writer(self, path: Path, schema: pa.Schema) -> Writer:
        return open_writer(path, self._request.format, schema, self._request.escape_formulas)

    def _predict(
        self, files: Sequence[DataFile], bad_rows: Optional[TextIO]
    ) -> Iterator[pa.RecordBatch]:
        """Yields the predictions of some files, and writes their bad rows."""
        for file in files:
            if self._predictions is None:
                # The next rows are predicted while these are written.
                rejects = bad_rows is not None
                parts = prefetch(partial(predict_here, self._predictor, file, rejects))
            else:
                parts = self._predictions.read()
            for batch, rejects in parts:
                if bad_rows is not None:
                    self._write_rejected(file, rejects, bad_rows)
                if batch is not None:
                    self.num_rows += batch.num_rows
                    self._progress.add(batch.num_rows)
                    yield batch
            self._waiting.remove(file)
            self._num_finished = self.num_rows

    def _write_rejected(
        self, file: DataFile, rejects: Sequence[dict[str, Any]], stream: TextIO
    ) -> None:
        for row in rejects:
            stream.write(json.dumps({"file": file.path, **row}, ensure_ascii=False) + "\n")
        self._num_rejected += len(rejects)

    def _name_temporary(self, path: Path, suffix: str) -> Path:
        # Engines may run a task twice at the same time.
        part = f".{uuid.uuid4().hex}" if self._request.part[1] > 1 else ""
        return path.with_name(f".{path.name}{part}{suffix}.tmp")

    @contextmanager
    def _open_temporary(self, path: Path) -> Iterator[Path]:
        """Yields the path of a file that takes the place of `path` unless an error is raised."""
        temporary = self._name_temporary(path, "")
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    @contextmanager
    def _open_bad_rows(self, path: Path) -> Iterator[TextIO]:
        """Yields the file for the bad rows of a shard; without any, no new file appears."""
        target = path.parent / rejected.FOLDER / f"{path.name}.jsonl"
        temporary, num_before = self._name_temporary(path, ".bad"), self._num_rejected
        try:
            with temporary.open("w", encoding="utf-8") as stream:
                yield stream
            # Those of an earlier run may be there.
            if self._num_rejected > num_before or self._copies.find_size(target) is not None:
                target.parent.mkdir(exist_ok=True)
                temporary.replace(target)
                self._copies.store_output(target)
        finally:
            temporary.unlink(missing_ok=True)

    def _estimate_rows(self) -> Optional[float]:
        """Returns about how many rows this job predicts, without finished shards."""
        waiting = estimate_rows(self._waiting)
        return None if waiting is None else self._num_finished + waiting

    def _require_absent(self, path: Path) -> None:
        if self._copies.find_size(path) is not None and not self._request.overwrite:
            raise UserError(
                f"--output={self._request.output}: {path} is there already; choose another, or "
                "--overwrite"
            )


def choose_format(output: Path, requested: Optional[str]) -> str:
    """Returns the requested format, else the format of the file name, else csv.

    Args:
        output: file or folder.
        requested: one of FORMATS; None: unset.

    Raises:
        UserError: the requested format and the file name contradict each other.
    """
    suffix = output.suffix.lstrip(".")
    if suffix in FORMATS and requested and requested != suffix and not output.is_dir():
        raise UserError(
            f"--format={requested}: --output={output} ends in .{suffix}; remove one of them"
        )
    return requested or (suffix if suffix in FORMATS else "csv")
