"""`tf.contrib.solvers`: linear systems, by operators that are never formed as matrices."""

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.solvers import lanczos as _lanczos
from estimator_bridge.tf1.contrib.solvers import least_squares as _least_squares
from estimator_bridge.tf1.contrib.solvers import linear_equations as _linear_equations
from estimator_bridge.tf1.contrib.solvers import util as _util

__all__ = ["lanczos", "least_squares", "linear_equations", "util"]

__getattr__, _advice_for = _unsupported_names(globals())

lanczos = _lanczos
least_squares = _least_squares
linear_equations = _linear_equations
util = _util
