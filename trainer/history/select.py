"""Filters and sorts jobs, and chooses those that may be removed."""

import fcntl
import math
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

from trainer import storage
from trainer.errors import UserError, nearest
from trainer.export.fingerprint import fingerprint_export
from trainer.history.runs import Run
from trainer.job_dir.compatibility import KEPT, find_kept
from trainer.job_layout import EXPORT_FOLDER, LOCK
from trainer.metrics.catalogue import choose_direction
from trainer.release.state import State

CONDITION = re.compile(r"(?P<name>[^<>=!]+?)\s*(?P<sign><=|>=|!=|=|<|>)\s*(?P<value>.*)")
OWN = ("name", "state", "started", "secs", "step")


def filter_runs(runs: Sequence[Run], conditions: Sequence[str]) -> list[Run]:
    """Returns the jobs that fulfil all conditions. A job without the value fulfils none but "!=".

    Args:
        runs: the jobs.
        conditions: each NAME=VALUE, NAME!=VALUE, NAME<VALUE, NAME>VALUE, NAME<=VALUE, NAME>=VALUE.

    Raises:
        UserError: a condition is not of this form, no job has a value of the name, or a number is
            needed.
    """
    kept = list(runs)
    for text in conditions:
        match = CONDITION.fullmatch(text)
        if match is None:
            raise UserError(f"--where={text}: write NAME=VALUE, NAME<NUMBER or NAME>NUMBER")
        name, sign, value = match.group("name", "sign", "value")
        _check_value(f"--where={text}", sign, value)
        check_known(f"--where={text}", name, runs)
        kept = [run for run in kept if _holds(run.find(name), sign, value)]
    return kept


def _check_value(where: str, sign: str, value: str) -> None:
    """Refuses a value with which a condition would never hold."""
    more = re.match("[<>=]|!=", value)
    if more is not None:
        raise UserError(
            f"{where}: no comparison is written {sign}{more.group()}; write one of =, !=, <, >, <= "
            "and >="
        )
    if re.search(r"\s(and|or|&&|\|\|)\s.*[<>=]", value):
        raise UserError(f"{where}: has several conditions; give each with a --where of its own")
    if sign in ("=", "!="):
        return
    try:
        is_number = not math.isnan(float(value))
    except ValueError:
        is_number = False
    if not is_number:
        raise UserError(f"{where}: {sign} compares numbers, and {value!r} is none; give a number")


def check_known(where: str, name: str, runs: Sequence[Run]) -> None:
    """Checks that a job has a value of a name.

    Args:
        where: the flag, for the message.
        name: an option, a metric, or one of OWN.
        runs: the jobs.

    Raises:
        UserError: there are jobs, and none has the value.
    """
    known = [*OWN, *sorted({key for run in runs for key in (*run.config, *run.metrics)})]
    is_found = name in known or any(run.find(name) is not None for run in runs)
    if runs and not is_found:
        raise UserError(f"{where}: no job has {name!r}{nearest(name, known)}")


def sort_runs(runs: Sequence[Run], name: str) -> list[Run]:
    """Returns jobs in order: of a metric the best first, of other values the largest first.

    Args:
        runs: the jobs; those without the value come last.
        name: an option, a metric, or one of OWN.
    """
    sign = -1.0
    if name not in OWN and any(name in run.metrics for run in runs):
        try:
            sign = 1.0 if choose_direction(name, "auto") == "min" else -1.0
        except UserError:
            sign = -1.0

    def place(run: Run) -> tuple[bool, float, str]:
        value = run.find(name)
        is_number = isinstance(value, (int, float))
        return (not is_number, sign * value if is_number else 0.0, run.name)

    if any(isinstance(run.find(name), str) for run in runs):
        return sorted(runs, key=lambda run: str(run.find(name) or ""), reverse=name == "started")
    return sorted(runs, key=place)


class Removal(NamedTuple):
    """What happens to a job.

    Attributes:
        run: the job.
        reason: why it is kept; None: it may be removed.
    """

    run: Run
    reason: Optional[str]


def choose_removals(
    folder: Path, runs: Sequence[Run], keep: int, metric: Optional[str], served: Sequence[State]
) -> list[Removal]:
    """Returns for each job whether it may be removed.

    Args:
        folder: of the jobs.
        runs: all jobs of the folder.
        keep: number of jobs to keep.
        metric: keeps the best by this metric; None: the newest.
        served: the states of all served models.
    """
    ordered = sort_runs(runs, metric or "started")
    entries = [entry for state in served for entry in state.versions.values()]
    entries += [state.pending.entry for state in served if state.pending is not None]
    pushed = [Path(one.export).resolve() for one in entries if not storage.is_remote(one.export)]
    contents = {entry.fingerprint for entry in entries}
    complete = [run for run in ordered if run.is_complete]
    kept = {run.name for run in complete[:keep]}
    found = []
    for run in ordered:
        job_dir = (folder / run.name).resolve()
        reason = None
        if run.name in kept:
            reason = f"one of the {keep} {'best' if metric else 'newest'}"
        elif not run.is_complete:
            reason = f"its state is {run.state}"
        elif any(job_dir in path.parents for path in pushed) or _has_export(job_dir, contents):
            reason = "an export of it is pushed"
        elif _is_locked(job_dir):
            reason = "it runs"
        elif (other := find_kept(job_dir)) is not None:
            reason = f"it contains {KEPT[other.name]}, {other.relative_to(job_dir)}"
        found.append(Removal(run, reason))
    return _keep_parents(folder, found)


def _has_export(job_dir: Path, fingerprints: Collection[str]) -> bool:
    """Returns whether a job, which may have been moved, has an export of these fingerprints."""
    found = job_dir.glob(f"{EXPORT_FOLDER}/*/*/{storage.GRAPH}") if fingerprints else ()
    return any(fingerprint_export(str(path.parent)) in fingerprints for path in found)


def _is_locked(job_dir: Path) -> bool:
    try:
        with (job_dir / LOCK).open("r+") as stream:
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _keep_parents(folder: Path, removals: list[Removal]) -> list[Removal]:
    """Keeps the jobs from which a job that is kept for another reason was warm-started.

    The jobs before those may be removed: in a chain with a new job every night, none ever could be.
    """
    parents = [
        Path(str((each.run.inputs.get("parent") or {}).get("warm_start") or "/")).resolve()
        for each in removals
        if each.reason is not None
    ]
    return [
        each._replace(reason="a job that is kept was warm-started from it")
        if each.reason is None and _is_in((folder / each.run.name).resolve(), parents)
        else each
        for each in removals
    ]


def _is_in(job_dir: Path, paths: list[Path]) -> bool:
    return any(job_dir == path or job_dir in path.parents for path in paths)


def _holds(value: Any, sign: str, wanted: str) -> bool:
    if value is None:
        return sign == "!="
    if sign in ("=", "!="):
        return (_equals(value, wanted)) == (sign == "=")
    try:
        number, limit = float(value), float(wanted)
    except (TypeError, ValueError):
        return False
    return {"<": number < limit, ">": number > limit, "<=": number <= limit, ">=": number >= limit}[
        sign
    ]


def _equals(value: Any, wanted: str) -> bool:
    if isinstance(value, bool):
        return str(value).lower() == wanted.lower()
    if isinstance(value, list):
        return ",".join(map(str, value)) == wanted
    try:
        return float(value) == float(wanted)
    except (TypeError, ValueError):
        return str(value) == wanted
