"""`tf.contrib.learn.Experiment`."""

import os
import time

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn import cluster as _cluster
from estimator_bridge.tf1.contrib.learn.continuous import ONCE as _ONCE
from estimator_bridge.tf1.contrib.learn.continuous import Schedules
from estimator_bridge.tf1.contrib.learn.evaluating import metric_fn_from_specs, with_metrics
from estimator_bridge.tf1.contrib.learn.export_strategy import ExportStrategy
from estimator_bridge.tf1.contrib.learn.fitting import FitMixin
from estimator_bridge.tf1.contrib.learn.monitors import (
    ValidationMonitor,
    replace_monitors_with_hooks,
)

__all__ = ["Experiment"]


class _StrategyExporter(tf.estimator.Exporter):
    """An Exporter that runs an ExportStrategy."""

    def __init__(self, strategy):
        self._strategy = strategy

    @property
    def name(self):
        return self._strategy.name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        del is_the_final_export
        path = os.fsencode(export_path)
        return self._strategy.export(estimator, path, checkpoint_path, eval_result)


class _EachCheckpoint(tf.train.CheckpointSaverListener):
    """Evaluates and exports each checkpoint.

    Attributes:
      metrics: those of the last evaluation, or None.
      exports: what was exported last, or None.

    Args:
      evaluate: function from a checkpoint to its metrics.
      export: function of (checkpoint, metrics).
      latest_checkpoint: function that returns the newest checkpoint.
    """

    def __init__(self, evaluate, export, latest_checkpoint):
        self._evaluate, self._export, self._latest = evaluate, export, latest_checkpoint
        self.metrics = self.exports = None

    def after_save(self, session, global_step_value):
        """Evaluates and exports the checkpoint that has been saved.

        Args:
          session: not used.
          global_step_value: not used.
        """
        path = self._latest()
        self.metrics = self._evaluate(path)
        self.exports = self._export(path, self.metrics)


class Experiment(Schedules):
    """An estimator together with its training and evaluation.

    In a cluster with a `master`, a process runs the method of its own; `learn_runner.run` chooses
    it. In one with a `chief`, `train_and_evaluate()` follows TF_CONFIG like
    tf.estimator.train_and_evaluate.

    Args:
      estimator: tf.estimator.Estimator.
      train_input_fn: input_fn of the training.
      eval_input_fn: input_fn of the evaluation.
      eval_metrics: {name: MetricSpec}, further metrics of the evaluation of an estimator of
        tf.contrib.learn, or None.
      train_steps: global step at which training ends, or None.
      eval_steps: number of batches of an evaluation; None for all.
      train_monitors: hooks or monitors of the training, or None.
      eval_hooks: hooks of the evaluation, or None.
      local_eval_frequency: steps between evaluations during `local_run`; None for none.
      eval_delay_secs: seconds before `evaluate`, and before the first continuous evaluation.
      continuous_eval_throttle_secs: minimum seconds between two continuous evaluations.
      min_eval_frequency: steps between evaluations during `train_and_evaluate`; 0 for none, None
        for each new checkpoint.
      delay_workers_by_global_step: whether the workers of a cluster wait for a global step before
        they train, not for 5 seconds times their number.
      export_strategies: ExportStrategy, list of them, or None.
      train_steps_per_iteration: steps of a turn of `continuous_train_and_eval`, or None.
      checkpoint_and_export: whether `train_and_evaluate` evaluates and exports each checkpoint, and
        nothing at the end.
      saving_listeners: list of CheckpointSaverListener of an estimator that is not of
        tf.contrib.learn, or None.
      check_interval_secs: minimum seconds between two looks for a new checkpoint during training.

    Raises:
      ValueError: the estimator does not take `eval_metrics` or `saving_listeners`.
    """

    def __init__(
        self,
        estimator,
        train_input_fn,
        eval_input_fn,
        eval_metrics=None,
        train_steps=None,
        eval_steps=100,
        train_monitors=None,
        eval_hooks=None,
        local_eval_frequency=None,
        eval_delay_secs=120,
        continuous_eval_throttle_secs=60,
        min_eval_frequency=None,
        delay_workers_by_global_step=False,
        export_strategies=None,
        train_steps_per_iteration=None,
        checkpoint_and_export=False,
        saving_listeners=None,
        check_interval_secs=5,
    ):
        self._is_learn = isinstance(estimator, FitMixin)
        if eval_metrics is not None and not self._is_learn:
            raise ValueError(
                "eval_metrics: for estimators of tf.contrib.learn; a model_fn returns "
                "eval_metric_ops"
            )
        if saving_listeners is not None and self._is_learn:
            raise ValueError("saving_listeners: not for estimators of tf.contrib.learn")
        self._local_frequency = local_eval_frequency
        self._frequency = 1 if min_eval_frequency is None else min_eval_frequency
        self._delay_by_global_step = delay_workers_by_global_step
        self._exports_each, self._check_secs = checkpoint_and_export, check_interval_secs
        self._train_steps_per_iteration = train_steps_per_iteration
        self._estimator = estimator
        self._train_input_fn = train_input_fn
        self._eval_input_fn = eval_input_fn
        self._eval_metrics = eval_metrics
        self._train_steps = train_steps
        self._eval_steps = eval_steps
        self._train_hooks = list(train_monitors or ())
        self._eval_hooks = list(eval_hooks or ())
        self._eval_delay_secs = eval_delay_secs
        self._throttle_secs = continuous_eval_throttle_secs
        self._listeners = list(saving_listeners or ())
        self.reset_export_strategies(export_strategies)

    @property
    def estimator(self):
        """The estimator."""
        return self._estimator

    @property
    def eval_metrics(self):
        """{name: MetricSpec}, further metrics of the evaluation, or None."""
        return self._eval_metrics

    @property
    def train_steps(self):
        """The global step at which training ends, or None."""
        return self._train_steps

    @property
    def eval_steps(self):
        """The number of batches of an evaluation, or None for all."""
        return self._eval_steps

    def extend_train_hooks(self, additional_hooks):
        """Adds hooks to the training.

        Args:
          additional_hooks: list of hooks.
        """
        self._train_hooks.extend(additional_hooks)

    def extend_eval_hooks(self, additional_hooks):
        """Adds hooks to the evaluation.

        Args:
          additional_hooks: list of hooks.
        """
        self._eval_hooks.extend(additional_hooks)

    def reset_export_strategies(self, new_export_strategies=None):
        """Replaces the export strategies.

        Args:
          new_export_strategies: ExportStrategy, list of them, or None.

        Returns:
          The previous export strategies.
        """
        before = getattr(self, "_export_strategies", [])
        given = new_export_strategies or []
        self._export_strategies = [given] if isinstance(given, ExportStrategy) else list(given)
        return before

    def train(self, delay_secs=None):
        """Trains until the global step `train_steps`; in a cluster, starts its server first.

        Args:
          delay_secs: seconds to wait first; None for those of the place in a cluster.

        Returns:
          The estimator.
        """
        hooks, config = [], self._estimator.config
        _cluster.join(config)
        if delay_secs is None:
            delay_secs, hooks = _cluster.delay(config, self._delay_by_global_step)
        if delay_secs:
            time.sleep(delay_secs)
        return self._train([*self._train_hooks, *hooks], max_steps=self._train_steps)

    def _train(self, hooks, **steps):
        if self._is_learn:
            return self._estimator.fit(input_fn=self._train_input_fn, monitors=hooks, **steps)
        return self._estimator.train(
            input_fn=self._train_input_fn,
            hooks=replace_monitors_with_hooks(hooks, self._estimator),
            saving_listeners=self._listeners or None,
            **steps,
        )

    def evaluate(self, delay_secs=None, name=None):
        """Evaluates the latest checkpoint once.

        Args:
          delay_secs: seconds to wait first; None for `eval_delay_secs`.
          name: name of the evaluation; None for "one_pass".

        Returns:
          {metric: value}.
        """
        time.sleep((self._eval_delay_secs if delay_secs is None else delay_secs) or 0)
        return self._evaluate(name=name or _ONCE)

    def _evaluate(self, **options):
        given = {
            "input_fn": self._eval_input_fn,
            "steps": self._eval_steps,
            "hooks": self._eval_hooks,
            **options,
        }
        if self._is_learn:
            given["metrics"] = self._eval_metrics
        return self._estimator.evaluate(**given)

    def _export(self, checkpoint, metrics):
        """Returns what each export strategy has exported."""
        return [
            strategy.export(
                self._estimator,
                os.fsencode(os.path.join(self._estimator.model_dir, "export", strategy.name)),
                checkpoint,
                metrics,
            )
            for strategy in self._export_strategies
        ]

    def train_and_evaluate(self):
        """Trains, evaluates new checkpoints in between, and evaluates and exports at the end.

        Returns:
          (metrics, exports) of the last evaluation, or None.
        """
        if _cluster.is_of_today(self._estimator.config):
            return self._run_role()
        return self._run(self._frequency)

    def local_run(self):
        """Like `train_and_evaluate`, with `local_eval_frequency` for `min_eval_frequency`.

        Returns:
          (metrics, exports) of the last evaluation, or None.
        """
        return self._run(self._local_frequency)

    def _run(self, frequency):
        _cluster.join(self._estimator.config)
        if self._exports_each:
            return self._train_and_export_each()
        hooks = list(self._train_hooks)
        if frequency:
            monitor = ValidationMonitor(
                input_fn=self._eval_input_fn,
                eval_steps=self._eval_steps,
                every_n_steps=frequency,
                metrics=self._eval_metrics,
                hooks=self._eval_hooks,
                check_interval_secs=self._check_secs,
            )
            hooks.append(monitor)
        self._train(hooks, max_steps=self._train_steps)
        metrics = self._evaluate()
        return metrics, self._export(None, metrics)

    def _train_and_export_each(self):
        listener = _EachCheckpoint(
            lambda path: self._evaluate(checkpoint_path=path, name="intermediate_export"),
            self._export,
            self._newest,
        )
        config = self._estimator.config
        saver = tf.train.CheckpointSaverHook(
            self._estimator.model_dir,
            save_secs=config.save_checkpoints_secs,
            save_steps=config.save_checkpoints_steps,
            listeners=[listener],
        )
        self._train([*self._train_hooks, saver], max_steps=self._train_steps)
        return listener.metrics, listener.exports

    def _run_role(self):
        """Runs the role of this process in a cluster."""
        train_spec = tf.estimator.TrainSpec(
            self._train_input_fn,
            max_steps=self._train_steps,
            hooks=self._train_hooks,
            saving_listeners=self._listeners or None,
        )
        eval_spec = tf.estimator.EvalSpec(
            self._eval_input_fn,
            steps=self._eval_steps,
            hooks=self._eval_hooks,
            exporters=[_StrategyExporter(strategy) for strategy in self._export_strategies],
            start_delay_secs=self._eval_delay_secs,
            throttle_secs=self._throttle_secs,
        )
        estimator = self._estimator
        if self._eval_metrics:
            estimator = with_metrics(estimator, metric_fn_from_specs(self._eval_metrics))
        return tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)

    def run_std_server(self):
        """Runs the server of a process of a cluster and does not return.

        Raises:
          ValueError: this process is in no cluster.
        """
        _cluster.start_server(self._estimator.config).join()

    def test(self):
        """Trains one step, evaluates one batch without the hooks of evaluations, and exports.

        Returns:
          {metric: value}.
        """
        self._train(self._train_hooks, steps=1)
        metrics = self._evaluate(steps=1, hooks=None, name=_ONCE)
        self._export(None, metrics)
        return metrics
