"""From an export, or a version that was pushed, back to the data and the code of its job."""

from pathlib import Path
from typing import Callable

from trainer import storage
from trainer.errors import UserError
from trainer.export.fingerprint import EXTRA, GATE_REPORT
from trainer.history.compare import describe_inputs
from trainer.history.runs import Run, read_run
from trainer.job_layout import CONFIG, EXPORT_FOLDER
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
    path = path.rstrip("/")
    if f"/{EXPORT_FOLDER}/" not in path:
        lines, path = _find_pushed(path)
    job_dir = path.rpartition(f"/{EXPORT_FOLDER}/")[0]
    lines.append(f"export {path}")
    for _ in range(MAX_PARENTS):
        run = _read(job_dir, fetch)
        lines.append(f"job {job_dir}: {run.state}, {run.last_step:,} steps")
        lines += [f"  {name}: {text}" for name, text in describe_inputs(run)]
        parent = (run.inputs.get("parent") or {}).get("warm_start")
        if not parent:
            break
        lines.append(f"warm-started from {parent}")
        last = parent.rstrip("/").rpartition("/")[2]
        job_dir = parent.rpartition("/")[0] if last.startswith("model.ckpt") else parent
        if not storage.is_remote(job_dir) and not (Path(job_dir) / CONFIG).is_file():
            lines.append(f"job {job_dir}: not there any more")
            break
    return "\n".join(lines)


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


def _find_pushed(path: str) -> tuple[list[str], str]:
    """Returns a line about a pushed version, and the path of its export."""
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
    return [f"version {number} in {folder}: pushed {entry.pushed}, {entry.verdict}{reason}"], (
        entry.export
    )


def _read(job_dir: str, fetch: Callable[[str], Path]) -> Run:
    folder = fetch(job_dir)
    if not (folder / CONFIG).is_file():
        raise UserError(f"job {job_dir}: no {CONFIG} there; the job was removed, or moved")
    return read_run(folder, ".")
