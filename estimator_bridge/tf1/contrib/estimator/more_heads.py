"""Heads of `tf.contrib.estimator` that tf.estimator has in its second interface only.

They have the interface of the v1 heads, so that they can be combined with them.
"""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_head as _v1

__all__ = ["MultiHead", "MultiLabelHead"]

_DEFAULT = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
_EXPORTS = tf.estimator.export


def _key(head, name):
    return f"{name}/{head}" if head else name


def _minimize(loss, optimizer, train_op_fn):
    """Returns the operation that trains, after the updates of the graph."""
    if (optimizer is None) == (train_op_fn is None):
        raise ValueError("create_estimator_spec: pass either optimizer or train_op_fn")
    if optimizer is not None:
        train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    else:
        train_op = train_op_fn(loss)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    return tf.group(train_op, *updates) if updates else train_op


class MultiLabelHead(_v1._Head):
    """A sigmoid for each class.

    Args:
      n_classes: int, number of classes, at least 2.
      options: the arguments of `multi_label_head` by name.
    """

    def __init__(self, n_classes, options):
        self._n_classes = n_classes
        self._weight_column = options["weight_column"]
        self._thresholds = tuple(options["thresholds"] or ())
        self._vocabulary = options["label_vocabulary"]
        self._reduction = options["loss_reduction"]
        self._loss_fn = options["loss_fn"]
        self._classes = tuple(options["classes_for_class_based_metrics"] or ())
        self._name = options["name"]

    @property
    def name(self):
        return self._name

    @property
    def logits_dimension(self):
        return self._n_classes

    def create_loss(self, features, mode, logits, labels):
        """Returns the loss, of each example and of the batch, as a LossSpec.

        Args:
          features: dict of tensors, with the weights.
          mode: not used.
          logits: floating tensor [batch, n_classes].
          labels: multi-hot tensor [batch, n_classes], or a SparseTensor of classes.
        """
        logits = tf.convert_to_tensor(logits)
        labels = self._multi_hot(labels)
        labels = _v1._check_dense_labels_match_logits_and_reshape(labels, logits, self._n_classes)
        if self._loss_fn:
            losses = _v1._call_loss_fn(self._loss_fn, labels, logits, features, 1)
        else:
            losses = tf.losses.sigmoid_cross_entropy(
                labels, logits, reduction=tf.losses.Reduction.NONE
            )
            losses = tf.reduce_mean(losses, axis=-1, keepdims=True)
        weights = _v1._get_weights_and_check_match_logits(features, self._weight_column, logits)
        loss = tf.losses.compute_weighted_loss(losses, weights, reduction=self._reduction)
        return _v1.LossSpec(loss, losses, weights, labels)

    def _multi_hot(self, labels):
        if labels is None:
            raise ValueError("labels: a multi_label_head needs them to train and to evaluate")
        if not isinstance(labels, tf.SparseTensor):
            return tf.cast(tf.convert_to_tensor(labels), tf.int64)
        ids = labels.values
        if self._vocabulary:
            table = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(
                    tf.constant(list(self._vocabulary)), tf.range(self._n_classes, dtype=tf.int64)
                ),
                -1,
                name="class_id_lookup",
            )
            ids = table.lookup(ids)
        elif not ids.dtype.is_integer:
            raise TypeError(f"labels: integers expected without a vocabulary, got {ids.dtype}")
        ids = _v1._assert_range(tf.cast(ids, tf.int64), self._n_classes)
        sparse = tf.SparseTensor(labels.indices, ids, labels.dense_shape)
        return tf.cast(tf.sparse_to_indicator(sparse, self._n_classes), tf.int64)

    def create_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        train_op_fn=None,
        regularization_losses=None,
    ):
        """Returns the EstimatorSpec of a mode.

        Args:
          features: dict of tensors, with the weights.
          mode: one of tf.estimator.ModeKeys.
          logits: floating tensor [batch, n_classes].
          labels: multi-hot tensor [batch, n_classes], or a SparseTensor of classes; None to
            predict.
          optimizer: tf.train.Optimizer; this or `train_op_fn` to train.
          train_op_fn: function from the loss to the operation that trains.
          regularization_losses: list of scalars that are added to the loss, or None.
        """
        with tf.name_scope(self._name, "head"):
            logits = _v1._check_logits_final_dim(logits, self._n_classes)
            with tf.name_scope(None, "predictions", [logits]):
                probabilities = tf.sigmoid(logits, name="probabilities")
                predictions = {"logits": logits, "probabilities": probabilities}
            if mode == tf.estimator.ModeKeys.PREDICT:
                return tf.estimator.EstimatorSpec(
                    mode, predictions, export_outputs=self._exports(predictions)
                )
            found = self.create_loss(features, mode, logits, labels)
            loss, penalty = found.training_loss, None
            if regularization_losses:
                penalty = tf.add_n(regularization_losses)
                loss = tf.add_n([loss, penalty])
            is_training = mode == tf.estimator.ModeKeys.TRAIN
            train_op = _minimize(loss, optimizer, train_op_fn) if is_training else None
            summaries = {"loss": loss}
            if is_training and self._reduction == tf.losses.Reduction.SUM:
                count = tf.reduce_sum(found.weights * tf.ones_like(found.unreduced_loss))
                summaries["average_loss"] = found.training_loss / count
        if not is_training:
            metrics = self._metrics(found, probabilities, penalty)
            return tf.estimator.EstimatorSpec(mode, predictions, loss, eval_metric_ops=metrics)
        if penalty is not None:
            summaries["regularization_loss"] = penalty
        with tf.name_scope(""):
            for name, value in summaries.items():
                tf.summary.scalar(_key(self._name, name), value)
        return tf.estimator.EstimatorSpec(mode, predictions, loss, train_op)

    def _exports(self, predictions):
        classes = None
        if self._vocabulary:
            rows = tf.shape(predictions["probabilities"])[0]
            classes = tf.tile(tf.constant([list(self._vocabulary)]), [rows, 1])
        scores = _EXPORTS.ClassificationOutput(predictions["probabilities"], classes)
        return {
            _DEFAULT: scores,
            "classification": scores,
            "predict": _EXPORTS.PredictOutput(predictions),
        }

    def _metrics(self, found, probabilities, penalty):
        labels, weights = found.processed_labels, found.weights
        made = {}

        def add(name, function, *arguments, **options):
            made[_key(self._name, name)] = function(*arguments, name=name, **options)

        with tf.name_scope(None, "metrics"):
            add("average_loss", tf.metrics.mean, found.unreduced_loss, weights)
            self._add_areas(add, "", labels, probabilities, weights)
            if penalty is not None:
                add("regularization_loss", tf.metrics.mean, penalty)
            for threshold in self._thresholds:
                given = (labels, probabilities, weights, threshold)
                for name in ("accuracy", "precision", "recall"):
                    function = getattr(_v1, f"_{name}_at_threshold")
                    add(f"{name}/positive_threshold_{threshold:g}", function, *given)
            for one in self._classes:
                place = self._vocabulary.index(one) if isinstance(one, str) else one
                end = f"/{one}" if isinstance(one, str) else f"/class{one}"
                of_class = probabilities[..., place : place + 1]
                add(f"probability_mean{end}", _v1._predictions_mean, of_class, weights)
                self._add_areas(add, end, labels[..., place : place + 1], of_class, weights)
        return made

    @staticmethod
    def _add_areas(add, end, labels, probabilities, weights):
        for name, curve in (("auc", "ROC"), ("auc_precision_recall", "PR")):
            add(name + end, tf.metrics.auc, labels, probabilities, weights, curve=curve)


class MultiHead(_v1._Head):
    """Several heads, whose losses are added.

    Args:
      heads: v1 heads with names.
      head_weights: list of the factors of their losses, or None for 1.

    Raises:
      ValueError: there is no head, a head has no name, or another number of weights is given.
    """

    def __init__(self, heads, head_weights=None):
        if not heads:
            raise ValueError("multi_head: give at least one head")
        for head in heads:
            if not head.name:
                raise ValueError(f"multi_head: each head needs a name; {head!r} has none")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(
                f"multi_head: {len(heads)} heads need as many head_weights, not {len(head_weights)}"
            )
        self._heads = tuple(heads)
        self._weights = tuple(head_weights or ())

    @property
    def name(self):
        return "_".join(head.name for head in self._heads)

    @property
    def logits_dimension(self):
        return sum(head.logits_dimension for head in self._heads)

    def create_loss(self, features, mode, logits, labels):
        """Returns the added losses; the other fields of the LossSpec are dicts by head.

        Args:
          features: dict of tensors, with the weights.
          mode: one of tf.estimator.ModeKeys.
          logits: floating tensor [batch, logits_dimension], or a dict by head.
          labels: dict by head.
        """
        parts = self._split(logits)
        found = {
            head.name: head.create_loss(features, mode, parts[head.name], labels[head.name])
            for head in self._heads
        }
        losses = [found[head.name].training_loss for head in self._heads]
        return _v1.LossSpec(
            self._add(losses),
            {name: one.unreduced_loss for name, one in found.items()},
            {name: one.weights for name, one in found.items()},
            {name: one.processed_labels for name, one in found.items()},
        )

    def create_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        train_op_fn=None,
        regularization_losses=None,
    ):
        """Returns the EstimatorSpec of a mode, of all heads.

        Args:
          features: dict of tensors, with the weights.
          mode: one of tf.estimator.ModeKeys.
          logits: floating tensor [batch, logits_dimension], or a dict by head.
          labels: dict by head; None to predict.
          optimizer: tf.train.Optimizer; this or `train_op_fn` to train.
          train_op_fn: function from the loss to the operation that trains.
          regularization_losses: list of scalars that are added to the loss, or None.
        """
        parts, is_training = self._split(logits), mode == tf.estimator.ModeKeys.TRAIN
        specs = [
            head.create_estimator_spec(
                features=features,
                mode=mode,
                logits=parts[head.name],
                labels=labels[head.name] if labels else None,
                **({"train_op_fn": lambda loss: tf.no_op()} if is_training else {}),
            )
            for head in self._heads
        ]
        predictions = {
            (head.name, key): value
            for head, spec in zip(self._heads, specs)
            for key, value in spec.predictions.items()
        }
        if mode == tf.estimator.ModeKeys.PREDICT:
            exports = self._exports(specs, predictions)
            return tf.estimator.EstimatorSpec(mode, predictions, export_outputs=exports)
        loss, penalty = self._add([spec.loss for spec in specs]), None
        if regularization_losses:
            penalty = tf.add_n(regularization_losses)
            loss = tf.add_n([loss, penalty])
        if not is_training:
            metrics = self._metrics(specs, penalty)
            return tf.estimator.EstimatorSpec(mode, predictions, loss, eval_metric_ops=metrics)
        train_op = _minimize(loss, optimizer, train_op_fn)
        with tf.name_scope(""):
            tf.summary.scalar("loss", loss)
            if penalty is not None:
                tf.summary.scalar("regularization_loss", penalty)
        return tf.estimator.EstimatorSpec(mode, predictions, loss, train_op)

    def _split(self, logits):
        if isinstance(logits, dict):
            return logits
        sizes = [head.logits_dimension for head in self._heads]
        logits = _v1._check_logits_final_dim(logits, sum(sizes))
        parts = tf.split(logits, sizes, axis=-1)
        return {head.name: part for head, part in zip(self._heads, parts)}

    def _add(self, losses):
        if self._weights:
            losses = [loss * factor for loss, factor in zip(losses, self._weights)]
        return tf.add_n(losses)

    def _exports(self, specs, predictions):
        found = {_DEFAULT: specs[0].export_outputs[_DEFAULT]}
        for head, spec in zip(self._heads, specs):
            for key, output in spec.export_outputs.items():
                found[head.name if key == _DEFAULT else f"{head.name}/{key}"] = output
        found["predict"] = _EXPORTS.PredictOutput(predictions)
        return found

    def _metrics(self, specs, penalty):
        found = {}
        for spec in specs:
            found.update(spec.eval_metric_ops)
        with tf.name_scope("merge_eval"):
            if penalty is not None:
                found["regularization_loss"] = tf.metrics.mean(penalty, name="regularization_loss")
            for head, spec in zip(self._heads, specs):
                key = _key(head.name, "loss")
                found[key] = tf.metrics.mean(spec.loss, name=key)
        return found
