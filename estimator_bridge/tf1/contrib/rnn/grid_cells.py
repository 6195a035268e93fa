"""LSTM cells of `tf.contrib.rnn` that run along time and along the frequencies of the inputs."""

import collections

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.rnn.linear import read_size
from estimator_bridge.tf1.contrib.rnn.lstm_cells import clip, sharded

__all__ = ["BidirectionalGridLSTMCell", "GridLSTMCell"]


class GridLSTMCell(tf.nn.rnn_cell.RNNCell):
    """Two LSTMs, one along time and one along the frequencies (Kalchbrenner et al., 2015).

    Variables for block b: `W_f_<b>_0` [feature_size + 2 num_units, 4 num_units] and `B_f_<b>` of
    the LSTM along the frequencies, `W_t_<b>_0` and `B_t_<b>` of that along time unless they share
    them, and the peepholes `W_{F,I,O}_diag_{freq,time}{f,t}_<b>` [num_units]. With coupled gates
    there is no forget gate. Outputs are those of the two LSTMs for each frequency.

    Args:
      num_units: int, number of units.
      use_peepholes: whether the gates depend on both cell states.
      share_time_frequency_weights: whether both LSTMs have the same weights.
      cell_clip: number to which the cell states are clipped, or None.
      initializer: ignored, as in 1.x; the variables have the initializer of the enclosing scope.
      num_unit_shards: int, number of variables that a `W` consists of.
      forget_bias: number added to the forget gate's bias.
      feature_size: int, number of inputs that a step along the frequencies sees.
      frequency_skip: int, number of inputs from a step to the next.
      num_frequency_blocks: for each block of inputs its number of steps.
      start_freqindex_list: for each block its first input; None if there is one block.
      end_freqindex_list: for each block the input after its last one.
      couple_input_forget_gates: whether the forget gate is one minus the input gate.
      state_is_tuple: whether the state is a named tuple; else one tensor.
      reuse: whether to reuse the variables.

    Raises:
      ValueError: no number of steps is given.
    """

    # Of the named tuple of states: its name, and the starts of its fields.
    _STATE = "GridLSTMStateTuple"
    _DIRECTIONS: tuple[str, ...] = ("",)

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        share_time_frequency_weights=False,
        cell_clip=None,
        initializer=None,
        num_unit_shards=1,
        forget_bias=1.0,
        feature_size=None,
        frequency_skip=None,
        num_frequency_blocks=None,
        start_freqindex_list=None,
        end_freqindex_list=None,
        couple_input_forget_gates=False,
        state_is_tuple=True,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError("num_frequency_blocks: is missing; give the steps of each block")
        self._num_units = num_units
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._shares_weights = share_time_frequency_weights
        del initializer  # 1.x accepted and ignored it.
        self._unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip
        self._counts = list(num_frequency_blocks)
        self._starts, self._ends = start_freqindex_list, end_freqindex_list
        self._is_coupled = couple_input_forget_gates
        self._state_is_tuple = state_is_tuple
        # c and m of each frequency of each block and direction.
        fields = [
            f"{direction}state_f{number:02d}_b{block:02d}_{part}"
            for direction in self._DIRECTIONS
            for block, count in enumerate(self._counts)
            for number in range(count)
            for part in "cm"
        ]
        self._state_kind = collections.namedtuple(self._STATE, fields)

    @property
    def state_size(self):
        if self._state_is_tuple:
            return self._state_kind(*[self._num_units] * len(self._state_kind._fields))
        return self._num_units * len(self._state_kind._fields)

    @property
    def output_size(self):
        return self._num_units * len(self._state_kind._fields)

    @property
    def state_tuple_type(self):
        """The named tuple of states."""
        return self._state_kind

    def call(self, inputs, state):
        """Computes one step; returns (outputs, new state).

        Args:
          inputs: floating tensor [batch, size]; the size must be known.
          state: as state_size says.

        Raises:
          ValueError: the blocks do not fit the inputs.
        """
        if not self._state_is_tuple:
            state = tf.split(state, len(self._state_kind._fields), 1)
        outputs, states = self._run(self._slice(inputs, 0), state)
        outputs = tf.concat(outputs, 1)
        return outputs, self._state_kind(*states) if self._state_is_tuple else tf.concat(states, 1)

    def _slice(self, inputs, offset):
        """Returns for each block the inputs of each of its steps, from an offset on."""
        size = read_size(inputs.shape)
        starts, ends = self._starts, self._ends
        if starts is None:
            if len(self._counts) != 1:
                raise ValueError(
                    f"num_frequency_blocks: has {len(self._counts)} blocks; give their places with "
                    "start_freqindex_list and end_freqindex_list"
                )
            starts, ends = [0], [size]
        if not len(starts) == len(ends) == len(self._counts):
            raise ValueError(
                f"start_freqindex_list: {len(starts)} blocks, end_freqindex_list: {len(ends)}, "
                f"num_frequency_blocks: {len(self._counts)}; give equal numbers"
            )
        if offset:
            inputs = tf.pad(inputs, [[0, 0], [max(-offset, 0), max(offset, 0)]])
        found = []
        for start, end, count in zip(starts, ends, self._counts):
            fits = int((end - start - self._feature_size) / self._frequency_skip) + 1
            if fits != count:
                raise ValueError(
                    f"num_frequency_blocks: {count} steps, but the inputs from {start} to {end} "
                    f"have {fits}"
                )
            first = start + max(offset, 0)
            places = [first + number * self._frequency_skip for number in range(count)]
            found.append([inputs[:, place : place + self._feature_size] for place in places])
        return found

    def _run(self, blocks, state):
        """Runs the blocks; returns the outputs and the new c and m of each frequency.

        Args:
          blocks: for each block the inputs of its steps, floating tensors [batch, feature_size].
          state: list of c and m of each frequency of each block, [batch, num_units].
        """
        outputs, states = [], []
        remaining = iter(state)
        for block, steps in enumerate(blocks):
            if not self._state_is_tuple:
                # In 1.x, each block reads the states of the first one from a single tensor.
                remaining = iter(state)
            weights = self._make_weights(block, steps[0].dtype)
            of_frequency = [tf.zeros_like(state[0])] * 2
            for x in steps:
                of_time = next(remaining), next(remaining)
                of_time, of_frequency = self._step(x, of_time, of_frequency, weights)
                outputs += [of_time[1], of_frequency[1]]
                states += of_time
        return outputs, states

    def _make_weights(self, block, dtype):
        """Returns for each of the two LSTMs its kernel, its bias and its peepholes."""
        units = self._num_units
        gates = 3 if self._is_coupled else 4
        shape = [self._feature_size + 2 * units, gates * units]
        kinds = "f" if self._shares_weights else "ft"
        maps = []
        for kind in kinds:
            kernel = sharded(f"W_{kind}_{block}", shape, dtype, self._unit_shards)
            bias = tf.get_variable(f"B_{kind}_{block}", shape[1:], dtype, tf.zeros_initializer())
            maps.append((kernel, bias))
        found = []
        for kind, one in zip(kinds, maps):
            peepholes = {}
            if self._use_peepholes:
                axis = {"f": "freq", "t": "time"}[kind]
                for gate in "IO" if self._is_coupled else "FIO":
                    peepholes[gate] = [
                        tf.get_variable(f"W_{gate}_diag_{axis}{other}_{block}", [units], dtype)
                        for other in "ft"
                    ]
            found.append((*one, peepholes))
        return found * 2 if self._shares_weights else found

    def _step(self, x, of_time, of_frequency, weights):
        """Runs both LSTMs on the inputs of one step along the frequencies.

        Args:
          x: floating tensor [batch, feature_size].
          of_time: (c, m) of this frequency in the previous step along time.
          of_frequency: (c, m) of the previous step along the frequencies.
          weights: those of the LSTM along the frequencies, and of the LSTM along time.

        Returns:
          The new (c, m) along time, and along the frequencies.
        """
        args = tf.concat([x, of_time[1], of_frequency[1]], 1)
        previous = of_frequency[0], of_time[0]
        cells, output_gates = [], []
        for (kernel, bias, peepholes), own in zip(weights, previous):
            gates = tf.nn.bias_add(tf.matmul(args, kernel), bias)
            i, j, *f, o = tf.split(gates, 3 if self._is_coupled else 4, axis=1)
            i = tf.sigmoid(self._look(i, peepholes.get("I"), previous))
            if self._is_coupled:
                f = 1.0 - i
            else:
                f = tf.sigmoid(self._look(f[0] + self._forget_bias, peepholes.get("F"), previous))
            cells.append(clip(f * own + i * tf.tanh(j), self._cell_clip))
            output_gates.append((o, peepholes.get("O")))
        found = [
            (c, tf.sigmoid(self._look(o, peepholes, cells)) * tf.tanh(c))
            for c, (o, peepholes) in zip(cells, output_gates)
        ]
        return found[1], found[0]

    @staticmethod
    def _look(gate, peepholes, cells):
        """Adds the weighed cell states (along the frequencies, along time) to a gate."""
        if peepholes is None:
            return gate
        return gate + peepholes[0] * cells[0] + peepholes[1] * cells[1]


class BidirectionalGridLSTMCell(GridLSTMCell):
    """GridLSTMCells in both directions along the frequencies, with weights of their own.

    Variables are those of GridLSTMCell, in the scopes `fwd` and `bwd`. Outputs are those of the
    forward cell, then those of the backward cell, which meets the last frequency first.

    Args:
      num_units: int, number of units.
      use_peepholes: whether the gates depend on both cell states.
      share_time_frequency_weights: whether both LSTMs of a direction have the same weights.
      cell_clip: number to which the cell states are clipped, or None.
      initializer: ignored, as in 1.x; the variables have the initializer of the enclosing scope.
      num_unit_shards: int, number of variables that a `W` consists of.
      forget_bias: number added to the forget gate's bias.
      feature_size: int, number of inputs that a step along the frequencies sees.
      frequency_skip: int, number of inputs from a step to the next.
      num_frequency_blocks: for each block of inputs its number of steps.
      start_freqindex_list: for each block its first input; None if there is one block.
      end_freqindex_list: for each block the input after its last one.
      couple_input_forget_gates: whether the forget gate is one minus the input gate.
      backward_slice_offset: int, number of inputs by which the backward steps are moved.
      reuse: whether to reuse the variables.
    """

    _STATE = "BidirectionalGridLSTMStateTuple"
    _DIRECTIONS = ("fwd_", "bwd_")

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        share_time_frequency_weights=False,
        cell_clip=None,
        initializer=None,
        num_unit_shards=1,
        forget_bias=1.0,
        feature_size=None,
        frequency_skip=None,
        num_frequency_blocks=None,
        start_freqindex_list=None,
        end_freqindex_list=None,
        couple_input_forget_gates=False,
        backward_slice_offset=0,
        reuse=None,
    ):
        super().__init__(
            num_units,
            use_peepholes,
            share_time_frequency_weights,
            cell_clip,
            initializer,
            num_unit_shards,
            forget_bias,
            feature_size,
            frequency_skip,
            num_frequency_blocks,
            start_freqindex_list,
            end_freqindex_list,
            couple_input_forget_gates,
            reuse=reuse,
        )
        self._offset = backward_slice_offset

    def call(self, inputs, state):
        """Computes one step; returns (outputs, new state).

        Args:
          inputs: floating tensor [batch, size]; the size must be known.
          state: named tuple as state_size.

        Raises:
          ValueError: the blocks do not fit the inputs.
        """
        half = len(state) // 2
        forward, backward = self._slice(inputs, 0), self._slice(inputs, self._offset)
        backward = [steps[::-1] for steps in backward]
        with tf.variable_scope("fwd"):
            outputs, states = self._run(forward, state[:half])
        with tf.variable_scope("bwd"):
            more_outputs, more_states = self._run(backward, state[half:])
        return tf.concat(outputs + more_outputs, 1), self._state_kind(*states, *more_states)
