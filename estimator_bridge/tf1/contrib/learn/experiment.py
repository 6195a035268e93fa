"""`tf.contrib.learn.Experiment`, run by tf.estimator.train_and_evaluate."""

import os
import time

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.continuous import Schedules
from estimator_bridge.tf1.contrib.learn.evaluating import with_metrics
from estimator_bridge.tf1.contrib.learn.export_strategy import ExportStrategy
from estimator_bridge.tf1.contrib.learn.fitting import metric_fn_from_specs

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
        return self._strategy.export(estimator, export_path, checkpoint_path, eval_result)


class Experiment(Schedules):
    """An estimator together with its training and evaluation.

    `train_and_evaluate()` follows TF_CONFIG like tf.estimator.train_and_evaluate: in a cluster it
    runs the role of this process.

    Args:
      estimator: tf.estimator.Estimator.
      train_input_fn: input_fn of the training.
      eval_input_fn: input_fn of the evaluation.
      eval_metrics: {name: MetricSpec}, further metrics of the evaluation, or None.
      train_steps: global step at which training ends, or None.
      eval_steps: number of batches of an evaluation; None for all.
      train_monitors: hooks or monitors of the training, or None.
      eval_hooks: hooks of the evaluation, or None.
      local_eval_frequency: ignored; evaluation follows checkpoints.
      eval_delay_secs: seconds before the first evaluation.
      continuous_eval_throttle_secs: minimum seconds between two evaluations.
      min_eval_frequency: ignored; evaluation follows checkpoints.
      delay_workers_by_global_step: ignored.
      export_strategies: ExportStrategy, list of them, or None.
      train_steps_per_iteration: steps of a turn of `continuous_train_and_eval`, or None.
      checkpoint_and_export: ignored.
      saving_listeners: list of CheckpointSaverListener, or None.
      check_interval_secs: ignored.
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
        # Evaluations depend on checkpoints and seconds. These arguments set other schedules in 1.x.
        del local_eval_frequency, min_eval_frequency, delay_workers_by_global_step
        del checkpoint_and_export, check_interval_secs
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
        """Trains until the global step `train_steps`.

        Args:
          delay_secs: seconds to wait first, or None.

        Returns:
          The estimator.
        """
        if delay_secs:
            time.sleep(delay_secs)
        return self._estimator.train(
            self._train_input_fn,
            max_steps=self._train_steps,
            hooks=self._train_hooks,
            saving_listeners=self._listeners or None,
        )

    def _evaluated(self):
        if not self._eval_metrics:
            return self._estimator
        return with_metrics(self._estimator, metric_fn_from_specs(self._eval_metrics))

    def evaluate(self, delay_secs=None, name=None):
        """Evaluates the latest checkpoint once.

        Args:
          delay_secs: seconds to wait first, or None.
          name: name of the evaluation, or None.

        Returns:
          {metric: value}.
        """
        if delay_secs:
            time.sleep(delay_secs)
        return self._evaluate(self._eval_input_fn, None, name)

    def _evaluate(self, input_fn, checkpoint, name=None):
        return tf.estimator.Estimator.evaluate(
            self._evaluated(),
            input_fn,
            steps=self._eval_steps,
            hooks=self._eval_hooks,
            checkpoint_path=checkpoint,
            name=name,
        )

    def _export(self, checkpoint, metrics):
        """Returns what each export strategy has exported."""
        return [
            strategy.export(
                self._estimator,
                os.path.join(self._estimator.model_dir, "export", strategy.name),
                checkpoint,
                metrics,
            )
            for strategy in self._export_strategies
        ]

    def train_and_evaluate(self):
        """Trains, and evaluates and exports checkpoints in between.

        Returns:
          (metrics, exports) of the last evaluation, or None.
        """
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
        return tf.estimator.train_and_evaluate(self._evaluated(), train_spec, eval_spec)

    local_run = train_and_evaluate

    def run_std_server(self):
        """Runs a parameter server and does not return."""
        config = self._estimator.config
        server = tf.train.Server(
            config.cluster_spec,
            job_name=config.task_type,
            task_index=config.task_id,
            config=config.session_config,
            protocol=config.protocol,
        )
        server.join()

    def test(self):
        """Trains one step, evaluates one batch without the hooks of evaluations, and exports.

        Returns:
          {metric: value}.
        """
        self._estimator.train(self._train_input_fn, steps=1, hooks=self._train_hooks)
        path = self._estimator.latest_checkpoint()
        evaluate = tf.estimator.Estimator.evaluate
        result = evaluate(self._evaluated(), self._eval_input_fn, steps=1, checkpoint_path=path)
        self._export(path, result)
        return result
