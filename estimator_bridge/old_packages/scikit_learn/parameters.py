"""Removed arguments with an effect on the result: estimators keep them and do as they say."""

import copy
import functools
import sys
from typing import Any

from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.old_packages.scikit_learn import one_hot
from estimator_bridge.old_packages.scikit_learn.arguments import keep
from estimator_bridge.old_packages.scikit_learn.grid_scores import grid_scores

__all__ = ["BY_MODULE"]

_NORMALIZING = (
    "ElasticNet Lars Lasso LassoLars LinearRegression MultiTaskElasticNet MultiTaskLasso "
    "OrthogonalMatchingPursuit Ridge RidgeClassifier"
)


def _linear() -> None:
    linear_model: Any = sys.modules["sklearn.linear_model"]
    for name in _NORMALIZING.split():
        kind = getattr(linear_model, name)
        if "normalize" not in kind().get_params():
            keep(kind, ["normalize"])
            kind.fit = _normalizing(kind.fit)
    logistic = linear_model.LogisticRegression
    if "multi_class" not in logistic().get_params():
        keep(logistic, ["multi_class"])
        logistic.fit = _one_versus_rest(logistic.fit)
        logistic.predict_proba = _of_each_class(logistic.predict_proba)


def _normalizing(fit):
    """Returns `fit` that divides the centered columns by their norms, with normalize=True."""

    @functools.wraps(fit)
    def replacing(self, X, y, *arguments, **options):
        import numpy as np

        if not (vars(self).get("normalize") and self.fit_intercept):
            return fit(self, X, y, *arguments, **options)
        X = np.asarray(X, np.float64)
        mean = X.mean(0)
        norm = np.linalg.norm(X - mean, axis=0)
        norm[norm == 0] = 1
        fit(self, (X - mean) / norm, y, *arguments, **options)
        self.coef_ = self.coef_ / norm
        self.intercept_ = self.intercept_ - self.coef_ @ mean
        return self

    return replacing


def _one_versus_rest(fit):
    """Returns `fit` with a binary model for each class: multi_class='ovr', and with liblinear."""

    @functools.wraps(fit)
    def replacing(self, X, y, sample_weight=None):
        import numpy as np

        vars(self).pop("of_each_class_", None)
        wanted = vars(self).get("multi_class") == "ovr" or self.solver == "liblinear"
        classes = np.unique(y) if wanted else ()
        if len(classes) < 3:
            return fit(self, X, y, sample_weight)
        models = [copy.copy(self) for _ in classes]
        weights = _weigh(self, classes, y)
        for number, (one, model) in enumerate(zip(classes, models)):
            weight = sample_weight
            if weights is not None:
                model.class_weight = None
                weight = weights[number] * (1 if sample_weight is None else sample_weight)
            if self.warm_start and hasattr(self, "coef_"):
                model.coef_ = self.coef_[number : number + 1]
                model.intercept_ = np.atleast_1d(self.intercept_)[number : number + 1]
            fit(model, X, np.asarray(y) == one, weight)
        found = vars(models[0])
        vars(self).update({name: found[name] for name in found if name.endswith("_")})
        self.classes_ = classes
        self.coef_ = np.concatenate([model.coef_ for model in models])
        self.intercept_ = np.concatenate([np.broadcast_to(m.intercept_, 1) for m in models])
        self.n_iter_ = np.concatenate([model.n_iter_ for model in models])
        self.of_each_class_ = True
        return self

    return replacing


def _weigh(model, classes, y):
    """Returns the weights of the rows in each binary model, or None to leave them to it."""
    import numpy as np
    from sklearn.utils.class_weight import compute_class_weight

    liblinear = model.solver == "liblinear"
    if model.class_weight is None or (model.class_weight == "balanced" and not liblinear):
        return None
    weights = compute_class_weight(model.class_weight, classes=classes, y=y)
    places = np.searchsorted(classes, y)
    # liblinear weighs only the rows of the class itself.
    own = places == np.arange(len(classes))[:, np.newaxis]
    return np.where(own | (not liblinear), weights[places], 1.0)


def _of_each_class(predict_proba):
    """Returns `predict_proba`, which divides what the binary models say by its sum."""

    @functools.wraps(predict_proba)
    def replacing(self, X):
        from scipy.special import expit

        if not vars(self).get("of_each_class_"):
            return predict_proba(self, X)
        found = expit(self.decision_function(X))
        return found / found.sum(1, keepdims=True)

    return replacing


def _search() -> None:
    model_selection: Any = sys.modules["sklearn.model_selection"]
    for kind in (model_selection.GridSearchCV, model_selection.RandomizedSearchCV):
        keep(kind, ["fit_params"])
        kind.fit = _with_fit_params(kind.fit)
        set_missing(kind, grid_scores_=property(grid_scores))


def _with_fit_params(fit):
    @functools.wraps(fit)
    def replacing(self, X, y=None, *groups, **params):
        params = {**(vars(self).get("fit_params") or {}), **params}
        if groups:
            (params["groups"],) = groups
        return fit(self, X, y, **params)

    return replacing


# Module -> what restores the arguments of its classes.
BY_MODULE = {
    "sklearn.linear_model": _linear,
    "sklearn.model_selection": _search,
    "sklearn.preprocessing": one_hot.install,
}
