"""`tf.contrib.grid_rnn`: grids of recurrent cells (Kalchbrenner et al., 2015)."""

from estimator_bridge.tf1.contrib.grid_rnn import cell as _cell
from estimator_bridge.tf1.contrib.grid_rnn import ready_made as _ready_made
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

GridRNNCell = _cell.GridRNNCell
Grid1BasicLSTMCell = _ready_made.Grid1BasicLSTMCell
Grid1BasicRNNCell = _ready_made.Grid1BasicRNNCell
Grid1LSTMCell = _ready_made.Grid1LSTMCell
Grid2BasicLSTMCell = _ready_made.Grid2BasicLSTMCell
Grid2BasicRNNCell = _ready_made.Grid2BasicRNNCell
Grid2GRUCell = _ready_made.Grid2GRUCell
Grid2LSTMCell = _ready_made.Grid2LSTMCell
Grid3LSTMCell = _ready_made.Grid3LSTMCell
