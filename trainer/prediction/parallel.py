"""Batch prediction in several processes of this machine: each predicts whole files."""

import contextlib
import os
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import pyarrow as pa

from trainer import config as config_lib
from trainer.engines.processes import run_in_processes
from trainer.inputs.files import DataFile
from trainer.inputs.row_estimate import estimate_rows
from trainer.prediction.file_predictor import FilePredictor
from trainer.prediction.predictor import Predictor

# A process is started for as many rows. To start one costs as much processor time as some 500,000.
ROWS_OF_PROCESS = 2_000_000


def count_processes(requested: int, files: Sequence[DataFile]) -> int:
    """Returns the number of processes that predict some files; 1: this one.

    Args:
        requested: the number that the user has given; 0: unset.
        files: the input.
    """
    if len(files) < 2 or requested == 1:
        return 1
    if requested:
        return min(requested, len(files))
    rows = estimate_rows(files) or 0
    return max(1, min(count_cores(), len(files), int(rows // ROWS_OF_PROCESS)))


def count_cores() -> int:
    """Returns the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Part(NamedTuple):
    """Predictions of some rows of a file.

    Attributes:
        batch: the predictions; None after the last ones.
        rejected: rows before their end that the model cannot take, see RejectedRows.take.
    """

    batch: Optional[pa.RecordBatch]
    rejected: list[dict[str, Any]]


def predict_here(predictor: FilePredictor, file: DataFile, rejects: bool) -> Iterator[Part]:
    """Yields the predictions for a file, in its order.

    Args:
        predictor: a loaded export.
        file: the input.
        rejects: whether rows that the model cannot take are left out; otherwise the first is an
            error.

    Raises:
        UserError: the file does not fit the model.
    """
    rejected = predictor.open_rejected() if rejects else None
    for batch in predictor.predict(file, rejected):
        yield Part(batch, rejected.take() if rejected else [])
    yield Part(None, rejected.take() if rejected else [])


class FilesWork:
    """Predicts files; a task is a file, and the path of its predictions.

    Args:
        export: folder of the export.
        data: format, delimiter and header of the files.
        columns: those of the input that are copied, and the outputs of the model that are kept.
        rejects: see predict_here.
        threads: number of threads of an operation.
    """

    def __init__(
        self,
        export: str,
        data: config_lib.DataConfig,
        columns: tuple[Sequence[str], Sequence[str]],
        rejects: bool,
        threads: int,
    ) -> None:
        self._export, self._data, self._columns = export, data, columns
        self._rejects, self._threads = rejects, threads
        self._predictor: Optional[FilePredictor] = None

    def run(self, task: tuple[DataFile, Path]) -> list[list[dict[str, Any]]]:
        """Writes the predictions of a file as an Arrow stream.

        Args:
            task: the file, and the path of the stream. Without predictions there will be none.

        Returns:
            The rejected rows of each part.

        Raises:
            UserError: the file does not fit the model.
        """
        file, path = task
        if self._predictor is None:
            import estimator_bridge as bridge

            bridge.set_verbosity("error")
            bridge.prefer_onednn()
            predictor = Predictor(self._export, threads=self._threads)
            self._predictor = FilePredictor(predictor, self._data, *self._columns)
        rejected = []
        with contextlib.ExitStack() as stack:
            writer: Optional[pa.RecordBatchStreamWriter] = None
            for batch, some in predict_here(self._predictor, file, self._rejects):
                rejected.append(some)
                if batch is None:
                    break
                if writer is None:
                    writer = stack.enter_context(pa.ipc.new_stream(str(path), batch.schema))
                writer.write_batch(batch)
        return rejected


class Predictions:
    """The predictions of files, in their order, which other processes make in advance.

    Args:
        work: predicts a file.
        files: the input, in the order in which the predictions are read.
        count: number of processes.
        folder: for files of predictions that wait for their turn.
    """

    def __init__(
        self, work: FilesWork, files: Sequence[DataFile], count: int, folder: Path
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=".predicting-", dir=folder)
        self._paths = deque(Path(self._folder.name, f"{n}.arrow") for n in range(len(files)))
        self._results = run_in_processes(work, list(zip(files, self._paths)), count)

    def read(self) -> Iterator[Part]:
        """Yields the predictions for the next file, as predict_here does.

        Raises:
            UserError: the file does not fit the model.
            TemporaryError: a process has ended by itself.
        """
        *parts, last = next(self._results)
        path = self._paths.popleft()
        if parts:
            with pa.memory_map(str(path)) as stream, pa.ipc.open_stream(stream) as batches:
                for rejected in parts:
                    yield Part(batches.read_next_batch(), rejected)
            path.unlink()
        yield Part(None, last)

    def close(self) -> None:
        """Ends the processes, and removes the predictions that have not been read."""
        self._results.close()
        self._folder.cleanup()
