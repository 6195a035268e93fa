"""The general cell of `tf.contrib.grid_rnn`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers

__all__ = ["GridRNNCell"]

_rnn = tf.nn.rnn_cell


def _as_list(dimensions, number):
    """Returns dimensions as a list.

    Raises:
      ValueError: a dimension is not in [0, number).
    """
    if dimensions is None:
        return []
    dimensions = list(dimensions) if isinstance(dimensions, (list, tuple)) else [dimensions]
    if not all(0 <= one < number for one in dimensions):
        raise ValueError(f"dimensions: {dimensions} must be in [0, {number})")
    return dimensions


def _lstm(num_units):
    return _rnn.LSTMCell(num_units, state_is_tuple=True)


class GridRNNCell(tf.nn.rnn_cell.RNNCell):
    """A grid of recurrent cells, one for each dimension.

    The cell of each dimension reads the outputs h of all dimensions. An input takes the place of
    the state of its dimension. Variables: `project_m_<i>` and for LSTM cells `project_c_<i>` of
    input dimension i, those of the cells in `recurrent/cell_<i>` (tied: `recurrent`), and in
    `non_recurrent/cell_<i>` (tied: `non_recurrent`).

    Args:
      num_units: int, number of units of each dimension.
      num_dims: int, number of dimensions.
      input_dims: int or list, dimensions that the inputs are split among.
      output_dims: int or list, dimensions that are returned.
      priority_dims: int or list, dimensions computed last, from the new outputs of the others.
      non_recurrent_dims: int or list, dimensions with a fully connected layer, which have no state.
      tied: whether the dimensions share their variables.
      cell_fn: function of the number of units that returns a cell; None for LSTMCell.
      non_recurrent_fn: activation function of the fully connected layers; None for ReLU.
      state_is_tuple: whether the state is a tuple of the states of the dimensions.
      output_is_tuple: whether the output is a tuple.

    Raises:
      ValueError: there is no dimension, or one is outside of the grid.
    """

    def __init__(
        self,
        num_units,
        num_dims=1,
        input_dims=None,
        output_dims=None,
        priority_dims=None,
        non_recurrent_dims=None,
        tied=False,
        cell_fn=None,
        non_recurrent_fn=None,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        super().__init__()
        if num_dims < 1:
            raise ValueError(f"num_dims: at least 1 is needed, got {num_dims}")
        self._num_units = num_units
        self._dimensions, self._tied = list(range(num_dims)), tied
        self._inputs = _as_list(input_dims, num_dims)
        self._outputs = _as_list(output_dims, num_dims)
        self._priority = sorted(_as_list(priority_dims, num_dims))
        self._plain = _as_list(non_recurrent_dims, num_dims)
        self._recurrent = [one for one in self._dimensions if one not in self._plain]
        self._activation = non_recurrent_fn or tf.nn.relu
        self._state_is_tuple, self._output_is_tuple = state_is_tuple, output_is_tuple
        make = cell_fn or _lstm
        number = 1 if tied else len(self._dimensions)
        self._cells = [make(num_units) for _ in range(number)] * (len(self._dimensions) // number)

    def _is_lstm(self, dimension):
        return isinstance(self._cells[dimension].state_size, tuple)

    @property
    def state_size(self):
        sizes = tuple(self._cells[one].state_size for one in self._recurrent)
        return sizes if self._state_is_tuple else sum(map(_total, sizes))

    @property
    def output_size(self):
        sizes = tuple(self._cells[one].output_size for one in self._outputs)
        return sizes if self._output_is_tuple else sum(sizes)

    def __call__(self, inputs, state, scope=None):
        """Computes one step; returns (output, new state).

        Args:
          inputs: floating tensor [batch, size].
          state: the states of the dimensions, or one tensor without `state_is_tuple`.
          scope: name of the variable scope; None for the name of the class.

        Raises:
          ValueError: the inputs cannot be split equally.
        """
        dtype = inputs.dtype
        memories, hidden = self._read(state)
        with tf.variable_scope(scope or type(self).__name__):
            self._project(inputs, memories, hidden)
            outputs, states = {}, {}
            first = [one for one in self._dimensions if one not in self._priority]
            for stage in (first, self._priority):
                known = [outputs.get(one, hidden[one]) for one in self._dimensions]
                known = [one for one in known if one is not None]
                for one in stage:
                    outputs[one], states[one] = self._compute(one, known, memories, dtype)
            found = tuple(outputs[one] for one in self._outputs)
            states = tuple(states[one] for one in self._recurrent)
            if not self._output_is_tuple:
                found = tf.concat(found, 1)
            if not self._state_is_tuple:
                states = tf.concat(tf.nest.flatten(states), 1)
        return found, states

    def _read(self, state):
        """Returns dimension -> c and dimension -> h; None where there is no state."""
        if not self._state_is_tuple:
            sizes = tuple(self._cells[one].state_size for one in self._recurrent)
            flat = tf.split(state, [size for one in sizes for size in tf.nest.flatten(one)], 1)
            state = tf.nest.pack_sequence_as(sizes, flat)
        states = dict(zip(self._recurrent, state))
        memories, hidden = {}, {}
        for one in self._dimensions:
            pair = states.get(one)
            is_pair = pair is not None and self._is_lstm(one)
            memories[one], hidden[one] = pair if is_pair else (None, pair)
        return memories, hidden

    def _project(self, inputs, memories, hidden):
        """Puts the inputs in the place of the states of their dimensions."""
        if not self._inputs:
            return
        parts = tf.split(inputs, len(self._inputs), 1)
        shape = [tf.compat.dimension_value(parts[0].shape[1]), self._num_units]
        for one, part in zip(self._inputs, parts):
            hidden[one] = tf.matmul(part, tf.get_variable(f"project_m_{one}", shape, part.dtype))
            if self._is_lstm(one):
                kernel = tf.get_variable(f"project_c_{one}", shape, part.dtype)
                memories[one] = tf.matmul(part, kernel)

    def _compute(self, one, known, memories, dtype):
        """Returns the output and the state of a dimension."""
        if one in self._plain:
            return self._connect(one, tf.concat(known, 1)), None
        # The cell multiplies all outputs by one kernel; the last of them is its h.
        before, hidden = known[:-1], known[-1]
        inputs = tf.concat(before, 1) if before else tf.zeros([tf.shape(hidden)[0], 0], dtype)
        inputs.set_shape([hidden.shape[0], self._num_units * len(before)])
        state = _rnn.LSTMStateTuple(memories[one], hidden) if self._is_lstm(one) else hidden
        with tf.variable_scope("recurrent" if self._tied else f"recurrent/cell_{one}"):
            return self._cells[one](inputs, state)

    def _connect(self, one, inputs):
        outer = tf.get_variable_scope()
        name = "non_recurrent" if self._tied else f"non_recurrent/cell_{one}"
        with tf.variable_scope(name, reuse=tf.AUTO_REUSE if self._tied else None):
            return layers.fully_connected(
                inputs,
                self._num_units,
                activation_fn=self._activation,
                weights_initializer=outer.initializer or layers.xavier_initializer(),
                scope="fully_connected",
            )


def _total(size):
    return sum(tf.nest.flatten(size))
