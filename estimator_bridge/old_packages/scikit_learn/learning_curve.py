"""sklearn.learning_curve, which 0.20 removed."""

import functools

from sklearn import model_selection
from sklearn.base import is_classifier

from estimator_bridge.old_packages.scikit_learn.cross_validation import check_cv

__all__ = ["learning_curve", "validation_curve"]


def _with_splits(function):
    @functools.wraps(function)
    def replacing(estimator, X, y, *arguments, cv=None, **options):
        splits = list(check_cv(cv, X, y, is_classifier(estimator)))
        return function(estimator, X, y, *arguments, cv=splits, **options)

    return replacing


learning_curve = _with_splits(model_selection.learning_curve)
validation_curve = _with_splits(model_selection.validation_curve)
