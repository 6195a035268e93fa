"""`tf.contrib.cudnn_rnn`, on any device.

The layers compute what CuDNN does and keep their weights where 1.x saved them: in the variables of
the `CudnnCompatible` cells, so that old checkpoints load.
"""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.rnn import bidirectional as _bidirectional
from estimator_bridge.tf1.contrib.rnn import block_cells as _block

_PLAIN = "use tf.nn.dynamic_rnn with a BasicRNNCell"

__getattr__, _advice_for = _unsupported_names(
    globals(), {name: _PLAIN for name in ("CudnnRNNRelu", "CudnnRNNTanh")}
)

CUDNN_INPUT_LINEAR_MODE = "linear_input"
CUDNN_RNN_UNIDIRECTION = "unidirectional"
CUDNN_RNN_BIDIRECTION = "bidirectional"


class CudnnCompatibleLSTMCell(_block.LSTMBlockCell):
    """An LSTM cell with the mathematics of CuDNN's: no bias added to the forget gate."""

    def __init__(self, num_units, reuse=None):
        super().__init__(
            num_units,
            forget_bias=0,
            cell_clip=None,
            use_peephole=False,
            reuse=reuse,
            name="cudnn_compatible_lstm_cell",
        )


class CudnnCompatibleGRUCell(tf.nn.rnn_cell.RNNCell):
    """A GRU cell with the mathematics of CuDNN's: the reset gate comes after the matrix.

    Variables: `gates/{kernel,bias}`, `candidate/{input,hidden}_projection/{kernel,bias}`.
    """

    def __init__(self, num_units, reuse=None, kernel_initializer=None):
        super().__init__(_reuse=reuse, name="cudnn_compatible_gru_cell")
        self._num_units = num_units
        self._kernel_initializer = kernel_initializer

    @property
    def state_size(self):
        return self._num_units

    @property
    def output_size(self):
        return self._num_units

    def build(self, inputs_shape):
        size = tf.TensorShape(inputs_shape).as_list()[-1]
        if size is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        units, start = self._num_units, self._kernel_initializer
        zeros, ones = tf.zeros_initializer(), tf.ones_initializer()
        self._gates = (
            self.add_weight("gates/kernel", [size + units, 2 * units], initializer=start),
            self.add_weight("gates/bias", [2 * units], initializer=ones),
        )
        self._input, self._hidden = (
            (
                self.add_weight(
                    f"candidate/{kind}_projection/kernel", [rows, units], initializer=start
                ),
                self.add_weight(f"candidate/{kind}_projection/bias", [units], initializer=zeros),
            )
            for kind, rows in (("input", size), ("hidden", units))
        )
        self.built = True

    def call(self, inputs, state):
        gates = tf.nn.xw_plus_b(tf.concat([inputs, state], 1), *self._gates)
        reset, update = tf.split(tf.sigmoid(gates), 2, axis=1)
        candidate = tf.tanh(
            tf.nn.xw_plus_b(inputs, *self._input) + reset * tf.nn.xw_plus_b(state, *self._hidden)
        )
        state = (1 - update) * candidate + update * state
        return state, state


class _CudnnRNN:
    """Layers of recurrent cells over whole sequences.

    Args:
      num_layers, num_units: how many, and how wide.
      input_mode: only "linear_input".
      direction: "unidirectional" or "bidirectional".
      dropout: rate between the layers while training.
      seed: of the dropout.
      name: of the scope of the variables.

    Raises:
      ValueError: another direction or input mode, or a dropout outside of [0, 1].
    """

    _cell_class = None
    _scope_name = ""

    def __init__(
        self,
        num_layers,
        num_units,
        input_mode=CUDNN_INPUT_LINEAR_MODE,
        direction=CUDNN_RNN_UNIDIRECTION,
        dropout=0.0,
        seed=None,
        dtype=tf.float32,
        kernel_initializer=None,
        bias_initializer=None,
        name=None,
    ):
        if direction not in (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION):
            raise ValueError(f"Invalid direction: {direction}")
        if input_mode != CUDNN_INPUT_LINEAR_MODE:
            raise ValueError(f"Only {CUDNN_INPUT_LINEAR_MODE} is supplied, got {input_mode}")
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout must be in [0, 1], got {dropout}")
        del bias_initializer  # CuDNN's two biases are one here; it starts as the cell's does.
        self.num_layers, self.num_units, self.direction = num_layers, num_units, direction
        self._dropout, self._seed, self._dtype = dropout, seed, dtype
        self._kernel_initializer = kernel_initializer
        self._name = name or self._scope_name
        self._scope = None

    @property
    def num_dirs(self):
        """1 or 2."""
        return 2 if self.direction == CUDNN_RNN_BIDIRECTION else 1

    @property
    def trainable_variables(self):
        """The variables, once the layer has been called."""
        found = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, self._scope.name + "/")
        return list(found)

    weights = variables = trainable_weights = trainable_variables

    def _cells(self, training):
        cells = [self._cell_class(self.num_units) for _ in range(self.num_layers)]
        if not training or not self._dropout:
            return cells
        keep = tf.nn.rnn_cell.DropoutWrapper
        # Between the layers: not on the last one's outputs.
        between = [keep(c, output_keep_prob=1 - self._dropout, seed=self._seed) for c in cells[:-1]]
        return [*between, cells[-1]]

    def __call__(
        self, inputs, initial_state=None, sequence_lengths=None, time_major=True, training=True
    ):
        """Runs the sequences.

        Args:
          inputs: [length, batch, size]; [batch, length, size] if not time_major.
          initial_state: as the final one, or None for zeros.
          sequence_lengths: [batch], or None.

        Returns:
          The outputs [length, batch, num_dirs * num_units] (or batch first), and the final state: a
          tuple of one (GRU, h) or two (LSTM, h and c) tensors [num_layers * num_dirs, batch,
          num_units].
        """
        if self._scope is None:
            with tf.variable_scope(None, self._name) as self._scope:
                reuse = None
        else:
            reuse = True
        inputs = tf.convert_to_tensor(inputs, self._dtype)
        if not time_major:
            inputs = tf.transpose(inputs, [1, 0, 2])
        with (
            tf.variable_scope(self._scope, reuse=reuse, initializer=self._kernel_initializer),
            tf.name_scope(self._scope.original_name_scope),
        ):
            run = self._one_way if self.num_dirs == 1 else self._both_ways
            outputs, states = run(inputs, initial_state, sequence_lengths, training)
        if not time_major:
            outputs = tf.transpose(outputs, [1, 0, 2])
        return outputs, self._join(states)

    def _one_way(self, inputs, initial_state, lengths, training):
        cell = tf.nn.rnn_cell.MultiRNNCell(self._cells(training))
        start = None if initial_state is None else tuple(self._split(initial_state))
        return tf.nn.dynamic_rnn(cell, inputs, lengths, start, dtype=self._dtype, time_major=True)

    def _both_ways(self, inputs, initial_state, lengths, training):
        starts = [None, None]
        if initial_state is not None:
            split = self._split(initial_state)
            starts = [split[0::2], split[1::2]]
        outputs, forward, backward = _bidirectional.stack_bidirectional_dynamic_rnn(
            self._cells(training),
            self._cells(training),
            inputs,
            *starts,
            dtype=self._dtype,
            sequence_length=lengths,
            time_major=True,
        )
        return outputs, [state for pair in zip(forward, backward) for state in pair]

    def _split(self, state):
        raise NotImplementedError

    def _join(self, states):
        raise NotImplementedError


class CudnnLSTM(_CudnnRNN):
    __doc__ = "LSTMs.\n\n" + _CudnnRNN.__doc__.split("\n", 2)[2]
    _cell_class = CudnnCompatibleLSTMCell
    _scope_name = "cudnn_lstm"

    def _split(self, state):
        h, c = (tf.unstack(part, self.num_layers * self.num_dirs) for part in state)
        return [tf.nn.rnn_cell.LSTMStateTuple(*pair) for pair in zip(c, h)]

    def _join(self, states):
        return tf.stack([state.h for state in states]), tf.stack([state.c for state in states])


class CudnnGRU(_CudnnRNN):
    __doc__ = "GRUs.\n\n" + _CudnnRNN.__doc__.split("\n", 2)[2]
    _cell_class = CudnnCompatibleGRUCell
    _scope_name = "cudnn_gru"

    def _split(self, state):
        return tf.unstack(state[0], self.num_layers * self.num_dirs)

    def _join(self, states):
        return (tf.stack(list(states)),)
