"""The debug estimators of `tf.contrib.learn`, which learn a bias and look at no feature."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.heads import multi_class_head, regression_head
from estimator_bridge.tf1.contrib.learn.model_spec import PredictionKey
from estimator_bridge.tf1.contrib.learn.predicting import one_output

__all__ = ["DebugClassifier", "DebugRegressor"]

_LEARNING_RATE = 0.3


def _debug_model_fn(head):
    """Returns the model_fn of a head with a centered bias, whose other logits are zero."""

    def step(loss):
        return layers.optimize_loss(
            loss=loss,
            global_step=tf.train.get_global_step(),
            learning_rate=_LEARNING_RATE,
            optimizer="Adagrad",
        )

    def model_fn(features, labels, mode, config):
        del config
        features = features if isinstance(features, dict) else {"": features}
        first = next(iter(features.values()))
        rows = first.dense_shape[0] if isinstance(first, tf.SparseTensor) else tf.shape(first)[0]
        return head.create_model_fn_ops(
            features=features,
            mode=mode,
            labels=labels,
            train_op_fn=step,
            logits=tf.zeros([rows, head.logits_dimension]),
        )

    return model_fn


class DebugClassifier(Estimator):
    """A classifier that predicts the shares of the classes.

    Args:
      model_dir: directory for checkpoints and summaries, or None.
      n_classes: int, number of classes.
      weight_column_name: name of the feature with the examples' weights, or None.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      label_keys: list of the strings that labels are, with three or more classes; or None.
    """

    def __init__(
        self,
        model_dir=None,
        n_classes=2,
        weight_column_name=None,
        config=None,
        feature_engineering_fn=None,
        label_keys=None,
    ):
        head = multi_class_head(
            n_classes, None, weight_column_name, enable_centered_bias=True, label_keys=label_keys
        )
        super().__init__(_debug_model_fn(head), model_dir, config, None, feature_engineering_fn)

    def predict_classes(self, input_fn=None, batch_size=None):
        """Returns the predicted classes.

        Args:
          input_fn: input_fn.
          batch_size: ignored with an input_fn.

        Returns:
          Iterator of ints, or of byte strings with `label_keys`.
        """
        return one_output(self, PredictionKey.CLASSES, None, input_fn, batch_size, True)

    def predict_proba(self, input_fn=None, batch_size=None):
        """Returns the probabilities of the classes.

        Args:
          input_fn: input_fn.
          batch_size: ignored with an input_fn.

        Returns:
          Iterator of arrays [classes].
        """
        return one_output(self, PredictionKey.PROBABILITIES, None, input_fn, batch_size, True)


class DebugRegressor(Estimator):
    """A regressor that predicts the mean of the labels.

    Args:
      model_dir: directory for checkpoints and summaries, or None.
      label_dimension: int, number of labels of an example.
      weight_column_name: name of the feature with the examples' weights, or None.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
    """

    def __init__(
        self,
        model_dir=None,
        label_dimension=1,
        weight_column_name=None,
        config=None,
        feature_engineering_fn=None,
    ):
        head = regression_head(None, weight_column_name, label_dimension, enable_centered_bias=True)
        super().__init__(_debug_model_fn(head), model_dir, config, None, feature_engineering_fn)

    def predict_scores(self, input_fn=None, batch_size=None):
        """Returns the predicted values.

        Args:
          input_fn: input_fn.
          batch_size: ignored with an input_fn.

        Returns:
          Iterator of floats, or of arrays [label_dimension].
        """
        return one_output(self, PredictionKey.SCORES, None, input_fn, batch_size, True)
