"""Grids of one, two and three dimensions: `tf.contrib.grid_rnn`."""

import functools

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.grid_rnn.cell import GridRNNCell

__all__ = [
    *("Grid1BasicLSTMCell", "Grid1BasicRNNCell", "Grid1LSTMCell"),
    *("Grid2BasicLSTMCell", "Grid2BasicRNNCell", "Grid2GRUCell", "Grid2LSTMCell"),
    "Grid3LSTMCell",
]

_rnn = tf.nn.rnn_cell


class Grid1BasicRNNCell(GridRNNCell):
    """One dimension with a BasicRNNCell.

    Args:
      num_units: int, number of units.
      state_is_tuple: whether the state is a tuple.
      output_is_tuple: whether the output is a tuple.
    """

    def __init__(self, num_units, state_is_tuple=True, output_is_tuple=True):
        super().__init__(
            num_units,
            *(1, 0, 0, 0),
            cell_fn=_rnn.BasicRNNCell,
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid1BasicLSTMCell(GridRNNCell):
    """One dimension with a BasicLSTMCell.

    Args:
      num_units: int, number of units.
      forget_bias: number added to the forget gate.
      state_is_tuple: whether the state is a tuple.
      output_is_tuple: whether the output is a tuple.
    """

    def __init__(self, num_units, forget_bias=1, state_is_tuple=True, output_is_tuple=True):
        super().__init__(
            num_units,
            *(1, 0, 0, 0),
            cell_fn=functools.partial(_rnn.BasicLSTMCell, forget_bias=forget_bias),
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid1LSTMCell(GridRNNCell):
    """One dimension with an LSTMCell.

    Args:
      num_units: int, number of units.
      use_peepholes: whether the gates see the state c.
      forget_bias: number added to the forget gate.
      state_is_tuple: whether the state is a tuple.
      output_is_tuple: whether the output is a tuple.
    """

    def __init__(
        self,
        num_units,
        use_peepholes=False,
        forget_bias=1.0,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        super().__init__(
            num_units,
            *(1, 0, 0, 0),
            cell_fn=functools.partial(
                _rnn.LSTMCell, use_peepholes=use_peepholes, forget_bias=forget_bias
            ),
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class _Grid(GridRNNCell):
    """A grid whose first dimension has the input and the output, and is computed last.

    Args:
      num_units: int, number of units of each dimension.
      num_dims: int, number of dimensions.
      tied: whether the dimensions share their variables.
      non_recurrent_fn: activation function of the first dimension, which then has no state; None
        for a cell there too.
      cell_fn: function of the number of units that returns a cell.
      **tuples: `state_is_tuple` and `output_is_tuple`.
    """

    def __init__(self, num_units, num_dims, tied, non_recurrent_fn, cell_fn, **tuples):
        super().__init__(
            num_units,
            *(num_dims, 0, 0, 0),
            non_recurrent_dims=None if non_recurrent_fn is None else 0,
            tied=tied,
            cell_fn=cell_fn,
            non_recurrent_fn=non_recurrent_fn,
            **tuples,
        )


class Grid2BasicRNNCell(_Grid):
    """Two dimensions with BasicRNNCells; the first has the input and the output.

    Args:
      num_units: int, number of units of each dimension.
      tied: whether the dimensions share their variables.
      non_recurrent_fn: activation function of the first dimension, which then has no state; None
        for a cell there too.
      state_is_tuple: whether the state is a tuple.
      output_is_tuple: whether the output is a tuple.
    """

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        super().__init__(
            *(num_units, 2, tied, non_recurrent_fn, _rnn.BasicRNNCell),
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid2BasicLSTMCell(_Grid):
    """Two dimensions with BasicLSTMCells; the first has the input and the output.

    Args:
      num_units: int, number of units of each dimension.
      tied: whether the dimensions share their variables.
      non_recurrent_fn: activation function of the first dimension, which then has no state; None
        for a cell there too.
      forget_bias: number added to the forget gates.
      state_is_tuple: whether the state is a tuple.
      output_is_tuple: whether the output is a tuple.
    """

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        forget_bias=1,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        cell = functools.partial(_rnn.BasicLSTMCell, forget_bias=forget_bias)
        super().__init__(
            *(num_units, 2, tied, non_recurrent_fn, cell),
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid2GRUCell(_Grid):
    """Two dimensions with GRUCells; the first has the input and the output.

    Args:
      num_units: int, number of units of each dimension.
      tied: whether the dimensions share their variables.
      non_recurrent_fn: activation function of the first dimension, which then has no state; None
        for a cell there too.
      state_is_tuple: whether the state is a tuple.
      output_is_tuple: whether the output is a tuple.
    """

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        super().__init__(
            *(num_units, 2, tied, non_recurrent_fn, _rnn.GRUCell),
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class _GridOfLSTMs(_Grid):
    _number = 2

    def __init__(
        self,
        num_units,
        tied=False,
        non_recurrent_fn=None,
        use_peepholes=False,
        forget_bias=1.0,
        state_is_tuple=True,
        output_is_tuple=True,
    ):
        cell = functools.partial(
            _rnn.LSTMCell, use_peepholes=use_peepholes, forget_bias=forget_bias
        )
        super().__init__(
            *(num_units, self._number, tied, non_recurrent_fn, cell),
            state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )


class Grid2LSTMCell(_GridOfLSTMs):
    """Two dimensions with LSTMCells; the first has the input and the output.

    Args:
      num_units: int, number of units of each dimension.
      tied: whether the dimensions share their variables.
      non_recurrent_fn: activation function of the first dimension, which then has no state; None
        for a cell there too.
      use_peepholes: whether the gates see the state c.
      forget_bias: number added to the forget gates.
      state_is_tuple: whether the state is a tuple.
      output_is_tuple: whether the output is a tuple.
    """


class Grid3LSTMCell(_GridOfLSTMs):
    """Three dimensions with LSTMCells; the first has the input and the output.

    Args:
      num_units: int, number of units of each dimension.
      tied: whether the dimensions share their variables.
      non_recurrent_fn: activation function of the first dimension, which then has no state; None
        for a cell there too.
      use_peepholes: whether the gates see the state c.
      forget_bias: number added to the forget gates.
      state_is_tuple: whether the state is a tuple.
      output_is_tuple: whether the output is a tuple.
    """

    _number = 3
