"""The most frequently used monitors of `tf.contrib.learn.monitors`, as hooks of tf.estimator."""

import time

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

_HOOKS = "use a hook (tf.train.SessionRunHook)"

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        name: _HOOKS
        for name in (
            "BaseMonitor",
            "CaptureVariable",
            "EveryN",
            "ExportMonitor",
            "GraphDump",
            "LoggingTrainable",
            "RunHookAdapterForMonitors",
        )
    },
)


class ValidationMonitor(tf.train.SessionRunHook):
    """Evaluates the latest checkpoint periodically and optionally stops training early.

    A step is due `every_n_steps` after the last one that was, counted from step 0. An evaluation is
    skipped unless there is a new checkpoint.

    Attributes:
      best_step: step with the best value of the early-stopping metric.
      best_value: that value.
      best_metrics: all metrics of that step.
      early_stopped: whether the monitor has stopped training.

    Args:
      x: array or {feature: array}; this or `input_fn` is required.
      y: array of labels, or None.
      input_fn: input_fn in place of arrays.
      batch_size: int, examples per batch of arrays.
      eval_steps: number of batches of an evaluation; None for all.
      every_n_steps: int, steps between two checks.
      metrics: {name: MetricSpec}, or None.
      hooks: list of tf.train.SessionRunHook, or None.
      early_stopping_rounds: steps without improvement after which training stops, or None.
      early_stopping_metric: name of the metric.
      early_stopping_metric_minimize: whether lower values are better.
      name: name of the evaluation, or None.
      check_interval_secs: minimum seconds between two looks for a checkpoint.

    Raises:
      ValueError: neither x nor input_fn is given.
    """

    def __init__(
        self,
        x=None,
        y=None,
        input_fn=None,
        batch_size=None,
        eval_steps=None,
        every_n_steps=100,
        metrics=None,
        hooks=None,
        early_stopping_rounds=None,
        early_stopping_metric="loss",
        early_stopping_metric_minimize=True,
        name=None,
        check_interval_secs=5,
    ):
        if x is None and input_fn is None:
            raise ValueError("ValidationMonitor: x or input_fn is required")
        self._data = {"x": x, "y": y, "input_fn": input_fn, "batch_size": batch_size}
        self._options = {"steps": eval_steps, "metrics": metrics, "hooks": hooks, "name": name}
        self._every, self._check_secs = every_n_steps, check_interval_secs
        self._last_due, self._looked = 0, None
        self._rounds = early_stopping_rounds
        self._metric, self._minimize = early_stopping_metric, early_stopping_metric_minimize
        self._estimator = self._evaluated = None
        self.best_step = self.best_value = self.best_metrics = None
        self.early_stopped = False

    def set_estimator(self, estimator):
        """Sets the estimator whose checkpoints are evaluated; `fit` calls it.

        Args:
          estimator: tf.contrib.learn.Estimator.
        """
        self._estimator = estimator

    def begin(self):
        self._step = tf.train.get_global_step()

    def before_run(self, run_context):
        """Requests the global step.

        Args:
          run_context: not used.
        """
        return tf.train.SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        """Evaluates the latest checkpoint if one is due; may stop training.

        Args:
          run_context: the tf.train.SessionRunContext: its session, and to stop training.
          run_values: the tf.train.SessionRunValues, whose results are the global step.
        """
        # The requested value may be that before this step.
        if int(run_values.results) + 1 < self._last_due + self._every:
            return
        step = int(run_context.session.run(self._step))
        if step < self._last_due + self._every:
            return
        self._last_due = step
        now = time.monotonic()
        if self._looked is not None and now - self._looked < self._check_secs:
            return
        self._looked = now
        latest = self._estimator.latest_checkpoint()
        if latest is None or latest == self._evaluated:
            return
        self._evaluated = latest
        data = {name: value for name, value in self._data.items() if value is not None}
        options = {name: value for name, value in self._options.items() if value is not None}
        found = self._estimator.evaluate(**data, **options)
        tf.logging.info("Validation (step %d): %s", step, found)
        if self._rounds is not None and self._is_over(step, found):
            self.early_stopped = True
            run_context.request_stop()

    def _is_over(self, step, found):
        if self._metric not in found:
            raise ValueError(
                f"early_stopping_metric: {self._metric!r} is not among the metrics {sorted(found)}"
            )
        value = found[self._metric]
        better = self.best_value is None or (
            value < self.best_value if self._minimize else value > self.best_value
        )
        if better:
            self.best_value, self.best_step, self.best_metrics = value, step, found
        return step - self.best_step >= self._rounds


def replace_monitors_with_hooks(monitors_or_hooks, estimator):
    """Sets the estimator of the monitors in a list.

    Args:
      monitors_or_hooks: list of hooks and monitors, or None.
      estimator: tf.contrib.learn.Estimator.

    Returns:
      The list of hooks.
    """
    found = list(monitors_or_hooks or [])
    for hook in found:
        if isinstance(hook, ValidationMonitor):
            hook.set_estimator(estimator)
    return found


def PrintTensor(tensor_names, every_n=100, first_n=1):
    """Returns a hook that logs tensors.

    Args:
      tensor_names: list of tensor names, or {tag: name}.
      every_n: int, steps between two lines.
      first_n: ignored.

    Returns:
      tf.train.LoggingTensorHook.
    """
    del first_n
    return tf.train.LoggingTensorHook(tensor_names, every_n_iter=every_n)


def CheckpointSaver(
    checkpoint_dir,
    save_secs=None,
    save_steps=None,
    saver=None,
    checkpoint_basename="model.ckpt",
    scaffold=None,
):
    """Returns a hook that saves checkpoints.

    Args:
      checkpoint_dir: directory of the checkpoints.
      save_secs: seconds between checkpoints, or None.
      save_steps: steps between checkpoints, or None.
      saver: tf.train.Saver, or None.
      checkpoint_basename: first part of the checkpoints' names.
      scaffold: tf.train.Scaffold, or None.

    Returns:
      tf.train.CheckpointSaverHook.
    """
    return tf.train.CheckpointSaverHook(
        checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename, scaffold
    )


def StopAtStep(num_steps=None, last_step=None):
    """Returns a hook that stops training.

    Args:
      num_steps: number of steps to train, or None.
      last_step: global step at which to stop, or None.

    Returns:
      tf.train.StopAtStepHook.
    """
    return tf.train.StopAtStepHook(num_steps=num_steps, last_step=last_step)


def SummarySaver(summary_op, save_steps=100, output_dir=None, summary_writer=None, scaffold=None):
    """Returns a hook that writes summaries.

    Args:
      summary_op: scalar string tensor.
      save_steps: int, steps between summaries.
      output_dir: directory for the summaries, or None.
      summary_writer: tf.summary.FileWriter, or None.
      scaffold: tf.train.Scaffold, or None.

    Returns:
      tf.train.SummarySaverHook.
    """
    return tf.train.SummarySaverHook(
        save_steps,
        output_dir=output_dir,
        summary_writer=summary_writer,
        scaffold=scaffold,
        summary_op=summary_op,
    )


def StepCounter(every_n_steps=100, output_dir=None, summary_writer=None):
    """Returns a hook that logs the steps per second.

    Args:
      every_n_steps: int, steps between two lines.
      output_dir: directory for the summaries, or None.
      summary_writer: tf.summary.FileWriter, or None.

    Returns:
      tf.train.StepCounterHook.
    """
    return tf.train.StepCounterHook(
        every_n_steps, output_dir=output_dir, summary_writer=summary_writer
    )


def NanLoss(loss_tensor, every_n_steps=100, fail_on_nan_loss=True):
    """Returns a hook that checks the loss for NaN at every step.

    Args:
      loss_tensor: scalar tensor.
      every_n_steps: ignored.
      fail_on_nan_loss: whether to raise an error; else training stops.

    Returns:
      tf.train.NanTensorHook.
    """
    del every_n_steps
    return tf.train.NanTensorHook(loss_tensor, fail_on_nan_loss)


NanLossDuringTrainingError = tf.train.NanLossDuringTrainingError


def get_default_monitors(
    loss_op=None, summary_op=None, save_summary_steps=100, output_dir=None, summary_writer=None
):
    """Returns hooks that log the loss and write summaries.

    Args:
      loss_op: scalar tensor, or None.
      summary_op: scalar string tensor, or None.
      save_summary_steps: int, steps between summaries.
      output_dir: directory for the summaries, or None.
      summary_writer: tf.summary.FileWriter, or None.

    Returns:
      List of hooks, without those for which nothing is given.
    """
    found = []
    if loss_op is not None:
        found.append(PrintTensor({"loss": loss_op.name}))
    if summary_op is not None:
        found.append(SummarySaver(summary_op, save_summary_steps, output_dir, summary_writer))
    return found
