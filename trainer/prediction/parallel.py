"""Batch prediction in several processes of this machine: each predicts whole files."""

import contextlib
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import pyarrow as pa

import estimator_bridge as bridge
from trainer import config as config_lib
from trainer.engines.processes import run_in_processes
from trainer.inputs.files import DataFile
from trainer.prediction.predictor import Predictor

if TYPE_CHECKING:
    from trainer.prediction.file_predictor import FilePredictor


class Part(NamedTuple):
    """Predictions of some rows of a file.

    Attributes:
        batch: the predictions; None after the last ones.
        rejected: rows before their end that the model cannot take, see RejectedRows.take.
    """

    batch: Optional[pa.RecordBatch]
    rejected: list[dict[str, Any]]


def predict_here(predictor: "FilePredictor", file: DataFile, rejects: bool) -> Iterator[Part]:
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
            # Imported here, because it imports TensorFlow, which would log more before.
            bridge.set_verbosity("error")
            bridge.prefer_onednn()
            from trainer.prediction.file_predictor import FilePredictor

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
        folder: for files of predictions that wait for their turn; it is made anew and removed.
    """

    def __init__(
        self, work: FilesWork, files: Sequence[DataFile], count: int, folder: Path
    ) -> None:
        self._folder = folder
        # That of a command that was killed may be there.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._paths = deque(folder / f"{number}.arrow" for number in range(len(files)))
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
        shutil.rmtree(self._folder, ignore_errors=True)
