"""Where the time of a run goes: every second since the process began is of one phase."""

import collections
import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

from estimator_bridge import estimator, tf

# What a process does, in the order in which it is told. Training is split into its two parts.
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
# Of a phase that comes again and again the seconds of so many times are kept, the last ones.
KEPT_TIMES = 100


class Times:
    """A stop watch with phases: a phase within another one is not counted as the outer one.

    Args:
        clock: gives seconds.
        before: seconds of the process before this watch was made; they count as start-up.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, before: float = 0.0):
        self._clock = clock
        self._since = clock()
        self._phases = [START_UP]
        self._secs = {START_UP: before}
        self._entered: list[float] = []
        self._each: dict[str, collections.deque] = {}
        self._waited = 0.0

    def _settle(self) -> None:
        now = self._clock()
        phase = self._phases[-1]
        self._secs[phase] = self._secs.get(phase, 0.0) + now - self._since
        self._since = now

    def turn_to(self, phase: str) -> None:
        """Another phase begins, in the place of the outermost one."""
        self._settle()
        self._phases[0] = phase

    def enter(self, phase: str) -> None:
        """A phase begins within the one that is on; `leave` ends it."""
        self._settle()
        self._phases.append(phase)
        self._entered.append(self._since)

    def leave(self) -> None:
        """The innermost phase is over."""
        self._settle()
        if len(self._phases) > 1:
            each = self._each.setdefault(self._phases.pop(), collections.deque(maxlen=KEPT_TIMES))
            each.append(self._since - self._entered.pop())

    @contextlib.contextmanager
    def within(self, phase: str) -> Iterator[None]:
        """As a `with` statement."""
        self.enter(phase)
        try:
            yield
        finally:
            self.leave()

    def add_wait(self, secs: float) -> None:
        """Of the training, so many seconds were spent waiting for the next batch."""
        self._waited += secs

    def read_each(self) -> dict[str, list[float]]:
        """Phase that was entered and left → seconds of each time, of the last 100."""
        return {phase: list(each) for phase, each in self._each.items()}

    def read(self) -> dict[str, float]:
        """Phase → seconds so far, "all" last: the sum of the others."""
        self._settle()
        secs = dict(self._secs)
        training = secs.pop(TRAINING, 0.0)
        waited = min(self._waited, training)
        secs.update({INPUT_WAIT: waited, COMPUTE: training - waited})
        order = (START_UP, INPUT_WAIT, COMPUTE, CHECKPOINT, EVALUATION, EXPORT, VERIFY, REPORT)
        return {**{name: secs.get(name, 0.0) for name in order}, ALL: sum(secs.values())}


def process_age() -> float:
    """Seconds since this process was started; 0 where the system does not tell."""
    try:
        # Behind the name, which is in brackets and may hold anything; counted from field 3 on.
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - started, 0.0)
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


class TimesHook(estimator.SessionRunHook):
    """Tells a Times when training begins, and for how long its steps wait for their rows.

    The first step is part of the start-up: it sets the session up.
    """

    def __init__(self, times: Times):
        self._times = times
        self._wait: Any = None
        self._is_training = False

    def begin(self):
        """Measures the wait within the step itself, where it is the only one to know."""
        graph = tf.compat.v1.get_default_graph()
        asked = [op for op in graph.get_operations() if op.type == "IteratorGetNext"]
        # Under a strategy the replicas ask at the same time: their sum would say nothing.
        if len(asked) == 1:
            began = tf.timestamp()
            with tf.control_dependencies(asked):
                self._wait = tf.timestamp() - began

    def before_run(self, run_context):
        """Asks for the wait."""
        return None if self._wait is None else tf.compat.v1.train.SessionRunArgs(self._wait)

    def after_run(self, run_context, run_values):
        """Notes it."""
        if not self._is_training:
            self._is_training = True
            self._times.turn_to(TRAINING)
        elif self._wait is not None:
            self._times.add_wait(max(float(run_values.results), 0.0))


class TimesListener(estimator.CheckpointSaverListener):
    """Tells a Times of checkpoints; to be the first of the listeners."""

    def __init__(self, times: Times):
        self._times = times

    def before_save(self, session, global_step_value):
        """A checkpoint begins."""
        self._times.enter(CHECKPOINT)

    def after_save(self, session, global_step_value):
        """It is written."""
        self._times.leave()
