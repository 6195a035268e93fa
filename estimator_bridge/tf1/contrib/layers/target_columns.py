"""Target columns of `tf.contrib.layers`, by which models were given losses before the heads."""

import inspect

import tensorflow.compat.v1 as tf

__all__ = ["multi_class_target", "regression_target"]

_CLASSIFICATION, _LINEAR_REGRESSION = 1, 2


class _TargetColumn:
    """Labels with their loss and metrics.

    Args:
      num_label_columns: int, number of logits.
      label_name: name of the labels in a dict, or None.
      weight_column_name: name of the feature with the weights of the examples, or None.
      problem_type: int, the kind of the problem.
    """

    def __init__(self, num_label_columns, label_name, weight_column_name, problem_type):
        self.num_label_columns = num_label_columns
        self.label_name = label_name
        self.weight_column_name = weight_column_name
        self.problem_type = problem_type

    def logits_to_predictions(self, logits, proba=False):
        """Returns the predictions.

        Args:
          logits: floating tensor [batch, num_label_columns].
          proba: whether to return probabilities instead of classes.
        """
        raise NotImplementedError

    def _losses(self, logits, labels):
        """Returns the loss of each label."""
        raise NotImplementedError

    def _labels(self, target):
        return target[self.label_name] if isinstance(target, dict) else target

    def get_weight_tensor(self, features):
        """Returns the weights of the examples [batch], or None.

        Args:
          features: {feature: tensor}.

        Raises:
          KeyError: the feature is missing.
        """
        if not self.weight_column_name:
            return None
        return tf.reshape(tf.to_float(features[self.weight_column_name]), [-1])

    def _both(self, logits, target, features):
        """Returns the losses, weighted if there are weights, and the weights."""
        losses = self._losses(logits, self._labels(target))
        weights = self.get_weight_tensor(features)
        if weights is None:
            return losses, None
        return tf.reshape(losses, [-1]) * weights, weights

    def training_loss(self, logits, target, features, name="training_loss"):
        """Returns the mean of the weighted losses, a scalar.

        Args:
          logits: floating tensor [batch, num_label_columns].
          target: tensor of labels, or {label name: tensor}.
          features: {feature: tensor}.
          name: name of the operation.
        """
        losses, _ = self._both(logits, target, features)
        return tf.reduce_mean(losses, name=name)

    def loss(self, logits, target, features):
        """Returns the sum of the weighted losses, divided by that of the weights; a scalar.

        Args:
          logits: floating tensor [batch, num_label_columns].
          target: tensor of labels, or {label name: tensor}.
          features: {feature: tensor}.
        """
        losses, weights = self._both(logits, target, features)
        if weights is None:
            return tf.reduce_mean(losses, name="loss")
        return tf.div(tf.reduce_sum(losses), tf.to_float(tf.reduce_sum(weights)), name="loss")

    def get_eval_ops(self, features, logits, labels, metrics=None):
        """Returns the loss and further metrics as streaming metrics.

        Args:
          features: {feature: tensor}.
          logits: floating tensor [batch, num_label_columns].
          labels: tensor of labels, or {label name: tensor}.
          metrics: {name: function of predictions, labels and perhaps weights}. A name of a
            classification may be (name, `classes` or `probabilities`).

        Returns:
          {name: (value, update operation)}.
        """
        loss = self.loss(logits, labels, features)
        found = {"loss": tf.metrics.mean(loss)}
        found.update(self._usual_metrics(logits, self._labels(labels)))
        weights = self.get_weight_tensor(features)
        for name, metric in self._metrics(metrics):
            key, predictions = self._of_metric(name, logits)
            found[key] = _run(metric, predictions, self._labels(labels), weights)
        return found

    def _usual_metrics(self, logits, labels):
        """Returns metrics that are always computed, {name: (value, update operation)}."""
        return {}

    def _metrics(self, metrics):
        return list((metrics or {}).items())

    def _of_metric(self, name, logits):
        """Returns the name of a metric without its kind, and the predictions that it takes."""
        return name, self.logits_to_predictions(logits)


def _run(metric, predictions, labels, weights):
    if weights is not None and "weights" in inspect.signature(metric).parameters:
        return metric(predictions, labels, weights=weights)
    return metric(predictions, labels)


class _RegressionTargetColumn(_TargetColumn):
    """Numbers with the squared error."""

    def logits_to_predictions(self, logits, proba=False):
        return tf.squeeze(logits, axis=[1]) if self.num_label_columns == 1 else logits

    def _losses(self, logits, labels):
        logits = tf.expand_dims(logits, 1) if logits.shape.ndims == 1 else logits
        labels = tf.expand_dims(labels, 1) if labels.shape.ndims == 1 else labels
        logits.shape.assert_is_compatible_with(labels.shape)
        return tf.squared_difference(logits, tf.to_float(labels))


class _MultiClassTargetColumn(_TargetColumn):
    """Classes with the cross-entropy."""

    def logits_to_predictions(self, logits, proba=False):
        if self.num_label_columns == 1:
            logits = tf.concat([tf.zeros_like(logits), logits], 1)
        return tf.nn.softmax(logits) if proba else tf.argmax(logits, 1)

    def _losses(self, logits, labels):
        if self.num_label_columns == 1:
            labels = tf.expand_dims(labels, 1) if labels.shape.ndims == 1 else labels
            labels = tf.to_float(labels)
            return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        labels = tf.squeeze(labels, axis=[1]) if labels.shape.ndims == 2 else labels
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)

    def _usual_metrics(self, logits, labels):
        if self.num_label_columns > 1:
            return {}
        labels = tf.reshape(labels, [-1, 1])
        predictions = tf.sigmoid(logits)
        found = {
            "labels/prediction_mean": tf.metrics.mean(predictions),
            "labels/actual_target_mean": tf.metrics.mean(labels),
            "accuracy/baseline_target_mean": tf.metrics.mean(labels),
            "auc": tf.metrics.auc(labels, predictions),
        }
        chosen = tf.to_float(predictions >= 0.5)
        at_half = {
            "accuracy/threshold": tf.metrics.accuracy(labels, chosen),
            "precision/positive_threshold": tf.metrics.precision_at_thresholds(
                labels, predictions, [0.5]
            ),
            "recall/positive_threshold": tf.metrics.recall_at_thresholds(
                labels, predictions, [0.5]
            ),
        }
        for name, (value, update) in at_half.items():
            found[f"{name}_0.500000_mean"] = tf.squeeze(value), update
        return found

    def _metrics(self, metrics):
        if metrics is None:
            from estimator_bridge.tf1.contrib import metrics as _metrics

            metrics = {("accuracy", "classes"): _metrics.streaming_accuracy}
        return list(metrics.items())

    def _of_metric(self, name, logits):
        name, kind = name if isinstance(name, tuple) else (name, "classes")
        if kind not in ("classes", "probabilities"):
            raise ValueError(f"metric {name!r}: {kind!r} is neither classes nor probabilities")
        return name, self.logits_to_predictions(logits, proba=kind == "probabilities")


def regression_target(label_name=None, weight_column_name=None, label_dimension=1):
    """Returns the target column of a regression, whose loss is the squared error.

    Args:
      label_name: name of the labels in a dict, or None.
      weight_column_name: name of the feature with the weights of the examples, or None.
      label_dimension: int, number of labels of an example.
    """
    return _RegressionTargetColumn(
        *(label_dimension, label_name, weight_column_name, _LINEAR_REGRESSION)
    )


def multi_class_target(n_classes, label_name=None, weight_column_name=None):
    """Returns the target column of a classification, whose loss is the cross-entropy.

    Args:
      n_classes: int, number of classes.
      label_name: name of the labels in a dict, or None.
      weight_column_name: name of the feature with the weights of the examples, or None.

    Raises:
      ValueError: there are fewer than two classes.
    """
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    return _MultiClassTargetColumn(
        *(1 if n_classes == 2 else n_classes, label_name, weight_column_name, _CLASSIFICATION)
    )
