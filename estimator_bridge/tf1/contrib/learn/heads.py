"""Losses, predictions and metrics of the canned estimators of `tf.contrib.learn`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.model_spec import (
    ModeKeys,
    ModelFnOps,
    PredictionKey,
    ProblemType,
)

__all__ = ["SvmHead", "make_class_head", "make_regression_head"]

_BIAS_LEARNING_RATE = 0.1
_THRESHOLD = 0.5


class _Head:
    """Loss, predictions, metrics and signatures of one kind of model.

    Args:
      dimension: int, number of logits.
      weight_column_name: name of the feature with the examples' weights, or None.
      centered_bias: whether to learn a bias of its own for the mean of the labels.
    """

    scope_name = ""
    problem = ProblemType.UNSPECIFIED

    def __init__(self, dimension, weight_column_name=None, centered_bias=False):
        self.dimension = dimension
        self._weight_column_name = weight_column_name
        self._centered_bias = centered_bias

    def _labels(self, labels):
        raise NotImplementedError

    def _losses(self, labels, logits):
        raise NotImplementedError

    def _predictions(self, logits):
        raise NotImplementedError

    def _metrics(self, labels, predictions, weights):
        raise NotImplementedError

    def _alternatives(self, predictions):
        return predictions

    def create_model_fn_ops(self, features, mode, logits, labels, train_op_fn):
        """Builds the model behind the logits, in a variable scope with the name of the head.

        Args:
          features: {feature: tensor}.
          mode: one of ModeKeys.
          logits: float32 tensor [batch, dimension].
          labels: tensor [batch] or [batch, ...], or None for predictions.
          train_op_fn: function from the loss to the operation of a step.

        Returns:
          ModelFnOps.
        """
        with tf.variable_scope(None, self.scope_name, [*features.values(), logits]):
            bias = self._create_bias() if self._centered_bias else None
            if bias is not None:
                logits = tf.nn.bias_add(logits, bias)
            predictions = self._predictions(logits)
            if mode == ModeKeys.INFER:
                alternatives = {None: (self.problem, self._alternatives(dict(predictions)))}
                return ModelFnOps(mode, predictions, output_alternatives=alternatives)
            labels, weights = self._labels(labels), self._weights(features)
            loss, average = self._loss(labels, logits, weights)
            if mode == ModeKeys.EVAL:
                metrics = self._metrics(labels, predictions, weights)
                return ModelFnOps(mode, predictions, average, eval_metric_ops=metrics)
            with tf.name_scope(""):
                tf.summary.scalar("loss", loss)
            with tf.name_scope(None, "train_op", [loss]):
                train_op = train_op_fn(loss)
            if bias is not None:
                train_op = tf.group(train_op, self._bias_step(bias, labels, weights))
            return ModelFnOps(mode, predictions, loss, train_op)

    def _weights(self, features):
        if self._weight_column_name is None:
            return None
        return tf.reshape(tf.to_float(features[self._weight_column_name]), [-1])

    def _loss(self, labels, logits, weights):
        """Returns the loss of the training, and the mean by weight of the evaluation."""
        losses = self._losses(labels, logits)
        if weights is None:
            loss = tf.reduce_mean(losses, name="loss")
            return loss, loss
        if losses.shape.ndims == 2:
            weights = tf.expand_dims(weights, 1)
        weights = weights * tf.ones_like(losses)
        weighted = losses * weights
        # The training does not divide by the weights, as in 1.x.
        average = tf.div(tf.reduce_sum(weighted), tf.reduce_sum(weights), "weighted_average_loss")
        return tf.reduce_mean(weighted, name="loss"), average

    def _create_bias(self):
        # Not by tf.get_variable: it has no parts on parameter servers.
        bias = tf.Variable(tf.zeros([self.dimension]), name="centered_bias_weight")
        for place in range(self.dimension):
            tf.summary.scalar(f"centered_bias/bias_{place}", bias[place])
        return bias

    def _bias_step(self, bias, labels, weights):
        """Returns a step that fits the bias alone to the labels."""
        logits = tf.tile(tf.expand_dims(bias, 0), [tf.shape(labels)[0], 1])
        loss, _ = self._loss(labels, logits, weights)
        optimizer = tf.train.AdagradOptimizer(_BIAS_LEARNING_RATE)
        return optimizer.minimize(loss, var_list=[bias], name="centered_bias_step")


class _RegressionHead(_Head):
    scope_name = "regression_head"
    problem = ProblemType.LINEAR_REGRESSION

    def _labels(self, labels):
        labels = tf.to_float(labels)
        return tf.expand_dims(labels, 1) if labels.shape.ndims == 1 else labels

    def _losses(self, labels, logits):
        return tf.square(logits - labels)

    def _predictions(self, logits):
        scores = tf.squeeze(logits, [1]) if self.dimension == 1 else logits
        return {PredictionKey.SCORES: tf.identity(scores)}

    def _metrics(self, labels, predictions, weights):
        return {}


class _ClassHead(_Head):
    """A head with the names of the classes, or None for their numbers."""

    problem = ProblemType.CLASSIFICATION
    number = 2
    label_keys = None

    def _alternatives(self, predictions):
        probabilities = predictions[PredictionKey.PROBABILITIES]
        names = self.label_keys or [str(place) for place in range(self.number)]
        rows = tf.tile(tf.constant([names]), [tf.shape(probabilities)[0], 1])
        return {PredictionKey.PROBABILITIES: probabilities, PredictionKey.CLASSES: rows}


class _BinaryHead(_ClassHead):
    scope_name = "binary_logistic_head"
    problem = ProblemType.LOGISTIC_REGRESSION

    def _labels(self, labels):
        return tf.to_float(tf.expand_dims(labels, 1) if labels.shape.ndims == 1 else labels)

    def _losses(self, labels, logits):
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _predictions(self, logits):
        both = tf.concat([tf.zeros_like(logits), logits], 1)
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.LOGISTIC: tf.sigmoid(logits),
            PredictionKey.PROBABILITIES: tf.nn.softmax(both),
            PredictionKey.CLASSES: tf.argmax(both, 1),
        }

    def _metrics(self, labels, predictions, weights):
        logistic = tf.squeeze(predictions[PredictionKey.LOGISTIC], [1])
        labels = tf.squeeze(labels, [1])
        metrics, at = tf.metrics, f"threshold_{_THRESHOLD:f}_mean"
        above = tf.to_float(logistic >= _THRESHOLD)
        return {
            "accuracy": metrics.accuracy(labels, predictions[PredictionKey.CLASSES], weights),
            "labels/prediction_mean": metrics.mean(logistic, weights),
            "labels/actual_label_mean": metrics.mean(labels, weights),
            "accuracy/baseline_label_mean": metrics.mean(labels, weights),
            "auc": metrics.auc(labels, logistic, weights),
            "auc_precision_recall": metrics.auc(labels, logistic, weights, curve="PR"),
            f"accuracy/{at}": metrics.accuracy(labels, above, weights),
            f"precision/positive_{at}": _first(
                metrics.precision_at_thresholds(labels, logistic, [_THRESHOLD], weights)
            ),
            f"recall/positive_{at}": _first(
                metrics.recall_at_thresholds(labels, logistic, [_THRESHOLD], weights)
            ),
        }


class SvmHead(_Head):
    """The head of a support vector machine: hinge loss of labels 0 and 1.

    Args:
      weight_column_name: name of the feature with the examples' weights, or None.
    """

    scope_name = "binary_svm_head"

    def __init__(self, weight_column_name=None):
        super().__init__(1, weight_column_name)

    def _labels(self, labels):
        return tf.to_float(tf.expand_dims(labels, 1) if labels.shape.ndims == 1 else labels)

    def _losses(self, labels, logits):
        return tf.nn.relu(1 - (2 * labels - 1) * logits)

    def _predictions(self, logits):
        with tf.name_scope(None, "predictions", [logits]):
            return {
                PredictionKey.LOGITS: logits,
                PredictionKey.CLASSES: _choose_class(logits),
            }

    def _metrics(self, labels, predictions, weights):
        found = predictions[PredictionKey.CLASSES]
        return {"accuracy": tf.metrics.accuracy(labels, found, weights)}


def _choose_class(logits):
    both = tf.concat([tf.zeros_like(logits), logits], 1)
    return tf.argmax(both, 1, name=PredictionKey.CLASSES)


def _first(metric):
    return tuple(tf.squeeze(part) for part in metric)


class _MultiClassHead(_ClassHead):
    scope_name = "multi_class_head"

    def _labels(self, labels):
        if self.label_keys is not None:
            table = tf.lookup.StaticVocabularyTable(
                tf.lookup.KeyValueTensorInitializer(
                    tf.constant(self.label_keys),
                    tf.range(len(self.label_keys), dtype=tf.int64),
                ),
                num_oov_buckets=1,
            )
            labels = table.lookup(labels)
        return tf.reshape(tf.to_int64(labels), [-1])

    def _losses(self, labels, logits):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    def _predictions(self, logits):
        classes = tf.argmax(logits, 1)
        if self.label_keys is not None:
            classes = tf.gather(tf.constant(self.label_keys), classes)
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.PROBABILITIES: tf.nn.softmax(logits),
            PredictionKey.CLASSES: classes,
        }

    def _metrics(self, labels, predictions, weights):
        found = tf.argmax(predictions[PredictionKey.LOGITS], 1)
        return {"accuracy": tf.metrics.accuracy(labels, found, weights)}


def make_class_head(number, weight_column_name=None, centered_bias=False, label_keys=None):
    """Returns the head of a classifier.

    Args:
      number: int, number of classes.
      weight_column_name: name of the feature with the examples' weights, or None.
      centered_bias: whether to learn a bias of its own for the mean of the labels.
      label_keys: list of the strings that labels are, for three or more classes; or None.

    Returns:
      The head.

    Raises:
      ValueError: there are fewer than two classes, or names for two.
    """
    if not isinstance(number, int) or number < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {number}.")
    if number == 2 and label_keys:
        raise ValueError("label_keys is not supported for n_classes=2.")
    if number == 2:
        return _BinaryHead(1, weight_column_name, centered_bias)
    head = _MultiClassHead(number, weight_column_name, centered_bias)
    head.number, head.label_keys = number, list(label_keys) if label_keys else None
    return head


def make_regression_head(dimension=1, weight_column_name=None, centered_bias=False):
    """Returns the head of a regressor with the mean squared error.

    Args:
      dimension: int, number of labels of an example.
      weight_column_name: name of the feature with the examples' weights, or None.
      centered_bias: whether to learn a bias of its own for the mean of the labels.

    Returns:
      The head.
    """
    return _RegressionHead(dimension, weight_column_name, centered_bias)
