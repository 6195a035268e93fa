"""`tf.contrib.learn.monitors`. Those that tf.train has as hooks are hooks."""

import time

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn import monitor_base as _base
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        "ExportMonitor": "pass an ExportStrategy to tf.contrib.learn.Experiment",
        "GraphDump": "use tf.contrib.learn.monitors.PrintTensor",
    },
)


BaseMonitor = _base.BaseMonitor
EveryN = _base.EveryN
RunHookAdapterForMonitors = _base.RunHookAdapterForMonitors


class ValidationMonitor(EveryN):
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
        super().__init__(every_n_steps=every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("ValidationMonitor: x or input_fn is required")
        self._data = {"x": x, "y": y, "input_fn": input_fn, "batch_size": batch_size}
        self._options = {"steps": eval_steps, "metrics": metrics, "hooks": hooks, "name": name}
        self._check_secs, self._looked = check_interval_secs, None
        self._rounds = early_stopping_rounds
        self._metric, self._minimize = early_stopping_metric, early_stopping_metric_minimize
        self._evaluated = None
        self.best_step = self.best_value = self.best_metrics = None
        self.early_stopped = False

    def every_n_step_end(self, step, outputs):
        """Evaluates the latest checkpoint.

        Args:
          step: the number of the step.
          outputs: not used.

        Returns:
          Whether to stop training.
        """
        if self._estimator is None:
            raise ValueError("The monitor needs an estimator: call set_estimator.")
        now = time.monotonic()
        if self._looked is not None and now - self._looked < self._check_secs:
            return False
        self._looked = now
        latest = self._estimator.latest_checkpoint()
        if latest is None or latest == self._evaluated:
            return False
        self._evaluated = latest
        data = {name: value for name, value in self._data.items() if value is not None}
        options = {name: value for name, value in self._options.items() if value is not None}
        found = self._estimator.evaluate(**data, **options)
        tf.logging.info("Validation (step %d): %s", step, _list_values(found))
        self.early_stopped = self._rounds is not None and self._is_over(step, found)
        if self.early_stopped:
            tf.logging.info(
                "Stopping. Best step: %s with %s = %s.",
                *(self.best_step, self._metric, self.best_value),
            )
        return self.early_stopped

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
    """Returns hooks, one of which runs the monitors of a list.

    Args:
      monitors_or_hooks: list of hooks and monitors, or None.
      estimator: tf.contrib.learn.Estimator.
    """
    hooks, monitors = [], []
    for one in monitors_or_hooks or []:
        (hooks if isinstance(one, tf.train.SessionRunHook) else monitors).append(one)
    if not estimator.config.is_chief:
        monitors = [monitor for monitor in monitors if monitor.run_on_all_workers]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    return [*hooks, RunHookAdapterForMonitors(monitors)] if monitors else hooks


def _list_values(values):
    return ", ".join(f"{name} = {value!s}" for name, value in values.items())


class _Reading(EveryN):
    """Base class of monitors that read tensors."""

    def every_n_step_begin(self, step):
        """Requests the tensors.

        Args:
          step: not used.
        """
        self._read = self._named()
        return list(self._read.values())

    def every_n_step_end(self, step, outputs):
        """Passes the values on.

        Args:
          step: the number of the step.
          outputs: {tensor or name: value}.
        """
        self._take(step, {tag: _base.value_of(outputs, name) for tag, name in self._read.items()})


class PrintTensor(_Reading):
    """Logs tensors.

    Args:
      tensor_names: list of tensor names, or {tag: name}.
      every_n: int, steps between two lines.
      first_n: int, the last of the first steps, which are all logged.
    """

    def __init__(self, tensor_names, every_n=100, first_n=1):
        super().__init__(every_n, first_n)
        named = tensor_names if isinstance(tensor_names, dict) else zip(tensor_names, tensor_names)
        self._tensor_names = dict(named)

    def _named(self):
        return self._tensor_names

    def _take(self, step, values):
        tf.logging.info("Step %d: %s", step, _list_values(values))


class LoggingTrainable(_Reading):
    """Logs the trainable variables.

    Args:
      scope: pattern that begins the names of the variables, or None.
      every_n: int, steps between two lines.
      first_n: int, the last of the first steps, which are all logged.
    """

    def __init__(self, scope=None, every_n=100, first_n=1):
        super().__init__(every_n, first_n)
        self._scope = scope

    def _named(self):
        variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope=self._scope)
        return {variable.name: variable.value().name for variable in variables}

    def _take(self, step, values):
        tf.logging.info("Logging Trainable: Step %d: %s", step, _list_values(values))


class CaptureVariable(_Reading):
    """Keeps the values of a variable.

    Attributes:
      values: {step: value}.

    Args:
      var_name: name of the variable, such as "weights:0".
      every_n: int, steps between two values.
      first_n: int, the last of the first steps, whose values are all kept.
    """

    def __init__(self, var_name, every_n=100, first_n=1):
        super().__init__(every_n, first_n)
        self._var_name, self.values = var_name, {}

    def _named(self):
        return {self._var_name: self._var_name}

    def _take(self, step, values):
        self.values[step] = values[self._var_name]


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
