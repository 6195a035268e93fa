"""`tf.contrib.learn.SKCompat`: the methods of scikit-learn for arrays."""

from estimator_bridge.tf1.contrib.learn.array_batches import arrays_input_fn
from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.parameters import SettableParameters

__all__ = ["SKCompat"]


class SKCompat(SettableParameters):
    """An estimator with methods only for arrays, as in scikit-learn.

    Args:
      estimator: tf.contrib.learn.Estimator.
    """

    def __init__(self, estimator):
        self._estimator = estimator

    def fit(self, x, y, batch_size=128, steps=None, max_steps=None, monitors=None):
        """Trains the model.

        Args:
          x: array or {feature: array}.
          y: array of labels.
          batch_size: int, examples per batch.
          steps: number of steps; None until the input ends.
          max_steps: global step at which training ends, or None.
          monitors: list of hooks or of monitors of tf.contrib.learn, or None.

        Returns:
          self.
        """
        read = arrays_input_fn(x, y, batch_size, for_training=True)
        self._estimator.fit(input_fn=read, steps=steps, max_steps=max_steps, monitors=monitors)
        return self

    def score(self, x, y, batch_size=128, steps=None, metrics=None, name=None):
        """Evaluates the model.

        Args:
          x: array or {feature: array}.
          y: array of labels.
          batch_size: int, examples per batch.
          steps: number of steps; None until the input ends.
          metrics: {name: MetricSpec}, or None.
          name: name of the evaluation, or None.

        Returns:
          {metric: value}.

        Raises:
          NotFittedError: there is no checkpoint.
          ValueError: `metrics` is no dict.
        """
        read = arrays_input_fn(x, y, batch_size)
        return self._estimator.evaluate(input_fn=read, steps=steps, metrics=metrics, name=name)

    def predict(self, x, batch_size=128, outputs=None):
        """Returns the predictions for arrays.

        Args:
          x: array or {feature: array}.
          batch_size: int, examples per batch.
          outputs: list of names of predictions; None for all.

        Returns:
          {prediction: array}, or one array.

        Raises:
          NotFittedError: there is no checkpoint.
        """
        read = arrays_input_fn(x, None, batch_size)
        return Estimator.predict(self._estimator, input_fn=read, outputs=outputs, as_iterable=False)
