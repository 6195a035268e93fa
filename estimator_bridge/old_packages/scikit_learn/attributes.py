"""Attributes and methods that scikit-learn renamed."""

import copy
import functools
import sys
from typing import Any

from estimator_bridge.old_packages.missing import set_missing

__all__ = ["BY_MODULE"]


def _alias(name):
    return property(lambda self: getattr(self, name))


def _get_feature_names(self, input_features=None):
    """Returns the names of the columns of the output, for which x0 is the first of the input."""
    without_names = copy.copy(self)
    vars(without_names).pop("feature_names_in_", None)
    return without_names.get_feature_names_out(input_features).tolist()


def _get_names_array(self, input_features=None):
    import numpy as np

    return np.array(_get_feature_names(self, input_features), object)


def _preprocessing() -> None:
    module: Any = sys.modules["sklearn.preprocessing"]
    set_missing(module.StandardScaler, std_=_alias("scale_"))
    set_missing(module.OneHotEncoder, get_feature_names=_get_names_array)
    set_missing(module.PolynomialFeatures, get_feature_names=_get_feature_names)
    set_missing(module.MinMaxScaler, data_range=_alias("data_range_"))


def _text() -> None:
    module: Any = sys.modules["sklearn.feature_extraction.text"]
    set_missing(
        module.CountVectorizer,
        get_feature_names=lambda self: self.get_feature_names_out().tolist(),
    )


def _dicts() -> None:
    module: Any = sys.modules["sklearn.feature_extraction"]
    set_missing(module.DictVectorizer, get_feature_names=lambda self: self.feature_names_)


def _pipeline() -> None:
    module: Any = sys.modules["sklearn.pipeline"]
    set_missing(module.FeatureUnion, get_feature_names=_get_feature_names)
    is_fitted = module.Pipeline.__sklearn_is_fitted__

    @functools.wraps(is_fitted)
    def replacing(self):
        # A program's own last step says so itself: its attributes need no underscore.
        own = not type(self.steps[-1][1]).__module__.startswith("sklearn.")
        return own or is_fitted(self)

    module.Pipeline.__sklearn_is_fitted__ = replacing


def _compose() -> None:
    module: Any = sys.modules["sklearn.compose"]
    set_missing(module.ColumnTransformer, get_feature_names=_get_feature_names)


def _ensemble() -> None:
    module: Any = sys.modules["sklearn.ensemble"]
    for name in module.__all__:
        kind = getattr(module, name)
        if isinstance(kind, type) and hasattr(kind, "fit"):
            set_missing(kind, n_features_=_alias("n_features_in_"))
            set_missing(kind, base_estimator_=_alias("estimator_"))


def _tree() -> None:
    module: Any = sys.modules["sklearn.tree"]
    for kind in (module.DecisionTreeClassifier, module.DecisionTreeRegressor):
        set_missing(kind, n_features_=_alias("n_features_in_"))


def _naive_bayes() -> None:
    module: Any = sys.modules["sklearn.naive_bayes"]

    def of_class(name):
        def read(self):
            found = getattr(self, name)
            return found[1:] if len(self.classes_) == 2 else found

        return property(read)

    set_missing(module.GaussianNB, sigma_=_alias("var_"))
    for kind in (module.MultinomialNB, module.BernoulliNB, module.ComplementNB):
        set_missing(
            kind, coef_=of_class("feature_log_prob_"), intercept_=of_class("class_log_prior_")
        )


# Module -> what sets the missing attributes of its classes.
BY_MODULE = {
    "sklearn.compose": _compose,
    "sklearn.ensemble": _ensemble,
    "sklearn.feature_extraction": _dicts,
    "sklearn.feature_extraction.text": _text,
    "sklearn.naive_bayes": _naive_bayes,
    "sklearn.pipeline": _pipeline,
    "sklearn.preprocessing": _preprocessing,
    "sklearn.tree": _tree,
}
