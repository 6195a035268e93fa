"""How fast training goes, without the pauses for checkpoints and evaluations."""

import time
from collections.abc import Callable
from typing import Any, Optional

from estimator_bridge import estimator


class Pace:
    """The speed of the training steps of this process, pauses excluded.

    Args:
        clock: returns seconds.

    Attributes:
        steps: run so far by this process.
        rows: trained on so far.
        train_secs: seconds spent in the steps, except the first.
        pause_secs: seconds spent on checkpoints, evaluations and exports.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._last = clock()
        self._paused: Optional[float] = None
        self.steps = self.rows = 0
        self._counted_rows = self._counted_steps = 0
        self.train_secs = 0.0
        self.pause_secs = 0.0

    def start_pause(self) -> None:
        """Starts a pause, which the next end_step ends."""
        self._paused = self._clock()

    def end_step(self, num_rows: int, num_steps: int = 1) -> None:
        """Counts a session run.

        Args:
            num_rows: rows in all its steps.
            num_steps: its steps.
        """
        now = self._clock()
        until = now if self._paused is None else self._paused
        # The first step initialises the session's caches, which would distort a short run's rate.
        if self.steps:
            self.train_secs += until - self._last
            self._counted_rows += num_rows
            self._counted_steps += num_steps
        self.pause_secs += now - until
        self.steps += num_steps
        self.rows += num_rows
        self._last, self._paused = now, None

    def add_rows(self, num_rows: int) -> None:
        """Counts rows that other processes have trained on meanwhile.

        Args:
            num_rows: their number.
        """
        self.rows += num_rows
        self._counted_rows += num_rows

    @property
    def steps_per_sec(self) -> float:
        """Steps per second while training; 0 until known."""
        return self._counted_steps / self.train_secs if self.train_secs else 0.0

    @property
    def rows_per_sec(self) -> float:
        """Rows per second while training; 0 until known."""
        return self._counted_rows / self.train_secs if self.train_secs else 0.0


class PauseListener(estimator.CheckpointSaverListener):
    """Starts a pause of a Pace before each checkpoint.

    Args:
        pace: measures the run.
    """

    def __init__(self, pace: Pace):
        self._pace = pace

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Starts the pause.

        Args:
            session: the training session.
            global_step_value: of the checkpoint.
        """
        self._pace.start_pause()
