"""Cells of `tf.contrib.rnn` from architecture searches and studies of gates."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.rnn.linear import linear, read_size

__all__ = ["IntersectionRNNCell", "NASCell", "UGRNNCell"]

_State = tf.nn.rnn_cell.LSTMStateTuple


class NASCell(tf.nn.rnn_cell.RNNCell):
    """The cell found by neural architecture search (Zoph and Le, 2016).

    The state is (c [batch, num_units], m [batch, num_proj or num_units]); the output is m.
    Variables: `kernel` [inputs, 8 num_units], `recurrent_kernel` [outputs, 8 num_units], with
    `use_bias` also `bias` [8 num_units], with `num_proj` also `projection_weights` [num_units,
    num_proj].

    Args:
      num_units: int, number of units.
      num_proj: int, size of the projected output; None for no projection.
      use_bias: whether to add a bias to the recurrent map.
      reuse: whether to reuse the variables.
      **kwargs: further arguments of RNNCell.
    """

    def __init__(self, num_units, num_proj=None, use_bias=False, reuse=None, **kwargs):
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_bias = use_bias

    @property
    def state_size(self):
        return _State(self._num_units, self.output_size)

    @property
    def output_size(self):
        return self._num_units if self._num_proj is None else self._num_proj

    def call(self, inputs, state):
        """Computes one step; returns (m, (c, m)).

        Args:
          inputs: floating tensor [batch, size]; the size must be known.
          state: (c [batch, num_units], m [batch, num_proj or num_units]), floating tensors.
        """
        c, m = state
        units, dtype = self._num_units, inputs.dtype
        size = read_size(inputs.shape)
        shape = [self.output_size, 8 * units]
        from_m = tf.matmul(m, tf.get_variable("recurrent_kernel", shape, dtype))
        from_inputs = tf.matmul(inputs, tf.get_variable("kernel", [size, 8 * units], dtype))
        if self._use_bias:
            bias = tf.get_variable("bias", shape[1:], dtype, tf.zeros_initializer())
            from_m = tf.nn.bias_add(from_m, bias)
        x, y = tf.split(from_inputs, 8, axis=1), tf.split(from_m, 8, axis=1)
        # The tree of the paper, from its leaves; each pair is a node.
        left = tf.tanh(tf.tanh(tf.sigmoid(x[0] + y[0]) * tf.nn.relu(x[1] + y[1])) + c)
        left_of_middle = tf.tanh(tf.sigmoid(x[2] + y[2]) + tf.nn.relu(x[3] * y[3]))
        right_of_middle = tf.tanh(tf.tanh(x[4] + y[4]) * tf.sigmoid(x[5] + y[5]))
        right = tf.sigmoid(tf.tanh(x[6] + y[6]) + tf.sigmoid(x[7] + y[7]))
        c = left * left_of_middle
        m = tf.tanh(c * tf.tanh(right_of_middle + right))
        if self._num_proj is not None:
            weights = tf.get_variable("projection_weights", [units, self._num_proj], dtype)
            m = tf.matmul(m, weights)
        return m, _State(c, m)


class _GatedCell(tf.nn.rnn_cell.RNNCell):
    """What UGRNNCell and IntersectionRNNCell share: states and outputs are [batch, num_units].

    Args:
      num_units: int, number of units.
      initializer: initializer of the variables.
      forget_bias: number added to the biases of gates.
      activation: activation function of the output.
      reuse: whether to reuse the variables.
    """

    def __init__(self, num_units, initializer, forget_bias, activation, reuse):
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units


class UGRNNCell(_GatedCell):
    """The update gate RNN (Collins et al., 2017).

    The state [batch, num_units] is the output. Variables: `kernel` [inputs + num_units, 2
    num_units] and `bias` [2 num_units].

    Args:
      num_units: int, number of units.
      initializer: initializer of the variables.
      forget_bias: number added to the update gate's bias.
      activation: activation function of the cell.
      reuse: whether to reuse the variables.
    """

    def __init__(
        self, num_units, initializer=None, forget_bias=1.0, activation=tf.tanh, reuse=None
    ):
        super().__init__(num_units, initializer, forget_bias, activation, reuse)

    def call(self, inputs, state):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: floating tensor [batch, num_units].
        """
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            both = linear([inputs, state], 2 * self._num_units, True)
        gate, new = tf.split(both, 2, axis=1)
        gate = tf.sigmoid(gate + self._forget_bias)
        new = gate * state + (1.0 - gate) * self._activation(new)
        return new, new


class IntersectionRNNCell(_GatedCell):
    """The intersection RNN (Collins et al., 2017): gates through time and through depth.

    The state and the output are both [batch, num_units]. Variables: `kernel` [2 num_units, 4
    num_units] and `bias` [4 num_units]; with a projection also `in_projection/kernel` [inputs,
    num_units] and `in_projection/bias` [num_units].

    Args:
      num_units: int, number of units.
      num_in_proj: int; if it is given, inputs of another size are projected to num_units.
      initializer: initializer of the variables.
      forget_bias: number added to the biases of both gates.
      y_activation: activation function of the output.
      reuse: whether to reuse the variables.
    """

    def __init__(
        self,
        num_units,
        num_in_proj=None,
        initializer=None,
        forget_bias=1.0,
        y_activation=tf.nn.relu,
        reuse=None,
    ):
        super().__init__(num_units, initializer, forget_bias, y_activation, reuse)
        self._num_in_proj = num_in_proj

    def call(self, inputs, state):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size]; the size must be known.
          state: floating tensor [batch, num_units].

        Raises:
          ValueError: the inputs do not have num_units columns, and are not projected.
        """
        size = read_size(inputs.shape)
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            if size != self._num_units:
                if not self._num_in_proj:
                    raise ValueError(
                        f"inputs: have {size} columns; give {self._num_units}, or num_in_proj="
                        f"{self._num_units}"
                    )
                with tf.variable_scope("in_projection"):
                    inputs = linear(inputs, self._num_units, True)
            both = linear([inputs, state], 4 * self._num_units, True)
        gates = tf.split(both, 4, axis=1)
        through_time = tf.sigmoid(gates[0] + self._forget_bias)
        through_depth = tf.sigmoid(gates[2] + self._forget_bias)
        new = through_time * state + (1.0 - through_time) * tf.tanh(gates[1])
        output = through_depth * inputs + (1.0 - through_depth) * self._activation(gates[3])
        return output, new
