"""Batch prediction: from data files to one file, or to a folder of shards that can be resumed."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Optional

from trainer import config as config_lib
from trainer import storage
from trainer.console import Console, Progress
from trainer.errors import UserError
from trainer.export.fingerprint import fingerprint_export
from trainer.inputs.files import DataFile
from trainer.inputs.row_estimate import estimate_rows
from trainer.prediction.file_predictor import FilePredictor
from trainer.prediction.predictor import Predictor
from trainer.prediction.shards import (
    Manifest,
    Settings,
    fingerprint_shard,
    name_manifest,
    name_shards,
)
from trainer.prediction.writers import FORMATS, Writer, is_file_name, open_writer


class BatchRequest(NamedTuple):
    """The data to predict, and the place of the predictions.

    Attributes:
        files: the input.
        output: a file, or a folder for a shard per input file.
        format: csv, parquet or jsonl.
        copied: columns of the input that are copied to the predictions, in addition to the key.
        outputs: outputs of the model to keep; empty: all except constant outputs.
        data_config: format, delimiter and header of the input.
        overwrite: whether existing files that do not belong to this job may be replaced.
        escape_formulas: csv: whether text that a spreadsheet would run gets an apostrophe.
        part: (index, count): of the files, those of one of several processes.
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


class Written(NamedTuple):
    """What was written.

    Attributes:
        num_rows: number of rows that were predicted.
        num_written: number of shards that were written; None: one file.
        num_skipped: number of shards that were finished before.
        num_others: number of shards of other inputs in the folder.
    """

    num_rows: int
    num_written: Optional[int] = None
    num_skipped: int = 0
    num_others: int = 0

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
        if not self.num_rows:
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
    files = request.files
    file_predictor = FilePredictor(predictor, request.data_config, request.copied, request.outputs)
    job = _Job(file_predictor, request, console, copies)
    try:
        if is_file_name(request.output) and not request.output.is_dir():
            return job.write_file(files)
        else:
            return job.write_shards(files, fingerprint_export(predictor.path))
    except OSError as error:
        raise UserError(
            f"--output={request.output}: {error.strerror or error}; choose another, or make room"
        ) from error


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
        # Rows of the files that are finished.
        self._num_finished = 0
        self._progress = Progress(
            console, "predicting", "rows", self._estimate_rows, is_estimate=True
        )
        self.num_rows = 0

    def write_file(self, files: Sequence[DataFile]) -> Written:
        """Writes all predictions to one file."""
        output = self._request.output
        self._require_absent(output)
        output.parent.mkdir(parents=True, exist_ok=True)
        self._waiting = list(files)
        self._write(output, files)
        self._copies.store_output(output)
        return Written(self.num_rows)

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
        )
        num_written, num_skipped = 0, 0
        names = name_shards(files, request.format)
        self._waiting = list(files)[index::count]
        for file, name in list(zip(files, names))[index::count]:
            path, fingerprint = folder / name, fingerprint_shard(file, settings)
            entry = manifest.get(name)
            size = entry["bytes"] if entry else None
            if entry and size is not None and copies.find_size(path) == size:
                if entry["fingerprint"] == fingerprint:
                    self._waiting.remove(file)
                    num_skipped += 1
                    continue
            elif entry is None:
                self._require_absent(path)
                # A shard that is there without its rows was begun by this job, and is made again.
                manifest.add(name, {"input": file.path, "fingerprint": fingerprint, "bytes": None})
                copies.store_output(manifest.path)
            rows = self._write(path, [file])
            entry = {
                "input": file.path,
                "fingerprint": fingerprint,
                "rows": rows,
                "bytes": path.stat().st_size,
            }
            copies.store_output(path)
            # The shard is complete when its size has been recorded.
            manifest.add(name, entry)
            copies.store_output(manifest.path)
            num_written += 1
        return Written(self.num_rows, num_written, num_skipped, manifest.count_others(names))

    def _write(self, path: Path, files: Sequence[DataFile]) -> int:
        """Writes the predictions for some files, all or nothing; returns the number of rows."""
        # Engines may run a task twice at the same time.
        part = f".{uuid.uuid4().hex}" if self._request.part[1] > 1 else ""
        temporary = path.with_name(f".{path.name}{part}.tmp")
        rows = 0
        writer: Optional[Writer] = None
        try:
            for file in files:
                for batch in self._predictor.predict(file):
                    self.num_rows += batch.num_rows
                    self._progress.add(batch.num_rows)
                    if writer is None:
                        request = self._request
                        writer = open_writer(
                            temporary, request.format, batch.schema, request.escape_formulas
                        )
                    writer.write(batch)
                    rows += batch.num_rows
                self._waiting.remove(file)
                self._num_finished = self.num_rows
            if writer is not None:
                writer.close()
                writer = None
            temporary.replace(path)
        finally:
            if writer is not None:
                writer.close()
            temporary.unlink(missing_ok=True)
        return rows

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
        requested: csv, parquet or jsonl; None: unset.

    Raises:
        UserError: the requested format and the file name contradict each other.
    """
    suffix = output.suffix.lstrip(".")
    if suffix in FORMATS and requested and requested != suffix and not output.is_dir():
        raise UserError(
            f"--format={requested}: --output={output} ends in .{suffix}; remove one of them"
        )
    return requested or (suffix if suffix in FORMATS else "csv")
