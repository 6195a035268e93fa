"""Reads jobs from their files, and keeps an SQLite index of them that can be deleted any time."""

import contextlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Optional

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trainer import config as config_lib
from trainer import storage
from trainer.errors import UserError
from trainer.job_dir.metrics_log import MetricsLog
from trainer.job_dir.results import read_results
from trainer.job_layout import CONFIG, INPUTS, METRICS, METRICS_LOG

# The index, in the folder of the jobs.
INDEX = ".runs.sqlite"
# The files of a job that are read.
FILES = (CONFIG, INPUTS, METRICS, METRICS_LOG)
# Changes with the content of the index.
VERSION = 2


class Run(NamedTuple):
    """A job, as its files describe it.

    Attributes:
        name: its folder, relative to the folder of jobs.
        config: its configuration, option → value, without job_dir.
        inputs: what its last run was made of; {} if it is not known.
        metrics: of its best evaluation, with "step"; {} if there is none.
        best_metric: the metric by which that evaluation is the best; "" if it is not known.
        last_step: step of the last evaluation.
    """

    name: str
    config: dict[str, Any]
    inputs: dict[str, Any]
    metrics: dict[str, float]
    best_metric: str
    last_step: int

    @property
    def is_complete(self) -> bool:
        """Whether its last run has written its report."""
        return "ended" in self.inputs

    @property
    def state(self) -> str:
        """complete, incomplete (it runs or was interrupted) or unknown (of an older version)."""
        if not self.inputs:
            return "unknown"
        return "complete" if self.is_complete else "incomplete"

    @property
    def started(self) -> str:
        """Time of the start of its last run; "" if it is not known."""
        return str(self.inputs.get("started", ""))

    def find(self, name: str) -> Any:
        """Returns a value: an option, a metric, or state, started, secs, step; else None.

        Args:
            name: of the value. Options may be given by the last part of their names.
        """
        own = {"state": self.state, "started": self.started, "secs": self.inputs.get("secs")}
        own.update(name=self.name, step=self.last_step)
        for values in (own, self.metrics, self.config):
            if name in values:
                return values[name]
        ends = [option for option in self.config if option.rpartition(".")[2] == name]
        return self.config[ends[0]] if len(ends) == 1 else None


def read_run(folder: Path, name: str) -> Run:
    """Reads a job.

    Args:
        folder: of the jobs.
        name: of the job's folder, relative to `folder`.

    Raises:
        UserError: the folder is not that of a job, or a file is damaged.
    """
    job_dir = folder / name
    if not (job_dir / CONFIG).is_file():
        raise UserError(f"{job_dir}: no {CONFIG} there; name the folder of a job")
    config = flatten(config_lib.read_yaml(job_dir / CONFIG, "config"))
    config.pop("job_dir", None)
    runs = (storage.read_json(job_dir / INPUTS) or {}).get("runs") or [{}]
    document = read_results(job_dir / METRICS)
    evaluations = MetricsLog(str(job_dir)).read("eval")
    best = document.get("best") or (evaluations[-1] if evaluations else {})
    values = {
        "config": config,
        "inputs": runs[-1] if isinstance(runs, list) else runs,
        "metrics": best,
        "best_metric": document.get("best_metric") or "",
        "last_step": evaluations[-1]["step"] if evaluations else 0,
    }
    try:
        return _build_run(name, values)
    except ValidationError as error:
        where = error.errors()[0]["loc"]
        file = INPUTS if where[0] == "inputs" else METRICS
        raise storage.describe_damage(job_dir / file, ".".join(map(str, where))) from error


def make_run(inputs: dict[str, Any], source: str) -> Run:
    """Returns a job of which only is known what one of its runs was made of.

    Args:
        inputs: the record of the run.
        source: the file that contains it, for the message.

    Raises:
        UserError: the record is damaged.
    """
    rest = {"config": {}, "metrics": {}, "best_metric": "", "last_step": 0}
    try:
        return _build_run("", {**rest, "inputs": inputs})
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise storage.describe_damage(source, where) from error


class _Strict(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class _Data(_Strict):
    rows: int
    fingerprint: str
    files: list[Annotated[list[Any], Field(min_length=1)]] = []


class _Code(_Strict):
    user: dict[str, Any] = {}


class _Parent(_Strict):
    warm_start: Optional[str] = None


class _Inputs(_Strict):
    started: str = ""
    secs: Optional[float] = None
    parent: Optional[_Parent] = None
    data: dict[str, Optional[_Data]] = {}
    code: Optional[_Code] = None


class _Files(_Strict):
    """What is used of the files of a job, which others may have written."""

    config: dict[str, Any]
    inputs: _Inputs
    metrics: dict[str, Any]
    best_metric: str
    last_step: int


def _build_run(name: str, values: Any) -> Run:
    """Returns a job, made of what files or the index contain.

    Args:
        name: of the job's folder, relative to the folder of jobs.
        values: the other attributes of Run.

    Raises:
        ValidationError: a value has another type.
    """
    checked = _Files.model_validate(values)
    return Run(
        name,
        checked.config,
        values["inputs"],
        {
            key: value
            for key, value in checked.metrics.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        },
        checked.best_metric,
        checked.last_step,
    )


def flatten(values: dict[str, Any], start: str = "") -> dict[str, Any]:
    """Returns nested values with dotted names.

    Args:
        values: name → value or nested values.
        start: the name of `values`, with a dot at its end.
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found.update(flatten(value, f"{start}{name}."))
        else:
            found[f"{start}{name}"] = value
    return found


def list_job_names(folder: Path) -> Iterator[str]:
    """Yields the folders of all jobs in a folder, relative to it.

    Args:
        folder: of the jobs; it may be a job itself.
    """
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if CONFIG in names and (INPUTS in names or METRICS_LOG in names):
            # Exports also have a config.yaml; jobs do not lie in jobs.
            folders[:] = []
            yield Path(parent).relative_to(folder).as_posix()


def list_runs(folder: Path) -> tuple[list[Run], list[str]]:
    """Reads all jobs in a folder; files that have not changed are taken from the index.

    Args:
        folder: of the jobs, on this machine.

    Returns:
        the jobs, by name, and one line for each job that could not be read.
    """
    found, problems = [], []
    with _open_index(folder) as index:
        rows = index.execute("SELECT name, stamp, text FROM runs")
        stored = {name: (stamp, text) for name, stamp, text in rows}
        names = list(list_job_names(folder))
        for name in names:
            stamp = _stamp(folder / name)
            if name in stored and stored[name][0] == stamp:
                # Others may have written the index, too.
                with contextlib.suppress(ValidationError, ValueError, TypeError, RecursionError):
                    found.append(_build_run(name, json.loads(stored[name][1])))
                    continue
            try:
                run = read_run(folder, name)
            except UserError as error:
                problems.append(str(error))
                continue
            found.append(run)
            row = (name, stamp, json.dumps(run._asdict(), default=str))
            index.execute("REPLACE INTO runs VALUES (?, ?, ?)", row)
        for name in stored.keys() - set(names):
            index.execute("DELETE FROM runs WHERE name = ?", (name,))
        index.commit()
    return found, problems


def _stamp(job_dir: Path) -> str:
    """Returns a text that changes with the files of a job."""
    parts = []
    for name in FILES:
        with contextlib.suppress(FileNotFoundError):
            status = (job_dir / name).stat()
            parts.append([name, status.st_size, status.st_mtime_ns, status.st_ino])
    return json.dumps(parts)


@contextmanager
def _open_index(folder: Path) -> Iterator[sqlite3.Connection]:
    index = _connect(folder / INDEX)
    try:
        yield index
    finally:
        index.close()


def _connect(path: Path) -> sqlite3.Connection:
    """Opens the index; one that is damaged is made again, and none is written where none can be."""
    if path.exists() and (path.is_symlink() or not path.is_file()):
        # Not written: it may lead to a file of another program.
        return _prepare(sqlite3.connect(":memory:"))
    for _ in range(2):
        with contextlib.suppress(OSError):
            # The index contains what the files of jobs contain, and these may be for the user only.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        try:
            return _prepare(sqlite3.connect(path))
        except sqlite3.OperationalError:
            # It cannot be written, or another process writes it: this command does without it.
            break
        except sqlite3.DatabaseError:
            path.unlink(missing_ok=True)
    return _prepare(sqlite3.connect(":memory:"))


def _prepare(index: sqlite3.Connection) -> sqlite3.Connection:
    """Returns an index that has its table and can be written.

    Raises:
        sqlite3.DatabaseError: it is damaged, or contains anything else, such as a trigger.
    """
    try:
        index.execute("PRAGMA trusted_schema = OFF")
        (version,) = index.execute("PRAGMA user_version").fetchone()
        kept = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_autoindex_%'"
        content = index.execute(kept).fetchall()
        if content and (version != VERSION or content != [("table", "runs")]):
            raise sqlite3.DatabaseError("not an index of this version")
        index.execute("CREATE TABLE IF NOT EXISTS runs (name PRIMARY KEY, stamp, text)")
        index.execute("SELECT name, stamp, text FROM runs LIMIT 1").fetchall()
        index.execute(f"PRAGMA user_version = {VERSION}")
        # Fails if the folder is read-only.
        index.execute("REPLACE INTO runs VALUES ('', '', '')")
        index.execute("DELETE FROM runs WHERE name = ''")
        index.commit()
    except BaseException:
        index.close()
        raise
    return index
