"""Cells of `tf.contrib.rnn` in which a unit sees only its own previous output, or none."""

from typing import Any

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.rnn.linear import read_size

__all__ = ["IndRNNCell", "IndyGRUCell", "IndyLSTMCell", "SRUCell", "StateCell"]

_State = tf.nn.rnn_cell.LSTMStateTuple
# The base class of the cells, which has no public name today.
_LayerRNNCell: Any = tf.nn.rnn_cell.BasicLSTMCell.__bases__[0]


class StateCell(_LayerRNNCell):
    """A cell whose state and output are [batch, num_units].

    Args:
      num_units: int, number of units.
      activation: activation function; None for tanh.
      reuse: whether to reuse the variables.
      **kwargs: further arguments of RNNCell.
    """

    def __init__(self, num_units, activation, reuse, **kwargs):
        super().__init__(_reuse=reuse, **kwargs)
        self.input_spec = tf.layers.InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation or tf.tanh

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        """Creates the variables.

        Args:
          inputs_shape: shape [batch, size]; the size must be known.

        Raises:
          ValueError: the size is unknown.
        """
        self._add_weights(read_size(inputs_shape))
        self.built = True

    def _add_weights(self, size):
        """Creates the variables of inputs with `size` columns."""
        raise NotImplementedError

    def _recurrent(self, name, columns):
        """Creates weights [1, columns] of previous outputs, uniform from -1 to 1 as in 1.x."""
        initializer = tf.random_uniform_initializer(-1.0, 1.0)
        return self.add_weight(name, [1, columns], initializer=initializer)


class IndRNNCell(StateCell):
    """The independently recurrent network (Li et al., 2018).

    The state [batch, num_units] is the output. Variables: `kernel_w` [inputs, num_units],
    `kernel_u` [1, num_units] and `bias` [num_units].

    Args:
      num_units: int, number of units.
      activation: activation function; None for tanh.
      reuse: whether to reuse the variables.
      name: name of the layer's scope.
      dtype: dtype of the variables.
    """

    def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None):
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype)

    def _add_weights(self, size):
        units = self._num_units
        self._kernel_w = self.add_weight("kernel_w", [size, units])
        self._kernel_u = self._recurrent("kernel_u", units)
        self._bias = self.add_weight("bias", [units], initializer=tf.zeros_initializer())

    def call(self, inputs, state):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: floating tensor [batch, num_units].
        """
        total = tf.matmul(inputs, self._kernel_w) + state * self._kernel_u
        output = self._activation(tf.nn.bias_add(total, self._bias))
        return output, output


class IndyGRUCell(StateCell):
    """A GRU with independent recurrence (Gonnet and Deselaers, 2019).

    The state [batch, num_units] is the output. Variables: `gates/kernel_w` [inputs, 2 num_units],
    `gates/kernel_u` [1, 2 num_units], `gates/bias`, `candidate/kernel` [inputs, num_units],
    `candidate/kernel_u` [1, num_units] and `candidate/bias`.

    Args:
      num_units: int, number of units.
      activation: activation function; None for tanh.
      reuse: whether to reuse the variables.
      kernel_initializer: initializer of the kernels of the inputs.
      bias_initializer: initializer of the biases; None for ones in gates, zeros otherwise.
      name: name of the layer's scope.
      dtype: dtype of the variables.
    """

    def __init__(
        self,
        num_units,
        activation=None,
        reuse=None,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
        dtype=None,
    ):
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def _add_weights(self, size):
        self._gates = self._add_map("gates", "kernel_w", size, 2, tf.ones_initializer())
        self._candidate = self._add_map("candidate", "kernel", size, 1, tf.zeros_initializer())

    def _add_map(self, scope, kernel, size, count, bias):
        """Returns the kernel, the recurrent row and the bias of `count` maps."""
        columns = count * self._num_units
        return (
            self.add_weight(
                f"{scope}/{kernel}", [size, columns], initializer=self._kernel_initializer
            ),
            self._recurrent(f"{scope}/kernel_u", columns),
            self.add_weight(f"{scope}/bias", [columns], initializer=self._bias_initializer or bias),
        )

    def call(self, inputs, state):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: floating tensor [batch, num_units].
        """
        kernel, recurrent, bias = self._gates
        gates = tf.matmul(inputs, kernel) + tf.tile(state, [1, 2]) * recurrent
        gates = tf.sigmoid(tf.nn.bias_add(gates, bias))
        reset, update = tf.split(gates, 2, axis=1)
        kernel, recurrent, bias = self._candidate
        candidate = tf.matmul(inputs, kernel) + reset * state * recurrent
        candidate = self._activation(tf.nn.bias_add(candidate, bias))
        new = update * state + (1 - update) * candidate
        return new, new


class IndyLSTMCell(StateCell):
    """An LSTM with independent recurrence (Gonnet and Deselaers, 2019).

    The state is (c, h), each [batch, num_units]; the output is h. Variables: `kernel_w` [inputs, 4
    num_units], `kernel_u` [1, 4 num_units] and `bias` [4 num_units].

    Args:
      num_units: int, number of units.
      forget_bias: number added to the forget gate's bias.
      activation: activation function; None for tanh.
      reuse: whether to reuse the variables.
      kernel_initializer: initializer of `kernel_w`.
      bias_initializer: initializer of the bias; None for zeros.
      name: name of the layer's scope.
      dtype: dtype of the variables.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        activation=None,
        reuse=None,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
        dtype=None,
    ):
        super().__init__(num_units, activation, reuse, name=name, dtype=dtype)
        self._forget_bias = forget_bias
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer or tf.zeros_initializer()

    @property
    def state_size(self):
        return _State(self._num_units, self._num_units)

    def _add_weights(self, size):
        columns = 4 * self._num_units
        self._kernel_w = self.add_weight(
            "kernel_w", [size, columns], initializer=self._kernel_initializer
        )
        self._kernel_u = self._recurrent("kernel_u", columns)
        self._bias = self.add_weight("bias", [columns], initializer=self._bias_initializer)

    def call(self, inputs, state):
        """Computes one step; returns (h, (c, h)).

        Args:
          inputs: floating tensor [batch, size].
          state: (c, h), each a floating tensor [batch, num_units].
        """
        c, h = state
        gates = tf.matmul(inputs, self._kernel_w) + tf.tile(h, [1, 4]) * self._kernel_u
        i, j, f, o = tf.split(tf.nn.bias_add(gates, self._bias), 4, axis=1)
        c = c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * self._activation(j)
        h = self._activation(c) * tf.sigmoid(o)
        return h, _State(c, h)


class SRUCell(StateCell):
    """The simple recurrent unit (Lei et al., 2017), whose gates see the inputs only.

    The state and the output are [batch, num_units]. Variables: `kernel` [inputs, 4 num_units] and
    `bias` [2 num_units].

    Args:
      num_units: int, number of units.
      activation: activation function; None for tanh.
      reuse: whether to reuse the variables.
      name: name of the layer's scope.
      **kwargs: further arguments of RNNCell.
    """

    def __init__(self, num_units, activation=None, reuse=None, name=None, **kwargs):
        super().__init__(num_units, activation, reuse, name=name, **kwargs)

    def _add_weights(self, size):
        units = self._num_units
        self._kernel = self.add_weight("kernel", [size, 4 * units])
        self._bias = self.add_weight("bias", [2 * units], initializer=tf.zeros_initializer())

    def call(self, inputs, state):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: floating tensor [batch, num_units].
        """
        new, forget, reset, skipped = tf.split(tf.matmul(inputs, self._kernel), 4, axis=1)
        gates = tf.nn.bias_add(tf.concat([forget, reset], 1), self._bias)
        forget, reset = tf.split(tf.sigmoid(gates), 2, axis=1)
        state = forget * state + (1.0 - forget) * new
        return reset * self._activation(state) + (1.0 - reset) * skipped, state
