"""sklearn.utils.linear_assignment_, which 0.23 removed."""

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["linear_assignment"]


def linear_assignment(X):
    """Returns the assignment with the least sum.

    Args:
      X: costs, array [rows, columns].

    Returns:
      Pairs of row and column, array [assigned, 2], in the order of the rows.
    """
    return np.stack(linear_sum_assignment(X), axis=1)
