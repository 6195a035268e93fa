"""Times a training step, or the pause between two, and computes how long a step may take."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Optional

# Factors of the time that a step may take (cluster.stall_secs). Creating a session and running its
# first step, which builds and compiles, may take FIRST_TIMES as long. A pause between two steps (a
# checkpoint, an export, a hook, one batch of an evaluation) may take BETWEEN_TIMES as long. Any
# step may take LONGEST_TIMES as long as the longest one before it.
FIRST_TIMES, LONGEST_TIMES, BETWEEN_TIMES = 10, 10, 10


class StepTimer:
    """Times training steps, and separately the pauses between them.

    The main thread calls the methods that change it; another thread reads it.

    Args:
        clock: returns seconds.

    Attributes:
        step_began: when the current step began; None between two steps.
        last_progress: when the current pause began or last made progress; None where nothing is
            timed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._longest: Optional[float] = None
        self.step_began: Optional[float] = None
        self.last_progress: Optional[float] = None

    def start_session(self) -> None:
        """Starts timing the creation of a session together with its first step."""
        self._longest, self.step_began = None, self._clock()

    def begin_step(self) -> None:
        """Starts timing a step."""
        if self._longest is not None:
            self.step_began = self._clock()

    def end_step(self) -> None:
        """Ends a step that has succeeded; a pause begins."""
        self.note_progress()
        if self._longest is None or self.step_began is None:
            # The first step is no measure of those that follow.
            self._longest = self._longest or 0.0
        else:
            self._longest = max(self._clock() - self.step_began, self._longest)
        self.step_began = None

    def note_progress(self) -> None:
        """Records progress outside a step."""
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
        """Returns the seconds that the current step may take.

        Args:
            secs: seconds that are enough for most steps.
        """
        if self._longest is None:
            return FIRST_TIMES * secs
        return max(secs, LONGEST_TIMES * self._longest)
