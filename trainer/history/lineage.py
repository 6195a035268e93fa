"""From an export, or a version that was pushed, back to the data and the code of its job."""

from pathlib import Path
from typing import Any, Callable, Optional

from trainer import storage
from trainer.errors import TemporaryError, UserError
from trainer.export.fingerprint import EXTRA, GATE_REPORT
from trainer.export.origin import choose_run, find_job_dir, find_time, parse_time
from trainer.history.compare import describe_inputs
from trainer.history.runs import Run, make_run, read_run
from trainer.job_dir.input_runs import read_runs
from trainer.job_layout import CONFIG, EXPORT_FOLDER, INPUTS
from trainer.release.pushing import Deployment

# Warm starts that are followed.
MAX_PARENTS = 20


def describe_lineage(path: str, fetch: Callable[[str], Path]) -> str:
    """Returns lines: the version, its export, the job, its inputs, and its parents.

    Args:
        path: of an export, or of a version in a folder of trainer.push.
        fetch: returns the local folder with the small files of a job.

    Raises:
        UserError: the path is neither, or the job is not there any more.
    """
    lines: list[str] = []
    path, recorded = path.rstrip("/"), None
    if f"/{EXPORT_FOLDER}/" not in path:
        lines, path, recorded = _find_pushed(path)
    job_dir, time = find_job_dir(path), find_time(path)
    if job_dir is None:
        raise UserError(f"{path}: its data are not known: no export of a job (JOB_DIR/export/...)")
    lines.append(f"export {path}")
    for _ in range(MAX_PARENTS):
        more, inputs = _describe_job(job_dir, time, recorded, fetch)
        lines += more
        parent = (inputs.get("parent") or {}).get("warm_start")
        if not parent:
            break
        lines.append(f"warm-started from {parent}")
        last = parent.rstrip("/").rpartition("/")[2]
        job_dir = parent.rpartition("/")[0] if last.startswith("model.ckpt") else parent
        time, recorded = parse_time(inputs.get("started")), None
        if not storage.is_remote(job_dir) and not (Path(job_dir) / CONFIG).is_file():
            lines.append(f"job {job_dir}: not there any more")
            break
    return "\n".join(lines)


def _describe_job(
    job_dir: str,
    time: Optional[float],
    recorded: Optional[dict[str, Any]],
    fetch: Callable[[str], Path],
) -> tuple[list[str], dict[str, Any]]:
    """Returns lines about the run of a job that was in progress at a time, and its inputs.

    Args:
        job_dir: the job's folder.
        time: in seconds since 1970; None: its last run.
        recorded: the inputs of the run as they were recorded elsewhere; None if they were not.
        fetch: returns the local folder with the small files of a job.
    """
    try:
        run, runs = _read(job_dir, fetch)
    except TemporaryError:
        raise
    except UserError:
        if recorded is None:
            raise
        line = f"job {job_dir}: not there any more, or damaged"
        return [line, *_list_inputs(make_run(recorded, job_dir))], recorded
    if recorded is None:
        made = choose_run(runs, time)
    else:
        # The record in the job may be newer: of a run that has ended since.
        started = recorded.get("started")
        made = next((one for one in runs if one.get("started") == started), None)
    if made is None and (runs or recorded):
        line = f"job {job_dir}: started again since"
        if recorded is None:
            return [line, "  inputs: not known, only those of the new run"], {}
    else:
        line = f"job {job_dir}: {run.state}, {run.last_step:,} steps"
        if made is not None and made is not runs[-1]:
            line += f"; what follows is its run of {made.get('started')}, not the last one"
    inputs = made or recorded or {}
    return [line, *_list_inputs(make_run(inputs, f"{job_dir}/{INPUTS}"))], inputs


def _list_inputs(run: Run) -> list[str]:
    return [f"  {name}: {text}" for name, text in describe_inputs(run)]


def list_verdicts(folder: Path) -> list[tuple[str, str]]:
    """Returns (export, verdict with its time and reason) of each export that the gate has judged.

    Args:
        folder: of the job, on this machine.

    Raises:
        UserError: a report of the gate is damaged.
    """
    found = []
    for path in sorted(folder.glob(f"{EXPORT_FOLDER}/*/*/{EXTRA}/{GATE_REPORT}")):
        report = storage.read_json(path) or {}
        reason = f", forced: {report.get('reason')!r}" if report.get("forced") else ""
        text = f"{report.get('verdict')} {report.get('time', '')}{reason}"
        found.append((path.parents[1].relative_to(folder).as_posix(), text))
    return found


def _find_pushed(path: str) -> tuple[list[str], str, Optional[dict[str, Any]]]:
    """Returns a line about a pushed version, the path of its export, and its recorded inputs."""
    folder, _, number = path.rpartition("/")
    if not number.isdigit():
        raise UserError(
            f"{path}: neither an export (JOB_DIR/export/NAME/NUMBER) nor a version (FOLDER/NUMBER) "
            "of trainer.push; give one of them"
        )
    entry = Deployment(folder or ".").read().versions.get(int(number))
    if entry is None:
        raise UserError(f"{path}: not pushed by trainer.push; name the export in its job instead")
    reason = f", {entry.reason!r}" if entry.reason else ""
    line = f"version {number} in {folder}: pushed {entry.pushed}, {entry.verdict}{reason}"
    source = f"{folder or '.'}/{storage.VERSIONS_STATE}"
    if entry.inputs is not None:
        make_run(entry.inputs, source)
    return [line], entry.export, entry.inputs


def _read(job_dir: str, fetch: Callable[[str], Path]) -> tuple[Run, list[dict[str, Any]]]:
    """Returns a job, and the records of its runs, oldest first."""
    folder = fetch(job_dir)
    if not (folder / CONFIG).is_file():
        raise UserError(f"job {job_dir}: no {CONFIG} there; the job was removed, or moved")
    return read_run(folder, "."), read_runs(folder / INPUTS)
