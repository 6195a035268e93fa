"""Inverts the hessians of leaves with several logits."""

import numpy as np

__all__ = ["invert"]


def invert(matrices: np.ndarray, smallest_ratio: float) -> np.ndarray:
    """Returns the pseudoinverses of symmetric matrices, float64 [..., k, k].

    An inverse takes a fifth of the time of a pseudoinverse, and is the same where no eigenvalue
    counts as 0.

    Args:
      matrices: float [..., k, k].
      smallest_ratio: an eigenvalue counts as 0 if its ratio to the largest one is smaller.
    """
    matrices = matrices.astype(np.float64)
    try:
        found = np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(matrices, rcond=smallest_ratio, hermitian=True)
    # The product of both norms is at least the ratio of the largest eigenvalue to the smallest one.
    norms = np.linalg.norm(matrices, axis=(-2, -1)) * np.linalg.norm(found, axis=(-2, -1))
    unsure = ~(norms * smallest_ratio < 1)
    found[unsure] = np.linalg.pinv(matrices[unsure], rcond=smallest_ratio, hermitian=True)
    return found
