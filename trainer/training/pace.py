"""Measures the speed of training, without the pauses for checkpoints and evaluations."""

import time
from collections.abc import Callable
from typing import Any, Optional

from estimator_bridge import estimator


class Pace:
    """The speed of the training steps of this process, pauses excluded.

    Args:
        clock: returns seconds.

    Attributes:
        steps: number of steps that this process has run so far.
        rows: number of rows trained on so far.
        train_secs: seconds spent in training steps, without the first session run.
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
        """Starts a pause; the next call of `end_step` ends it."""
        self._paused = self._clock()

    def end_step(self, num_rows: int, num_steps: int = 1) -> None:
        """Counts the steps and rows of a session run that has just ended.

        Args:
            num_rows: number of rows in all steps of the session run.
            num_steps: number of steps of the session run.
        """
        now = self._clock()
        until = now if self._paused is None else self._paused
        # The first session run is not timed, because it also initialises the session's caches.
        if self.steps:
            self.train_secs += until - self._last
            self._counted_rows += num_rows
            self._counted_steps += num_steps
        self.pause_secs += now - until
        self.steps += num_steps
        self.rows += num_rows
        self._last, self._paused = now, None

    def add_rows(self, num_rows: int) -> None:
        """Counts rows that other processes have trained on.

        Args:
            num_rows: number of rows.
        """
        self.rows += num_rows
        self._counted_rows += num_rows

    @property
    def steps_per_sec(self) -> float:
        """Steps per second without pauses; 0 until known."""
        return self._counted_steps / self.train_secs if self.train_secs else 0.0

    @property
    def rows_per_sec(self) -> float:
        """Rows per second without pauses; 0 until known."""
        return self._counted_rows / self.train_secs if self.train_secs else 0.0


class PauseListener(estimator.CheckpointSaverListener):
    """Starts a pause of a Pace before each checkpoint.

    Args:
        pace: measures the speed of training.
    """

    def __init__(self, pace: Pace):
        self._pace = pace

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Starts the pause.

        Args:
            session: the training session.
            global_step_value: global step of the checkpoint.
        """
        self._pace.start_pause()
