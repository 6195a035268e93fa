"""How long the training step has taken that a process is in, and how long it may take."""

import time
from collections.abc import Callable
from typing import Optional

# The creation of a session and its first step, which builds and compiles, may take so many times as
# long as a step may; and any step so many times as long as the longest one before it.
FIRST_TIMES, LONGEST_TIMES = 10, 10


class StepClock:
    """A stop watch that runs in steps only: checkpoints, evaluations and hooks are not counted.

    The main thread says when steps begin and end, another one reads.

    Args:
        clock: gives seconds.

    Attributes:
        began: when the step began; None between two steps.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._longest: Optional[float] = None
        self.began: Optional[float] = None

    def start(self) -> None:
        """A session is about to be created, or created anew; its first step belongs to that."""
        self._longest, self.began = None, self._clock()

    def begin(self) -> None:
        """A step begins."""
        if self._longest is not None:
            self.began = self._clock()

    def end(self) -> None:
        """It has ended well."""
        # The first one is no measure of those that follow.
        taken = 0.0 if self._longest is None else self._clock() - self.began
        self._longest, self.began = max(taken, self._longest or 0.0), None

    def stop(self) -> None:
        """Training is over."""
        self.began = None

    def limit(self, secs: float) -> float:
        """Seconds that this step may take, where `secs` are enough for most."""
        if self._longest is None:
            return FIRST_TIMES * secs
        return max(secs, LONGEST_TIMES * self._longest)
