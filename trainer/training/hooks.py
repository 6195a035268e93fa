"""Hooks for summaries, the end of training, evaluation batches and evaluation results."""

import math
import time
from collections.abc import Sequence
from typing import Any, Callable, Optional

import numpy as np

from estimator_bridge import estimator, tf
from trainer.cluster.step_timer import StepTimer
from trainer.console import Console
from trainer.job_dir.metrics_log import MetricsLog
from trainer.training.stopping import EarlyStop
from trainer.vertex.trial_metrics import report_trial

# Seconds after which the speed of training is first estimated.
FIRST_ESTIMATE_SECS = 0.05
# Number of estimates of the remaining time that a NearEndHook makes per lead time.
ESTIMATES = 20


class CheckpointHook(tf.compat.v1.train.CheckpointSaverHook):
    """Saves checkpoints as TensorFlow's hook does, and after some further steps.

    Must come before the hooks that end training.

    Args:
        run_config: an estimator.RunConfig: folder and interval of the checkpoints.
        steps: the further global steps; a session run must end at each.
    """

    def __init__(self, run_config: Any, steps: Sequence[int]):
        super().__init__(
            run_config.model_dir,
            save_secs=run_config.save_checkpoints_secs,
            save_steps=run_config.save_checkpoints_steps,
            save_graph_def=run_config.checkpoint_save_graph_def,
        )
        self._further = sorted(steps)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Saves the first checkpoint.

        Args:
            session: the new session.
            coord: its coordinator.
        """
        super().after_create_session(session, coord)
        self._keep_after(int(session.run(self._global_step_tensor)))

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Saves a checkpoint if one is due.

        Args:
            run_context: context of the session run.
            run_values: the global step before it.
        """
        super().after_run(run_context, run_values)
        if not self._further:
            return
        session = run_context.session
        step = int(session.run(self._global_step_tensor))
        is_due = step >= self._further[0] and step != self._timer.last_triggered_step()
        self._keep_after(step)
        # The interval is counted without these steps.
        if is_due and self._save(session, step):
            run_context.request_stop()

    def _keep_after(self, step: int) -> None:
        self._further = [further for further in self._further if further > step]


class SummaryHook(estimator.SessionRunHook):
    """Writes summaries of the first step and every n-th step, if session runs have several steps.

    TensorFlow's SummarySaverHook counts each session run as one step, so it would write summaries
    one or two session runs late.

    Args:
        folder: folder of the event files.
        every_steps: n; a session run must end at each multiple of n.
        steps_at: returns the steps of the session run that follows a global step.
    """

    def __init__(self, folder: str, every_steps: int, steps_at: Callable[[int], int]):
        self._folder = folder
        self._every_steps = every_steps
        self._steps_at = steps_at

    def begin(self) -> None:
        """Finds the global step in the graph."""
        self._step_tensor = tf.compat.v1.train.get_global_step()
        self._writer = tf.compat.v1.summary.FileWriterCache.get(self._folder)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Reads the global step at which training starts.

        Args:
            session: the new session.
            coord: its coordinator.
        """
        self._first = self._step = int(session.run(self._step_tensor))
        (self._summaries,) = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.SUMMARY_OP)

    def before_run(self, run_context: Any) -> Any:
        """Requests the summaries if they are due.

        Args:
            run_context: context of the coming session run.

        Returns:
            The fetches, or None.
        """
        self._following = self._step + self._steps_at(self._step)
        is_due = self._following // self._every_steps > self._step // self._every_steps
        if not is_due and self._step != self._first:
            return None
        return tf.compat.v1.train.SessionRunArgs(self._summaries)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Writes the summaries.

        Args:
            run_context: context of the session run.
            run_values: the summaries, if they were requested.
        """
        self._step = self._following
        if run_values.results is not None:
            # Other processes may have trained meanwhile.
            self._step = int(run_context.session.run(self._step_tensor))
            self._writer.add_summary(run_values.results, self._step)

    def end(self, session: Any) -> None:
        """Flushes the event file.

        Args:
            session: the training session.
        """
        self._writer.flush()


class NearEndHook(estimator.SessionRunHook):
    """Calls a function once, shortly before training will end.

    Args:
        start: the function; called without arguments.
        max_steps: global step at which training ends.
        lead_secs: seconds before the end.
        clock: returns seconds.
    """

    def __init__(
        self,
        start: Callable[[], None],
        max_steps: int,
        *,
        lead_secs: float,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._start: Optional[Callable[[], None]] = start
        self._max_steps = max_steps
        self._lead_secs = lead_secs
        self._clock = clock

    def begin(self) -> None:
        """Finds the global step in the graph."""
        self._step_tensor = tf.compat.v1.train.get_global_step()
        self._first: Optional[int] = None
        self._began = 0.0
        self._next = -math.inf

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Estimates at intervals how long the remaining steps will take; calls `start` if due.

        Args:
            run_context: context of the session run.
            run_values: unused.
        """
        now = self._clock()
        if self._start is None or now < self._next:
            return
        self._next = now + self._lead_secs / ESTIMATES
        step = int(run_context.session.run(self._step_tensor))
        if self._first is None:
            # Measure the speed from here on, because the first step is slow.
            self._first, self._began = step, now
            # A short job would end before the next regular estimate.
            self._next = now + min(self._lead_secs / ESTIMATES, FIRST_ESTIMATE_SECS)
            return
        left, done = self._max_steps - step, step - self._first
        if left * (now - self._began) <= self._lead_secs * done:
            self._start()
            self._start = None


class MoveHook(estimator.SessionRunHook):
    """Reports each evaluated batch to a step timer.

    Args:
        steps: times the steps and pauses of this process.
    """

    def __init__(self, steps: StepTimer):
        self._steps = steps

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Reports that one batch has been evaluated.

        Args:
            run_context: context of the session run.
            run_values: unused.
        """
        self._steps.note_progress()


class EvaluationRecorder(estimator.Exporter):
    """Records the result of each evaluation.

    This is an Exporter because Estimator passes evaluation results only to exporters.

    Args:
        console: shows the loss and the main metric.
        metrics_log: records all metrics.
        shown: name of the main metric.
        early_stop: receives each evaluation.

    Attributes:
        exports: False: it also receives what must not be exported.
    """

    exports = False

    def __init__(
        self, console: Console, metrics_log: MetricsLog, *, shown: str, early_stop: EarlyStop
    ):
        self._console = console
        self._metrics_log = metrics_log
        self._shown = shown
        self._early_stop = early_stop
        self._last_step: Optional[int] = None

    @property
    def name(self) -> str:
        """Name of this exporter; no other exporter has the same name."""
        return "evaluations"

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: dict[str, Any],
        is_the_final_export: bool,
    ) -> None:
        """Records the metrics of an evaluation, once per global step; exports nothing.

        Args:
            estimator: unused.
            export_path: unused.
            checkpoint_path: unused.
            eval_result: metric → value, and global_step.
            is_the_final_export: unused.
        """
        # A user's metric may be an array. Arrays are kept only in TensorBoard's event file.
        values = {
            name: float(value)
            for name, value in eval_result.items()
            if name != "global_step" and np.ndim(value) == 0
        }
        step = int(eval_result["global_step"])
        if step == self._last_step:
            # This evaluation has been recorded. It is exported again because it is the last one.
            return
        self._last_step = step
        self._metrics_log.append("eval", step, values)
        report_trial(step, values)
        names = dict.fromkeys(["loss", self._shown])
        shown = " · ".join(f"{name} {values[name]:.4f}" for name in names if name in values)
        self._console.log(f"evaluation at step {step:,}: {shown}")
        is_stopping = self._early_stop.reason is not None
        self._early_stop.add(values)
        if self._early_stop.reason and not is_stopping:
            self._console.log(f"stopping early: {self._early_stop.reason}")
