"""LSTM cells with fused steps, and recurrent networks over whole sequences.

The computation and the shapes of variables match BasicLSTMCell. The names of variables
are those of 1.x. Time is the first axis: inputs are [length, batch, size].
"""

import abc

import tensorflow.compat.v1 as tf

from estimator_bridge import private_tf as _private_tf
from estimator_bridge.tf1.contrib.rnn.linear import read_size

__all__ = [
    "FusedRNNCell",
    "FusedRNNCellAdaptor",
    "LSTMBlockCell",
    "LSTMBlockFusedCell",
    "LSTMBlockWrapper",
    "TimeReversedFusedRNN",
]

# Registers the gradients of the fused cells.
_private_tf.load("rnn_grad")

_State = tf.nn.rnn_cell.LSTMStateTuple


class FusedRNNCell(abc.ABC):
    """A recurrent network over whole sequences."""

    @abc.abstractmethod
    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        """Runs the network.

        Args:
          inputs: tensor [length, batch, size].
          initial_state: state before the first step; None for zeros.
          dtype: dtype of the zero state.
          sequence_length: int32 tensor [batch], number of valid steps per sequence.
          scope: name of the variable scope.

        Returns:
          Tensor [length, batch, output size], and the final state.
        """


class LSTMBlockCell(tf.nn.rnn_cell.RNNCell):
    """One LSTM step.

    Variables: `lstm_cell/kernel` [inputs + units, 4 units], `lstm_cell/bias`, and the peepholes
    `w_{i,f,o}_diag`.

    Args:
      num_units: int, number of units.
      forget_bias: number added to the forget gate's bias.
      cell_clip: number to which the cell state is clipped; None for no clipping.
      use_peephole: whether the gates depend on the cell state.
      dtype: dtype of the variables.
      reuse: whether to reuse the variables.
      name: name of the layer's scope.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        cell_clip=None,
        use_peephole=False,
        dtype=None,
        reuse=None,
        name="lstm_cell",
    ):
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = cell_clip
        self._use_peephole = use_peephole

    @property
    def state_size(self):
        return _State(self._num_units, self._num_units)

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        """Creates the variables.

        Args:
          inputs_shape: shape [batch, size]; the size must be known.
        """
        size = read_size(inputs_shape)
        units = self._num_units
        self._kernel = self.add_weight("kernel", [size + units, units * 4])
        self._bias = self.add_weight("bias", [units * 4], initializer=tf.zeros_initializer())
        if self._use_peephole:
            self._w_i = self.add_weight("w_i_diag", [units])
            self._w_f = self.add_weight("w_f_diag", [units])
            self._w_o = self.add_weight("w_o_diag", [units])
        self.built = True

    def call(self, inputs, state):
        """Computes one step; returns (h, (c, h)).

        Args:
          inputs: floating tensor [batch, size].
          state: (c, h), each a floating tensor [batch, num_units].
        """
        c, h = state
        gates = tf.nn.bias_add(tf.matmul(tf.concat([inputs, h], 1), self._kernel), self._bias)
        i, j, f, o = tf.split(gates, 4, axis=1)
        if self._use_peephole:
            i, f = i + self._w_i * c, f + self._w_f * c
        c = tf.sigmoid(f + self._forget_bias) * c + tf.sigmoid(i) * tf.tanh(j)
        if self._cell_clip is not None and self._cell_clip > 0:
            # The gradient is that without clipping, as of the fused operation.
            clipped = tf.clip_by_value(c, -self._cell_clip, self._cell_clip)
            c = c + tf.stop_gradient(clipped - c)
        if self._use_peephole:
            o = o + self._w_o * c
        h = tf.tanh(c) * tf.sigmoid(o)
        return h, _State(c, h)


class LSTMBlockWrapper(tf.layers.Layer):
    """Base of the fused LSTMs: initial state, sequence lengths, final state."""

    @property
    @abc.abstractmethod
    def num_units(self):
        """The size of the state."""

    @abc.abstractmethod
    def _call_cell(self, inputs, initial_cell_state, initial_output, dtype, sequence_length):
        """Returns the cell states and outputs of all steps, each [length, batch, units]."""

    def call(self, inputs, initial_state=None, dtype=None, sequence_length=None):
        """Runs the LSTM over whole sequences.

        Args:
          inputs: tensor [length, batch, size], or a list of tensors [batch, size].
          initial_state: (c, h), each [batch, units]; None for zeros.
          dtype: dtype of the zero state; required without an initial state.
          sequence_length: integer tensor [batch]; None for full length.

        Returns:
          Outputs like `inputs`, zero beyond a sequence's length, and the final state (c, h).

        Raises:
          ValueError: neither an initial state nor a dtype is given, or the state is no pair.
        """
        as_list = isinstance(inputs, list)
        if as_list:
            inputs = tf.stack(inputs)
        if initial_state is None:
            if dtype is None:
                raise ValueError("dtype: required without initial_state")
            zeros = tf.zeros([tf.shape(inputs)[1], self.num_units], dtype=dtype)
            initial_state = zeros, zeros
        elif len(initial_state) != 2:
            raise ValueError("initial_state: expected a pair (c, h) or None")
        dtype = initial_state[0].dtype if dtype is None else dtype
        length = tf.shape(inputs)[0]
        if sequence_length is not None:
            sequence_length = tf.cast(sequence_length, tf.int64)
        states, outputs = self._call_cell(inputs, *initial_state, dtype, sequence_length)
        if sequence_length is None:
            final = _State(states[-1], outputs[-1])
        else:
            mask = tf.transpose(tf.sequence_mask(sequence_length, length, dtype=outputs.dtype))
            outputs = outputs * tf.expand_dims(mask, -1)
            batch = tf.cast(tf.range(tf.shape(inputs)[1]), tf.int64)
            where = tf.stack([sequence_length, batch], axis=1)

            def at_end(steps, initial):
                # Step 0 is the initial state, which is also the final state of an empty sequence.
                return tf.gather_nd(tf.concat([tf.expand_dims(initial, 0), steps], 0), where)

            final = _State(at_end(states, initial_state[0]), at_end(outputs, initial_state[1]))
        return (tf.unstack(outputs) if as_list else outputs), final


class LSTMBlockFusedCell(LSTMBlockWrapper, FusedRNNCell):
    """An LSTM over whole sequences in one operation.

    Variables: `lstm_fused_cell/kernel` [inputs + units, 4 units], `lstm_fused_cell/bias`, and with
    peepholes `w_{i,f,o}_diag`.

    Args:
      num_units: int, number of units.
      forget_bias: number added to the forget gate's bias.
      cell_clip: number to which the cell state is clipped; None for no clipping.
      use_peephole: whether the gates depend on the cell state.
      reuse: whether to reuse the variables.
      dtype: dtype of the variables.
      name: name of the layer's scope.
    """

    def __init__(
        self,
        num_units,
        forget_bias=1.0,
        cell_clip=None,
        use_peephole=False,
        reuse=None,
        dtype=None,
        name="lstm_fused_cell",
    ):
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = -1.0 if cell_clip is None else float(cell_clip)
        self._use_peephole = use_peephole
        self.input_spec = tf.layers.InputSpec(ndim=3)

    @property
    def num_units(self):
        return self._num_units

    def build(self, input_shape):
        """Creates the variables.

        Args:
          input_shape: shape [length, batch, size]; the size must be known.
        """
        size = read_size(input_shape)
        units = self._num_units
        self._kernel = self.add_weight("kernel", [size + units, units * 4])
        self._bias = self.add_weight("bias", [units * 4], initializer=tf.zeros_initializer())
        if self._use_peephole:
            self._w_i = self.add_weight("w_i_diag", [units])
            self._w_f = self.add_weight("w_f_diag", [units])
            self._w_o = self.add_weight("w_o_diag", [units])
        self.built = True

    def _call_cell(self, inputs, initial_cell_state, initial_output, dtype, sequence_length):
        length = tf.shape(inputs, out_type=tf.int64)[0]
        if sequence_length is not None:
            length = tf.minimum(length, tf.reduce_max(sequence_length))
        none = tf.zeros([self._num_units], dtype=dtype)
        peephole = self._use_peephole
        result = tf.raw_ops.BlockLSTM(
            seq_len_max=length,
            x=inputs,
            cs_prev=initial_cell_state,
            h_prev=initial_output,
            w=self._kernel,
            wci=self._w_i if peephole else none,
            wcf=self._w_f if peephole else none,
            wco=self._w_o if peephole else none,
            b=self._bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=peephole,
        )
        return result.cs, result.h


class FusedRNNCellAdaptor(FusedRNNCell):
    """Runs an ordinary cell as a fused network.

    Args:
      cell: an RNNCell.
      use_dynamic_rnn: whether to use tf.nn.dynamic_rnn; else the cell is unrolled over a known
        length.
    """

    def __init__(self, cell, use_dynamic_rnn=False):
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        as_list = isinstance(inputs, list)
        options = {
            "sequence_length": sequence_length,
            "initial_state": initial_state,
            "dtype": dtype,
            "scope": scope,
        }
        if self._use_dynamic_rnn:
            inputs = tf.stack(inputs) if as_list else inputs
            outputs, state = tf.nn.dynamic_rnn(self._cell, inputs, time_major=True, **options)
            return (tf.unstack(outputs) if as_list else outputs), state
        steps = inputs if as_list else tf.unstack(inputs)
        outputs, state = tf.nn.static_rnn(self._cell, steps, **options)
        return (outputs if as_list else tf.stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """Runs a fused network backwards in time; outputs keep the order of the inputs.

    Args:
      cell: FusedRNNCell.
    """

    def __init__(self, cell):
        self._cell = cell

    def _reverse(self, values, lengths):
        if isinstance(values, list):
            if lengths is None:
                return values[::-1]
            return tf.unstack(self._reverse(tf.stack(values), lengths))
        if lengths is None:
            return tf.reverse(values, [0])
        return tf.reverse_sequence(values, lengths, seq_axis=0, batch_axis=1)

    def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
        outputs, state = self._cell(
            self._reverse(inputs, sequence_length),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return self._reverse(outputs, sequence_length), state
