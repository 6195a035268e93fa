"""`tf.contrib.cudnn_rnn`, on any device.

The layers compute the same results as CuDNN. As in 1.x, their weights are stored in the variables
of the `CudnnCompatible` cells, so that old checkpoints load.
"""

from typing import Any as _Any

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.rnn import bidirectional as _bidirectional
from estimator_bridge.tf1.contrib.rnn import block_cells as _block
from estimator_bridge.tf1.contrib.rnn.linear import read_size as _read_size

_PLAIN = "use tf.nn.dynamic_rnn with a BasicRNNCell"

__getattr__, _advice_for = _unsupported_names(
    globals(), {name: _PLAIN for name in ("CudnnRNNRelu", "CudnnRNNTanh")}
)

CUDNN_INPUT_LINEAR_MODE = "linear_input"
CUDNN_RNN_UNIDIRECTION = "unidirectional"
CUDNN_RNN_BIDIRECTION = "bidirectional"


class CudnnCompatibleLSTMCell(_block.LSTMBlockCell):
    """An LSTM cell with the formula of CuDNN: no bias is added to the forget gate.

    Args:
      num_units: int, number of units.
      reuse: whether to reuse the variables.
    """

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
    """A GRU cell with the formula of CuDNN: the reset gate is applied after the matrix product.

    Variables: `gates/{kernel,bias}` and `candidate/{input,hidden}_projection/{kernel,bias}`.

    Args:
      num_units: int, number of units.
      reuse: whether to reuse the variables.
      kernel_initializer: initializer of the kernels; None for the scope's.
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
        """Creates the variables.

        Args:
          inputs_shape: shape [batch, size]; the size must be known.
        """
        size = _read_size(inputs_shape)
        units, start = self._num_units, self._kernel_initializer
        zeros, ones = tf.zeros_initializer(), tf.ones_initializer()
        self._gates = (
            self.add_weight("gates/kernel", [size + units, 2 * units], initializer=start),
            self.add_weight("gates/bias", [2 * units], initializer=ones),
        )
        # The kernels come first: the order of the variables is that of 1.x.
        kernels = [
            self.add_weight(f"candidate/{kind}_projection/kernel", [rows, units], initializer=start)
            for kind, rows in (("input", size), ("hidden", units))
        ]
        biases = [
            self.add_weight(f"candidate/{kind}_projection/bias", [units], initializer=zeros)
            for kind in ("input", "hidden")
        ]
        self._input, self._hidden = zip(kernels, biases)
        self.built = True

    def call(self, inputs, state):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: floating tensor [batch, num_units].
        """
        gates = tf.nn.xw_plus_b(tf.concat([inputs, state], 1), *self._gates)
        reset, update = tf.split(tf.sigmoid(gates), 2, axis=1)
        candidate = tf.tanh(
            tf.nn.xw_plus_b(inputs, *self._input) + reset * tf.nn.xw_plus_b(state, *self._hidden)
        )
        state = (1 - update) * candidate + update * state
        return state, state


class _CudnnRNN:
    """Layers of recurrent cells over whole sequences."""

    _cell_class: _Any = None
    _scope_name = ""
    # Matrices of a layer that its input is multiplied by; as many are for its state.
    _gates = 0

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
            raise ValueError(
                f"direction: {direction!r} is unknown; use {CUDNN_RNN_UNIDIRECTION} or "
                f"{CUDNN_RNN_BIDIRECTION}"
            )
        if input_mode != CUDNN_INPUT_LINEAR_MODE:
            raise ValueError(
                f"input_mode: only {CUDNN_INPUT_LINEAR_MODE} is supported, got {input_mode}"
            )
        if not 0 <= dropout <= 1:
            raise ValueError(f"dropout: {dropout} is outside of [0, 1]")
        del bias_initializer  # CuDNN's two biases are one here, with the cell's initializer.
        self.num_layers, self.num_units, self.direction = num_layers, num_units, direction
        self._dropout, self._seed, self._dtype = dropout, seed, dtype
        self._kernel_initializer = kernel_initializer
        self._name = name or self._scope_name
        self._scope = None
        self.input_mode = input_mode
        self.input_size = None

    def build(self, input_shape):
        """Takes the size of the inputs; the variables are created by the first call.

        Args:
          input_shape: shape [length, batch, size]; the size must be known.

        Raises:
          ValueError: the size is unknown.
        """
        size = tf.TensorShape(input_shape).as_list()[-1]
        if size is None:
            raise ValueError(f"input_shape: the last dimension must be known, got {input_shape}")
        self.input_size = size

    def _layer_shapes(self):
        """Yields the width of the input of each layer, once for each direction."""
        if self.input_size is None:
            raise ValueError("the size of the inputs is unknown before build() or the first call")
        for layer in range(self.num_layers):
            width = self.num_units * self.num_dirs if layer else self.input_size
            yield from [width] * self.num_dirs

    @property
    def canonical_weight_shapes(self):
        """The shapes of the matrices of all layers and directions, in the order of cuDNN."""
        return [
            (self.num_units, columns)
            for width in self._layer_shapes()
            for columns in [width] * self._gates + [self.num_units] * self._gates
        ]

    @property
    def canonical_bias_shapes(self):
        """The shapes of the biases that belong to `canonical_weight_shapes`."""
        return [[self.num_units]] * len(self.canonical_weight_shapes)

    @property
    def num_dirs(self):
        """The number of directions, 1 or 2."""
        return 2 if self.direction == CUDNN_RNN_BIDIRECTION else 1

    @property
    def trainable_variables(self):
        """The trainable variables, available after the first call."""
        found = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, self._scope.name + "/")
        return list(found)

    weights = variables = trainable_weights = trainable_variables

    def _cells(self, training):
        cells = [self._cell_class(self.num_units) for _ in range(self.num_layers)]
        if not training or not self._dropout:
            return cells
        keep = tf.nn.rnn_cell.DropoutWrapper
        # Dropout applies between the layers, not to the outputs of the last one.
        between = [keep(c, output_keep_prob=1 - self._dropout, seed=self._seed) for c in cells[:-1]]
        return [*between, cells[-1]]

    def __call__(
        self, inputs, initial_state=None, sequence_lengths=None, time_major=True, training=True
    ):
        """Runs the layers over sequences.

        Args:
          inputs: tensor [length, batch, size], or [batch, length, size] without `time_major`.
          initial_state: tuple of tensors like the final state; None for zeros.
          sequence_lengths: integer tensor [batch]; None for full length.
          time_major: whether the first axis is the time.
          training: whether to apply dropout.

        Returns:
          The outputs [length, batch, num_dirs * num_units] (or batch first), and the final state: a
          tuple of one tensor (GRU: h) or two tensors (LSTM: h and c) [num_layers * num_dirs, batch,
          num_units].
        """
        if self._scope is None:
            with tf.variable_scope(None, self._name) as self._scope:
                reuse = None
        else:
            reuse = True
        inputs = tf.convert_to_tensor(inputs, self._dtype)
        self.build(inputs.shape)
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
    """LSTM layers over whole sequences.

    Args:
      num_layers: int, number of layers.
      num_units: int, number of units.
      input_mode: only `linear_input` is supported.
      direction: `unidirectional` or `bidirectional`.
      dropout: rate of the dropout between the layers in training.
      seed: seed of the dropout.
      dtype: dtype of the variables.
      kernel_initializer: initializer of the kernels; None for the scope's.
      bias_initializer: ignored.
      name: name of the variable scope.

    Raises:
      ValueError: the direction or input mode is unknown, or the dropout is outside [0, 1].
    """

    _cell_class = CudnnCompatibleLSTMCell
    _scope_name = "cudnn_lstm"
    _gates = 4

    def _split(self, state):
        h, c = (tf.unstack(part, self.num_layers * self.num_dirs) for part in state)
        return [tf.nn.rnn_cell.LSTMStateTuple(*pair) for pair in zip(c, h)]

    def _join(self, states):
        return tf.stack([state.h for state in states]), tf.stack([state.c for state in states])


class CudnnGRU(_CudnnRNN):
    """GRU layers over whole sequences.

    Args:
      num_layers: int, number of layers.
      num_units: int, number of units.
      input_mode: only `linear_input` is supported.
      direction: `unidirectional` or `bidirectional`.
      dropout: rate of the dropout between the layers in training.
      seed: seed of the dropout.
      dtype: dtype of the variables.
      kernel_initializer: initializer of the kernels; None for the scope's.
      bias_initializer: ignored.
      name: name of the variable scope.

    Raises:
      ValueError: the direction or input mode is unknown, or the dropout is outside [0, 1].
    """

    _cell_class = CudnnCompatibleGRUCell
    _scope_name = "cudnn_gru"
    _gates = 3

    def _split(self, state):
        return tf.unstack(state[0], self.num_layers * self.num_dirs)

    def _join(self, states):
        return (tf.stack(list(states)),)
