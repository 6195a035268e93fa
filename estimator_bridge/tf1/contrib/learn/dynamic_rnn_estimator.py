"""`tf.contrib.learn.DynamicRnnEstimator`: a recurrent network over padded sequences."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers
from estimator_bridge.tf1.contrib.learn import rnn_common as _common
from estimator_bridge.tf1.contrib.learn.fitting import Estimator
from estimator_bridge.tf1.contrib.learn.model_spec import ModeKeys, ModelFnOps, ProblemType
from estimator_bridge.tf1.contrib.learn.rnn_common import PredictionType, RNNKeys

__all__ = [
    "DynamicRnnEstimator",
    "PredictionType",
    "build_sequence_input",
    "construct_rnn",
    "dict_to_state_tuple",
    "state_tuple_to_dict",
]

_OUTPUT = "dynamic_rnn_output"


def _state_name(place):
    return f"{RNNKeys.STATE_PREFIX}_{place}"


def state_tuple_to_dict(state):
    """Returns the parts of a state by name.

    Args:
      state: nested tuple of tensors.
    """
    with tf.name_scope("state_tuple_to_dict"):
        return {
            _state_name(place): tf.identity(one, name=_state_name(place))
            for place, one in enumerate(tf.nest.flatten(state))
        }


def dict_to_state_tuple(input_dict, cell):
    """Returns the state of a cell that a dict has, or None if it has none.

    Args:
      input_dict: {name: tensor}.
      cell: RNNCell.

    Raises:
      ValueError: it has a part of a state.
    """
    with tf.name_scope("dict_to_state_tuple"):
        names = [_state_name(place) for place in range(len(tf.nest.flatten(cell.state_size)))]
        found = [tf.identity(input_dict[name], name=name) for name in names if name in input_dict]
        if not found:
            return None
        if len(found) < len(names):
            raise ValueError(
                f"initial state: {len(names)} tensors named {names[0]} to {names[-1]} expected, "
                f"or none; got {len(found)}"
            )
        return tf.nest.pack_sequence_as(cell.state_size, found)


def build_sequence_input(
    features, sequence_feature_columns, context_feature_columns, weight_collections=None, scope=None
):
    """Returns the input of each step, to which the context is added.

    Args:
      features: {feature: tensor}.
      sequence_feature_columns: columns of tf.contrib.layers over sequences.
      context_feature_columns: columns of tf.contrib.layers over whole examples, or None.
      weight_collections: further collections of the variables, or None.
      scope: variable scope, or None.

    Returns:
      float32 tensor [batch, padded_length, size].
    """
    inputs = layers.sequence_input_from_feature_columns(
        features, sequence_feature_columns, weight_collections, scope=scope
    )
    if not context_feature_columns:
        return inputs
    context = layers.input_from_feature_columns(
        features, context_feature_columns, weight_collections, scope=scope
    )
    repeated = tf.tile(tf.expand_dims(context, 1), tf.stack([1, tf.shape(inputs)[1], 1]))
    return tf.concat([inputs, repeated], 2)


def construct_rnn(
    initial_state,
    sequence_input,
    cell,
    num_label_columns,
    dtype=tf.float32,
    parallel_iterations=32,
    swap_memory=True,
):
    """Returns the outputs of a cell over all steps, through a linear layer, and its last state.

    Args:
      initial_state: state, or None for zeros.
      sequence_input: float32 tensor [batch, padded_length, size].
      cell: RNNCell.
      num_label_columns: int, number of outputs.
      dtype: dtype of the state.
      parallel_iterations: int, see tf.nn.dynamic_rnn.
      swap_memory: see tf.nn.dynamic_rnn.

    Returns:
      float32 tensor [batch, padded_length, num_label_columns], and the state.
    """
    with tf.name_scope("RNN"):
        outputs, state = tf.nn.dynamic_rnn(
            cell=cell,
            inputs=sequence_input,
            initial_state=initial_state,
            dtype=dtype,
            parallel_iterations=parallel_iterations,
            swap_memory=swap_memory,
            time_major=False,
        )
        return layers.fully_connected(outputs, num_label_columns, activation_fn=None), state


def _check(problem_type, prediction_type, num_classes):
    if problem_type not in (ProblemType.CLASSIFICATION, ProblemType.LINEAR_REGRESSION):
        raise ValueError(
            f"problem_type: CLASSIFICATION or LINEAR_REGRESSION expected, got {problem_type}"
        )
    if prediction_type not in (PredictionType.SINGLE_VALUE, PredictionType.MULTIPLE_VALUE):
        raise ValueError(
            f"prediction_type: SINGLE_VALUE or MULTIPLE_VALUE expected, got {prediction_type}"
        )
    if problem_type == ProblemType.CLASSIFICATION and (num_classes is None or num_classes < 2):
        raise ValueError(f"num_classes: 2 or more expected for CLASSIFICATION, got {num_classes}")


class DynamicRnnEstimator(Estimator):
    """A recurrent network over padded sequences.

    The feature `sequence_length`, int [batch], tells where they end; `rnn_cell_state_0` and so on
    are the initial state, and among the predictions the last one.

    Args:
      problem_type: ProblemType.CLASSIFICATION or LINEAR_REGRESSION.
      prediction_type: PredictionType.SINGLE_VALUE or MULTIPLE_VALUE, a value of each step.
      sequence_feature_columns: columns of tf.contrib.layers over sequences.
      context_feature_columns: columns of tf.contrib.layers over whole examples, or None.
      num_classes: int, number of classes of a classification.
      num_units: int or list of ints, sizes of the layers.
      cell_type: `basic_rnn`, `lstm`, `gru`, or a class of RNNCells.
      optimizer: tf.train.Optimizer, its class, its name or a function that returns one.
      learning_rate: number, without effect on a given tf.train.Optimizer.
      predict_probabilities: whether to predict the probabilities of the classes too.
      momentum: number, of the optimizer "Momentum".
      gradient_clipping_norm: number to which the global norm of gradients is clipped, or None.
      dropout_keep_probabilities: list of one number more than there are layers, or None.
      model_dir: directory for checkpoints and summaries, or None.
      feature_engineering_fn: function from (features, labels) to the same, or None.
      config: RunConfig, or None.

    Raises:
      ValueError: a type is unknown, or num_classes is missing.
    """

    def __init__(
        self,
        problem_type,
        prediction_type,
        sequence_feature_columns,
        context_feature_columns=None,
        num_classes=None,
        num_units=None,
        cell_type="basic_rnn",
        optimizer="SGD",
        learning_rate=0.1,
        predict_probabilities=False,
        momentum=None,
        gradient_clipping_norm=5.0,
        dropout_keep_probabilities=None,
        model_dir=None,
        feature_engineering_fn=None,
        config=None,
    ):
        _check(problem_type, prediction_type, num_classes)
        is_single = prediction_type == PredictionType.SINGLE_VALUE
        is_classifier = problem_type == ProblemType.CLASSIFICATION
        outputs = num_classes if is_classifier and num_classes > 2 else 1
        scope = "SingleValue" if is_single else "MultiValue"
        scope += "DynamicRNNClassifier" if is_classifier else "DynamicRNNRegressor"
        if optimizer == "Momentum":

            def optimizer(rate):
                return tf.train.MomentumOptimizer(rate, momentum)

        def predict(activations, lengths):
            if is_single:
                return _common.single_value_predictions(
                    activations, lengths, problem_type, predict_probabilities
                )
            return _common.multi_value_predictions(
                activations, None, problem_type, predict_probabilities
            )

        def model_fn(features, labels, mode):
            with tf.name_scope(scope):
                dropout = dropout_keep_probabilities if mode == ModeKeys.TRAIN else None
                cell = _common.construct_rnn_cell(num_units, cell_type, dropout)
                start = dict_to_state_tuple(features, cell)
                inputs = build_sequence_input(
                    features, sequence_feature_columns, context_feature_columns
                )
                activations, state = construct_rnn(start, inputs, cell, outputs)
                lengths = features.get(RNNKeys.SEQUENCE_LENGTH_KEY)
                predictions = predict(activations, lengths)
                alternatives = {_OUTPUT: (problem_type, dict(predictions))} if is_single else None
                predictions.update(state_tuple_to_dict(state))
                loss = train_op = metrics = None
                if mode != ModeKeys.INFER:
                    kinds = (problem_type, prediction_type)
                    loss = _common.sequence_loss(activations, labels, lengths, *kinds)
                    metrics = _common.get_eval_metric_ops(*kinds, lengths, predictions, labels)
                if mode == ModeKeys.TRAIN:
                    train_op = layers.optimize_loss(
                        loss=loss,
                        global_step=None,
                        learning_rate=learning_rate,
                        optimizer=optimizer,
                        clip_gradients=gradient_clipping_norm,
                        summaries=layers.OPTIMIZER_SUMMARIES,
                    )
                return ModelFnOps(mode, predictions, loss, train_op, metrics, alternatives)

        super().__init__(model_fn, model_dir, config, None, feature_engineering_fn)
