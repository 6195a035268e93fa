"""How many optimizer steps one session run takes.

A run ends wherever something happens at a certain step: a checkpoint, a recorded loss, a summary,
another batch size, the last step. Steps between those are run together.
"""

from collections.abc import Iterable
from typing import Optional

from trainer import config as config_lib
from trainer.config.values import parse_steps

# Automatic: the steps of a run together have about this many rows, and there are at most this
# many steps. More gains little.
AUTO_ROWS, AUTO_STEPS = 1 << 15, 32


class RunLengths:
    """Returns the steps of the session run that begins at a global step, when called with it.

    Args:
        most: the most steps in a run.
        first: global step at which training starts; its first step is a run of its own.
        last: global step at which it stops.
        every: intervals, counted from `first`; a run ends at the end of each.
        multiples: a run ends at each multiple of these numbers.
        steps: further global steps at which a run ends.
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
        self._first = first
        self._every = tuple(every)
        self._multiples = tuple(multiples)
        self._steps = (first + 1, last, *steps)

    def __call__(self, step: int) -> int:
        """Returns the steps of the run that begins at `step`, at least 1."""
        ends = [end for end in self._steps if end > step]
        done = step - self._first
        ends += [self._first + (done // size + 1) * size for size in self._every]
        ends += [(step // size + 1) * size for size in self._multiples]
        if not ends:
            return self.most
        left = min(ends) - step
        # Equally long runs up to the next end, rather than full runs and a short one.
        runs = -(-left // self.most)
        return -(-left // runs)


def build_run_lengths(
    train: config_lib.TrainConfig,
    run: config_lib.RunConfig,
    *,
    first: int,
    max_steps: int,
    is_fused: bool,
) -> Optional[RunLengths]:
    """Returns the lengths of a job's session runs; None where each run is one step.

    Args:
        train: steps_per_run, hooks and batch sizes.
        run: the intervals of checkpoints, losses and summaries.
        first: global step at which training starts.
        max_steps: global step at which it stops.
        is_fused: whether the fused engine trains, the only one that takes several steps at once.
    """
    most = train.steps_per_run
    if not most:
        sizes = [train.batch_size, *train.batch_growth_sizes]
        most = min(AUTO_STEPS, max(1, AUTO_ROWS // max(sizes)))
        if train.hooks:
            # A user's hook may expect to be called after each step.
            most = 1
    if not is_fused or most == 1:
        return None
    return RunLengths(
        most,
        first,
        max_steps,
        every=[run.save_checkpoints_steps] if run.save_checkpoints_steps else [],
        multiples=[run.log_step_count_steps, run.save_summary_steps],
        steps=[*train.batch_growth_steps, *_list_profiled(run.profile_steps)],
    )


def _list_profiled(profile_steps: Optional[str]) -> list[int]:
    """The global steps before the first profiled step, and of the last one."""
    if profile_steps is None:
        return []
    first, last = parse_steps(profile_steps)
    return [first - 1, last]
