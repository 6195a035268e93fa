"""The interface of the heads of `tf.contrib.learn`, and what those of one kind of label share."""

import abc
import inspect

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.learn.model_spec import LOSS, ModeKeys, ModelFnOps

__all__ = ["Head", "SingleHead", "head_scope", "named", "no_op_train_fn", "summarize_loss"]

_BIAS_LEARNING_RATE = 0.1


class Head(abc.ABC):
    """The end of a model: its loss, predictions, metrics and signatures."""

    @property
    @abc.abstractmethod
    def logits_dimension(self):
        """int, number of logits of an example."""

    @abc.abstractmethod
    def create_model_fn_ops(
        self,
        features,
        mode,
        labels=None,
        train_op_fn=None,
        logits=None,
        logits_input=None,
        scope=None,
    ):
        """Builds the model behind the logits.

        Args:
          features: {feature: tensor}.
          mode: one of ModeKeys.
          labels: tensor or {label: tensor}; None for predictions.
          train_op_fn: function from the loss to the operation of a step.
          logits: float32 tensor [batch, logits_dimension]; this or `logits_input`.
          logits_input: float32 tensor [batch, ...], from which a linear layer makes the logits.
          scope: variable scope, or None for one with the name of the head.

        Returns:
          ModelFnOps.
        """


def no_op_train_fn(loss):
    """Returns an operation that does nothing, for a program that makes its own training step.

    Args:
      loss: ignored.
    """
    del loss
    return tf.no_op()


def named(key, head_name):
    """Returns a key of metrics or summaries, with the name of its head if it has one.

    Args:
      key: string.
      head_name: string or None.
    """
    return f"{key}/{head_name}" if head_name else key


def head_scope(scope, name, values):
    """Returns the variable scope of a head.

    Args:
      scope: scope that the program chooses, or None.
      name: name of the scope if it chooses none.
      values: list of tensors of the model.
    """
    values = [one for one in values if one is not None]
    return tf.variable_scope(scope, name if scope is None else None, values)


def summarize_loss(loss, head_name):
    """Writes the summary of a loss, whose tag does not depend on the scope.

    Args:
      loss: scalar tensor.
      head_name: string or None.
    """
    with tf.name_scope(""):
        tf.summary.scalar(named(LOSS, head_name), loss)


def _verified(loss_fn):
    """Returns a loss of the program as a function of labels, logits and weights, for both modes."""
    names = set(inspect.signature(loss_fn).parameters)
    for name in ("labels", "logits", "weights"):
        if name not in names:
            raise ValueError(f"loss_fn: {loss_fn!r} has no argument {name!r}")

    def pair(labels, logits, weights):
        given = {} if weights is None else {"weights": weights}
        loss = loss_fn(labels=labels, logits=logits, **given)
        return loss, loss

    return pair


class SingleHead(Head):
    """A head of one kind of label.

    Args:
      dimension: int, number of logits.
      label_name: name of the label in a dict of labels, or None.
      weight_column_name: name of the feature with the examples' weights, or None.
      enable_centered_bias: whether to learn a bias of its own for the mean of the labels.
      head_name: name at the end of all keys and of the scope, or None.
      loss_fn: function of labels, logits and weights that returns a loss; None for the head's own.
    """

    scope_name = ""
    problem = 0

    def __init__(
        self,
        dimension,
        label_name=None,
        weight_column_name=None,
        enable_centered_bias=False,
        head_name=None,
        loss_fn=None,
    ):
        self._dimension = dimension
        self._label_name = label_name
        self._weight_column_name = weight_column_name
        self._enable_centered_bias = enable_centered_bias
        self.head_name = head_name
        self._loss = self._own_loss if loss_fn is None else _verified(loss_fn)

    @property
    def logits_dimension(self):
        return self._dimension

    def _labels(self, labels):
        raise NotImplementedError

    def _losses(self, labels, logits):
        raise NotImplementedError

    def _predictions(self, logits):
        raise NotImplementedError

    def _metrics(self, labels, predictions, weights):
        del labels, predictions, weights
        return {}

    def _alternatives(self, predictions):
        return predictions

    def create_model_fn_ops(
        self,
        features,
        mode,
        labels=None,
        train_op_fn=None,
        logits=None,
        logits_input=None,
        scope=None,
    ):
        """Builds the model behind the logits; see `Head`.

        Args:
          features: {feature: tensor}.
          mode: one of ModeKeys.
          labels: tensor or {label: tensor}; None for predictions.
          train_op_fn: function from the loss to the operation of a step.
          logits: float32 tensor [batch, logits_dimension]; this or `logits_input`.
          logits_input: float32 tensor [batch, ...], from which a linear layer makes the logits.
          scope: variable scope, or None for one with the name of the head.

        Returns:
          ModelFnOps.

        Raises:
          ValueError: the mode is unknown, or logits, labels or train_op_fn are missing.
        """
        ModeKeys.validate(mode)
        name = self.head_name or self.scope_name
        with head_scope(scope, name, [*features.values(), logits, logits_input]):
            if mode != ModeKeys.INFER:
                labels = self._labels(self._pick(labels))
            logits = self._make_logits(logits, logits_input)
            bias = self._create_bias() if self._enable_centered_bias else None
            if bias is not None:
                logits = tf.nn.bias_add(logits, bias)
            predictions = self._predictions(logits)
            loss = train_op = metrics = None
            if mode != ModeKeys.INFER:
                weights = self._weights(features)
                loss, average = self._loss(labels, logits, weights)
                summarize_loss(loss, self.head_name)
                if mode == ModeKeys.TRAIN:
                    train_op = self._step(loss, train_op_fn, bias, labels, weights)
                with tf.name_scope("metrics"):
                    metrics = {LOSS: tf.metrics.mean(average)}
                    metrics.update(self._metrics(labels, predictions, weights))
                metrics = {named(key, self.head_name): one for key, one in metrics.items()}
            alternatives = {self.head_name: (self.problem, self._alternatives(dict(predictions)))}
            return ModelFnOps(mode, predictions, loss, train_op, metrics, alternatives)

    def _pick(self, labels):
        if labels is None:
            raise ValueError("labels: a head needs them to train and to evaluate; None is given")
        if isinstance(labels, dict):
            labels = labels[self._label_name]
        return labels

    def _make_logits(self, logits, logits_input):
        if (logits is None) == (logits_input is None):
            raise ValueError("give a head either logits or logits_input")
        if logits is None:
            return layers.linear(logits_input, self._dimension, scope="logits")
        return tf.convert_to_tensor(logits)

    def _weights(self, features):
        if self._weight_column_name is None:
            return None
        if self._weight_column_name not in features:
            known = sorted(features)
            raise ValueError(f"weights: no feature {self._weight_column_name!r} among {known}")
        return tf.to_float(features[self._weight_column_name])

    def _own_loss(self, labels, logits, weights):
        """Returns the loss of the training, and the mean by weight of the evaluation."""
        losses = self._losses(labels, logits)
        if weights is None:
            loss = tf.reduce_mean(losses, name="loss")
            return loss, loss
        weights = tf.reshape(weights, [-1, 1] if losses.shape.ndims == 2 else [-1])
        weights = weights * tf.ones_like(losses)
        weighted = losses * weights
        # The training does not divide by the weights, as in 1.x.
        average = tf.div(tf.reduce_sum(weighted), tf.reduce_sum(weights), "weighted_average_loss")
        return tf.reduce_mean(weighted, name="loss"), average

    def _create_bias(self):
        # Not by tf.get_variable: it has no parts on parameter servers.
        bias = tf.Variable(tf.zeros([self._dimension]), name="centered_bias_weight")
        for place in range(self._dimension):
            tf.summary.scalar(named(f"centered_bias/bias_{place}", self.head_name), bias[place])
        return bias

    def _step(self, loss, train_op_fn, bias, labels, weights):
        if train_op_fn is None:
            raise ValueError("train_op_fn: a head needs it to train; no_op_train_fn does nothing")
        # The step of the bias alone, which fits it to the labels, comes first in the graph.
        steps = [] if bias is None else [self._bias_step(bias, labels, weights)]
        with tf.name_scope(None, "train_op", [loss]):
            step = train_op_fn(loss)
        return tf.group(step, *steps) if steps else step

    def _bias_step(self, bias, labels, weights):
        with tf.name_scope(None, "centered_bias_step", [labels, bias]) as scope:
            with tf.name_scope(None, "centered_bias", [labels, bias]):
                logits = tf.tile(tf.expand_dims(bias, 0), [tf.shape(labels)[0], 1])
                # The mean of both kinds of loss, as in 1.x.
                loss = tf.reduce_mean(self._loss(labels, logits, weights))
            optimizer = tf.train.AdagradOptimizer(_BIAS_LEARNING_RATE)
            return optimizer.minimize(loss, var_list=[bias], name=scope)
