"""LSTM cells of `tf.contrib.rnn` whose units work at intervals, or in groups."""

import math

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.rnn.linear import linear
from estimator_bridge.tf1.contrib.rnn.lstm_cells import LSTMStateCell

__all__ = ["GLSTMCell", "PhasedLSTMCell"]

_State = tf.nn.rnn_cell.LSTMStateTuple


class PhasedLSTMCell(LSTMStateCell):
    """An LSTM whose units open at periodic times (Neil et al., 2016).

    The state is (c, h), each [batch, num_units]; the output is h. Variables: `mask_gates`,
    `new_input` and `output_gate`, each with `kernel` and `bias`, and `period`, `phase` and
    `ratio_on` [num_units].

    Args:
      num_units: int, number of units.
      use_peepholes: whether the gates depend on the cell state.
      leak: share that a closed unit lets through.
      ratio_on: share of the period in which a unit is open, at first.
      trainable_ratio_on: whether the share is trained.
      period_init_min: smallest period at first; the logarithms are uniform.
      period_init_max: largest period at first.
      reuse: whether to reuse the variables.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        leak=0.001,
        ratio_on=0.1,
        trainable_ratio_on=True,
        period_init_min=1.0,
        period_init_max=1000.0,
        reuse=None,
    ):
        super().__init__(num_units, None, reuse)
        self._use_peepholes = use_peepholes
        self._leak = leak
        self._ratio_on, self._trains_ratio = ratio_on, trainable_ratio_on
        self._periods = math.log(period_init_min), math.log(period_init_max)

    def _gate(self, name, args, columns, activation=tf.sigmoid):
        with tf.variable_scope(name):
            return activation(linear(args, columns, True))

    def _openness(self, time):
        """Returns how far each unit is open at times [batch, 1]: [batch, num_units]."""
        units, dtype = [self._num_units], time.dtype
        low, high = self._periods

        def make_periods(shape, dtype, partition_info=None):
            return tf.exp(tf.random_uniform(shape, low, high, dtype))

        period = tf.get_variable("period", units, dtype, make_periods)

        def make_phases(shape, dtype, partition_info=None):
            return period.initial_value * tf.random_uniform(shape, dtype=dtype)

        phase = tf.get_variable("phase", units, dtype, make_phases)
        ratio_on = tf.get_variable(
            *("ratio_on", units, dtype, tf.constant_initializer(self._ratio_on)),
            trainable=self._trains_ratio,
        )
        # The gradient of the remainder is that of the time since the phase.
        shifted = time - phase
        cycle = (shifted + tf.stop_gradient(tf.mod(shifted, period) - shifted)) / period
        rising = 2 * cycle / ratio_on
        closed = self._leak * cycle
        falling_or_closed = tf.where(cycle < ratio_on, 2 - rising, closed)
        return tf.where(cycle < 0.5 * ratio_on, rising, falling_or_closed)

    def call(self, inputs, state):
        """Computes one step; returns (h, (c, h)).

        Args:
          inputs: (time [batch, 1], inputs [batch, size]), floating tensors.
          state: (c, h), each a floating tensor [batch, num_units].
        """
        time, x = inputs
        c, h = state
        units, peeps = self._num_units, self._use_peepholes
        gates = self._gate("mask_gates", [x, h, c] if peeps else [x, h], 2 * units)
        input_gate, forget_gate = tf.split(gates, 2, axis=1)
        new_input = self._gate("new_input", [x, h], units, tf.tanh)
        new_c = c * forget_gate + input_gate * new_input
        output_gate = self._gate("output_gate", [x, h, new_c] if peeps else [x, h], units)
        new_h = tf.tanh(new_c) * output_gate
        opened = self._openness(time)
        new_c = opened * new_c + (1 - opened) * c
        new_h = opened * new_h + (1 - opened) * h
        return new_h, _State(new_c, new_h)


class GLSTMCell(LSTMStateCell):
    """An LSTM in groups that see only their own inputs and outputs (Kuchaiev and Ginsburg, 2017).

    The state is (c [batch, num_units], h [batch, num_proj or num_units]); the output is h.
    Variables: `group<i>/kernel`, `bias_{i,j,f,o}` [num_units], and with `num_proj` also
    `projection/kernel` [num_units, num_proj].

    Args:
      num_units: int, number of units, a multiple of the number of groups.
      initializer: initializer of the kernels of the groups.
      num_proj: int, size of the projected output, a multiple of the number of groups; None for no
        projection.
      number_of_groups: int, number of groups.
      forget_bias: number added to the forget gate's bias.
      activation: activation function of the cell state in the output; new inputs have tanh.
      reuse: whether to reuse the variables.

    Raises:
      ValueError: the groups do not divide a size.
    """

    def __init__(
        self,
        num_units,
        initializer=None,
        num_proj=None,
        number_of_groups=1,
        forget_bias=1.0,
        activation=tf.tanh,
        reuse=None,
    ):
        super().__init__(num_units, num_proj, reuse)
        for name, size in (("num_units", num_units), ("num_proj", num_proj)):
            if size and size % number_of_groups:
                raise ValueError(f"{name}: {size} units cannot be in {number_of_groups} groups")
        self._initializer = initializer
        self._groups = number_of_groups
        self._forget_bias = forget_bias
        self._activation = activation

    def call(self, inputs, state):
        """Computes one step; returns (h, (c, h)).

        Args:
          inputs: floating tensor [batch, size]; the size must be a multiple of the groups.
          state: (c [batch, num_units], h [batch, output size]), floating tensors.

        Raises:
          ValueError: the size is unknown, or the groups do not divide it.
        """
        c, h = state
        units, dtype = self._num_units, inputs.dtype
        size = tf.compat.dimension_value(inputs.shape[-1])
        if size is None or size % self._groups:
            raise ValueError(f"inputs: {size} columns cannot be in {self._groups} groups")
        parts = zip(tf.split(inputs, self._groups, 1), tf.split(h, self._groups, 1))
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            gates = []
            for number, part in enumerate(parts):
                with tf.variable_scope(f"group{number}"):
                    part = linear(list(part), 4 * units // self._groups, False)
                gates.append(tf.split(part, 4, axis=1))
            i, j, f, o = (
                tf.nn.bias_add(
                    tf.concat(gate, 1),
                    tf.get_variable(f"bias_{name}", [units], dtype, tf.zeros_initializer()),
                )
                for name, gate in zip("ijfo", zip(*gates))
            )
            c = tf.sigmoid(f + self._forget_bias) * c + tf.sigmoid(i) * tf.tanh(j)
            h = tf.sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            with tf.variable_scope("projection"):
                h = linear(h, self._num_proj, False)
        return h, _State(c, h)
