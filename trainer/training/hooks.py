"""Hooks of a training session: progress on the console, losses in the metrics log."""

import math
import time
from typing import Any, Callable, Optional

import numpy as np

from estimator_bridge import estimator, tf
from trainer.vertex.trial_metrics import report_trial

# Seconds after which the pace of training is first judged.
SHORT_SECS = 0.05


class Pace:
    """How fast the training itself goes, pauses for checkpoints and evaluations left out.

    Attributes:
        steps, rows: run so far by this process.
        train_secs: seconds spent in them, the first left out.
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
        """Called when something other than training begins; the next end_step ends it."""
        self._paused = self._clock()

    def end_step(self, num_rows: int, num_steps: int = 1) -> None:
        """Called after each run of steps, with the rows and the steps in it."""
        now = self._clock()
        until = now if self._paused is None else self._paused
        # The first step sets the session's caches up; it would spoil the rate of a short run.
        if self.steps:
            self.train_secs += until - self._last
            self._counted_rows += num_rows
            self._counted_steps += num_steps
        self.pause_secs += now - until
        self.steps += num_steps
        self.rows += num_rows
        self._last, self._paused = now, None

    def add_rows(self, num_rows: int) -> None:
        """Counts rows that other processes have trained on meanwhile."""
        self.rows += num_rows
        self._counted_rows += num_rows

    @property
    def steps_per_sec(self) -> float:
        """Steps a second while training; 0 until known."""
        return self._counted_steps / self.train_secs if self.train_secs else 0.0

    @property
    def rows_per_sec(self) -> float:
        """Examples a second while training; 0 until known."""
        return self._counted_rows / self.train_secs if self.train_secs else 0.0


class PauseListener(estimator.CheckpointSaverListener):
    """Tells a Pace that a checkpoint, and what follows it, begins."""

    def __init__(self, pace: Pace):
        self._pace = pace

    def before_save(self, session, global_step_value):
        """Called before each checkpoint."""
        self._pace.start_pause()


class TrainingHook(estimator.SessionRunHook):
    """Shows progress and records losses; ends training at its last step.

    Args:
        console: a trainer.console.Console.
        metrics_log: takes the losses; None for a process that writes none.
        pace: measures.
        max_steps: where training stops; None where only the input knows.
        batch_size_at: gives the rows in the step that follows a global step; None where nobody
            knows.
        every_steps: steps between two recorded losses.
        save_steps: steps between checkpoints, or None.
        save_secs: seconds between checkpoints, or None.
        is_shared: whether the loss is summed over processes: all must then ask for it at the same
            steps, whatever their clocks say.
        replicas: over so many the loss is a sum.
        steps_at: gives the steps in the run that follows a global step; None: always one.
    """

    def __init__(
        self,
        console: Any,
        metrics_log: Any,
        pace: Pace,
        max_steps: Optional[int],
        batch_size_at: Optional[Callable[[int], int]],
        every_steps: int,
        save_steps: Optional[int],
        save_secs: Optional[int],
        is_shared: bool = False,
        replicas: int = 1,
        steps_at: Optional[Callable[[int], int]] = None,
    ):
        self._replicas = replicas
        self._steps_at = steps_at or (lambda step: 1)
        self._is_shared = is_shared
        self._console = console
        self._metrics_log = metrics_log
        self._pace = pace
        self._max_steps = max_steps
        self._batch_size_at = batch_size_at
        self._every_steps = every_steps
        self._save_steps = save_steps
        self._save_secs = save_secs
        self._started = time.monotonic()
        self._step = self._first = 0
        self._records = False
        self.last_loss: Optional[float] = None

    def begin(self):
        """Finds the step and the loss in the graph."""
        self._step_tensor = tf.compat.v1.train.get_global_step()
        # Estimator puts the loss of the spec last into this collection.
        self._loss_tensor = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.LOSSES)[-1]

    def after_create_session(self, session, coord):
        """Notes where training starts."""
        self._first = self._step = int(session.run(self._step_tensor))
        self._started = time.monotonic()

    def before_run(self, run_context):
        """Asks for the loss when it is wanted."""
        self._following = self._step + self._steps_at(self._step)
        self._records = self._following % self._every_steps == 0 or self._following in (
            self._first + 1,
            self._max_steps,
        )
        several = self._following > self._step + 1
        # Of several steps the loss tells whether all were taken.
        if self._records or several or self._console.is_due() and not self._is_shared:
            return tf.compat.v1.train.SessionRunArgs(self._loss_tensor)
        return None

    def after_run(self, run_context, run_values):
        """Records and shows."""
        num_steps = self._following - self._step
        rows = self._batch_size_at(self._step) if self._batch_size_at else 0
        self._pace.end_step(rows * num_steps, num_steps)
        self._step = self._following
        if run_values.results is None:
            if self._is_shared and self._console.is_due() and self.last_loss is not None:
                self._console.progress(self._describe())
            return
        loss = float(run_values.results) / self._replicas
        if self._max_steps and self._step >= self._max_steps:
            run_context.request_stop()
        if not self._records and not self._console.is_due() and not math.isnan(loss):
            return
        # Read on its own: within the step itself the read may come before or after the update.
        before, self._step = self._step, int(run_context.session.run(self._step_tensor))
        # Steps that other processes have taken since.
        for step in range(before, self._step):
            self._pace.add_rows(self._batch_size_at(step))
        self.last_loss = loss
        if self._records and self._metrics_log is not None:
            self._metrics_log.append("train", self._step, {"loss": self.last_loss})
        if self._console.is_due():
            self._console.progress(self._describe())

    @property
    def step(self) -> int:
        """The global step after the last step run."""
        return self._step

    def end(self, session):
        """Shows the last step."""
        if self.last_loss is not None:
            self._console.log(self._describe())

    def _describe(self) -> str:
        target = f"/{self._max_steps:,}" if self._max_steps else ""
        parts = [f"step {self._step:,}{target}", f"loss {self.last_loss:.4g}"]
        rate = self._pace.steps_per_sec
        if rate and self._batch_size_at:
            parts.append(f"{self._pace.rows_per_sec:,.0f} examples/s")
        elif rate:
            parts.append(f"{rate:,.1f} steps/s")
        if self._max_steps is None:
            return " · ".join(parts)
        left = self._max_steps - self._step
        if rate and left > 0:
            # Pauses for evaluations will come as often as they came so far.
            share = 1 + self._pace.pause_secs / max(self._pace.train_secs, 1e-9)
            parts.append(f"{format_secs(left / rate * share)} left")
        if left > 0:
            parts.append(f"next checkpoint and evaluation {self._describe_next()}")
        return " · ".join(parts)

    def _describe_next(self) -> str:
        if self._save_steps:
            done = self._step - self._first
            following = self._first + (done // self._save_steps + 1) * self._save_steps
            return f"at step {min(following, self._max_steps):,}"
        elapsed = (time.monotonic() - self._started) % self._save_secs
        return f"in {format_secs(self._save_secs - elapsed)}"


class SummaryHook(estimator.SessionRunHook):
    """Writes the summaries of the first step and of every n-th, where a run takes several steps.

    TensorFlow's own hook takes every run for one step, and so would be late by one or two runs.

    Args:
        folder: where TensorBoard looks.
        every_steps: n; a run must end at each of its multiples.
        steps_at: gives the steps in the run that follows a global step.
    """

    def __init__(self, folder: str, every_steps: int, steps_at: Callable[[int], int]):
        self._folder = folder
        self._every_steps = every_steps
        self._steps_at = steps_at

    def begin(self):
        """Finds the step in the graph."""
        self._step_tensor = tf.compat.v1.train.get_global_step()
        self._writer = tf.compat.v1.summary.FileWriterCache.get(self._folder)

    def after_create_session(self, session, coord):
        """Notes where training starts."""
        self._first = self._step = int(session.run(self._step_tensor))
        (self._summaries,) = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.SUMMARY_OP)

    def before_run(self, run_context):
        """Asks for the summaries when they are wanted."""
        self._following = self._step + self._steps_at(self._step)
        if self._following % self._every_steps and self._step != self._first:
            return None
        return tf.compat.v1.train.SessionRunArgs(self._summaries)

    def after_run(self, run_context, run_values):
        """Writes them."""
        self._step = self._following
        if run_values.results is not None:
            self._writer.add_summary(run_values.results, self._step)

    def end(self, session):
        """Lets TensorBoard see the last ones."""
        self._writer.flush()


class NearEndHook(estimator.SessionRunHook):
    """Calls something once, a little before training will end.

    Args:
        start: is called, with nothing.
        max_steps: global step at which training ends.
        lead_secs: how long before.
        clock: gives seconds.
    """

    def __init__(
        self,
        start: Callable[[], None],
        max_steps: int,
        lead_secs: float,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._start: Optional[Callable[[], None]] = start
        self._max_steps = max_steps
        self._lead_secs = lead_secs
        self._clock = clock

    def begin(self):
        """Finds the step in the graph."""
        self._step_tensor = tf.compat.v1.train.get_global_step()
        self._first: Optional[int] = None
        self._next = -math.inf

    def after_run(self, run_context, run_values):
        """Looks a few times in `lead_secs` how long the rest will take at the pace so far."""
        now = self._clock()
        if self._start is None or now < self._next:
            return
        self._next = now + self._lead_secs / 20
        step = int(run_context.session.run(self._step_tensor))
        if self._first is None:
            # Only from here: the very first step is slow.
            self._first, self._began = step, now
            # A short job is over by the next look.
            self._next = now + min(self._lead_secs / 20, SHORT_SECS)
            return
        left, done = self._max_steps - step, step - self._first
        if left * (now - self._began) <= self._lead_secs * done:
            self._start()
            self._start = None


class MoveHook(estimator.SessionRunHook):
    """Records each evaluated batch as progress in a trainer.cluster.step_timer.StepTimer."""

    def __init__(self, steps: Any):
        self._steps = steps

    def after_run(self, run_context, run_values):
        """One more is done."""
        self._steps.note_progress()


class EvaluationRecorder(estimator.Exporter):
    """An exporter that exports nothing: it hears every evaluation's result and records it.

    Args:
        console: shows the loss and the metric `shown`.
        metrics_log: keeps all metrics.
        shown: name of the main metric.
        early_stop: a trainer.training.stopping.EarlyStop, told of each evaluation.
    """

    def __init__(self, console: Any, metrics_log: Any, shown: str, early_stop: Any):
        self._console = console
        self._metrics_log = metrics_log
        self._shown = shown
        self._early_stop = early_stop
        self._last_step: Optional[int] = None

    @property
    def name(self) -> str:
        """A name that no other exporter has."""
        return "evaluations"

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        """Records the metrics of eval_result, once for each step; returns None."""
        # A metric of the user's own may be a table; TensorBoard's files have it.
        values = {
            name: float(value)
            for name, value in eval_result.items()
            if name != "global_step" and np.ndim(value) == 0
        }
        step = int(eval_result["global_step"])
        if step == self._last_step:
            # It was the last after all, and is exported once more.
            return
        self._last_step = step
        self._metrics_log.append("eval", step, values)
        report_trial(step, values)
        names = dict.fromkeys(["loss", self._shown])
        told = " · ".join(f"{name} {values[name]:.4f}" for name in names if name in values)
        self._console.log(f"evaluation at step {step:,}: {told}")
        self._early_stop.add(values)
        if self._early_stop.reason:
            self._console.log(f"stopping early: {self._early_stop.reason}")


def format_secs(secs: float) -> str:
    """A duration for people: 42 s, 3 min 10 s, 2 h 5 min."""
    secs = round(secs)
    if secs < 60:
        return f"{secs} s"
    if secs < 3600:
        return f"{secs // 60} min {secs % 60} s"
    return f"{secs // 3600} h {secs % 3600 // 60} min"
