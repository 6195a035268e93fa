"""Cells of `tf.contrib.rnn.python.ops.rnn_cell` with one or two gates."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.rnn.independent_cells import StateCell

__all__ = ["CFNCell", "MinimalRNNCell"]


class _GatedCell(StateCell):
    """A cell whose initializers and activation may be names of Keras.

    Args:
      units: int, number of units.
      activation: activation function, or its name.
      kernel_initializer: initializer of the kernels, or its name.
      bias_initializer: initializer of the bias, or its name.
      name: name of the layer's scope.
      dtype: dtype of the variables.
      **kwargs: further arguments of RNNCell.
    """

    def __init__(
        self,
        units,
        activation="tanh",
        kernel_initializer="glorot_uniform",
        bias_initializer="ones",
        name=None,
        dtype=None,
        **kwargs,
    ):
        activation = tf.keras.activations.get(activation)
        super().__init__(units, activation, None, name=name, dtype=dtype, **kwargs)
        self._kernel_initializer = tf.keras.initializers.get(kernel_initializer)
        self._bias_initializer = tf.keras.initializers.get(bias_initializer)

    def _kernel(self, name, rows, columns):
        return self.add_weight(name, [rows, columns], initializer=self._kernel_initializer)


class CFNCell(_GatedCell):
    """The chaos free network (Laurent and von Brecht, 2017).

    The state [batch, units] is the output. As in 1.15, the second gate says how much of the inputs
    is left out. Variables: `kernel` [inputs, 3 units], `recurrent_kernel` [units, 2 units] and
    `bias` [2 units].
    """

    def _add_weights(self, size):
        units = self._num_units
        self._of_inputs = self._kernel("kernel", size, 3 * units)
        self._of_state = self._kernel("recurrent_kernel", units, 2 * units)
        self._bias = self.add_weight("bias", [2 * units], initializer=self._bias_initializer)

    def call(self, inputs, state):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: floating tensor [batch, units].
        """
        units = self._num_units
        from_inputs, new = tf.split(tf.matmul(inputs, self._of_inputs), [2 * units, units], 1)
        gates = tf.nn.bias_add(from_inputs + tf.matmul(state, self._of_state), self._bias)
        keep, leave = tf.split(tf.sigmoid(gates), 2, axis=1)
        new = keep * self._activation(state) + (1.0 - leave) * self._activation(new)
        return new, new


class MinimalRNNCell(_GatedCell):
    """The minimal RNN (Chen et al., 2018): one gate.

    The state [batch, units] is the output. Variables: `kernel` [inputs + 2 units, units] and `bias`
    [units].
    """

    def _add_weights(self, size):
        units = self._num_units
        self._whole = self._kernel("kernel", size + 2 * units, units)
        self._bias = self.add_weight("bias", [units], initializer=self._bias_initializer)

    def call(self, inputs, state):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: floating tensor [batch, units].
        """
        size = tf.compat.dimension_value(inputs.shape[-1])
        of_inputs, of_gate = tf.split(self._whole, [size, 2 * self._num_units], 0)
        new = self._activation(tf.matmul(inputs, of_inputs))
        gate = tf.nn.bias_add(tf.matmul(tf.concat([new, state], 1), of_gate), self._bias)
        gate = tf.sigmoid(gate)
        new = gate * state + (1.0 - gate) * new
        return new, new
