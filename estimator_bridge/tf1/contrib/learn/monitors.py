"""`tf.contrib.learn.monitors`: those that programs used, as hooks of tf.estimator."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import basic_session_run_hooks as _hooks
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

_HOOKS = "use a hook (tf.train.SessionRunHook)"

__getattr__, _advice_for = _unsupported_names(
    globals(),
    {
        name: _HOOKS
        for name in (
            "BaseMonitor",
            "EveryN",
            "GraphDump",
            "ExportMonitor",
            "RunHookAdapterForMonitors",
        )
    },
)


class ValidationMonitor(tf.train.SessionRunHook):
    """Evaluates the latest checkpoint every so many steps, and may end training by it.

    Evaluation needs checkpoints: it is skipped while there is no newer one than at the last time.

    Attributes:
      best_step, best_value: where the early-stopping metric was best so far, and its value.
      early_stopped: whether training was ended.
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
        check_interval_secs=None,
    ):
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        del check_interval_secs  # The check costs nothing worth waiting for.
        self._data = {"x": x, "y": y, "input_fn": input_fn, "batch_size": batch_size}
        self._options = {"steps": eval_steps, "metrics": metrics, "hooks": hooks, "name": name}
        self._timer = _hooks.SecondOrStepTimer(every_steps=every_n_steps)
        self._rounds = early_stopping_rounds
        self._metric, self._minimize = early_stopping_metric, early_stopping_metric_minimize
        self._estimator = self._evaluated = None
        self.best_step = self.best_value = None
        self.early_stopped = False

    def set_estimator(self, estimator):
        """Says whose checkpoints are evaluated; `fit` does so."""
        self._estimator = estimator

    def begin(self):
        self._step = tf.train.get_global_step()

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        step = int(run_values.results)
        if not self._timer.should_trigger_for_step(step):
            return
        self._timer.update_last_triggered_step(step)
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
                f"Metric {self._metric} missing from outputs {sorted(found)}: it is the early "
                "stopping metric."
            )
        value = found[self._metric]
        better = self.best_value is None or (
            value < self.best_value if self._minimize else value > self.best_value
        )
        if better:
            self.best_value, self.best_step = value, step
        return step - self.best_step >= self._rounds


def replace_monitors_with_hooks(monitors_or_hooks, estimator):
    """Returns the hooks of a list, each monitor among them told of its estimator."""
    found = list(monitors_or_hooks or [])
    for hook in found:
        if isinstance(hook, ValidationMonitor):
            hook.set_estimator(estimator)
    return found


def PrintTensor(tensor_names, every_n=100, first_n=1):
    """Logs tensors: a list of names, or {tag: name}."""
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
    """tf.train.CheckpointSaverHook."""
    return tf.train.CheckpointSaverHook(
        checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename, scaffold
    )


def StopAtStep(num_steps=None, last_step=None):
    """tf.train.StopAtStepHook."""
    return tf.train.StopAtStepHook(num_steps=num_steps, last_step=last_step)


def SummarySaver(summary_op, save_steps=100, output_dir=None, summary_writer=None, scaffold=None):
    """tf.train.SummarySaverHook."""
    return tf.train.SummarySaverHook(
        save_steps,
        output_dir=output_dir,
        summary_writer=summary_writer,
        scaffold=scaffold,
        summary_op=summary_op,
    )


def StepCounter(every_n_steps=100, output_dir=None, summary_writer=None):
    """tf.train.StepCounterHook."""
    return tf.train.StepCounterHook(
        every_n_steps, output_dir=output_dir, summary_writer=summary_writer
    )


def NanLoss(loss_tensor, every_n_steps=100, fail_on_nan_loss=True):
    """tf.train.NanTensorHook, which looks at every step."""
    del every_n_steps
    return tf.train.NanTensorHook(loss_tensor, fail_on_nan_loss)
