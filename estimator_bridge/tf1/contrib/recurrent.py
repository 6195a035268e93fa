"""`tf.contrib.recurrent`: cells over sequences."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(
    globals(), {"Recurrent": "use tf.scan, or tf.while_loop"}
)


class _Adapted(tf.nn.rnn_cell.RNNCell):
    """A cell that has `zero_state` and `output_size`, but is no RNNCell: 1.15 wants no more."""

    def __init__(self, cell, state):
        super().__init__()
        self._cell = cell
        self._sizes = tf.nest.map_structure(lambda one: one.shape[1:], state)

    @property
    def state_size(self):
        return self._sizes

    @property
    def output_size(self):
        return self._cell.output_size

    def __call__(self, inputs, state, scope=None):
        """Runs the cell for one step; it knows no scope."""
        del scope
        return self._cell(inputs, state)


def functional_rnn(
    cell,
    inputs,
    sequence_length=None,
    initial_state=None,
    dtype=None,
    time_major=False,
    scope=None,
    use_tpu=False,
    reverse=False,
):
    """Runs a cell over sequences, as tf.nn.dynamic_rnn does.

    Args:
      cell: RNNCell, or an object that is called alike and has `zero_state` and `output_size`.
      inputs: tensor [batch, length, size], or [length, batch, size] with `time_major`.
      sequence_length: integer tensor [batch], or None for the whole length.
      initial_state: state before the first step; None for zeros.
      dtype: type of the state, if there is no initial one.
      time_major: whether the first axis of the inputs and outputs is the time.
      scope: name of the variable scope, or None for `rnn`.
      use_tpu: ignored.
      reverse: whether to begin at the end; the outputs are in the order of the inputs.

    Returns:
      (outputs, final state).
    """
    del use_tpu
    axis = 0 if time_major else 1
    if reverse:
        inputs = tf.reverse(inputs, [axis])
    if not hasattr(cell, "state_size"):
        if initial_state is None:
            initial_state = cell.zero_state(tf.shape(inputs)[1 - axis], dtype or inputs.dtype)
        cell = _Adapted(cell, initial_state)
    outputs, state = tf.nn.dynamic_rnn(
        cell, inputs, sequence_length, initial_state, dtype, time_major=time_major, scope=scope
    )
    return (tf.reverse(outputs, [axis]) if reverse else outputs), state


def bidirectional_functional_rnn(
    cell_fw,
    cell_bw,
    inputs,
    initial_state_fw=None,
    initial_state_bw=None,
    dtype=None,
    sequence_length=None,
    time_major=False,
    use_tpu=False,
    fast_reverse=False,
    scope=None,
):
    """Runs two cells over sequences, as tf.nn.bidirectional_dynamic_rnn does.

    Args:
      cell_fw: RNNCell from the beginning on.
      cell_bw: RNNCell from the end on.
      inputs: tensor [batch, length, size], or [length, batch, size] with `time_major`.
      initial_state_fw: first state of cell_fw; None for zeros.
      initial_state_bw: first state of cell_bw; None for zeros.
      dtype: type of the states, if there are no initial ones.
      sequence_length: integer tensor [batch], or None for the whole length.
      time_major: whether the first axis of the inputs and outputs is the time.
      use_tpu: ignored.
      fast_reverse: ignored.
      scope: name of the variable scope, or None for `bidirectional_rnn`.

    Returns:
      ((outputs forward, outputs backward), (final state forward, final state backward)).
    """
    del use_tpu, fast_reverse
    return tf.nn.bidirectional_dynamic_rnn(
        cell_fw,
        cell_bw,
        inputs,
        sequence_length,
        initial_state_fw,
        initial_state_bw,
        dtype,
        time_major=time_major,
        scope=scope,
    )
