"""The predictions of the canned estimators of `tf.contrib.learn`."""

from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.model_spec import PredictionKey

__all__ = ["Classifier", "Regressor", "one_output"]


def one_output(estimator, key, x, input_fn, batch_size, as_iterable):
    """Returns one of the predictions.

    Args:
      estimator: estimator of tf.contrib.learn.
      key: name of the prediction.
      x: array or {feature: array}, or None.
      input_fn: input_fn in place of arrays.
      batch_size: int, examples per batch of arrays; None for all at once.
      as_iterable: whether to return an iterator; else an array.

    Returns:
      Iterator of values, or array.
    """
    found = Estimator.predict(estimator, x, input_fn, batch_size, [key], as_iterable)
    return (row[key] for row in found) if as_iterable else found[key]


class Classifier(Estimator):
    """The predictions of a classifier."""

    def predict(
        self,
        x=None,
        input_fn=None,
        batch_size=None,
        outputs=None,
        as_iterable=True,
        iterate_batches=False,
    ):
        """Returns the predicted classes; with `outputs`, what Estimator.predict returns.

        Args:
          x: array or {feature: array}, or None.
          input_fn: input_fn in place of arrays.
          batch_size: int, examples per batch of arrays; None for all at once.
          outputs: list of names of predictions, or None.
          as_iterable: whether to return an iterator; else arrays.
          iterate_batches: whether the iterator has a value per batch.

        Returns:
          Iterator or array of classes; with `outputs`, of {prediction: value}.
        """
        if outputs is None:
            return self.predict_classes(x, input_fn, batch_size, as_iterable)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)

    def predict_classes(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """Returns the predicted classes.

        Args:
          x: array or {feature: array}, or None.
          input_fn: input_fn in place of arrays.
          batch_size: int, examples per batch of arrays; None for all at once.
          as_iterable: whether to return an iterator; else an array.

        Returns:
          Iterator or array of ints, or of byte strings with `label_keys`.
        """
        return one_output(self, PredictionKey.CLASSES, x, input_fn, batch_size, as_iterable)

    def predict_proba(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """Returns the probabilities of the classes.

        Args:
          x: array or {feature: array}, or None.
          input_fn: input_fn in place of arrays.
          batch_size: int, examples per batch of arrays; None for all at once.
          as_iterable: whether to return an iterator; else an array.

        Returns:
          Iterator of arrays [classes], or array [batch, classes].
        """
        return one_output(self, PredictionKey.PROBABILITIES, x, input_fn, batch_size, as_iterable)


class Regressor(Estimator):
    """The predictions of a regressor."""

    def predict(
        self,
        x=None,
        input_fn=None,
        batch_size=None,
        outputs=None,
        as_iterable=True,
        iterate_batches=False,
    ):
        """Returns the predicted values; with `outputs`, what Estimator.predict returns.

        Args:
          x: array or {feature: array}, or None.
          input_fn: input_fn in place of arrays.
          batch_size: int, examples per batch of arrays; None for all at once.
          outputs: list of names of predictions, or None.
          as_iterable: whether to return an iterator; else arrays.
          iterate_batches: whether the iterator has a value per batch.

        Returns:
          Iterator or array of values; with `outputs`, of {prediction: value}.
        """
        if outputs is None:
            return self.predict_scores(x, input_fn, batch_size, as_iterable)
        return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)

    def predict_scores(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """Returns the predicted values.

        Args:
          x: array or {feature: array}, or None.
          input_fn: input_fn in place of arrays.
          batch_size: int, examples per batch of arrays; None for all at once.
          as_iterable: whether to return an iterator; else an array.

        Returns:
          Iterator or array of values.
        """
        return one_output(self, PredictionKey.SCORES, x, input_fn, batch_size, as_iterable)
