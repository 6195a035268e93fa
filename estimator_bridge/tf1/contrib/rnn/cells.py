"""Cells and wrappers of `tf.contrib.rnn` that are not fused."""

import math

import tensorflow.compat.v1 as tf

__all__ = [
    "CoupledInputForgetGateLSTMCell",
    "EmbeddingWrapper",
    "HighwayWrapper",
    "InputProjectionWrapper",
    "LayerNormBasicLSTMCell",
    "OutputProjectionWrapper",
]

_State = tf.nn.rnn_cell.LSTMStateTuple


class LayerNormBasicLSTMCell(tf.nn.rnn_cell.RNNCell):
    """An LSTM with layer normalization and recurrent dropout.

    Sources: Ba et al. (2016) and Semeniuta et al. (2016). Variables: `kernel`; with layer
    normalization `{input,transform,forget,output,state}/{gamma,beta}`, else `bias`.

    Args:
      num_units: int, number of units.
      forget_bias: number added to the forget gate's bias.
      input_size: ignored.
      activation: activation function of the cell.
      layer_norm: whether to normalize.
      norm_gain: initial value of `gamma`.
      norm_shift: initial value of `beta`.
      dropout_keep_prob: probability to keep an element of the new candidate.
      dropout_prob_seed: seed of the dropout.
      reuse: whether to reuse the variables.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        input_size=None,
        activation=tf.tanh,
        layer_norm=True,
        norm_gain=1.0,
        norm_shift=0.0,
        dropout_keep_prob=1.0,
        dropout_prob_seed=None,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        if input_size is not None:
            tf.logging.warning("%s: The input_size parameter is deprecated.", self)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation
        self._layer_norm = layer_norm
        self._gain, self._shift = norm_gain, norm_shift
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed

    @property
    def state_size(self):
        return _State(self._num_units, self._num_units)

    @property
    def output_size(self):
        return self._num_units

    def _norm(self, values, name):
        with tf.variable_scope(name):
            gamma = tf.get_variable(
                "gamma", [self._num_units], values.dtype, tf.constant_initializer(self._gain)
            )
            beta = tf.get_variable(
                "beta", [self._num_units], values.dtype, tf.constant_initializer(self._shift)
            )
        mean, variance = tf.nn.moments(values, [1], keep_dims=True)
        return tf.nn.batch_normalization(values, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs, state):
        """Computes one step; returns (h, (c, h)).

        Args:
          inputs: floating tensor [batch, size].
          state: (c, h), each a floating tensor [batch, num_units].
        """
        c, h = state
        args = tf.concat([inputs, h], 1)
        size = tf.compat.dimension_value(args.shape[-1])
        gates = tf.matmul(args, tf.get_variable("kernel", [size, 4 * self._num_units], args.dtype))
        if not self._layer_norm:
            gates = tf.nn.bias_add(
                gates, tf.get_variable("bias", [4 * self._num_units], args.dtype)
            )
        i, j, f, o = tf.split(gates, 4, axis=1)
        if self._layer_norm:
            i, j = self._norm(i, "input"), self._norm(j, "transform")
            f, o = self._norm(f, "forget"), self._norm(o, "output")
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = tf.nn.dropout(g, keep_prob=self._keep_prob, seed=self._seed)
        c = c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * g
        if self._layer_norm:
            c = self._norm(c, "state")
        h = self._activation(c) * tf.sigmoid(o)
        return h, _State(c, h)


class CoupledInputForgetGateLSTMCell(tf.nn.rnn_cell.RNNCell):
    """An LSTM whose input gate is one minus its forget gate (Greff et al., 2015).

    Variables: `kernel` [inputs + units, 3 units], `bias` [3 units], and the peepholes
    `w_{f,o}_diag`.

    Args:
      num_units: int, number of units.
      use_peepholes: whether the gates depend on the cell state.
      initializer: initializer of the variables.
      forget_bias: number added to the forget gate's bias.
      state_is_tuple: must be True.
      activation: activation function of the cell.
      reuse: whether to reuse the variables.

    Raises:
      ValueError: `state_is_tuple` is False.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        initializer=None,
        forget_bias=1.0,
        state_is_tuple=True,
        activation=tf.tanh,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        if not state_is_tuple:
            raise ValueError("state_is_tuple: CoupledInputForgetGateLSTMCell supports True only")
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation

    @property
    def state_size(self):
        return _State(self._num_units, self._num_units)

    @property
    def output_size(self):
        return self._num_units

    def call(self, inputs, state):
        """Computes one step; returns (h, (c, h)).

        Args:
          inputs: floating tensor [batch, size].
          state: (c, h), each a floating tensor [batch, num_units].
        """
        c, h = state
        units = self._num_units
        args = tf.concat([inputs, h], 1)
        size = tf.compat.dimension_value(args.shape[-1])
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            kernel = tf.get_variable("kernel", [size, 3 * units], args.dtype)
            bias = tf.get_variable("bias", [3 * units], args.dtype, tf.zeros_initializer())
            if self._use_peepholes:
                w_f = tf.get_variable("w_f_diag", [units], args.dtype)
                w_o = tf.get_variable("w_o_diag", [units], args.dtype)
        j, f, o = tf.split(tf.nn.bias_add(tf.matmul(args, kernel), bias), 3, axis=1)
        if self._use_peepholes:
            f = f + w_f * c
        forget = tf.sigmoid(f + self._forget_bias)
        c = forget * c + (1 - forget) * self._activation(j)
        if self._use_peepholes:
            o = o + w_o * c
        h = tf.sigmoid(o) * self._activation(c)
        return h, _State(c, h)


class _Wrapper(tf.nn.rnn_cell.RNNCell):
    """Base of cells that wrap another cell."""

    def __init__(self, cell, reuse=None):
        super().__init__(_reuse=reuse)
        self._cell = cell

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)


def _linear(values, size, activation=None, bias_start=0.0):
    """Returns a linear map with the variables `kernel` and `bias` of the current scope."""
    width = tf.compat.dimension_value(values.shape[-1])
    kernel = tf.get_variable("kernel", [width, size], values.dtype)
    bias = tf.get_variable("bias", [size], values.dtype, tf.constant_initializer(bias_start))
    outputs = tf.nn.bias_add(tf.matmul(values, kernel), bias)
    return activation(outputs) if activation else outputs


class InputProjectionWrapper(_Wrapper):
    """A cell whose inputs are projected first. Variables: `kernel` [inputs, num_proj], `bias`.

    Args:
      cell: an RNNCell.
      num_proj: int, size of the projected inputs.
      activation: function applied to the projection, or None.
      input_size: ignored.
      reuse: whether to reuse the variables.
    """

    def __init__(self, cell, num_proj, activation=None, input_size=None, reuse=None):
        super().__init__(cell, reuse)
        self._num_proj, self._projection_activation = num_proj, activation

    def call(self, inputs, state):
        """Runs the cell on the projected inputs.

        Args:
          inputs: floating tensor [batch, size].
          state: state of the cell.
        """
        return self._cell(_linear(inputs, self._num_proj, self._projection_activation), state)


class OutputProjectionWrapper(_Wrapper):
    """A cell whose outputs are projected. Variables: `kernel` [outputs, output_size], `bias`.

    Args:
      cell: an RNNCell.
      output_size: int, size of the projected outputs.
      activation: function applied to the projection, or None.
      reuse: whether to reuse the variables.

    Raises:
      ValueError: `output_size` is not positive.
    """

    def __init__(self, cell, output_size, activation=None, reuse=None):
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"output_size: {output_size} is not positive")
        self._projected, self._projection_activation = output_size, activation

    @property
    def output_size(self):
        return self._projected

    def call(self, inputs, state):
        """Runs the cell and projects its outputs.

        Args:
          inputs: floating tensor [batch, size].
          state: state of the cell.
        """
        outputs, state = self._cell(inputs, state)
        return _linear(outputs, self._projected, self._projection_activation), state


class EmbeddingWrapper(_Wrapper):
    """A cell whose inputs are ids, looked up in a table. Variable: `embedding`.

    Inputs are integers [batch] or [batch, 1].

    Args:
      cell: an RNNCell.
      embedding_classes: int, number of ids.
      embedding_size: int, size of an embedding.
      initializer: initializer of the table; None for the scope's, or uniform in +-sqrt(3).
      reuse: whether to reuse the variables.

    Raises:
      ValueError: a size is not positive.
    """

    def __init__(self, cell, embedding_classes, embedding_size, initializer=None, reuse=None):
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"embedding_classes and embedding_size: {embedding_classes} and "
                f"{embedding_size} must be positive"
            )
        self._table_shape, self._initializer = [embedding_classes, embedding_size], initializer

    def call(self, inputs, state):
        """Runs the cell on the embeddings of ids.

        Args:
          inputs: integer tensor [batch] or [batch, 1].
          state: state of the cell.
        """
        bound = math.sqrt(3)
        initializer = (
            self._initializer
            or tf.get_variable_scope().initializer
            or tf.random_uniform_initializer(-bound, bound)
        )
        table = tf.get_variable("embedding", self._table_shape, tf.float32, initializer)
        return self._cell(tf.nn.embedding_lookup(table, tf.reshape(inputs, [-1])), state)


class HighwayWrapper(_Wrapper):
    """A cell whose outputs are mixed with its inputs by a gate (Srivastava et al., 2015).

    Variables: `carry_w` and `carry_b`, and without coupling `transform_w` and `transform_b`.

    Args:
      cell: an RNNCell.
      couple_carry_transform_gates: whether the carry gate is one minus the transform gate.
      carry_bias_init: initial bias of the carry gate; the transform gate's is its negative.
    """

    def __init__(self, cell, couple_carry_transform_gates=True, carry_bias_init=1.0):
        super().__init__(cell)
        self._coupled = couple_carry_transform_gates
        self._carry_bias = carry_bias_init

    def call(self, inputs, state):
        """Runs the cell and mixes its outputs with its inputs.

        Args:
          inputs: floating tensor [batch, size], with the size of the outputs.
          state: state of the cell.
        """
        outputs, state = self._cell(inputs, state)
        size = tf.compat.dimension_value(inputs.shape[-1])

        def gate(name, bias_start):
            weight = tf.get_variable(f"{name}_w", [size, size], inputs.dtype)
            bias = tf.get_variable(
                f"{name}_b", [size], inputs.dtype, tf.constant_initializer(bias_start)
            )
            return tf.sigmoid(tf.nn.xw_plus_b(inputs, weight, bias))

        carry = gate("carry", self._carry_bias)
        transform = 1 - carry if self._coupled else gate("transform", -self._carry_bias)
        return inputs * carry + outputs * transform, state
