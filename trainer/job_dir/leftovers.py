"""Removes what a killed run has left in a job_dir: incomplete exports and unused checkpoints."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from trainer import config as config_lib
from trainer import job_layout
from trainer.storage.files import remove

# What TensorFlow has not yet renamed to a checkpoint or to its state file.
UNFINISHED = re.compile(r"model\.ckpt-\d+(_temp|\..*tempstate).*|checkpoint\.tmp.*")


def remove_leftovers(config: config_lib.Config, is_shared: bool, log: Callable[[str], None]) -> int:
    """Removes incomplete exports, and checkpoints that are neither named nor kept by choice.

    The job must hold its claim to the folder, and the newest checkpoint must have been checked.

    Args:
        config: the configuration, including job_dir.
        is_shared: whether other processes may be writing exports to the folder. Then only exports
            that are at least a day old are removed.
        log: called with one line if something was removed.

    Returns:
        The number of removed exports, checkpoints and unfinished files.
    """
    folder = Path(config.require_job_dir())
    before = time.time() - job_layout.ABANDONED_SECS if is_shared else time.time() + 1
    doomed = [
        path
        for path in [*_list_exports(folder), *_list_unfinished(folder)]
        if _last_change(path) < before
    ]
    steps = _find_unused_steps(folder, config.run)
    for path in doomed:
        remove(path, ignore_errors=True)
    for step in steps:
        # The index first: without it, the rest is no checkpoint.
        for path in sorted(folder.glob(f"model.ckpt-{step}.*"), reverse=True):
            if job_layout.CHECKPOINT_FILE.fullmatch(path.name):
                path.unlink(missing_ok=True)
    if doomed or steps:
        names = [path.relative_to(folder).as_posix() for path in doomed]
        names += [f"model.ckpt-{step}" for step in steps]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        log(f"removed what an earlier run left incomplete: {', '.join(names[:3])}{more}")
    return len(doomed) + len(steps)


def _list_exports(folder: Path) -> Iterator[Path]:
    """Yields the folders of exports that were not completed."""
    for path in sorted(folder.glob(f"{job_layout.EXPORT_FOLDER}/*/*")):
        if not path.is_dir() or path.is_symlink():
            continue
        prefix = f"{path.relative_to(folder).as_posix()}/"
        names = [prefix + one.relative_to(path).as_posix() for one in path.rglob("*")]
        names = [name for name in names if not job_layout.is_temporary(name)]
        # A folder alone stands for one without files.
        if job_layout.find_unfinished_exports(names or [prefix + "variables/"]):
            yield path


def _list_unfinished(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if UNFINISHED.fullmatch(path.name))


def _last_change(path: Path) -> float:
    """Returns the time of the last change of a file, or of any file in a folder."""
    try:
        return max(one.stat().st_mtime for one in [path, *path.rglob("*")])
    except FileNotFoundError:
        # Another process is changing it at this moment.
        return time.time()


def _find_unused_steps(folder: Path, run: config_lib.RunConfig) -> list[int]:
    """Returns the steps of checkpoints that the state file does not name, and that may go."""
    named = job_layout.read_state_steps(job_layout.read_state(folder))
    names = [path.name for path in folder.iterdir()]
    steps = {step for step in map(job_layout.find_step, names) if step is not None}
    whole = job_layout.find_whole_steps(names)
    if not named or named[0] not in whole:
        return []
    unnamed = steps - {*named}
    # Older ones may be kept by choice; TensorFlow does not name these. A kill leaves few.
    older = {step for step in unnamed & whole if step < named[0]}
    if not _keeps_few(folder, run) or len(older) > run.keep_checkpoint_max:
        unnamed -= older
    return sorted(unnamed)


def _keeps_few(folder: Path, run: config_lib.RunConfig) -> bool:
    """Returns whether this run and the one before it keep only a number of newest checkpoints."""
    path = folder / job_layout.CONFIG
    stored = config_lib.read_yaml(path, "job_dir").get("run") if path.is_file() else None
    if not isinstance(stored, dict):
        return False
    fields = run.model_dump()
    return all(
        values.get("keep_checkpoint_max", fields["keep_checkpoint_max"])
        and not values.get("keep_checkpoint_every_n_hours")
        for values in (fields, stored)
    )
