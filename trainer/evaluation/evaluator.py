"""One evaluation graph and session for a whole run, and training that evaluates on the way.

Estimator.evaluate builds graph, session and tables anew for every checkpoint; here they are built
once, and each checkpoint is only restored into them.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from estimator_bridge import estimator, tf
from trainer import job_layout
from trainer.evaluation.graph import EvaluationGraph
from trainer.export.graph_reuse import ExportGraphCache
from trainer.phase_timer import EVALUATION, EXPORT, Times


class Evaluator:
    """Evaluates and exports one checkpoint after another of an Estimator.

    What it returns, writes for TensorBoard and calls of hooks is as with Estimator.evaluate. The
    graph is kept where nothing but the checkpoint decides what it computes; where an input
    function gives tensors instead of a dataset, where a hook or the model adds to the graph, and
    where something is drawn at random, it is built anew for each evaluation.

    Args:
        built: an Estimator.
        eval_spec: the estimator.EvalSpec to evaluate by; its input_fn is called once for each
            graph that is built.
        times: told when it evaluates and when it exports.
    """

    def __init__(self, built: Any, eval_spec: Any, times: Optional[Times] = None):
        self.estimator = built
        self.eval_spec = eval_spec
        self._times = times or Times()
        self._exports = ExportGraphCache(built)
        self._graph: Optional[EvaluationGraph] = None

    @property
    def model_dir(self) -> str:
        """Folder of the checkpoints."""
        return self.estimator.model_dir

    def evaluate(self, checkpoint: str) -> dict[str, Any]:
        """The metrics of a checkpoint, with its global_step."""
        with self._times.within(EVALUATION):
            return self._evaluate(checkpoint)

    def _evaluate(self, checkpoint: str) -> dict[str, Any]:
        built, spec = self.estimator, self.eval_spec
        if not _is_plain(built):
            return built.evaluate(
                spec.input_fn,
                steps=spec.steps,
                hooks=list(spec.hooks),
                name=spec.name,
                checkpoint_path=checkpoint,
            )
        if self._graph is None:
            self._graph = EvaluationGraph(built, spec, checkpoint)
        try:
            result = self._graph.run(checkpoint)
            keep = self._graph.is_reusable
        except BaseException:
            # What the session is left with is not known.
            self.close()
            raise
        if not keep:
            self.close()
        return result

    def evaluate_and_export(self, checkpoint: str, is_final: bool) -> dict[str, Any]:
        """Evaluates a checkpoint and runs the exporters; returns the metrics."""
        result = self.evaluate(checkpoint)
        self.export(checkpoint, result, is_final)
        return result

    def export(self, checkpoint: str, result: dict[str, Any], is_final: bool) -> None:
        """Runs the exporters on a checkpoint whose metrics are known."""
        with self._times.within(EXPORT):
            for exporter in self.eval_spec.exporters:
                folder = str(Path(self.model_dir) / job_layout.EXPORT_FOLDER / exporter.name)
                asked = self._exports.for_exporter(exporter)
                exporter.export(asked, folder, checkpoint, result, is_final)

    def close(self) -> None:
        """Closes the session; another evaluation opens a new one."""
        graph, self._graph = self._graph, None
        if graph is not None:
            graph.close()


def _is_plain(built: Any) -> bool:
    """Whether an Estimator evaluates as estimator.Estimator does, in this process alone."""
    ours = (estimator.Estimator, tf.compat.v1.estimator.Estimator)
    return (
        isinstance(built, ours)
        and type(built).evaluate in [kind.evaluate for kind in ours]
        and built.config.eval_distribute is None
        and not built.config.evaluation_master
    )


class EvaluationListener(estimator.CheckpointSaverListener):
    """Evaluates and exports after checkpoints and, always, when training ends.

    Args:
        evaluator: evaluates.
        throttle_secs: least seconds from one evaluation to the next.
        max_steps: global step at which training ends; None where only the input knows.
        clock: gives seconds.

    Attributes:
        hook: to be the last of the training's hooks; hears whether another one ends it.
    """

    def __init__(
        self,
        evaluator: Evaluator,
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
        # (global step, checkpoint, metrics, whether exported as the last) of the last evaluation.
        self._last: Optional[tuple[int, str, dict[str, Any], bool]] = None

    def after_save(self, session, global_step_value):
        """Called after each checkpoint; the first is of the untrained or resumed model."""
        if not self._saved_before:
            self._saved_before = True
        elif self._clock() >= self._next:
            done = self._max_steps is not None and global_step_value >= self._max_steps
            self._evaluate(global_step_value, done or self.hook.is_ending)

    def end(self, session, global_step_value):
        """Called after the last checkpoint of a training that was not broken off."""
        if self._last is None or self._last[0] != global_step_value:
            self._evaluate(global_step_value, True)
        elif not self._last[3]:
            _, checkpoint, result, _ = self._last
            self._evaluator.export(checkpoint, result, True)

    def _evaluate(self, step: int, is_final: bool) -> None:
        self._next = self._clock() + self._throttle_secs
        checkpoint = self._evaluator.estimator.latest_checkpoint()
        if checkpoint is None:
            raise RuntimeError(f"no checkpoint in {self._evaluator.model_dir} to evaluate")
        result = self._evaluator.evaluate_and_export(checkpoint, is_final)
        self._last = step, checkpoint, result, is_final


class _EndWatch(estimator.SessionRunHook):
    is_ending = False

    def after_run(self, run_context, run_values):
        self.is_ending = self.is_ending or run_context.stop_requested


def train_and_evaluate(built: Any, train_spec: Any, evaluator: Evaluator) -> None:
    """Trains in this process; evaluates and exports after checkpoints, and the last one always.

    Args:
        built: the Estimator that trains.
        train_spec: an estimator.TrainSpec.
        evaluator: evaluates and exports what `built` saves.
    """
    throttle_secs = evaluator.eval_spec.throttle_secs
    listener = EvaluationListener(evaluator, throttle_secs, train_spec.max_steps)
    built.train(
        train_spec.input_fn,
        hooks=[*train_spec.hooks, listener.hook],
        max_steps=train_spec.max_steps,
        saving_listeners=[*train_spec.saving_listeners, listener],
    )
