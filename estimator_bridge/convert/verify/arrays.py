"""Arrays of several sides in one .npz file, for the process that runs Keras 3."""

from typing import Any

import numpy as np

__all__ = ["read_arrays", "write_arrays"]


def write_arrays(path: str, arrays: dict[str, dict[str, Any]]) -> None:
    """Writes arrays to a file.

    Args:
      path: the file, *.npz.
      arrays: side -> name -> array.
    """
    flat: dict[str, Any] = {
        f"{side}/{name}": value for side, part in arrays.items() for name, value in part.items()
    }
    np.savez(path, **flat)


def read_arrays(path: str) -> dict[str, dict[str, np.ndarray]]:
    """Returns what write_arrays has written; a side without arrays is missing.

    Args:
      path: the file.
    """
    arrays: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path, allow_pickle=True) as stored:
        for name in stored.files:
            side, _, output = name.partition("/")
            arrays.setdefault(side, {})[output] = stored[name]
    return arrays
