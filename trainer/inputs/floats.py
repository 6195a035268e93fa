"""Arrow columns of numbers as NumPy arrays."""

import numpy as np
import pyarrow as pa


def to_floats(column: pa.Array) -> np.ndarray:
    """Returns a column of numbers as float64 [rows]; NaN for null.

    Args:
        column: [rows].
    """
    numbers: np.ndarray = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return numbers
