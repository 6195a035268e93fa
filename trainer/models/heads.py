"""Heads, which turn logits into loss, metrics, predictions and export outputs, and their labels."""

from typing import Any, Optional

from estimator_bridge import estimator, tf
from estimator_bridge.scaled_regression import scaled_regression_head
from trainer.schema import Label, Schema


def build_head(schema: Schema, loss_reduction: str, *, for_trees: bool = False) -> Any:
    """Builds the head of the schema's labels.

    Args:
        schema: labels and weight.
        loss_reduction: mean (over the rows of a batch) or sum.
        for_trees: whether the second derivative of the loss is needed.

    Returns:
        An estimator.Head. Its labels are the result of prepare_labels. Its logits_dimension is the
        number of outputs that a model needs. With several labels it is a MultiHead; each of its
        heads has the name of its column.
    """
    heads = [_build_head(label, schema, loss_reduction, for_trees) for label in schema.labels]
    if not schema.more_labels:
        return heads[0]
    return estimator.MultiHead(heads, [label.importance for label in schema.labels])


def _build_head(label: Label, schema: Schema, loss_reduction: str, for_trees: bool) -> Any:
    kinds = tf.keras.losses.Reduction
    options = {
        "weight_column": _weight_name(label, schema),
        "loss_reduction": {"mean": kinds.SUM_OVER_BATCH_SIZE, "sum": kinds.SUM}[loss_reduction],
        "name": label.column if schema.more_labels else None,
    }
    if label.task == "multilabel":
        names = list(label.columns)
        return estimator.MultiLabelHead(len(names), classes_for_class_based_metrics=None, **options)
    if label.loss == "poisson":
        return estimator.PoissonRegressionHead(**options)
    if label.normalize is not None:
        mean, std = label.normalize.mean, label.normalize.std
        return scaled_regression_head(mean, std, second_derivative=for_trees, **options)
    if label.task == "regression":
        return estimator.RegressionHead(**options)
    if label.vocabulary is not None:
        options["label_vocabulary"] = [str(value) for value in label.vocabulary]
    if label.task == "binary":
        return estimator.BinaryClassHead(**options)
    return estimator.MultiClassHead(len(label.classes), **options)


def class_weight_name(label: Label) -> str:
    """Returns the name of the feature with a label's class weights; no column can have this name.

    Args:
        label: a label with class weights.
    """
    return f"{label.column}/weight"


def _weight_name(label: Label, schema: Schema) -> Optional[str]:
    return class_weight_name(label) if label.class_weights else schema.weight


def prepare_labels(
    features: dict[str, Any], labels: Any, schema: Schema, training: bool
) -> tuple[dict[str, Any], Any]:
    """Returns the features and the labels in the form that the head of build_head accepts.

    Args:
        features: name → tensor [batch]. They include every label column except the first.
        labels: tensor [batch]: the (first) column of the first label.
        schema: labels and weight.
        training: whether class weights apply. Evaluation does not use them.

    Returns:
        The features and the labels. The features do not include labels. For each label with class
        weights they include its weights, float32 [batch], as "<column>/weight". The labels are
        string or int64 [batch] for classes, float32 [batch] for a number, and int64 [batch,
        columns] for a multilabel. With several labels, they are a dict from column to tensor.
    """
    columns = {schema.label.column: labels}
    columns.update({name: features[name] for name in schema.label_columns[1:]})
    features = {name: values for name, values in features.items() if name not in columns}
    prepared = {label.column: _prepare_label(columns, label) for label in schema.labels}
    for label in schema.labels:
        if label.class_weights:
            weights = tf.ones(tf.shape(labels)[:1])
            if schema.weight:
                weights = tf.reshape(tf.cast(features[schema.weight], tf.float32), [-1])
            if training:
                weights *= _class_weights(prepared[label.column], label.class_weights)
            features[class_weight_name(label)] = weights
    return features, prepared if schema.more_labels else prepared[schema.label.column]


def _prepare_label(columns: dict[str, Any], label: Label) -> Any:
    if label.task == "multilabel":
        answers = [tf.reshape(columns[name], [-1]) for name in label.columns]
        return tf.stack([tf.cast(answer, tf.int64) for answer in answers], axis=1)
    values = columns[label.column]
    if label.task == "regression":
        return tf.cast(values, tf.float32)
    if label.vocabulary is not None and values.dtype != tf.string:
        return tf.strings.as_string(values)
    return values


def class_ids(labels: Any, label: Label) -> Any:
    """Returns the ids of classes, int64 [batch].

    Args:
        labels: string or int64 [batch]: classes of the vocabulary, or ids if there is none.
        label: vocabulary, if any.
    """
    labels = tf.reshape(labels, [-1])
    if label.vocabulary is None:
        return tf.cast(labels, tf.int64)
    if labels.dtype != tf.string:
        labels = tf.strings.as_string(labels)
    classes = tf.constant([str(value) for value in label.vocabulary])
    return tf.argmax(tf.equal(labels[:, None], classes[None, :]), axis=1)


def _class_weights(values: Any, weights: dict[Any, float]) -> Any:
    """Returns the weights, float32 [batch], of classes, string or int64 [batch]."""
    values = tf.reshape(values, [-1])
    if values.dtype != tf.string:
        values = tf.strings.as_string(values)
    factors = tf.ones(tf.shape(values))
    for value, factor in weights.items():
        factors = tf.where(tf.equal(values, str(value)), factor, factors)
    return factors
