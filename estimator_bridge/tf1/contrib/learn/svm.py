"""`tf.contrib.learn.SVM`: a linear support vector machine, solved in the dual."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.fitting import FitMixin
from estimator_bridge.tf1.contrib.learn.predicting import one_output

__all__ = ["SVM"]


class _Hinge(tf.estimator.experimental.LinearSDCA):
    """The SDCA solver of tf.estimator with hinge loss, which LinearSDCA does not offer."""

    def get_train_step(self, state_manager, weight_column_name, loss_type, *args):
        return super().get_train_step(state_manager, weight_column_name, "hinge_loss", *args)


def _hinge_loss(labels, logits):
    return tf.nn.relu(1 - (2 * tf.cast(labels, logits.dtype) - 1) * logits)


class SVM(FitMixin, tf.estimator.LinearEstimator):
    """A binary classifier. Labels are 0 and 1; predictions are `logits` and `classes`.

    Args:
      example_id_column: name of the string feature with a unique id per example.
      feature_columns: real-valued, bucketized and sparse columns.
      weight_column_name: name of the feature with the examples' weights, or None.
      model_dir: directory for checkpoints and summaries, or None.
      l1_regularization: strength of the L1 regularization of the weights.
      l2_regularization: strength of the L2 regularization; the solver uses at least 1.
      num_loss_partitions: int, number of workers that train at once.
      kernels: not supported; must be None.
      config: RunConfig, or None.
      feature_engineering_fn: not supported; must be None.

    Raises:
      ValueError: kernels or feature_engineering_fn are given.
    """

    def __init__(
        self,
        example_id_column,
        feature_columns,
        weight_column_name=None,
        model_dir=None,
        l1_regularization=0.0,
        l2_regularization=0.0,
        num_loss_partitions=1,
        kernels=None,
        config=None,
        feature_engineering_fn=None,
    ):
        if kernels is not None or feature_engineering_fn is not None:
            raise ValueError(
                "tf.contrib.learn.SVM: kernels and feature_engineering_fn are not supported; "
                "transform the features in the input_fn"
            )
        head = tf.estimator.BinaryClassHead(weight_column_name, loss_fn=_hinge_loss)
        solver = _Hinge(
            example_id_column,
            num_loss_partitions=num_loss_partitions,
            symmetric_l1_regularization=l1_regularization,
            symmetric_l2_regularization=l2_regularization,
        )
        super().__init__(
            head, list(feature_columns), model_dir=model_dir, optimizer=solver, config=config
        )
        self._model_fn = _with_classes_as_numbers(self._model_fn)

    def predict_classes(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """Returns the predicted classes.

        Args:
          x: array or {feature: array}, or None.
          input_fn: input_fn in place of arrays.
          batch_size: int, examples per batch of arrays; None for all at once.
          as_iterable: whether to return an iterator; else an array.

        Returns:
          Iterator or array of ints.
        """
        return one_output(self, "classes", x, input_fn, batch_size, as_iterable)

    def predict_proba(self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True):
        """Returns the probabilities of the classes, as the logistic function gives them.

        Args:
          x: array or {feature: array}, or None.
          input_fn: input_fn in place of arrays.
          batch_size: int, examples per batch of arrays; None for all at once.
          outputs: ignored.
          as_iterable: whether to return an iterator; else an array.

        Returns:
          Iterator of arrays [2], or array [batch, 2].
        """
        del outputs
        return one_output(self, "probabilities", x, input_fn, batch_size, as_iterable)


def _with_classes_as_numbers(model_fn):
    def wrapped(features, labels, mode, config):
        spec = model_fn(features=features, labels=labels, mode=mode, config=config)
        if mode != tf.estimator.ModeKeys.PREDICT:
            return spec
        classes = tf.squeeze(spec.predictions["class_ids"], 1)
        return spec._replace(predictions=dict(spec.predictions, classes=classes))

    return wrapped
