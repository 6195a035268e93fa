"""Computes how many optimizer steps each session run has.

A session run ends at every step with an event: a checkpoint, a recorded loss, a summary, a change
of the batch size, or the last step. The steps between two events are run together.
"""

from collections.abc import Iterable
from typing import Optional

from trainer import config as config_lib
from trainer.config.values import parse_steps
from trainer.job_dir import checkpoints

# Limits of the automatic choice: rows in all steps of a session run, and steps in a session run.
# Higher limits gain little.
AUTO_ROWS, AUTO_STEPS = 1 << 15, 32


class RunLengths:
    """A function that returns the number of steps in the session run that begins at a global step.

    Args:
        most: the maximum number of steps in a session run.
        first: global step at which the session starts; its first step is a separate session run.
        last: global step at which training stops.
        every: intervals, counted from `first`; a session run ends at the end of each interval.
        multiples: a session run ends at each multiple of these numbers.
        steps: further global steps at which a session run ends.

    Attributes:
        most: as given.
        first: as given; a session that is made again sets it.
    """

    def __init__(
        self,
        most: int,
        first: int,
        last: int,
        *,
        every: Iterable[int] = (),
        multiples: Iterable[int] = (),
        steps: Iterable[int] = (),
    ):
        self.most = most
        self.first = first
        self._every = tuple(every)
        self._multiples = tuple(multiples)
        self._steps = (last, *steps)

    def __call__(self, step: int) -> int:
        """Returns the number of steps in the session run that begins at `step`, at least 1."""
        ends = [end for end in (self.first + 1, *self._steps) if end > step]
        done = step - self.first
        ends += [self.first + (done // size + 1) * size for size in self._every]
        ends += [(step // size + 1) * size for size in self._multiples]
        if not ends:
            return self.most
        left = min(ends) - step
        # Divide the steps up to the next end into equally long session runs, rather than runs of
        # maximum length and a short rest.
        runs = -(-left // self.most)
        return -(-left // runs)


def build_run_lengths(
    config: config_lib.Config,
    *,
    first: int,
    max_steps: int,
    is_fused: bool,
    needs_groups: bool = False,
    sharing: int = 1,
) -> Optional[RunLengths]:
    """Returns the lengths of a job's session runs; None if each session run is one step.

    Args:
        config: contains steps_per_run, hooks, batch sizes, and the intervals of checkpoints, losses
            and summaries.
        first: global step at which training starts.
        max_steps: global step at which training stops.
        is_fused: whether the fused engine trains; no other engine can run several steps at once.
        needs_groups: whether the input must be groups of batches, even of one each.
        sharing: how many processes count the same global steps, each after its own. No session run
            of one of them can then end at a given global step.
    """
    train, run = config.train, config.run
    most = train.steps_per_run
    if not most:
        sizes = [train.batch_size, *train.batch_growth_sizes]
        most = min(AUTO_STEPS, max(1, AUTO_ROWS // max(sizes)))
        if train.hooks:
            # A user's hook may rely on being called after each step.
            most = 1
    most = max(1, most // sharing)
    if not is_fused or (most == 1 and not needs_groups):
        return None
    if sharing > 1:
        return RunLengths(most, first, first + 1, steps=train.batch_growth_steps)
    return RunLengths(
        most,
        first,
        max_steps,
        every=[run.save_checkpoints_steps] if run.save_checkpoints_steps else [],
        multiples=[run.log_step_count_steps, run.save_summary_steps],
        steps=[
            *run.checkpoint_at_steps,
            *train.batch_growth_steps,
            *_list_profiled(run.profile_steps),
        ],
    )


def begin_session(job_dir: str, lengths: Optional[RunLengths]) -> int:
    """Returns the global step of a session that begins now, and lets its runs count from there.

    A session that is made again after the loss of a parameter server begins later than the first.

    Args:
        job_dir: folder of the checkpoints; the newest is restored.
        lengths: lengths of the session's runs; None if each is one step.
    """
    step = checkpoints.read_step(checkpoints.latest_checkpoint(job_dir))
    if lengths is not None:
        lengths.first = step
    return step


def _list_profiled(profile_steps: Optional[str]) -> list[int]:
    """Returns the global step before the first profiled step, and the last profiled step."""
    if profile_steps is None:
        return []
    first, last = parse_steps(profile_steps)
    return [first - 1, last]
