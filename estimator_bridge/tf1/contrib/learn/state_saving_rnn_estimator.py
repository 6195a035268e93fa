"""`tf.contrib.learn.StateSavingRnnEstimator`: a recurrent network over segments of sequences."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.learn import rnn_common as _common
from estimator_bridge.tf1.contrib.learn.dynamic_rnn_estimator import state_tuple_to_dict
from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.model_spec import ModeKeys, ModelFnOps, ProblemType
from estimator_bridge.tf1.contrib.learn.rnn_common import PredictionType, RNNKeys
from estimator_bridge.tf1.contrib.training import batch_sequences_with_states

__all__ = ["StateSavingRnnEstimator", "construct_state_saving_rnn", "state_tuple_to_dict"]


def construct_state_saving_rnn(
    cell, inputs, num_label_columns, state_saver, state_name, scope="rnn"
):
    """Returns the outputs of a cell over a segment, through a linear layer, and its last state.

    Args:
      cell: RNNCell.
      inputs: list of a tensor [batch, size] for each step.
      num_label_columns: int, number of outputs.
      state_saver: an object with the methods `state` and `save_state`.
      state_name: name of the state, or names in the structure of the cell's state.
      scope: name of the variable scope.

    Returns:
      float32 tensor [batch, steps, num_label_columns], and the state as one tensor.
    """
    with tf.name_scope(scope):
        outputs, state = tf.nn.static_state_saving_rnn(
            cell, inputs, state_saver, state_name, scope=scope
        )
        activations = layers.fully_connected(
            tf.stack(outputs, axis=1), num_label_columns, activation_fn=None
        )
        state = tf.identity(tf.convert_to_tensor(state), name=RNNKeys.FINAL_STATE_KEY)
        return activations, state


def _name_states(cell):
    """Returns the names of the states of a cell, in their structure."""
    size = cell.state_size
    if isinstance(size, tf.TensorShape):
        raise TypeError(f"cell_type: a state of shape {size} is not supported; use a size")

    def name(place, part):
        one = f"{RNNKeys.STATE_PREFIX}_{place}"
        if isinstance(part, tf.nn.rnn_cell.LSTMStateTuple):
            return [f"{one}_c", f"{one}_h"]
        return one

    if isinstance(size, (int, tf.nn.rnn_cell.LSTMStateTuple)):
        return name(0, size)
    return [name(place, part) for place, part in enumerate(size)]


def _find(features, columns, kind):
    """Returns the features of columns by name."""
    found = {}
    for name in layers.create_feature_spec_for_parsing(columns):
        if features.get(name) is None:
            raise ValueError(f"{kind} column {name}: the input function returns {sorted(features)}")
        found[name] = features[name]
    return found


def _join(batch, columns, num_unroll):
    """Returns the input of each step of a segment; the context is added to every one."""
    sequences = {name: one for name, one in batch.sequences.items() if name != RNNKeys.LABELS_KEY}
    segment = layers.sequence_input_from_feature_columns(sequences, columns)
    steps = tf.unstack(segment, num_unroll, axis=1)
    if not batch.context:
        return steps
    context = tf.concat([batch.context[name] for name in sorted(batch.context)], axis=1)
    return [tf.concat([step, context], axis=1) for step in steps]


def _check(problem_type, num_classes, predict_probabilities, num_unroll):
    if problem_type not in (ProblemType.CLASSIFICATION, ProblemType.LINEAR_REGRESSION):
        raise ValueError(
            f"problem_type: CLASSIFICATION or LINEAR_REGRESSION expected, got {problem_type}"
        )
    if problem_type == ProblemType.CLASSIFICATION and (not num_classes or num_classes < 2):
        raise ValueError(f"num_classes: 2 or more expected for CLASSIFICATION, got {num_classes}")
    if problem_type == ProblemType.LINEAR_REGRESSION and predict_probabilities:
        raise ValueError("predict_probabilities: only CLASSIFICATION has probabilities")
    if num_unroll <= 0:
        raise ValueError(f"num_unroll: a positive integer expected, got {num_unroll}")


class StateSavingRnnEstimator(Estimator):
    """A recurrent network over segments of sequences, whose state goes on in the next segment.

    The input function returns one sequence at a time, without a batch dimension. The predictions
    are those of segments of num_unroll steps, the last of which is padded.

    Args:
      problem_type: ProblemType.CLASSIFICATION or LINEAR_REGRESSION.
      num_unroll: int, the length of a segment.
      batch_size: int, the number of segments of a batch.
      sequence_feature_columns: columns of tf.contrib.layers over sequences.
      context_feature_columns: columns of one number over whole sequences, or None.
      num_classes: int, number of classes of a classification.
      num_units: int or list of ints, sizes of the layers.
      cell_type: `basic_rnn`, `lstm`, `gru`, or a class of RNNCells.
      optimizer_type: tf.train.Optimizer, its class, or its name.
      learning_rate: number, without effect on a given tf.train.Optimizer.
      predict_probabilities: whether to predict the probabilities of the classes too.
      momentum: number, of the optimizer "Momentum".
      gradient_clipping_norm: number to which the global norm of gradients is clipped, or None.
      dropout_keep_probabilities: list of one number more than there are layers, or None.
      model_dir: directory for checkpoints and summaries, or None.
      config: RunConfig, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      num_threads: int, the number of threads that read sequences.
      queue_capacity: int, the number of sequences that are kept at most, not less than batch_size.
      seed: of the numbers that make the keys of sequences unique.

    Raises:
      ValueError: an argument cannot be used.
    """

    def __init__(
        self,
        problem_type,
        num_unroll,
        batch_size,
        sequence_feature_columns,
        context_feature_columns=None,
        num_classes=None,
        num_units=None,
        cell_type="basic_rnn",
        optimizer_type="SGD",
        learning_rate=0.1,
        predict_probabilities=False,
        momentum=None,
        gradient_clipping_norm=5.0,
        dropout_keep_probabilities=None,
        model_dir=None,
        config=None,
        feature_engineering_fn=None,
        num_threads=3,
        queue_capacity=1000,
        seed=None,
    ):
        _check(problem_type, num_classes, predict_probabilities, num_unroll)
        is_classifier = problem_type == ProblemType.CLASSIFICATION
        outputs = num_classes if is_classifier and num_classes > 2 else 1
        scope = "MultiValueStateSavingRNN" + ("Classifier" if is_classifier else "Regressor")
        if optimizer_type == "Momentum":
            optimizer_type = tf.train.MomentumOptimizer(learning_rate, momentum)

        def read(cell, features, labels):
            sequences = _find(features, sequence_feature_columns, "sequence")
            context = _find(features, context_feature_columns or [], "context")
            if labels is not None:
                sequences[RNNKeys.LABELS_KEY] = labels
            names, zeros = _name_states(cell), cell.zero_state(1, tf.float32)
            states = zip(tf.nest.flatten(names), tf.nest.flatten(zeros))
            return names, batch_sequences_with_states(
                input_key="key",
                input_sequences=sequences,
                input_context=context,
                input_length=None,
                initial_states={name: tf.squeeze(one, axis=0) for name, one in states},
                num_unroll=num_unroll,
                batch_size=batch_size,
                num_threads=num_threads,
                capacity=queue_capacity,
                make_keys_unique=True,
                make_keys_unique_seed=seed,
            )

        def model_fn(features, labels, mode):
            with tf.name_scope(scope):
                dropout = dropout_keep_probabilities if mode == ModeKeys.TRAIN else None
                cell = _common.construct_rnn_cell(num_units, cell_type, dropout)
                names, batch = read(cell, features, None if mode == ModeKeys.INFER else labels)
                inputs = _join(batch, sequence_feature_columns, num_unroll)
                activations, state = construct_state_saving_rnn(cell, inputs, outputs, batch, names)
                predictions = _common.multi_value_predictions(
                    activations, None, problem_type, predict_probabilities
                )
                loss = train_op = metrics = None
                if mode != ModeKeys.INFER:
                    labels = batch.sequences[RNNKeys.LABELS_KEY]
                    kinds = (problem_type, PredictionType.MULTIPLE_VALUE)
                    loss = _common.sequence_loss(activations, labels, batch.length, *kinds)
                    metrics = _common.get_eval_metric_ops(*kinds, batch.length, predictions, labels)
                predictions.update(state_tuple_to_dict(state))
                if mode == ModeKeys.TRAIN:
                    train_op = layers.optimize_loss(
                        loss=loss,
                        global_step=None,
                        learning_rate=learning_rate,
                        optimizer=optimizer_type,
                        clip_gradients=gradient_clipping_norm,
                        summaries=layers.OPTIMIZER_SUMMARIES,
                    )
                return ModelFnOps(mode, predictions, loss, train_op, metrics)

        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)
