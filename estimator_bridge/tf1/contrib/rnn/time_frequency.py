"""An LSTM cell of `tf.contrib.rnn` that runs along the frequencies of the inputs."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.rnn.linear import read_size
from estimator_bridge.tf1.contrib.rnn.lstm_cells import clip, sharded

__all__ = ["TimeFreqLSTMCell"]


class TimeFreqLSTMCell(tf.nn.rnn_cell.RNNCell):
    """An LSTM that runs along the frequencies within each step (Li et al., 2015).

    Variables: `W_0` [feature_size + 2 num_units, 4 num_units], `B` [4 num_units], and the
    peepholes `W_{F,I,O}_diag` [num_units]. Dynamic loops take one frequency only, as in 1.x, where
    the sizes of outputs and states do not count the others.

    Args:
      num_units: int, number of units.
      use_peepholes: whether the gates depend on the cell state.
      cell_clip: number to which the cell state is clipped, or None.
      initializer: ignored, as in 1.x; the variables have the initializer of the enclosing scope.
      num_unit_shards: int, number of variables that `W` consists of.
      forget_bias: number added to the forget gate's bias.
      feature_size: int, number of inputs that a step along the frequencies sees.
      frequency_skip: int, number of inputs from a step to the next.
      reuse: whether to reuse the variables.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        cell_clip=None,
        initializer=None,
        num_unit_shards=1,
        forget_bias=1.0,
        feature_size=None,
        frequency_skip=1,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        del initializer  # 1.x accepted and ignored it.
        self._unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip

    @property
    def state_size(self):
        return 2 * self._num_units

    @property
    def output_size(self):
        return self._num_units

    def call(self, inputs, state):
        """Computes one step; returns (outputs, new state).

        Args:
          inputs: floating tensor [batch, size]; the size must be known.
          state: floating tensor [batch, 2 num_units frequencies]: (c, m) of each frequency.
        """
        units, dtype = self._num_units, inputs.dtype
        count = int((read_size(inputs.shape) - self._feature_size) / self._frequency_skip) + 1
        m_of_frequency = tf.zeros_like(state[:, :units])
        outputs, states = [], []
        shape = [self._feature_size + 2 * units, 4 * units]
        kernel = sharded("W", shape, dtype, self._unit_shards)
        bias = tf.get_variable("B", [4 * units], dtype, tf.zeros_initializer())
        if self._use_peepholes:
            w_f, w_i, w_o = (tf.get_variable(f"W_{gate}_diag", [units], dtype) for gate in "FIO")
        for number in range(count):
            start = number * self._frequency_skip
            x = inputs[:, start : start + self._feature_size]
            c = state[:, 2 * number * units : (2 * number + 1) * units]
            m = state[:, (2 * number + 1) * units : (2 * number + 2) * units]
            args = tf.concat([x, m, m_of_frequency], 1)
            i, j, f, o = tf.split(tf.nn.bias_add(tf.matmul(args, kernel), bias), 4, axis=1)
            if self._use_peepholes:
                f, i = f + w_f * c, i + w_i * c
            c = tf.sigmoid(f + self._forget_bias) * c + tf.sigmoid(i) * tf.tanh(j)
            c = clip(c, self._cell_clip)
            if self._use_peepholes:
                o = o + w_o * c
            m_of_frequency = tf.sigmoid(o) * tf.tanh(c)
            outputs.append(m_of_frequency)
            states += [c, m_of_frequency]
        return tf.concat(outputs, 1), tf.concat(states, 1)
