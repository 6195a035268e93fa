"""Cells, predictions, losses and metrics of the recurrent estimators of `tf.contrib.learn`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.learn.model_spec import PredictionKey, ProblemType

__all__ = [
    "PredictionType",
    "RNNKeys",
    "apply_dropout",
    "construct_rnn_cell",
    "get_eval_metric_ops",
    "mask_activations_and_labels",
    "multi_value_predictions",
    "select_last_activations",
    "single_value_predictions",
    "sequence_loss",
]


class PredictionType:
    """Whether a model predicts one value of a sequence, or one of each step."""

    SINGLE_VALUE = 1
    MULTIPLE_VALUE = 2


class RNNKeys:
    """The names of features and predictions."""

    FINAL_STATE_KEY = "final_state"
    LABELS_KEY = "__labels__"
    SEQUENCE_LENGTH_KEY = "sequence_length"
    STATE_PREFIX = "rnn_cell_state"


_CELLS = {
    "basic_rnn": tf.nn.rnn_cell.BasicRNNCell,
    "lstm": tf.nn.rnn_cell.LSTMCell,
    "gru": tf.nn.rnn_cell.GRUCell,
}


def apply_dropout(cells, dropout_keep_probabilities, random_seed=None):
    """Returns cells with dropout of their inputs, and of the outputs of the last one.

    Args:
      cells: list of RNNCells.
      dropout_keep_probabilities: list of the inputs' probabilities to be kept, and of the outputs'.
      random_seed: int, or None.

    Returns:
      List of RNNCells.

    Raises:
      ValueError: there is not one probability more than cells.
    """
    if len(dropout_keep_probabilities) != len(cells) + 1:
        raise ValueError(
            f"dropout_keep_probabilities: {len(cells) + 1} expected, "
            f"got {len(dropout_keep_probabilities)}"
        )
    kept = list(dropout_keep_probabilities)
    outputs = [1.0] * (len(cells) - 1) + kept[-1:]
    return [
        tf.nn.rnn_cell.DropoutWrapper(cell, before, after, seed=random_seed)
        for cell, before, after in zip(cells, kept, outputs)
    ]


def construct_rnn_cell(num_units, cell_type="basic_rnn", dropout_keep_probabilities=None):
    """Returns the cell of a model.

    Args:
      num_units: int or list of ints, sizes of the layers.
      cell_type: `basic_rnn`, `lstm`, `gru`, or a class of RNNCells.
      dropout_keep_probabilities: see `apply_dropout`; or None.

    Returns:
      RNNCell.

    Raises:
      ValueError: the type of cell is unknown.
    """
    if isinstance(cell_type, str):
        if cell_type not in _CELLS:
            raise ValueError(f"cell_type: {cell_type!r} is unknown; use one of {sorted(_CELLS)}")
        cell_type = _CELLS[cell_type]
    sizes = num_units if isinstance(num_units, (list, tuple)) else [num_units]
    cells = [cell_type(size) for size in sizes]
    if dropout_keep_probabilities:
        cells = apply_dropout(cells, dropout_keep_probabilities)
    return cells[0] if len(cells) == 1 else tf.nn.rnn_cell.MultiRNNCell(cells)


def mask_activations_and_labels(activations, labels, sequence_lengths):
    """Returns the rows of steps within their sequences.

    Args:
      activations: float32 tensor [batch, padded_length, size], or [batch, padded_length].
      labels: tensor [batch, padded_length].
      sequence_lengths: int tensor [batch], or None if all steps are within.

    Returns:
      Activations [steps, size] and labels [steps].
    """
    with tf.name_scope("mask_activations_and_labels"):
        shape = tf.shape(labels)
        if sequence_lengths is None:
            flat = tf.reshape(activations, tf.concat([[-1], tf.shape(activations)[2:]], 0))
            flat.set_shape([None, *activations.shape[2:]])
            return flat, tf.reshape(labels, [-1])
        mask = tf.sequence_mask(sequence_lengths, shape[1])
        return tf.boolean_mask(activations, mask), tf.boolean_mask(labels, mask)


def select_last_activations(activations, sequence_lengths):
    """Returns the activations of the last step of each sequence.

    Args:
      activations: float32 tensor [batch, padded_length, size].
      sequence_lengths: int tensor [batch], or None if all sequences have the padded length.

    Returns:
      float32 tensor [batch, size].
    """
    with tf.name_scope("select_last_activations"):
        shape = tf.shape(activations)
        if sequence_lengths is None:
            sequence_lengths = tf.fill([shape[0]], shape[1])
        flat = tf.reshape(activations, [-1, int(activations.shape[2])])
        steps = tf.cast(sequence_lengths, tf.int32) - 1
        return tf.gather(flat, tf.range(shape[0]) * shape[1] + steps)


def _flat_predictions(rows, problem_type, predict_probabilities):
    """Returns the predictions of rows of activations [rows, size]."""
    if problem_type == ProblemType.LINEAR_REGRESSION:
        return {PredictionKey.SCORES: tf.squeeze(rows, [1])}
    if rows.shape[1] == 1:
        rows = tf.concat([tf.zeros_like(rows), rows], 1)
    probabilities = tf.nn.softmax(rows)
    found = {PredictionKey.PROBABILITIES: probabilities} if predict_probabilities else {}
    found[PredictionKey.CLASSES] = tf.argmax(probabilities, 1)
    return found


def multi_value_predictions(activations, target_column, problem_type, predict_probabilities):
    """Returns the predictions of all steps.

    Args:
      activations: float32 tensor [batch, padded_length, size].
      target_column: ignored.
      problem_type: ProblemType.CLASSIFICATION or LINEAR_REGRESSION.
      predict_probabilities: whether to return probabilities too.

    Returns:
      {prediction: tensor [batch, padded_length, ...]}.
    """
    del target_column
    with tf.name_scope("MultiValuePrediction"):
        rows = tf.reshape(activations, [-1, int(activations.shape[2])])
        shape = tf.shape(activations)[:2]
        found = {}
        for key, one in _flat_predictions(rows, problem_type, predict_probabilities).items():
            end = one.shape.as_list()[1:]
            found[key] = tf.reshape(one, tf.concat([shape, end], 0) if end else shape, name=key)
        return found


def single_value_predictions(activations, sequence_lengths, problem_type, predict_probabilities):
    """Returns the predictions of the last steps.

    Args:
      activations: float32 tensor [batch, padded_length, size].
      sequence_lengths: int tensor [batch], or None.
      problem_type: ProblemType.CLASSIFICATION or LINEAR_REGRESSION.
      predict_probabilities: whether to return probabilities too.

    Returns:
      {prediction: tensor [batch, ...]}.
    """
    with tf.name_scope("SingleValuePrediction"):
        last = select_last_activations(activations, sequence_lengths)
        return _flat_predictions(last, problem_type, predict_probabilities)


def sequence_loss(activations, labels, sequence_lengths, problem_type, prediction_type):
    """Returns the mean loss of the steps that count.

    Args:
      activations: float32 tensor [batch, padded_length, size].
      labels: tensor [batch, padded_length], or [batch] of single values.
      sequence_lengths: int tensor [batch], or None.
      problem_type: ProblemType.CLASSIFICATION or LINEAR_REGRESSION.
      prediction_type: one of PredictionType.

    Returns:
      Scalar tensor.
    """
    is_single = prediction_type == PredictionType.SINGLE_VALUE
    with tf.name_scope("SingleValueLoss" if is_single else "MultiValueLoss"):
        if is_single:
            rows = select_last_activations(activations, sequence_lengths)
        else:
            rows, labels = mask_activations_and_labels(activations, labels, sequence_lengths)
        if problem_type == ProblemType.CLASSIFICATION and rows.shape[1] != 1:
            if labels.shape.ndims == 2:
                labels = tf.squeeze(labels, [1])
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=rows)
        else:
            labels = tf.expand_dims(labels, 1) if labels.shape.ndims == 1 else labels
            if problem_type == ProblemType.CLASSIFICATION:
                losses = tf.nn.sigmoid_cross_entropy_with_logits(
                    labels=tf.to_float(labels), logits=rows
                )
            else:
                losses = tf.squared_difference(rows, tf.to_float(labels))
        return tf.reduce_mean(losses, name="loss")


def get_eval_metric_ops(problem_type, prediction_type, sequence_length, prediction_dict, labels):
    """Returns the metrics of a model.

    Args:
      problem_type: ProblemType.CLASSIFICATION or LINEAR_REGRESSION.
      prediction_type: one of PredictionType.
      sequence_length: int tensor [batch], or None.
      prediction_dict: {prediction: tensor}.
      labels: tensor [batch, padded_length], or [batch] of single values.

    Returns:
      {metric: (value, update)}; the accuracy of a classification.
    """
    if problem_type != ProblemType.CLASSIFICATION:
        return {}
    classes = prediction_dict[PredictionKey.CLASSES]
    if prediction_type == PredictionType.MULTIPLE_VALUE:
        classes, labels = mask_activations_and_labels(classes, labels, sequence_length)
    return {"accuracy": tf.metrics.accuracy(labels, classes)}
