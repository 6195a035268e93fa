"""Curves and confusions equal those of scikit-learn, with ties and weights."""

import numpy as np
import pytest

from trainer.metrics import curves

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def sk():
    """Imported by the process that runs these tests, not by each that collects them."""
    from sklearn import metrics

    return metrics


def draw_rows(weighted):
    random = np.random.default_rng(3)
    labels = random.integers(0, 2, 500)
    # Rounded, so that many scores are equal.
    scores = np.round(np.clip(random.normal(0.4 + 0.2 * labels, 0.2), 0, 1), 2).astype(np.float32)
    return labels, scores, random.uniform(0.5, 2, 500).astype(np.float32) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
def test_curves_equal_those_of_scikit_learn(sk, weighted):
    labels, scores, weights = draw_rows(weighted)
    found = curves.trace_curves(labels, scores, weights)
    rates, recalls, thresholds = sk.roc_curve(
        labels, scores, sample_weight=weights, drop_intermediate=False
    )
    np.testing.assert_allclose(found.thresholds, thresholds[1:])
    np.testing.assert_allclose(found.recall, recalls[1:])
    np.testing.assert_allclose(found.false_positive_rate, rates[1:], atol=1e-12)
    precision, _, _ = sk.precision_recall_curve(labels, scores, sample_weight=weights)
    np.testing.assert_allclose(found.precision[::-1], precision[:-1], rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_confusions_equal_those_of_scikit_learn(sk, weighted):
    labels, scores, weights = draw_rows(weighted)
    for one in curves.count_confusions(labels, scores, weights, [0.25, 0.5]):
        matrix = sk.confusion_matrix(labels, scores > one.threshold, sample_weight=weights)
        ours = [[one.passed, one.alarms], [one.missed, one.found]]
        np.testing.assert_allclose(ours, matrix, rtol=1e-6)


def test_classes_are_counted_like_in_scikit_learn(sk):
    random = np.random.default_rng(4)
    labels, scores = random.integers(0, 4, 300), random.uniform(size=(300, 4))
    counts = curves.count_classes(labels, scores, None)
    np.testing.assert_array_equal(counts, sk.confusion_matrix(labels, scores.argmax(axis=1)))


def test_reliability_equals_that_of_scikit_learn():
    from sklearn.calibration import calibration_curve

    labels, scores, _ = draw_rows(weighted=False)
    scores = np.clip(scores + 0.001, 0, 1)
    found = curves.measure_reliability(labels, scores, None, 15)
    shares, means = calibration_curve(labels, scores, n_bins=15)
    np.testing.assert_allclose(found.share, shares)
    np.testing.assert_allclose(found.score, means, rtol=1e-6)
    assert found.rows.sum() == 500
