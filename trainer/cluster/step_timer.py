"""Times training steps and the pauses between them, and computes the time limit of a step."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Optional

# Factors for the time limits of steps and pauses. The limit for creating a session and running its
# first step, which builds and compiles, is FIRST_TIMES cluster.stall_secs. The limit for a pause
# between two steps (a checkpoint, an export, a hook, one batch of an evaluation) is BETWEEN_TIMES
# cluster.stall_secs. The limit for any later step is cluster.stall_secs, or LONGEST_TIMES the
# longest earlier step if that is longer.
FIRST_TIMES, LONGEST_TIMES, BETWEEN_TIMES = 10, 10, 10


class StepTimer:
    """Times training steps, and separately the pauses between them.

    The main thread calls the methods that change this object; another thread reads it.

    Args:
        clock: returns seconds.

    Attributes:
        step_began: when the current step began; None between two steps.
        last_progress: when the current pause began or last made progress; None while timing is
            stopped.
        num_steps: number of successful steps of this process.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._longest: Optional[float] = None
        self.step_began: Optional[float] = None
        self.last_progress: Optional[float] = None
        self.num_steps = 0

    def start_session(self) -> None:
        """Starts timing the creation of a session together with its first step."""
        self._longest, self.step_began = None, self._clock()

    def begin_step(self) -> None:
        """Starts timing a step."""
        if self._longest is not None:
            self.step_began = self._clock()

    def end_step(self) -> None:
        """Ends the timing of a successful step and starts timing a pause."""
        self.note_progress()
        self.num_steps += 1
        if self._longest is None or self.step_began is None:
            # The duration of the first step does not predict the duration of later ones.
            self._longest = self._longest or 0.0
        else:
            self._longest = max(self._clock() - self.step_began, self._longest)
        self.step_began = None

    def note_progress(self) -> None:
        """Records that the current pause has made progress."""
        self.last_progress = self._clock()

    @contextmanager
    def time_pause(self) -> Iterator[None]:
        """Times the body of the `with` statement, which contains no step."""
        self.note_progress()
        try:
            yield
        finally:
            self.stop()

    def stop(self) -> None:
        """Stops timing."""
        self.step_began = self.last_progress = None

    def limit(self, secs: float) -> float:
        """Returns the time limit of the current step, in seconds.

        Args:
            secs: the usual limit (cluster.stall_secs).
        """
        if self._longest is None:
            return FIRST_TIMES * secs
        return max(secs, LONGEST_TIMES * self._longest)
