"""Restores the Estimators of boosted trees in `tf.estimator`, removed by TensorFlow 2.9."""

import importlib

from estimator_bridge.process.importing import call_when_imported

__all__ = ["NAMES", "apply"]

NAMES = ("BoostedTreesClassifier", "BoostedTreesEstimator", "BoostedTreesRegressor")

_API = "tensorflow_estimator.python.estimator.api._v{}.estimator"


def apply() -> None:
    """Adds the three classes to both generations of the API, when it is imported."""
    for generation in (1, 2):
        name = _API.format(generation)
        call_when_imported(name, lambda name=name: _supply(name))  # type: ignore[misc]


def _supply(name: str) -> None:
    from estimator_bridge.boosted_trees import estimators

    api = importlib.import_module(name)
    for one in NAMES:
        if not hasattr(api, one):
            setattr(api, one, getattr(estimators, one))
