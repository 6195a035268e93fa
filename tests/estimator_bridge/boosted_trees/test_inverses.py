"""Inverses of hessians: those of numpy's pseudoinverse, whatever the eigenvalues are."""

import numpy as np
import pytest

from estimator_bridge.boosted_trees.inverses import invert

pytestmark = [pytest.mark.newest, pytest.mark.quick]


@pytest.mark.parametrize("l2", [0, 1e-9, 1e-3, 1])
@pytest.mark.parametrize("logits", [2, 5])
def test_inverses_are_those_of_the_pseudoinverse(logits, l2):
    shares = np.random.default_rng(3).dirichlet(np.full(logits, 0.2), [7, 9])
    hessians = shares[..., np.newaxis] * np.eye(logits)
    hessians -= shares[..., np.newaxis] * shares[..., np.newaxis, :]
    # A node without rows.
    hessians[2, 3] = 0
    matrices = hessians + l2 * np.eye(logits)
    expected = np.linalg.pinv(matrices, rcond=1e-6, hermitian=True)
    np.testing.assert_allclose(invert(matrices, 1e-6), expected, rtol=1e-9, atol=1e-9)
