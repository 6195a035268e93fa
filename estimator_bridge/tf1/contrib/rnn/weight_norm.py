"""The LSTM with normalized weights, of `tf.contrib.rnn.python.ops.rnn_cell`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.rnn.linear import read_size
from estimator_bridge.tf1.contrib.rnn.lstm_cells import LSTMStateCell, clip

__all__ = ["WeightNormLSTMCell"]


class WeightNormLSTMCell(LSTMStateCell):
    """An LSTM whose columns of weights have trained lengths (Salimans and Kingma, 2016).

    The parts of the kernel for the inputs and for the state are normalized apart. Variables in
    `wn_lstm_cell/wn_lstm_cell`: `kernel`, `norm_0`, `norm_1`, `bias`, with peepholes
    `w_{f,i,o}_diag`, and with a projection `projection/{kernel,norm_0}`.

    Args:
      num_units: int, number of units.
      norm: whether to normalize.
      use_peepholes: whether the gates see the state c.
      cell_clip: number that bounds the state c; None for no bound.
      initializer: initializer of the variables but the bias; None for the scope's.
      num_proj: int, size to which the outputs are projected; None for no projection.
      proj_clip: number that bounds the projected outputs; None for no bound.
      forget_bias: number added to the forget gate.
      activation: activation function; None for tanh.
      reuse: whether to reuse the variables.
    """

    def __init__(
        self,
        num_units,
        norm=True,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_proj=None,
        proj_clip=None,
        forget_bias=1,
        activation=None,
        reuse=None,
    ):
        super().__init__(num_units, num_proj, reuse, name="wn_lstm_cell")
        self._is_normed, self._use_peepholes = norm, use_peepholes
        self._cell_clip, self._proj_clip = cell_clip, proj_clip
        self._initializer, self._forget_bias = initializer, forget_bias
        self._activation = activation or tf.tanh

    def _weights(self, sizes, columns, dtype):
        """Returns the kernel of inputs of some sizes, whose parts are normalized apart."""
        kernel = tf.get_variable("kernel", [sum(sizes), columns], dtype)
        if not self._is_normed:
            return kernel
        parts = []
        for place, part in enumerate(tf.split(kernel, sizes, 0)):
            length = tf.get_variable(f"norm_{place}", [columns], dtype)
            parts.append(tf.nn.l2_normalize(part, 0) * length)
        return tf.concat(parts, 0)

    def call(self, inputs, state):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: LSTMStateTuple of floating tensors.

        Raises:
          ValueError: the size of the inputs is unknown.
        """
        c, h = state
        units, dtype = self._num_units, inputs.dtype
        sizes = [read_size(inputs.shape), self.output_size]
        with tf.variable_scope("wn_lstm_cell", initializer=self._initializer):
            kernel = self._weights(sizes, 4 * units, dtype)
            bias = tf.get_variable("bias", [4 * units], dtype, tf.constant_initializer(0.0))
            peepholes = {
                gate: tf.get_variable(f"w_{gate}_diag", [units], dtype)
                for gate in ("fio" if self._use_peepholes else "")
            }
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    projection = self._weights([units], self._num_proj, dtype)
        gates = tf.nn.bias_add(tf.matmul(tf.concat([inputs, h], 1), kernel), bias)
        i, j, f, o = tf.split(gates, 4, 1)

        def opened(gate, name, c):
            return tf.sigmoid(gate + peepholes[name] * c if peepholes else gate)

        forget = opened(f + self._forget_bias, "f", c)
        c = clip(forget * c + opened(i, "i", c) * self._activation(j), self._cell_clip)
        h = opened(o, "o", c) * self._activation(c)
        if self._num_proj is not None:
            h = clip(tf.matmul(h, projection), self._proj_clip)
        return h, tf.nn.rnn_cell.LSTMStateTuple(c, h)
