"""`tf.contrib.learn.models`: linear and recurrent models as parts of a graph."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import rnn
from estimator_bridge.tf1.contrib.learn import ops
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.unsupported import NotSuppliedError, advise

__all__ = [
    "get_rnn_model",
    "linear_regression",
    "linear_regression_zero_init",
    "logistic_regression",
    "logistic_regression_zero_init",
]


_BIDIRECTIONAL = "use tf.nn.bidirectional_dynamic_rnn; it fails in 1.15 too"

__getattr__, _advice_for = _unsupported_names(globals(), {"bidirectional_rnn": _BIDIRECTIONAL})


def linear_regression(x, y, init_mean=None, init_stddev=1.0):
    """Returns the predictions of a linear model, and their mean squared error.

    Args:
      x: float [batch, features].
      y: float [batch], or [batch, outputs].
      init_mean: float, mean of the normal distribution of the initial variables; None for the
        initializer of the scope.
      init_stddev: float, standard deviation of the normal distribution.

    Returns:
      (predictions with the rank of `y`, loss of rank 0).
    """
    with tf.variable_scope("linear_regression"):
        shape = y.get_shape()
        outputs = 1 if len(shape) == 1 else shape[1]
        weights, biases = _variables("linear_regression", x, y, outputs, init_mean, init_stddev)
        return ops.mean_squared_error_regressor(x, y, weights, biases)


def linear_regression_zero_init(x, y):
    """Returns what `linear_regression` does, with variables that begin at 0.

    Args:
      x: float [batch, features].
      y: float [batch], or [batch, outputs].

    Returns:
      (predictions with the rank of `y`, loss of rank 0).
    """
    return linear_regression(x, y, init_mean=0.0, init_stddev=0.0)


def logistic_regression(x, y, class_weight=None, init_mean=None, init_stddev=1.0):
    """Returns the probabilities of a linear model, and their cross entropy.

    Args:
      x: float [batch, features].
      y: float [batch, classes], one-hot.
      class_weight: list of [classes] numbers, by which the logits are multiplied; None for the
        tensor `class_weight:0` of the graph, or for ones if there is none.
      init_mean: as in `linear_regression`.
      init_stddev: as in `linear_regression`.

    Returns:
      (float [batch, classes], loss of rank 0).
    """
    with tf.variable_scope("logistic_regression"):
        outputs = y.get_shape()[1]
        weights, biases = _variables("logistic_regression", x, y, outputs, init_mean, init_stddev)
        if not class_weight:
            try:
                class_weight = tf.get_default_graph().get_tensor_by_name("class_weight:0")
            except KeyError:
                class_weight = None
        return ops.softmax_classifier(x, y, weights, biases, class_weight=class_weight)


def logistic_regression_zero_init(x, y):
    """Returns what `logistic_regression` does, with variables that begin at 0.

    Args:
      x: float [batch, features].
      y: float [batch, classes], one-hot.

    Returns:
      (float [batch, classes], loss of rank 0).
    """
    return logistic_regression(x, y, init_mean=0.0, init_stddev=0.0)


def get_rnn_model(
    rnn_size,
    cell_type,
    num_layers,
    input_op_fn,
    bidirectional,
    target_predictor_fn,
    sequence_length,
    initial_state,
    attn_length,
    attn_size,
    attn_vec_size,
):
    """Returns a function that builds a recurrent model, unrolled.

    Args:
      rnn_size: int, units of a layer.
      cell_type: "rnn", "gru" or "lstm".
      num_layers: int.
      input_op_fn: function from `x` to a list of steps, float [batch, size].
      bidirectional: False; bidirectional models fail in 1.15 too.
      target_predictor_fn: function from (last state, y) to (predictions, loss), such as
        `linear_regression`; the states of the layers are joined, float [batch, state].
      sequence_length: int [batch], steps of each row, or None.
      initial_state: float [batch, state], or None for zeros.
      attn_length: int, steps to which a layer attends; None for no attention.
      attn_size: int, units of the attention.
      attn_vec_size: int, units of the layer that computes its weights.

    Returns:
      Function from (x, y) to (predictions, loss).
    """

    def rnn_estimator(x, y):
        steps = input_op_fn(x)
        kinds = {
            "rnn": lambda: rnn.BasicRNNCell(rnn_size),
            "gru": lambda: rnn.GRUCell(rnn_size),
            "lstm": lambda: rnn.BasicLSTMCell(rnn_size, state_is_tuple=False),
        }
        if cell_type not in kinds:
            raise ValueError(f"cell_type {cell_type} is not supported. ")
        if bidirectional:
            name = "tf.contrib.learn.models.get_rnn_model(bidirectional=True)"
            raise NotSuppliedError(advise(name, _BIDIRECTIONAL))

        def layer():
            cell = kinds[cell_type]()
            if attn_length is None:
                return cell
            return rnn.AttentionCellWrapper(
                cell,
                attn_length=attn_length,
                attn_size=attn_size,
                attn_vec_size=attn_vec_size,
                state_is_tuple=False,
            )

        cell = rnn.MultiRNNCell([layer() for _ in range(num_layers)], state_is_tuple=False)
        _, state = rnn.static_rnn(
            cell,
            steps,
            initial_state=initial_state,
            dtype=tf.float32,
            sequence_length=sequence_length,
        )
        return target_predictor_fn(state, y)

    return rnn_estimator


def _variables(name, x, y, outputs, init_mean, init_stddev):
    """Returns the weights and the bias, and adds histograms of them, of `x` and of `y`."""
    tf.summary.histogram(f"{name}.x", x)
    tf.summary.histogram(f"{name}.y", y)
    initializer = None
    if init_mean is not None:
        initializer = tf.random_normal_initializer(init_mean, init_stddev)
    dtype = x.dtype.base_dtype
    features = x.get_shape()[1]
    weights = tf.get_variable("weights", [features, outputs], dtype, initializer)
    bias = tf.get_variable("bias", [outputs], dtype, initializer)
    tf.summary.histogram(f"{name}.weights", weights)
    tf.summary.histogram(f"{name}.bias", bias)
    return weights, bias
