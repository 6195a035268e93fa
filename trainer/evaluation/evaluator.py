"""One evaluation graph and session for a whole run, and training with evaluations.

Estimator.evaluate builds graph, session and tables for every checkpoint. Here they are built once,
and each checkpoint is restored into them.
"""

import contextlib
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Optional

from estimator_bridge import estimator, tf
from estimator_bridge.model_files.saving_beside import wait_for_checkpoints
from trainer import job_layout
from trainer.console import Console
from trainer.errors import UserError
from trainer.evaluation.event_files import keep_graph
from trainer.evaluation.graph import EvaluationGraph
from trainer.export.graph_reuse import ExportGraphCache
from trainer.export.progress import show_export
from trainer.phase_timer import EVALUATION, EXPORT, Times


class Evaluator:
    """Evaluates and exports one checkpoint after another of an Estimator.

    Its results, its summaries and its calls of hooks are those of Estimator.evaluate. The graph is
    reused if its results depend on the checkpoint alone. It is rebuilt for each evaluation if the
    input function returns tensors instead of a dataset, if a hook or the model adds to the graph,
    or if the graph contains random operations.

    Args:
        built: an Estimator.
        eval_spec: an estimator.EvalSpec; its input_fn is called once for each graph that is built.
        times: measures evaluations and exports.
        console: shows how far an export is; None: nothing is shown.

    Attributes:
        estimator: the Estimator.
        eval_spec: the estimator.EvalSpec.
    """

    def __init__(
        self,
        built: Any,
        eval_spec: Any,
        times: Optional[Times] = None,
        console: Optional[Console] = None,
    ):
        self.estimator = built
        self._console = console or Console(quiet=True)
        self.eval_spec = eval_spec
        self._times = times or Times()
        self._exports = ExportGraphCache(built)
        self._graph: Optional[EvaluationGraph] = None

    @property
    def model_dir(self) -> str:
        """Folder of the checkpoints."""
        return str(self.estimator.model_dir)

    def evaluate(self, checkpoint: str) -> dict[str, Any]:
        """Returns the metrics of a checkpoint, and global_step.

        Args:
            checkpoint: its path.
        """
        with self._times.within(EVALUATION):
            return self._evaluate(checkpoint)

    def _evaluate(self, checkpoint: str) -> dict[str, Any]:
        built, spec = self.estimator, self.eval_spec
        if not _is_plain(built):
            metrics: dict[str, Any] = built.evaluate(
                spec.input_fn,
                steps=spec.steps,
                hooks=list(spec.hooks),
                name=spec.name,
                checkpoint_path=checkpoint,
            )
            return metrics
        if self._graph is None:
            self._graph = EvaluationGraph(built, spec, checkpoint)
        try:
            result = self._graph.run(checkpoint)
            keep = self._graph.is_reusable
        except BaseException:
            # After an error, the state of the session is unknown.
            self.close()
            raise
        if not keep:
            self.close()
        return result

    def evaluate_and_export(self, checkpoint: str, is_final: bool) -> dict[str, Any]:
        """Evaluates a checkpoint and runs the exporters; returns the metrics.

        Args:
            checkpoint: its path.
            is_final: whether training has ended.
        """
        result = self.evaluate(checkpoint)
        self.export(checkpoint, result, is_final)
        return result

    def export(self, checkpoint: str, result: dict[str, Any], is_final: bool) -> None:
        """Runs the exporters on a checkpoint.

        Args:
            checkpoint: its path.
            result: its metrics, and global_step.
            is_final: whether training has ended.

        Raises:
            UserError: training has ended, and the loss is not finite: such a model is not exported.
        """
        exporters = self.eval_spec.exporters
        is_refused = not math.isfinite(result.get("loss", 0.0))
        if is_refused:
            # A recorder of metrics exports nothing.
            exporters = [each for each in exporters if not getattr(each, "exports", True)]
        with self._times.within(EXPORT):
            for exporter in exporters:
                folder = str(Path(self.model_dir) / job_layout.EXPORT_FOLDER / exporter.name)
                exporting = self._exports.for_exporter(exporter)
                with show_export(self._console, folder):
                    exporter.export(exporting, folder, checkpoint, result, is_final)

        if is_refused and len(exporters) < len(self.eval_spec.exporters):
            self._refuse(checkpoint, result["loss"], is_final)

    def _refuse(self, checkpoint: str, loss: float, is_final: bool) -> None:
        """Reports that a model is not exported: its weights are finite, its predictions are not."""
        said = f"{Path(checkpoint).name}: its loss on the evaluation data is {loss}"
        if not is_final:
            self._console.warn(f"warning: {said}; it is not exported")
            return
        raise UserError(
            f"{said}, so it is not exported; look for outliers in these rows, and start over with "
            f"a lower --learning_rate and --fresh={self.model_dir}"
        )

    def close(self) -> None:
        """Closes the session; the next evaluation opens a new one."""
        graph, self._graph = self._graph, None
        if graph is not None:
            graph.close()


def _is_plain(built: Any) -> bool:
    """Whether an Estimator evaluates like estimator.Estimator, in this process alone."""
    ours = (estimator.Estimator, tf.compat.v1.estimator.Estimator)
    return (
        isinstance(built, ours)
        and type(built).evaluate in [kind.evaluate for kind in ours]
        and built.config.eval_distribute is None
        and not built.config.evaluation_master
    )


class _LastEvaluation(NamedTuple):
    """The last evaluation: its checkpoint and metrics, and whether the final export was made."""

    step: int
    checkpoint: str
    metrics: dict[str, Any]
    is_final: bool


class EvaluationListener(estimator.CheckpointSaverListener):
    """Evaluates and exports after checkpoints and, always, when training ends.

    Args:
        evaluator: evaluates and exports.
        throttle_secs: minimum number of seconds from one evaluation to the next.
        max_steps: global step at which training ends; None if training ends only with its input.
        clock: returns seconds.

    Attributes:
        hook: must be the last hook of training; it detects that another hook ends training.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        throttle_secs: float,
        max_steps: Optional[int],
        clock: Callable[[], float] = time.monotonic,
    ):
        self._evaluator = evaluator
        self._throttle_secs = throttle_secs
        self._max_steps = max_steps
        self.hook = _EndWatch()
        self._clock = clock
        self._next = clock()
        self._saved_before = False
        self._last: Optional[_LastEvaluation] = None

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluates a checkpoint, unless it is the first one.

        The first checkpoint contains the untrained or resumed model.

        Args:
            session: the training session.
            global_step_value: of the checkpoint.
        """
        if not self._saved_before:
            self._saved_before = True
        elif self._clock() >= self._next:
            done = self._max_steps is not None and global_step_value >= self._max_steps
            self._evaluate(global_step_value, done or self.hook.is_ending)

    def end(self, session: Any, global_step_value: int) -> None:
        """Evaluates and exports the last checkpoint of a training that was not interrupted.

        Args:
            session: the training session.
            global_step_value: of the checkpoint.
        """
        if self._last is None or self._last.step != global_step_value:
            self._evaluate(global_step_value, True)
        elif not self._last.is_final:
            self._evaluator.export(self._last.checkpoint, self._last.metrics, True)

    def _evaluate(self, step: int, is_final: bool) -> None:
        wait_for_checkpoints()
        self._next = self._clock() + self._throttle_secs
        checkpoint = self._evaluator.estimator.latest_checkpoint()
        if checkpoint is None:
            raise RuntimeError(f"no checkpoint in {self._evaluator.model_dir} to evaluate")
        result = self._evaluator.evaluate_and_export(checkpoint, is_final)
        self._last = _LastEvaluation(step, checkpoint, result, is_final)


class _EndWatch(estimator.SessionRunHook):
    """Detects that a hook ends training."""

    def __init__(self) -> None:
        self.is_ending = False

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.is_ending = self.is_ending or run_context.stop_requested


def train_and_evaluate(built: Any, train_spec: Any, evaluator: Evaluator) -> None:
    """Trains in this process; evaluates and exports checkpoints, and always the last one.

    Args:
        built: the Estimator that trains.
        train_spec: an estimator.TrainSpec.
        evaluator: evaluates and exports what `built` saves.
    """
    throttle_secs = evaluator.eval_spec.throttle_secs
    listener = EvaluationListener(
        evaluator, throttle_secs=throttle_secs, max_steps=train_spec.max_steps
    )
    keep_graph(evaluator.model_dir)
    try:
        built.train(
            train_spec.input_fn,
            hooks=[*train_spec.hooks, listener.hook],
            max_steps=train_spec.max_steps,
            saving_listeners=[*train_spec.saving_listeners, listener],
        )
    except BaseException:
        # The error that has ended training counts, and the last checkpoint that was begun.
        with contextlib.suppress(Exception):
            wait_for_checkpoints()
        raise
