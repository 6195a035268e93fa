"""Cases of tf.contrib.grid_rnn, and of the cell with weight normalization."""

import tensorflow as tf
import values

CASES = {}
grid_rnn, rnn = tf.contrib.grid_rnn, tf.contrib.rnn


def ready_made():
    """Returns the module of the cells under its full name."""
    from tensorflow.contrib.grid_rnn.python.ops import grid_rnn_cell

    return grid_rnn_cell


FLAT = {"state_is_tuple": False, "output_is_tuple": False}
CELLS = {
    "Grid1BasicLSTMCell": lambda: grid_rnn.Grid1BasicLSTMCell(4),
    "Grid1BasicLSTMCell, options": lambda: ready_made().Grid1BasicLSTMCell(4, 0.5, False, False),
    "Grid1BasicRNNCell": lambda: grid_rnn.Grid1BasicRNNCell(4),
    "Grid1BasicRNNCell, options": lambda: grid_rnn.Grid1BasicRNNCell(3, False, False),
    "Grid1LSTMCell": lambda: grid_rnn.Grid1LSTMCell(4),
    "Grid1LSTMCell, options": lambda: grid_rnn.Grid1LSTMCell(4, True, 0.5, False, False),
    "Grid2BasicLSTMCell": lambda: grid_rnn.Grid2BasicLSTMCell(4),
    "Grid2BasicLSTMCell, tied": lambda: grid_rnn.Grid2BasicLSTMCell(4, True, None, 0.5),
    "Grid2BasicLSTMCell, flat": lambda: grid_rnn.Grid2BasicLSTMCell(4, **FLAT),
    "Grid2BasicRNNCell": lambda: grid_rnn.Grid2BasicRNNCell(4),
    "Grid2BasicRNNCell, tied": lambda: grid_rnn.Grid2BasicRNNCell(4, True, **FLAT),
    "Grid2GRUCell": lambda: grid_rnn.Grid2GRUCell(4),
    "Grid2GRUCell, tied": lambda: grid_rnn.Grid2GRUCell(4, True, **FLAT),
    "Grid2LSTMCell": lambda: grid_rnn.Grid2LSTMCell(4),
    "Grid2LSTMCell, options": lambda: grid_rnn.Grid2LSTMCell(4, True, None, True, 0.5, **FLAT),
    "Grid3LSTMCell": lambda: grid_rnn.Grid3LSTMCell(4),
    "Grid3LSTMCell, options": lambda: grid_rnn.Grid3LSTMCell(4, True, None, True, 0.5, **FLAT),
    "GridRNNCell, inputs in two dimensions": lambda: grid_rnn.GridRNNCell(
        *(4, 2, [0, 1], [0, 1], [0], None), output_is_tuple=False
    ),
    "GridRNNCell, inputs that cannot be split": lambda: grid_rnn.GridRNNCell(4, 3, [0, 1, 2], 0),
    "GridRNNCell, three dimensions": lambda: grid_rnn.GridRNNCell(3, 3, 0, [1, 2], [2, 1]),
    "GridRNNCell, cell_fn": lambda: grid_rnn.GridRNNCell(4, 2, 0, 0, cell_fn=rnn.GRUCell),
    "GridRNNCell, in layers": lambda: rnn.MultiRNNCell(
        [
            rnn.OutputProjectionWrapper(
                grid_rnn.Grid2LSTMCell(4, output_is_tuple=False), 2, tf.nn.relu
            ),
            rnn.GRUCell(3),
        ]
    ),
    "GridRNNCell, no dimension": lambda: grid_rnn.GridRNNCell(4, 0),
    "GridRNNCell, outside": lambda: grid_rnn.GridRNNCell(4, 2, 2),
}
for _name, _make in CELLS.items():
    CASES[_name] = lambda make=_make: tf.nn.static_rnn(
        make(), [values.real(2, 4, seed=seed) for seed in (1, 2, 3)], dtype=tf.float32
    )


def of_weights(*arguments, **options):
    from tensorflow.contrib.rnn.python.ops import rnn_cell

    return rnn_cell.WeightNormLSTMCell(*arguments, **options)


for _name, _make in {
    "WeightNormLSTMCell": lambda: of_weights(4),
    "WeightNormLSTMCell, options": lambda: of_weights(
        *(4, True, True, 0.5, tf.constant_initializer(0.3), 3, 0.2, 0.7, tf.nn.relu)
    ),
    "WeightNormLSTMCell, without": lambda: of_weights(4, False, use_peepholes=True, num_proj=3),
}.items():
    CASES[_name] = lambda make=_make: tf.nn.dynamic_rnn(
        make(), values.real(2, 3, 5), dtype=tf.float32
    )
CASES["GridRNNCell, no input dimension"] = lambda: once(grid_rnn.GridRNNCell(4, 2, None, 1))
CASES["Grid2BasicLSTMCell, dynamic"] = lambda: tf.nn.dynamic_rnn(
    grid_rnn.Grid2BasicLSTMCell(4, **FLAT), values.real(2, 3, 5), dtype=tf.float32
)
CASES["Grid2BasicLSTMCell, initializer"] = lambda: initialized()
CASES["Grid2BasicLSTMCell, non_recurrent_fn"] = lambda: once(
    grid_rnn.Grid2BasicLSTMCell(4, non_recurrent_fn=tf.nn.relu)
)
CASES["GridRNNCell, sizes"] = lambda: {
    "found": [
        str([make.state_size, make.output_size])
        for make in (
            grid_rnn.Grid3LSTMCell(4, non_recurrent_fn=tf.nn.relu),
            grid_rnn.Grid2GRUCell(4, **FLAT),
            grid_rnn.GridRNNCell(2, 3, 0, [1, 2], non_recurrent_dims=[0], **FLAT),
        )
    ]
}


def once(cell):
    """Returns what one step of a cell computes, from a state that is not zero."""
    leaves = tf.contrib.framework.nest.flatten(cell.state_size)
    state = [values.real(2, size, seed=place) for place, size in enumerate(leaves)]
    state = tf.contrib.framework.nest.pack_sequence_as(cell.state_size, state)
    return cell(values.real(2, 4, seed=9), state)


def initialized():
    with tf.variable_scope("mine", initializer=tf.constant_initializer(0.1)):
        return once(grid_rnn.Grid2BasicLSTMCell(4))
