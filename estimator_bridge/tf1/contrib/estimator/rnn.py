"""Recurrent Estimators of `tf.contrib.estimator`."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import estimator_optimizers as _optimizers
from estimator_bridge.tf1.contrib import feature_column as _columns
from estimator_bridge.tf1.contrib.estimator import extenders as _extenders
from estimator_bridge.tf1.contrib.estimator import heads as _heads

__all__ = ["RNNClassifier", "RNNEstimator"]

# For an optimizer that is given by its name. The names are those of 1.15, which programs import.
_DEFAULT_LEARNING_RATE = 0.05
_DEFAULT_CLIP_NORM = 5.0

_CELLS = {
    "basic_rnn": tf.nn.rnn_cell.BasicRNNCell,
    "lstm": tf.nn.rnn_cell.BasicLSTMCell,
    "gru": tf.nn.rnn_cell.GRUCell,
}


def _make_cell_fn(num_units, cell_type):
    if cell_type not in _CELLS:
        raise ValueError(f"cell_type: {cell_type!r} is unknown; use one of {sorted(_CELLS)}")
    units = [num_units] if isinstance(num_units, int) else list(num_units)
    if not units:
        raise ValueError("num_units: expected at least one layer")

    def rnn_cell_fn(mode):
        del mode
        cells = [_CELLS[cell_type](size) for size in units]
        return cells[0] if len(cells) == 1 else tf.nn.rnn_cell.MultiRNNCell(cells)

    return rnn_cell_fn


# Programs import this name of 1.15; the public function has the other order of arguments.
def _concatenate_context_input(sequence_input, context_input):
    return _columns.concatenate_context_input(context_input, sequence_input)


def _build_logits(features, mode, cell_fn, columns, context_columns, units, partitioner, all_steps):
    """Returns the logits, of the last step or of all, and the mask of the steps [batch, length]."""
    # The names of the scopes are those of 1.x, so that its checkpoints are restored.
    with tf.variable_scope(
        "sequence_input_layer", values=tuple(features.values()), partitioner=partitioner
    ):
        inputs, lengths = _columns.sequence_input_layer(features, list(columns))
        tf.summary.histogram("sequence_length", lengths)
        if context_columns:
            context = tf.feature_column.input_layer(features, context_columns)
            inputs = _concatenate_context_input(inputs, context)
    outputs, _ = tf.nn.dynamic_rnn(cell_fn(mode), inputs, lengths, dtype=tf.float32)
    if not all_steps:
        last = tf.maximum(tf.to_int32(lengths) - 1, 0)
        outputs = tf.squeeze(tf.batch_gather(outputs, tf.expand_dims(last, 1)), 1)
    with tf.variable_scope("logits", values=(outputs,)):
        logits = tf.layers.dense(outputs, units, kernel_initializer=tf.glorot_uniform_initializer())
    return logits, tf.sequence_mask(lengths)


class RNNEstimator(tf.estimator.Estimator):
    """A recurrent network over sequence columns, with a head on its last output.

    Args:
      head: head of tf.contrib.estimator.
      sequence_feature_columns: dense columns over sequence columns.
      context_feature_columns: dense columns whose values are added to every step, or None.
      num_units: int or list of ints, sizes of the layers.
      cell_type: `basic_rnn`, `lstm` or `gru`.
      rnn_cell_fn: function of the mode that returns a cell, in place of num_units and cell_type.
      return_sequences: whether the head gets the logits of every step, not of the last one.
      model_dir: directory for checkpoints and summaries, or None.
      optimizer: tf.train.Optimizer, or its name; a named one has the learning rate 0.05, and clips
        gradients to the norm 5.
      input_layer_partitioner: partitioner of the input layer's variables, or None.
      config: RunConfig, or None.

    Raises:
      ValueError: both or neither of num_units and rnn_cell_fn are given.
    """

    def __init__(
        self,
        head,
        sequence_feature_columns,
        context_feature_columns=None,
        num_units=None,
        cell_type="basic_rnn",
        rnn_cell_fn=None,
        return_sequences=False,
        model_dir=None,
        optimizer="Adagrad",
        input_layer_partitioner=None,
        config=None,
    ):
        if (num_units is None) == (rnn_cell_fn is None):
            raise ValueError("RNNEstimator: pass either num_units or rnn_cell_fn")
        cell_fn = rnn_cell_fn or _make_cell_fn(num_units, cell_type)

        def model_fn(features, labels, mode, config):
            step = optimizer
            if not isinstance(optimizer, tf.train.Optimizer):
                step = _optimizers.get_optimizer_instance(optimizer, _DEFAULT_LEARNING_RATE)
                step = _extenders.clip_gradients_by_norm(step, _DEFAULT_CLIP_NORM)
            split = functools.partial(
                tf.min_max_variable_partitioner, max_partitions=config.num_ps_replicas
            )
            with tf.variable_scope("rnn", values=tuple(features.values()), partitioner=split()):
                logits, mask = _build_logits(
                    features,
                    mode,
                    cell_fn,
                    sequence_feature_columns,
                    context_feature_columns,
                    head.logits_dimension,
                    input_layer_partitioner or split(min_slice_size=64 << 20),
                    return_sequences,
                )
                mask_key = getattr(head, "input_sequence_mask_key", None)
                if return_sequences and mask_key is not None:
                    features.setdefault(mask_key, mask)
                return head.create_estimator_spec(
                    features=features,
                    mode=mode,
                    labels=labels,
                    optimizer=step,
                    logits=logits,
                )

        super().__init__(model_fn, model_dir=model_dir, config=config)


class RNNClassifier(RNNEstimator):
    """RNNEstimator for classification into two or more classes.

    Args:
      sequence_feature_columns: dense columns over sequence columns.
      context_feature_columns: dense columns whose values are added to every step, or None.
      num_units: int or list of ints, sizes of the layers.
      cell_type: `basic_rnn`, `lstm` or `gru`.
      rnn_cell_fn: function of the mode that returns a cell, in place of num_units and cell_type.
      model_dir: directory for checkpoints and summaries, or None.
      n_classes: int, number of classes.
      weight_column: name of the feature with the examples' weights, or None.
      label_vocabulary: list of the label strings, or None for integer labels.
      optimizer: tf.train.Optimizer, or its name; a named one has the learning rate 0.05, and clips
        gradients to the norm 5.
      loss_reduction: one of tf.losses.Reduction.
      input_layer_partitioner: partitioner of the input layer's variables, or None.
      config: RunConfig, or None.

    Raises:
      ValueError: both or neither of num_units and rnn_cell_fn are given.
    """

    def __init__(
        self,
        sequence_feature_columns,
        context_feature_columns=None,
        num_units=None,
        cell_type="basic_rnn",
        rnn_cell_fn=None,
        model_dir=None,
        n_classes=2,
        weight_column=None,
        label_vocabulary=None,
        optimizer="Adagrad",
        loss_reduction=tf.losses.Reduction.SUM_OVER_BATCH_SIZE,
        input_layer_partitioner=None,
        config=None,
    ):
        options = {
            "weight_column": weight_column,
            "label_vocabulary": label_vocabulary,
            "loss_reduction": loss_reduction,
        }
        if n_classes == 2:
            head = _heads.binary_classification_head(**options)
        else:
            head = _heads.multi_class_head(n_classes, **options)
        super().__init__(
            head,
            sequence_feature_columns,
            context_feature_columns,
            num_units,
            cell_type,
            rnn_cell_fn,
            False,
            model_dir,
            optimizer,
            input_layer_partitioner,
            config,
        )
