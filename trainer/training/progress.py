"""A hook that shows progress, records losses and ends training at the last step."""

import math
import time
from typing import Any, Callable, NamedTuple, Optional

from estimator_bridge import estimator, tf
from estimator_bridge.output.terminal import SEPARATOR, format_secs
from trainer.console import Console
from trainer.job_dir.metrics_log import MetricsLog
from trainer.training.pace import Pace


class Schedule(NamedTuple):
    """The steps of a run, and the intervals of its losses and checkpoints.

    Attributes:
        first: global step at which training starts.
        last: global step at which training stops; None if it stops with its input.
        record_every: steps between two recorded losses.
        save_steps: steps between checkpoints; None if `save_secs` is used.
        save_secs: seconds between checkpoints; None if `save_steps` is used.
        rows_at: returns the number of rows in the step after a global step; None if unknown.
        steps_at: returns the number of steps in the session run after a global step; None: always
            1.
        save_at: global steps with a checkpoint besides.
    """

    first: int
    last: Optional[int]
    record_every: int
    save_steps: Optional[int]
    save_secs: Optional[int]
    rows_at: Optional[Callable[[int], int]] = None
    steps_at: Optional[Callable[[int], int]] = None
    save_at: tuple[int, ...] = ()


class Replication(NamedTuple):
    """How the loss of a step is computed from the losses of several replicas.

    Attributes:
        replicas: number of replicas whose losses are summed.
        is_synchronous: whether other processes take part in each step. All processes must then
            fetch the loss at the same steps, so the steps must not depend on their clocks.
    """

    replicas: int = 1
    is_synchronous: bool = False


SINGLE = Replication()


class TrainingHook(estimator.SessionRunHook):
    """Shows progress, records losses, and ends training at the last step.

    Args:
        console: shows the progress.
        pace: measures the speed.
        schedule: the steps of the run.
        metrics_log: records the losses; None in a process that records none.
        replication: how the loss is computed from the losses of several replicas.
        clock: returns seconds.

    Attributes:
        last_loss: the last fetched mean loss; None before the first one.
    """

    def __init__(
        self,
        console: Console,
        pace: Pace,
        *,
        schedule: Schedule,
        metrics_log: Optional[MetricsLog] = None,
        replication: Replication = SINGLE,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._console = console
        self._pace = pace
        self._schedule = schedule
        self._metrics_log = metrics_log
        self._replication = replication
        self._clock = clock
        self._started = clock()
        self._step = self._first = self._following = 0
        self._records = False
        self.last_loss: Optional[float] = None

    def _rows_at(self, step: int) -> int:
        rows_at = self._schedule.rows_at
        return rows_at(step) if rows_at is not None else 0

    def _steps_at(self, step: int) -> int:
        steps_at = self._schedule.steps_at
        return steps_at(step) if steps_at is not None else 1

    def begin(self) -> None:
        """Finds the global step and the loss in the graph."""
        self._step_tensor = tf.compat.v1.train.get_global_step()
        # The loss of the EstimatorSpec is the last that Estimator adds to this collection.
        self._loss_tensor = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)[-1]

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Reads the global step at which training starts.

        Args:
            session: the new session.
            coord: its coordinator.
        """
        first = int(session.run(self._step_tensor))
        if first < self._step and self._metrics_log is not None:
            # A new session after the loss of a parameter server.
            self._metrics_log.resume_from(first)
        self._first = self._step = first
        self._started = self._clock()

    def before_run(self, run_context: Any) -> Any:
        """Requests the loss if it is needed.

        Args:
            run_context: context of the coming session run.

        Returns:
            The fetches, or None.
        """
        self._following = self._step + self._steps_at(self._step)
        every, last = self._schedule.record_every, self._schedule.last
        self._records = (
            self._following // every > self._step // every
            or self._step == self._first
            or (last is not None and self._step < last <= self._following)
        )
        # Always fetch the loss of a session run of several steps. A loss of NaN may mean that the
        # session run did not run all its steps.
        is_multiple = self._following > self._step + 1
        is_shown = self._console.is_due() and not self._replication.is_synchronous
        if self._records or is_multiple or is_shown:
            return tf.compat.v1.train.SessionRunArgs(self._loss_tensor)
        return None

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Records the loss and shows the progress.

        Args:
            run_context: context of the session run.
            run_values: the loss, if it was requested.
        """
        num_steps = self._following - self._step
        self._pace.end_step(self._rows_at(self._step) * num_steps, num_steps)
        self._step = self._following
        is_due = self._console.is_due()
        if run_values.results is None:
            if self._replication.is_synchronous and is_due and self.last_loss is not None:
                self._console.progress(self._describe())
            return
        loss = float(run_values.results) / self._replication.replicas
        last = self._schedule.last or math.inf
        is_last = self._step >= last
        if not (self._records or is_due or is_last or math.isnan(loss)):
            return
        # Read the global step in a separate session run. Within the training step, the value could
        # be read before or after the update.
        before, self._step = self._step, int(run_context.session.run(self._step_tensor))
        # These steps were run by other processes since the last read.
        for step in range(before, self._step):
            self._pace.add_rows(self._rows_at(step))
        # A restarted chief may have set the global step back.
        if self._step >= last:
            run_context.request_stop()
        self.last_loss = loss
        if self._records and self._metrics_log is not None:
            self._metrics_log.append("train", self._step, {"loss": loss})
        if self._console.is_due():
            self._console.progress(self._describe())

    @property
    def step(self) -> int:
        """The global step after the last session run."""
        return self._step

    def end(self, session: Any) -> None:
        """Logs the last step.

        Args:
            session: the training session.
        """
        if self.last_loss is not None:
            self._console.log(self._describe())

    def _describe(self) -> str:
        last = self._schedule.last
        target = f"/{last:,}" if last else ""
        parts = [f"step {self._step:,}{target}", f"loss {self.last_loss:.4g}"]
        rate = self._pace.steps_per_sec
        left = 0 if last is None else last - self._step
        if rate and left > 0:
            # Assume that the average pause per step stays the same.
            share = 1 + self._pace.pause_secs / max(self._pace.train_secs, 1e-9)
            parts.append(f"{format_secs(left / rate * share)} left")
        if rate and self._schedule.rows_at is not None:
            parts.append(f"{self._pace.rows_per_sec:,.0f} examples/s")
        elif rate:
            parts.append(f"{rate:,.1f} steps/s")
        if left > 0:
            parts.append(f"next checkpoint and evaluation {self._describe_next()}")
        return SEPARATOR.join(parts)

    def _describe_next(self) -> str:
        save_steps, save_secs, last = (
            self._schedule.save_steps,
            self._schedule.save_secs,
            self._schedule.last or 0,
        )
        if save_secs and not save_steps:
            elapsed = (self._clock() - self._started) % save_secs
            return f"in {format_secs(save_secs - elapsed)}"
        following = last
        if save_steps:
            done = self._step - self._first
            following = self._first + (done // save_steps + 1) * save_steps
        early = [step for step in self._schedule.save_at if step > self._step]
        return f"at step {min(following, last, *early):,}"
