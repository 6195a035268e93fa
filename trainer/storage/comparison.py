"""Compares a job's local folder with its folder in a bucket when the job starts."""

from collections.abc import Callable, Collection, Mapping
from typing import Optional

from trainer import job_layout
from trainer.storage.bucket import Found
from trainer.storage.memory import Known
from trainer.storage.objects import Objects


def find_missing(
    objects: Objects,
    memory: Mapping[str, Known],
    listed: Mapping[str, Found],
    log: Callable[[str], None],
) -> Optional[list[str]]:
    """Compares the local folder with the bucket, and records the objects in `objects.known`.

    Args:
        objects: the local folder and its folder in the bucket.
        memory: the objects that this machine has last seen.
        listed: the objects in the bucket.
        log: called with one line if local checkpoints are removed because they lack files.

    Returns:
        The names of the objects that the local folder lacks and the job did not remove. None if
        another machine has changed the bucket since, or if the local folder has lost the state
        file.
    """
    known = dict(memory)
    local_names = set(job_layout.list_names(objects.folder))
    state = job_layout.CHECKPOINT_STATE
    if state in listed and state not in local_names:
        return None
    steps = _find_kept_steps(objects, local_names)
    if not steps and state not in listed:
        _remove_partial(objects, local_names, log)
    missing = []
    unfinished = job_layout.find_unfinished_exports(listed)
    partial = job_layout.find_partial_checkpoints(listed)
    for name in {*known, *listed}:
        if job_layout.find_export(name) in unfinished or name in partial:
            continue
        stored, local = listed.get(name), objects.folder / name
        if stored is None:
            # The object was removed. If the local file still exists, another machine did that.
            if local.exists():
                return None
            known.pop(name, None)
        elif name in known and known[name].found.has_content_of(stored):
            # A job that was killed while it took the folder over has renewed some objects.
            known[name] = known[name]._replace(found=stored)
            if not local.exists():
                if not job_layout.is_superseded(name, steps, local_names):
                    missing.append(name)
            elif _is_torn(objects, name, known[name]):
                missing.append(name)
        else:
            # This machine may have stored the object just before it stopped, too late to record
            # it. Then the local file has the same content.
            content = (stored.size, stored.crc32c)
            if not local.is_file() or objects.read_checksum(name) != content:
                return None
            status = local.stat()
            known[name] = Known(stored, status.st_size, status.st_mtime_ns)
    objects.known = known
    return missing if known else None


def _find_kept_steps(objects: Objects, local_names: Collection[str]) -> list[int]:
    """Returns the steps of the checkpoints that the job has kept; [] if none of them is complete.

    Checkpoints that lack files here do not take the place of stored ones.
    """
    steps = job_layout.read_state_steps(objects.read_state())
    return steps if job_layout.find_whole_steps(local_names).intersection(steps) else []


def _is_torn(objects: Objects, name: str, known: Known) -> bool:
    """Returns whether a local file has lost a part of what is stored.

    After a loss of power, files that were written shortly before may be incomplete; their time is
    the same. If a job may have changed a file since it was stored, only files of checkpoints and
    exports, which no job changes, and logs, which only grow, can be known to be incomplete.
    """
    status = (objects.folder / name).stat()
    if status.st_mtime_ns == known.mtime_ns:
        return status.st_size != known.size
    if job_layout.is_log(name):
        return status.st_size < known.found.size
    if job_layout.find_step(name) is None and not job_layout.EXPORT_FILE.match(name):
        return False
    return objects.read_checksum(name) != (known.found.size, known.found.crc32c)


def _remove_partial(
    objects: Objects, local_names: Collection[str], log: Callable[[str], None]
) -> None:
    """Removes local checkpoints that lack files, and the state file; none has been stored.

    A program that empties folders has removed the other files, or the job was killed while it saved
    its first checkpoint. On another machine, the job would not find these checkpoints either.
    """
    partial = job_layout.find_partial_checkpoints(local_names)
    if not partial:
        return
    log(
        f"warning: {objects.folder} has only checkpoints that lack files, and {objects.address} "
        "names none; they are removed"
    )
    for name in sorted({job_layout.CHECKPOINT_STATE, *partial}):
        (objects.folder / name).unlink(missing_ok=True)


def forget_lost(objects: Objects) -> bool:
    """Forgets objects whose files are missing in the local folder, so that they are fetched again.

    Args:
        objects: the local folder and its folder in the bucket; all of it has just been fetched.

    Returns:
        Whether files are missing: a program that cleans up has removed them meanwhile.
    """
    lost = [name for name in objects.known if not (objects.folder / name).exists()]
    for name in lost:
        del objects.known[name]
    return bool(lost)
