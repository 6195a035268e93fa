"""BoostedTreesBucketize: the first boundary that is not below a value, or the last boundary.

Feature columns of boosted trees have it, and the graphs of TensorFlow Transform until 1.0.
"""

import bisect
from typing import Any

import numpy as np

__all__ = ["bucketize", "compute_bucketize", "flush", "make_values"]


def compute_bucketize(*tensors: Any) -> list[Any]:
    """Computes the buckets with operations that every TensorFlow 2 has.

    Args:
      *tensors: float32 [batch] values of each feature, then float32 [n] boundaries of each.

    Returns:
      For each feature, int32 [batch].
    """
    from ..boosted_trees.columns import bucketize as compute

    half = len(tensors) // 2
    return list(map(compute, tensors[:half], tensors[half:]))


def bucketize(values: np.ndarray, boundaries: np.ndarray) -> np.ndarray:
    """Computes the same without TensorFlow, one value at a time.

    Args:
      values: float32 [batch].
      boundaries: float32 [n].

    Returns:
      int32 [batch].
    """
    edges = flush(boundaries).tolist()
    last = max(len(edges) - 1, 0)
    found = [min(bisect.bisect_left(edges, value), last) for value in flush(values).tolist()]
    return np.array(found, np.int32)


def flush(values: np.ndarray) -> np.ndarray:
    """Returns numbers as TensorFlow's kernels read them.

    They take a number that is smaller than the smallest normal one of its type for zero.

    Args:
      values: numbers of any type.
    """
    if values.dtype.kind != "f":
        return values
    tiny = np.finfo(values.dtype).tiny
    flushed: np.ndarray = np.where(np.abs(values) < tiny, values.dtype.type(0), values)
    return flushed


def make_values(boundaries: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Returns values that tell boundaries apart: each one, its neighbours, and special values.

    Args:
      boundaries: float32 [n].
      random: draws more values between and beyond them.

    Returns:
      float32 [batch].
    """
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45], np.float32)
    finite = boundaries[np.isfinite(boundaries)]
    low, high = (finite.min(), finite.max()) if len(finite) else (np.float32(-1), np.float32(1))
    drawn = random.uniform(float(low) - 1, float(high) + 1, 100).astype(np.float32)
    up, down = (np.nextafter(boundaries, np.float32(end)) for end in (np.inf, -np.inf))
    values: np.ndarray = np.concatenate([boundaries, up, down, special, drawn])
    return values.astype(np.float32)
