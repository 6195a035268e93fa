"""Prepares a job's folder in a bucket for the job that has just claimed it."""

import functools

from trainer import job_layout
from trainer.storage.bucket import Changed
from trainer.storage.objects import Objects
from trainer.storage.transfers import run_all


def take_over(objects: Objects) -> bool:
    """Prepares the folder in the bucket for this job, which has just claimed it.

    A job that had the claim before may have changed objects since this one has seen them, and some
    of its requests may still be on their way. They name generations of objects, so the checkpoints
    and their state file get new ones.

    Args:
        objects: the local folder and its folder in the bucket.

    Returns:
        Whether the other job has changed objects; they are forgotten.

    Raises:
        Conflict: another job has claimed the folder since.
        UserError: the bucket cannot be read or written.
    """
    changed = _forget_changed(objects)
    state = job_layout.CHECKPOINT_STATE
    models = [name for name in objects.known if job_layout.find_step(name) is not None]
    # Several at the same time; then the state file, which names them.
    run_all([functools.partial(_renew, objects, name) for name in models])
    if not objects.known.keys() >= {*models}:
        # The state file may name the checkpoint that the other job has changed.
        objects.known.pop(state, None)
    elif state not in objects.known or _renew(objects, state):
        return changed
    _forget_changed(objects)
    return True


def _forget_changed(objects: Objects) -> bool:
    """Forgets objects that another job has changed; returns whether there were any.

    If that job has stored a state file, it is removed: its checkpoints will be overwritten, and it
    would name a mixture of two checkpoints for a while.
    """
    listed = objects.list_stored()
    same = {n: one for n, one in objects.known.items() if listed.get(n) == one.found}
    state = job_layout.CHECKPOINT_STATE
    if state in listed and state not in same:
        if objects.claim is not None:
            # The job that has stored it may have claimed the folder since this one did.
            objects.claim.enforce()
        objects.bucket.remove(listed[state])
    elif len(same) == len(objects.known):
        return False
    objects.known = same
    return True


def _renew(objects: Objects, name: str) -> bool:
    """Gives an object a new generation; forgets it and returns False if it has changed."""
    known = objects.known[name]
    try:
        objects.known[name] = known._replace(found=objects.bucket.renew(known.found))
    except Changed:
        del objects.known[name]
        return False
    return True
