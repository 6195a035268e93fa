"""Heads of `tf.contrib.learn` that add losses: of several heads, and of terms without labels."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.head_base import Head, head_scope, summarize_loss
from estimator_bridge.tf1.contrib.learn.model_spec import ModeKeys, ModelFnOps

__all__ = ["loss_only_head", "multi_head"]


class _LossOnlyHead(Head):
    """Losses that need neither logits nor labels, such as regularization.

    Args:
      loss_fn: function without arguments that returns a list of scalars.
      head_name: name of the head, or None.
    """

    def __init__(self, loss_fn, head_name=None):
        self._loss_fn = loss_fn
        self.head_name = head_name or "loss_only_head"

    @property
    def logits_dimension(self):
        return 0

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
        """Builds the losses; see `Head`.

        Args:
          features: {feature: tensor}.
          mode: one of ModeKeys.
          labels: ignored.
          train_op_fn: function from the loss to the operation of a step.
          logits: ignored.
          logits_input: ignored.
          scope: variable scope, or None for one with the name of the head.

        Returns:
          ModelFnOps.

        Raises:
          ValueError: the mode is unknown, or train_op_fn is missing.
        """
        del labels, logits, logits_input
        ModeKeys.validate(mode)
        loss = train_op = None
        if mode != ModeKeys.INFER:
            with head_scope(scope, self.head_name, features.values()):
                loss = tf.add_n(self._loss_fn())
                summarize_loss(loss, self.head_name)
                if mode == ModeKeys.TRAIN:
                    if train_op_fn is None:
                        raise ValueError("train_op_fn: a head needs it to train")
                    train_op = train_op_fn(loss)
        return ModelFnOps(mode, {}, loss, train_op, {}, None)


class _MultiHead(Head):
    """Several heads, whose losses are added.

    Args:
      heads: list of heads with names.
      loss_weights: list of the factors of their losses, or None for 1.
    """

    def __init__(self, heads, loss_weights=None):
        if any(not head.head_name for head in heads):
            raise ValueError("multi_head: each head needs a head_name")
        if loss_weights and len(loss_weights) != len(heads):
            raise ValueError(
                f"multi_head: {len(heads)} heads need as many loss_weights, not {len(loss_weights)}"
            )
        self._heads, self._weights = list(heads), list(loss_weights or [1.0] * len(heads))

    @property
    def logits_dimension(self):
        return sum(head.logits_dimension for head in self._heads)

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
        """Builds the model of all heads; see `Head`.

        Args:
          features: {feature: tensor}.
          mode: one of ModeKeys.
          labels: {label: tensor}; None for predictions.
          train_op_fn: function from the loss to the operation of a step.
          logits: float32 tensor [batch, logits_dimension], or {name of a head: tensor}.
          logits_input: float32 tensor [batch, ...], from which each head makes its logits.
          scope: ignored, as in 1.x: each head has a scope of its own.

        Returns:
          ModelFnOps, whose predictions have keys (name of the head, prediction).

        Raises:
          ValueError: the mode is unknown, or logits or train_op_fn are missing.
        """
        del scope
        ModeKeys.validate(mode)
        parts = self._split(logits)
        found = [
            head.create_model_fn_ops(
                features=features,
                mode=mode,
                labels=labels,
                # The step is that of the added losses.
                train_op_fn=lambda loss: tf.no_op(),
                logits=parts.get(head.head_name),
                logits_input=None if head.head_name in parts else logits_input,
            )
            for head in self._heads
        ]
        predictions = {
            (head.head_name, key): one
            for head, ops in zip(self._heads, found)
            for key, one in ops.predictions.items()
        }
        if mode == ModeKeys.INFER:
            alternatives = {}
            for ops in found:
                alternatives.update(ops.output_alternatives or {})
            return ModelFnOps(mode, predictions, output_alternatives=alternatives)
        loss = tf.add_n([ops.loss * factor for ops, factor in zip(found, self._weights)])
        if mode == ModeKeys.TRAIN:
            if train_op_fn is None:
                raise ValueError("train_op_fn: a head needs it to train")
            return ModelFnOps(mode, None, loss, train_op_fn(loss))
        metrics = {key: one for ops in found for key, one in ops.eval_metric_ops.items()}
        return ModelFnOps(mode, predictions, loss, None, metrics)

    def _split(self, logits):
        if logits is None or isinstance(logits, dict):
            return logits or {}
        heads = [head for head in self._heads if head.logits_dimension]
        parts = tf.split(logits, [head.logits_dimension for head in heads], axis=1)
        return {head.head_name: part for head, part in zip(heads, parts)}


def multi_head(heads, loss_weights=None):
    """Returns a head of several heads, whose losses are added.

    Args:
      heads: list of heads with names.
      loss_weights: list of the factors of their losses, or None for 1.

    Returns:
      The head.

    Raises:
      ValueError: a head has no name, or another number of weights is given.
    """
    return _MultiHead(heads, loss_weights)


def loss_only_head(loss_fn, head_name=None):
    """Returns a head of losses that need neither logits nor labels.

    Args:
      loss_fn: function without arguments that returns a list of scalars.
      head_name: name of the head, or None.

    Returns:
      The head.
    """
    return _LossOnlyHead(loss_fn, head_name)
