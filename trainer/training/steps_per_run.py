"""How many optimizer steps one run of the session takes.

A run ends wherever something is to happen at a step of its own: a checkpoint, a recorded loss, a
summary, another batch size, the last step. Between those, steps are run together.
"""

from collections.abc import Iterable
from typing import Optional

from trainer import config as config_lib
from trainer.config.values import parse_steps

# As many steps together as make about so many rows, at most so many steps; more gain little.
AUTO_ROWS, AUTO_STEPS = 1 << 15, 32


class RunLengths:
    """Steps in the run that begins at a global step: call it with that step.

    Args:
        most: the most steps in a run.
        first: global step at which training starts; its first step is a run of its own.
        last: global step at which it stops.
        every: intervals, counted from `first`, at whose ends something happens.
        multiples: numbers at whose multiples something happens.
        steps: further steps at which something happens.
    """

    def __init__(
        self,
        most: int,
        first: int,
        last: int,
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
        """At least 1."""
        ends = [end for end in self._steps if end > step]
        done = step - self._first
        ends += [self._first + (done // size + 1) * size for size in self._every]
        ends += [(step // size + 1) * size for size in self._multiples]
        if not ends:
            return self.most
        left = min(ends) - step
        # Runs of one length to the next end, not full ones and a short one.
        runs = -(-left // self.most)
        return -(-left // runs)


def build_run_lengths(
    config: config_lib.Config, first: int, max_steps: int, is_fused: bool
) -> Optional[RunLengths]:
    """The lengths of a job's runs; None where each run is one step.

    Args:
        config: train.steps_per_run, and what happens at which steps.
        first: global step at which training starts.
        max_steps: global step at which it stops.
        is_fused: whether the engine can take several steps at once.
    """
    train, run = config.train, config.run
    most = train.steps_per_run
    if not most:
        sizes = [train.batch_size, *train.batch_growth_sizes]
        most = min(AUTO_STEPS, max(1, AUTO_ROWS // max(sizes)))
        if train.hooks:
            # They may count on being called after every step.
            most = 1
    if not is_fused or most == 1:
        return None
    return RunLengths(
        most,
        first,
        max_steps,
        every=[run.save_checkpoints_steps] if run.save_checkpoints_steps else [],
        multiples=[run.log_step_count_steps, run.save_summary_steps],
        steps=[*train.batch_growth_steps, *_list_profiled(run)],
    )


def _list_profiled(run: config_lib.RunConfig) -> list[int]:
    """The ends of the runs before and at the end of the steps that are profiled."""
    if run.profile_steps is None:
        return []
    first, last = parse_steps(run.profile_steps)
    return [first - 1, last]
