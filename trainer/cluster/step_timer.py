"""How long a process has been in a training step, or between two, and how long it may be."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Optional

# The creation of a session and its first step, which builds and compiles, may take so many times as
# long as a step may; any step so many times as long as the longest one before it; and what comes
# between steps, a checkpoint, an export, a hook, or one batch of an evaluation, so many times too.
FIRST_TIMES, LONGEST_TIMES, BETWEEN_TIMES = 10, 10, 10


class StepClock:
    """A stop watch that knows steps, and what is done between them, apart.

    The main thread says when steps begin and end, and when it gets on between them; another one
    reads.

    Args:
        clock: gives seconds.

    Attributes:
        began: when the step began; None between two steps.
        moved: when something was last done that is no step; None where nothing is timed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._longest: Optional[float] = None
        self.began: Optional[float] = None
        self.moved: Optional[float] = None

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
        self.move()
        self._longest, self.began = max(taken, self._longest or 0.0), None

    def move(self) -> None:
        """Something has been done, or begins, that is no step."""
        self.moved = self._clock()

    @contextmanager
    def between(self) -> Iterator[None]:
        """Times what is done meanwhile, which is no step."""
        self.move()
        try:
            yield
        finally:
            self.stop()

    def stop(self) -> None:
        """Nothing is timed from here on."""
        self.began = self.moved = None

    def limit(self, secs: float) -> float:
        """Seconds that this step may take, where `secs` are enough for most."""
        if self._longest is None:
            return FIRST_TIMES * secs
        return max(secs, LONGEST_TIMES * self._longest)
