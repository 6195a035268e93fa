"""Schedules of `tf.contrib.learn.Experiment` that evaluate again and again."""

import inspect
import time

import tensorflow.compat.v1 as tf

__all__ = ["Schedules"]

# Name of an evaluation that is one of a kind.
ONCE = "one_pass"
# Seconds between two looks for a checkpoint if the evaluation need not wait.
_LOOK_SECS = 0.2
# Steps between two evaluations, without train_steps and train_steps_per_iteration.
_STEPS = 1000


def _asks(predicate):
    """Returns a function of metrics and checkpoint that says whether to go on.

    Args:
      predicate: function of the metrics, or of them and of `checkpoint_path`; None goes on always.

    Raises:
      ValueError: it cannot be called.
    """
    if predicate is None:
        return lambda metrics, path: True
    if not callable(predicate):
        raise ValueError("continuous_eval_predicate_fn must be a function or None")
    if "checkpoint_path" in inspect.signature(predicate).parameters:
        return lambda metrics, path: predicate(metrics, checkpoint_path=path)
    return lambda metrics, path: predicate(metrics)


class Schedules:
    """The continuous schedules of an Experiment."""

    def continuous_eval(
        self,
        delay_secs=None,
        throttle_delay_secs=None,
        evaluate_checkpoint_only_once=True,
        continuous_eval_predicate_fn=None,
        name="continuous",
    ):
        """Evaluates and exports checkpoints as they appear, until one has `train_steps` steps.

        Args:
          delay_secs: seconds before the first evaluation; None for `eval_delay_secs`.
          throttle_delay_secs: minimum seconds between the starts of two evaluations; None for
            `continuous_eval_throttle_secs`.
          evaluate_checkpoint_only_once: whether to wait for a new checkpoint.
          continuous_eval_predicate_fn: function of the last metrics (None before the first
            evaluation), or of them and `checkpoint_path`, that says whether to go on; or None.
          name: name of the evaluation.

        Raises:
          ValueError: `continuous_eval_predicate_fn` cannot be called.
        """
        goes_on = _asks(continuous_eval_predicate_fn)
        waits = delay_secs, throttle_delay_secs
        for path, metrics in self._watch(
            self._eval_input_fn, name, waits, goes_on, evaluate_checkpoint_only_once
        ):
            self._export(path, metrics)

    def continuous_eval_on_train_data(
        self,
        delay_secs=None,
        throttle_delay_secs=None,
        continuous_eval_predicate_fn=None,
        name="continuous_on_train_data",
    ):
        """Evaluates checkpoints on the input of the training, and exports nothing.

        Args:
          delay_secs: see `continuous_eval`.
          throttle_delay_secs: see `continuous_eval`.
          continuous_eval_predicate_fn: see `continuous_eval`.
          name: name of the evaluation.

        Raises:
          ValueError: `continuous_eval_predicate_fn` cannot be called.
        """
        goes_on = _asks(continuous_eval_predicate_fn)
        waits = delay_secs, throttle_delay_secs
        for _ in self._watch(self._train_input_fn, name, waits, goes_on, True):
            pass

    def continuous_train_and_eval(self, continuous_eval_predicate_fn=None):
        """Trains and evaluates in turn, until `train_steps`.

        A turn trains for `train_steps_per_iteration` steps, also the last one; without this
        argument, for a tenth of `train_steps`, or 1,000.

        Args:
          continuous_eval_predicate_fn: see `continuous_eval`.

        Returns:
          (metrics, exports) of the last evaluation.

        Raises:
          ValueError: `continuous_eval_predicate_fn` cannot be called.
        """
        goes_on = _asks(continuous_eval_predicate_fn)
        turn = self._train_steps_per_iteration
        if turn is None:
            turn = _STEPS if self._train_steps is None else self._train_steps // 10
        metrics = path = exports = None
        while goes_on(metrics, path) and not self._is_trained(metrics):
            self._train(self._train_hooks, steps=turn)
            path = self._newest()
            metrics = self._evaluate(checkpoint_path=path, name=ONCE)
            exports = self._export(None, metrics)
        return metrics, exports

    def _watch(self, input_fn, name, waits, goes_on, once):
        """Evaluates checkpoints as they appear; yields (checkpoint, metrics) of each."""
        defaults = (self._eval_delay_secs, self._throttle_secs)
        delay, throttle = (own if given is None else given for given, own in zip(waits, defaults))
        time.sleep(delay or 0)
        metrics = path = None
        while goes_on(metrics, path) and not self._is_trained(metrics):
            started, newest = time.monotonic(), self._newest()
            if newest is None or (once and newest == path):
                metrics = {}
                time.sleep(max(throttle or 0, _LOOK_SECS))
                continue
            path = newest
            metrics = self._evaluate(input_fn=input_fn, checkpoint_path=path, name=name)
            yield path, metrics
            if not self._is_trained(metrics):
                time.sleep(max(started + (throttle or 0) - time.monotonic(), 0))

    def _is_trained(self, metrics):
        step = (metrics or {}).get(tf.GraphKeys.GLOBAL_STEP, 0)
        return self._train_steps is not None and step >= self._train_steps

    def _newest(self):
        return tf.train.latest_checkpoint(self._estimator.model_dir)
