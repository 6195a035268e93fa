"""`Trainable` and `Evaluable` of `tf.contrib.learn`: what an Experiment calls."""

import abc

__all__ = ["Evaluable", "Trainable"]


class Trainable(abc.ABC):
    """Something with `fit`, as the Estimators of tf.contrib.learn."""

    @abc.abstractmethod
    def fit(
        self,
        x=None,
        y=None,
        input_fn=None,
        steps=None,
        batch_size=None,
        monitors=None,
        max_steps=None,
    ):
        """Trains; the arguments are those of Estimator.fit.

        Args:
          x: array of features, or None.
          y: array of labels, or None.
          input_fn: function that returns features and labels, or None.
          steps: int, steps to train; None for all of the input.
          batch_size: int, rows of `x` in a batch.
          monitors: list of monitors or hooks.
          max_steps: int, the last step; None for no limit.
        """


class Evaluable(abc.ABC):
    """Something with `evaluate` and `model_dir`, as the Estimators of tf.contrib.learn."""

    @property
    @abc.abstractmethod
    def model_dir(self):
        """The folder of the checkpoints."""

    @abc.abstractmethod
    def evaluate(
        self,
        x=None,
        y=None,
        input_fn=None,
        feed_fn=None,
        batch_size=None,
        steps=None,
        metrics=None,
        name=None,
        checkpoint_path=None,
        hooks=None,
    ):
        """Evaluates; the arguments are those of Estimator.evaluate.

        Args:
          x: array of features, or None.
          y: array of labels, or None.
          input_fn: function that returns features and labels, or None.
          feed_fn: function that returns what to feed in each step, or None.
          batch_size: int, rows of `x` in a batch.
          steps: int, steps to evaluate; None for all of the input.
          metrics: {name: MetricSpec or function}, or None.
          name: of the evaluation, or None.
          checkpoint_path: of the checkpoint; None for the newest.
          hooks: list of SessionRunHook.
        """
