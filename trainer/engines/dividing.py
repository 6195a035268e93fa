"""Divides large files among the workers of an engine."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Union

from trainer.engines.options import LOCAL, Engine
from trainer.engines.running import run_tasks
from trainer.errors import UserError
from trainer.inputs.files import DataFile, FilePart
from trainer.inputs.json_files import BLOCK_BYTES
from trainer.inputs.parquet_files import count_runs
from trainer.inputs.stretches import Dialect, Findings, JsonLines, cut, examine
from trainer.passes import planning

# Number of Parquet footers that are read at the same time, because reading from a bucket is slow.
THREADS = 16


class Extent(NamedTuple):
    """A part of a file.

    Attributes:
        path: path of the file.
        start: offset of the first byte.
        end: offset after the last byte.
    """

    path: str
    start: int
    end: int


Found = dict[tuple[str, int], Findings]
# Path → the parts of the file.
Parts = dict[str, list[FilePart]]


class ExamineWork(NamedTuple):
    """Finds the ends of rows in text files; a task is a part of a file.

    Attributes:
        dialect: format of the files.
    """

    dialect: Union[Dialect, JsonLines]

    def run(self, task: Extent) -> Found:
        """Returns (path, start) of a part → what was found in it.

        Args:
            task: the part.

        Raises:
            UserError: the file cannot be read.
        """
        try:
            return {(task.path, task.start): examine(*task, self.dialect)}
        except OSError as error:
            raise UserError(f"{task.path}: {error.strerror}; check the file") from error

    def merge(self, first: Found, second: Found) -> Found:
        """Returns the results of two groups of parts.

        Args:
            first: results of one group.
            second: results of the other.
        """
        return {**first, **second}


def divide_files(files: Sequence[DataFile], dialect: Dialect, engine: Engine) -> list[DataFile]:
    """Returns the files; each large file is replaced by its parts.

    Args:
        files: the data.
        dialect: format of CSV files.
        engine: the engine that reads the files; the local one reads whole files.

    Raises:
        OSError: a file does not exist.
        UserError: the size of a file cannot be read, or the engine fails.
    """
    return apply_parts(files, find_parts(files, dialect, engine))


def apply_parts(files: Sequence[DataFile], parts: Parts) -> list[DataFile]:
    """Returns the files; each large file is replaced by its parts.

    Args:
        files: the data.
        parts: parts of the large files.
    """
    return [
        file._replace(part=part) for file in files for part in parts.get(file.path, (file.part,))
    ]


def find_parts(files: Sequence[DataFile], dialect: Dialect, engine: Engine) -> Parts:
    """Returns the parts of each large file that can be divided.

    Parquet files are divided at row groups. CSV files and JSON lines are divided at the ends of
    rows, which the engine finds first. Other files are not divided.

    Args:
        files: the data.
        dialect: format of CSV files.
        engine: the engine that reads the files; for the local one, no file is divided.

    Raises:
        OSError: a file does not exist.
        UserError: the size of a file cannot be read, or the engine fails.
    """
    if engine.name == LOCAL:
        return {}
    large = [file for file in files if file.find_size() > planning.TASK_BYTES]
    parts = _divide_parquet([file for file in large if file.format == "parquet"])
    texts = [file for file in large if not file.gzipped]
    tables = [file for file in texts if file.format == "csv"]
    lines = [file for file in texts if file.format == "jsonl"]
    # Finding the ends of rows needs a run of the engine; writing a template runs nothing.
    if tables and dialect.can_be_divided and not engine.is_template:
        parts.update(_divide_text(tables, dialect, engine))
    if lines and not engine.is_template:
        parts.update(_divide_text(lines, JsonLines(BLOCK_BYTES), engine))
    return {path: shares for path, shares in parts.items() if len(shares) > 1}


def _divide_parquet(files: Sequence[DataFile]) -> Parts:
    with ThreadPoolExecutor(THREADS) as threads:
        return dict(threads.map(_plan_runs, files))


def _plan_runs(file: DataFile) -> tuple[str, list[FilePart]]:
    version, size = file.find_version(), file.find_size()
    count = min(count_runs(file), -(-size // planning.TASK_BYTES))
    return file.path, [FilePart(number, count, version) for number in range(count)]


def _divide_text(
    files: Sequence[DataFile], dialect: Union[Dialect, JsonLines], engine: Engine
) -> Parts:
    found = {file.path: (file.find_version(), file.find_size()) for file in files}
    # Parts begin at multiples of the block size, so that blocks are the same as in the whole file.
    step = -(-planning.TASK_BYTES // dialect.block_bytes) * dialect.block_bytes
    tasks = [
        Extent(path, start, min(start + step, size))
        for path, (_, size) in found.items()
        for start in range(0, size, step)
    ]
    findings = run_tasks(ExamineWork(dialect), tasks, "dividing large files", engine)
    parts = {}
    for path, (version, size) in found.items():
        stretches = cut(size, [findings[path, start] for start in range(0, size, step)])
        count = len(stretches)
        parts[path] = [
            FilePart(number, count, version, stretch) for number, stretch in enumerate(stretches)
        ]
    return parts
