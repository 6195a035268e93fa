"""Measures how long each phase of a run takes: every second belongs to one phase."""

import collections
import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

from estimator_bridge import estimator, tf
from trainer.environment.variables import read_replaced

# The phases of a process, in the order of reports; training is reported as input wait and compute.
START_UP, TRAINING, CHECKPOINT, EVALUATION, EXPORT, VERIFY, REPORT = (
    "start-up",
    "training",
    "checkpoint",
    "evaluation",
    "export",
    "verify",
    "report",
)
INPUT_WAIT, COMPUTE, ALL = "input wait", "compute", "all"
# Maximum number of durations that are kept of a repeated phase: the most recent ones.
KEPT_TIMES = 100


class Times:
    """A stopwatch with phases. The time of a nested phase does not count for the outer phase.

    Args:
        clock: returns the time in seconds.
        before: age of the process in seconds, which counts as start-up.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, before: float = 0.0):
        self._clock = clock
        self._since = clock()
        self._phases = [START_UP]
        self._secs = {START_UP: before}
        self._entered: list[float] = []
        self._each: dict[str, collections.deque[float]] = {}
        self._waited = 0.0

    def _settle(self) -> None:
        now = self._clock()
        phase = self._phases[-1]
        self._secs[phase] = self._secs.get(phase, 0.0) + now - self._since
        self._since = now

    def turn_to(self, phase: str) -> None:
        """Replaces the outermost phase.

        Args:
            phase: the phase that begins.
        """
        self._settle()
        self._phases[0] = phase

    def enter(self, phase: str) -> None:
        """Begins a nested phase, which `leave` ends.

        Args:
            phase: the phase that begins.
        """
        self._settle()
        self._phases.append(phase)
        self._entered.append(self._since)

    def leave(self) -> None:
        """Ends the innermost phase."""
        self._settle()
        if len(self._phases) > 1:
            each = self._each.setdefault(self._phases.pop(), collections.deque(maxlen=KEPT_TIMES))
            each.append(self._since - self._entered.pop())

    @contextlib.contextmanager
    def within(self, phase: str) -> Iterator[None]:
        """Measures a nested phase while a `with` statement runs.

        Args:
            phase: the phase.
        """
        self.enter(phase)
        try:
            yield
        finally:
            self.leave()

    def add_wait(self, secs: float) -> None:
        """Adds time that training waited for a batch.

        Args:
            secs: seconds.
        """
        self._waited += secs

    def read_each(self) -> dict[str, list[float]]:
        """Returns nested phase → its most recent durations in seconds, at most KEPT_TIMES."""
        return {phase: list(each) for phase, each in self._each.items()}

    def read(self) -> dict[str, float]:
        """Returns phase → seconds so far; the last entry, "all", is the sum of the others."""
        self._settle()
        secs = dict(self._secs)
        training = secs.pop(TRAINING, 0.0)
        waited = min(self._waited, training)
        secs.update({INPUT_WAIT: waited, COMPUTE: training - waited})
        order = (START_UP, INPUT_WAIT, COMPUTE, CHECKPOINT, EVALUATION, EXPORT, VERIFY, REPORT)
        return {**{name: secs.get(name, 0.0) for name in order}, ALL: sum(secs.values())}


def process_age() -> float:
    """Returns the seconds since this process was started; 0 if the system has no /proc.

    Where another program has replaced itself by this one, the time before does not count.
    """
    try:
        # The fields after the program's name, which is in brackets and may contain spaces.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        return max(now - max(started, read_replaced()), 0.0)
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


class TimesHook(estimator.SessionRunHook):
    """Records when training begins, and how long its steps wait for their batches.

    The first step counts as start-up because TensorFlow initialises during it.

    Args:
        times: where the times are recorded.
    """

    def __init__(self, times: Times):
        self._times = times
        self._wait: Any = None
        self._is_training = False

    def begin(self) -> None:
        """Adds operations that measure the wait inside the step."""
        graph = tf.compat.v1.get_default_graph()
        requests = [op for op in graph.get_operations() if op.type == "IteratorGetNext"]
        # Under a distribution strategy, the replicas wait in parallel. The sum of their waiting
        # times has no meaning.
        if len(requests) == 1:
            began = tf.timestamp()
            with tf.control_dependencies(requests):
                self._wait = tf.timestamp() - began

    def before_run(self, run_context: Any) -> Any:
        """Fetches the waiting time.

        Args:
            run_context: not used.
        """
        return None if self._wait is None else tf.compat.v1.train.SessionRunArgs(self._wait)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Records the waiting time.

        Args:
            run_context: not used.
            run_values: contains the waiting time in seconds.
        """
        if not self._is_training:
            self._is_training = True
            self._times.turn_to(TRAINING)
        elif self._wait is not None:
            self._times.add_wait(max(float(run_values.results), 0.0))


class TimesListener(estimator.CheckpointSaverListener):
    """Records the time of checkpoints; must be the first of the listeners.

    Args:
        times: where the times are recorded.
    """

    def __init__(self, times: Times):
        self._times = times

    def before_save(self, session: Any, global_step_value: Any) -> None:
        """Begins the phase of a checkpoint.

        Args:
            session: not used.
            global_step_value: not used.
        """
        self._times.enter(CHECKPOINT)

    def after_save(self, session: Any, global_step_value: Any) -> None:
        """Ends the phase of a checkpoint.

        Args:
            session: not used.
            global_step_value: not used.
        """
        self._times.leave()
