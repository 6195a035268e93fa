"""`tf.contrib.rnn.AttentionCellWrapper`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest
from estimator_bridge.tf1.contrib.rnn.linear import linear

__all__ = ["AttentionCellWrapper"]


class AttentionCellWrapper(tf.nn.rnn_cell.RNNCell):
    """A cell that attends to a window of its last outputs (after Bahdanau et al., 2014).

    The output is [batch, attn_size]. The state is (state of the cell, attention [batch, attn_size],
    window [batch, attn_length x attn_size]), or their concatenation without `state_is_tuple`.

    Variables: `kernel` and `bias` (inputs and attention to the cell's input), `attention/attn_w`
    [1, 1, attn_size, attn_vec_size], `attention/attn_v` [attn_vec_size], `attention/{kernel,bias}`
    (query), `attn_output_projection/{kernel,bias}`, and those of the cell.

    Args:
      cell: an RNNCell.
      attn_length: int, number of outputs in the window.
      attn_size: int, size of an output; None for that of the cell.
      attn_vec_size: int, size of the scoring layer; None for `attn_size`.
      input_size: int, size to which inputs and attention are projected; None for that of the
        inputs.
      state_is_tuple: whether the state is a tuple; the cell must agree.
      reuse: whether to reuse the variables.

    Raises:
      ValueError: `state_is_tuple` differs from the cell's, or `attn_length` is not positive.
    """

    def __init__(
        self,
        cell,
        attn_length,
        attn_size=None,
        attn_vec_size=None,
        input_size=None,
        state_is_tuple=True,
        reuse=None,
    ):
        super().__init__(_reuse=reuse)
        if nest.is_nested(cell.state_size) and not state_is_tuple:
            raise ValueError(
                f"state_is_tuple: the cell's state is a tuple ({cell.state_size}), so this "
                "must be True"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length: {attn_length} is not positive")
        if not state_is_tuple:
            tf.logging.warning("%s: Using a concatenated state is slower.", self)
        self._cell = cell
        self._length = attn_length
        self._size = cell.output_size if attn_size is None else attn_size
        self._hidden_size = self._size if attn_vec_size is None else attn_vec_size
        self._input_size = input_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self):
        sizes = (self._cell.state_size, self._size, self._size * self._length)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self):
        return self._size

    def call(self, inputs, state):
        """Computes one step; returns (output [batch, attention size], new state).

        Args:
          inputs: floating tensor [batch, size].
          state: (cell state, attention [batch, attention size], window [batch, attention size *
            attn_length]); one tensor of their concatenation if `state_is_tuple` is False.
        """
        if self._state_is_tuple:
            cell_state, attention, window = state
        else:
            cell_state, attention, window = tf.split(
                state, [self._cell.state_size, self._size, self._size * self._length], 1
            )
        window = tf.reshape(window, [-1, self._length, self._size])
        input_size = self._input_size or tf.compat.dimension_value(inputs.shape[1])
        inputs = linear([inputs, attention], input_size, True)
        cell_output, cell_state = self._cell(inputs, cell_state)
        query = tf.concat(nest.flatten(cell_state), 1)
        attention = self._attend(query, window)
        with tf.variable_scope("attn_output_projection"):
            output = linear([cell_output, attention], self._size, True)
        window = tf.concat([window[:, 1:], tf.expand_dims(output, 1)], 1)
        window = tf.reshape(window, [-1, self._length * self._size])
        state = (cell_state, attention, window)
        return output, (state if self._state_is_tuple else tf.concat(state, 1))

    def _attend(self, query, window):
        """Returns the attention-weighted mean of the window's outputs, [batch, size]."""
        with tf.variable_scope("attention"):
            w = tf.get_variable("attn_w", [1, 1, self._size, self._hidden_size], query.dtype)
            v = tf.get_variable("attn_v", [self._hidden_size], query.dtype)
            # A partitioned variable has no slices.
            keys = tf.tensordot(window, tf.convert_to_tensor(w)[0, 0], 1)
            hidden = tf.tanh(keys + tf.expand_dims(linear(query, self._hidden_size, True), 1))
            weights = tf.nn.softmax(tf.reduce_sum(v * hidden, 2))
            return tf.reduce_sum(tf.expand_dims(weights, 2) * window, 1)
