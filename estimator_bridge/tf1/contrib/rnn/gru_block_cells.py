"""GRU cells with fused steps; they compute what GRUCell computes."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.rnn.linear import read_size

__all__ = ["GRUBlockCell", "GRUBlockCellV2"]


class GRUBlockCell(tf.nn.rnn_cell.RNNCell):
    """One GRU step.

    Variables: `gru_cell/{w_ru,b_ru}` of the gates and `gru_cell/{w_c,b_c}` of the candidate.

    Args:
      num_units: int, number of units.
      cell_size: old name of `num_units`.
      reuse: whether to reuse the variables.
      dtype: dtype of the variables.
      name: name of the layer's scope.

    Raises:
      ValueError: both or neither of num_units and cell_size are given.
    """

    _NAMES = ("w_ru", "b_ru", "w_c", "b_c")

    def __init__(self, num_units=None, cell_size=None, reuse=None, name="gru_cell", dtype=None):
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        if (num_units is None) == (cell_size is None):
            raise ValueError("GRUBlockCell: pass either num_units or cell_size")
        self._num_units = cell_size if num_units is None else num_units

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def build(self, input_shape):
        """Creates the variables.

        Args:
          input_shape: shape [batch, size]; the size must be known.
        """
        size = read_size(input_shape)
        units = self._num_units
        zeros, ones = tf.zeros_initializer(), tf.ones_initializer()
        gate_kernel, gate_bias, kernel, bias = self._NAMES
        self._gate_kernel = self.add_weight(gate_kernel, [size + units, units * 2])
        self._gate_bias = self.add_weight(gate_bias, [units * 2], initializer=ones)
        self._kernel = self.add_weight(kernel, [size + units, units])
        self._bias = self.add_weight(bias, [units], initializer=zeros)
        self.built = True

    def call(self, inputs, h_prev):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size].
          h_prev: floating tensor [batch, num_units].
        """
        gates = tf.matmul(tf.concat([inputs, h_prev], 1), self._gate_kernel) + self._gate_bias
        reset, update = tf.split(tf.sigmoid(gates), 2, axis=1)
        candidate = tf.matmul(tf.concat([inputs, reset * h_prev], 1), self._kernel) + self._bias
        new = update * h_prev + (1 - update) * tf.tanh(candidate)
        return new, new


class GRUBlockCellV2(GRUBlockCell):
    """GRUBlockCell with the names of variables of GRUCell.

    Variables: `gru_cell/gates/{kernel,bias}` and `gru_cell/candidate/{kernel,bias}`.

    Args:
      num_units: int, number of units.
      cell_size: old name of `num_units`.
      reuse: whether to reuse the variables.
      dtype: dtype of the variables.
      name: name of the layer's scope.
    """

    _NAMES = ("gates/kernel", "gates/bias", "candidate/kernel", "candidate/bias")
