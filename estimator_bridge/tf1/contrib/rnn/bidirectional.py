"""Stacks of bidirectional recurrent networks."""

import tensorflow.compat.v1 as tf

__all__ = ["stack_bidirectional_dynamic_rnn", "stack_bidirectional_rnn", "transpose_batch_time"]


def transpose_batch_time(x):
    """Swaps the first two axes.

    Args:
      x: tensor of rank 2 or more; tensors of unknown rank are returned as they are.

    Returns:
      Tensor [time, batch, ...] from [batch, time, ...], or the reverse.

    Raises:
      ValueError: the rank is below 2.
    """
    x = tf.convert_to_tensor(x)
    if x.shape.ndims is not None and x.shape.ndims < 2:
        raise ValueError(f"x: expected rank 2 or more, got shape {x.shape}")
    return tf.transpose(x, tf.concat([[1, 0], tf.range(2, tf.rank(x))], 0))


def _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw):
    for name, cells in (("cells_fw", cells_fw), ("cells_bw", cells_bw)):
        if not isinstance(cells, list) or not cells:
            raise ValueError(f"{name}: expected a list of cells, one per layer")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("cells_fw and cells_bw: the numbers of layers differ")
    states = (("initial_states_fw", initial_states_fw), ("initial_states_bw", initial_states_bw))
    for name, given in states:
        if given is not None and (not isinstance(given, list) or len(given) != len(cells_fw)):
            raise ValueError(f"{name}: expected a list of states, one per layer")


def _stack(run, cells_fw, cells_bw, initial_states_fw, initial_states_bw, scope):
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            with tf.variable_scope(f"cell_{i}"):
                state_fw, state_bw = run(
                    cell_fw,
                    cell_bw,
                    initial_states_fw[i] if initial_states_fw else None,
                    initial_states_bw[i] if initial_states_bw else None,
                )
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return tuple(states_fw), tuple(states_bw)


def stack_bidirectional_rnn(
    cells_fw,
    cells_bw,
    inputs,
    initial_states_fw=None,
    initial_states_bw=None,
    dtype=None,
    sequence_length=None,
    scope=None,
):
    """Runs a stack of unrolled bidirectional layers.

    Args:
      cells_fw: list of forward cells, one per layer.
      cells_bw: list of backward cells, one per layer.
      inputs: list of tensors [batch, size], one per step.
      initial_states_fw: list of forward states, one per layer; None for zeros.
      initial_states_bw: list of backward states, one per layer; None for zeros.
      dtype: dtype of the zero states; required without initial states.
      sequence_length: int32 tensor [batch], number of valid steps per sequence.
      scope: name of the variable scope, or a VariableScope.

    Returns:
      List of outputs [batch, both output sizes], and the lists of the final forward and backward
      states, one per layer.

    Raises:
      ValueError: the cells or states are not lists of one length.
    """
    layer = [inputs]

    def run(cell_fw, cell_bw, state_fw, state_bw):
        layer[0], state_fw, state_bw = tf.nn.static_bidirectional_rnn(
            cell_fw,
            cell_bw,
            layer[0],
            initial_state_fw=state_fw,
            initial_state_bw=state_bw,
            sequence_length=sequence_length,
            dtype=dtype,
            scope=tf.get_variable_scope(),
        )
        return state_fw, state_bw

    states = _stack(run, cells_fw, cells_bw, initial_states_fw, initial_states_bw, scope)
    return (layer[0], *states)


def stack_bidirectional_dynamic_rnn(
    cells_fw,
    cells_bw,
    inputs,
    initial_states_fw=None,
    initial_states_bw=None,
    dtype=None,
    sequence_length=None,
    parallel_iterations=None,
    time_major=False,
    scope=None,
    swap_memory=False,
):
    """Runs a stack of bidirectional layers.

    Args:
      cells_fw: list of forward cells, one per layer.
      cells_bw: list of backward cells, one per layer.
      inputs: tensor [batch, length, size], or [length, batch, size] with `time_major`.
      initial_states_fw: list of forward states, one per layer; None for zeros.
      initial_states_bw: list of backward states, one per layer; None for zeros.
      dtype: dtype of the zero states; required without initial states.
      sequence_length: int32 tensor [batch], number of valid steps per sequence.
      parallel_iterations: number of loop iterations that may run in parallel.
      time_major: whether the time axis comes first.
      scope: name of the variable scope, or a VariableScope.
      swap_memory: whether to swap tensors of the loop from GPU to host memory.

    Returns:
      Tensor [batch, length, both output sizes], and the tuples of the final forward and backward
      states, one per layer.

    Raises:
      ValueError: the cells or states are not lists of one length.
    """
    layer = [inputs]

    def run(cell_fw, cell_bw, state_fw, state_bw):
        outputs, states = tf.nn.bidirectional_dynamic_rnn(
            cell_fw,
            cell_bw,
            layer[0],
            initial_state_fw=state_fw,
            initial_state_bw=state_bw,
            sequence_length=sequence_length,
            parallel_iterations=parallel_iterations,
            dtype=dtype,
            swap_memory=swap_memory,
            time_major=time_major,
        )
        layer[0] = tf.concat(outputs, 2)
        return states

    states = _stack(run, cells_fw, cells_bw, initial_states_fw, initial_states_bw, scope)
    return (layer[0], *states)
