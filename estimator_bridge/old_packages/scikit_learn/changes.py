"""Arguments and values that scikit-learn renamed or removed."""

from collections.abc import Callable, Container
from typing import Any

__all__ = ["RENAMED", "VALUES", "replace", "replace_value"]

# Old name -> new name, of each callable that has the new one only.
RENAMED = {
    "affinity": "metric",
    "base_estimator": "estimator",
    "dim": "n_dim",
    "fit_params": "params",
    "force_all_finite": "ensure_all_finite",
    "n_alphas": "alphas",
    "n_iter": "max_iter",
    "n_topics": "n_components",
    "probas_pred": "y_score",
    "sparse": "sparse_output",
    "store_covariances": "store_covariance",
    "store_cv_values": "store_cv_results",
    "y_pred": "y_proba",
    "y_prob": "y_proba",
}

# Without effect on the result today.
_IGNORED = (
    "algorithm batch_size behaviour classes copy copy_X eps iid labels min_impurity_split "
    "multi_class n_jobs normalize_components pass_y pooling_func precompute_distances presort "
    "random_state rotate sum_over_features verbose warn_on_dtype"
)
# Without effect if it is false; scikit-learn refuses another value.
_IGNORED_IF_FALSE = ("alpha", "normalize", "positive", "return_inner_stats")

_SQUARED = {"squared_loss": "squared_error", "ls": "squared_error", "mse": "squared_error"}
_ABSOLUTE = {"lad": "absolute_error", "mae": "absolute_error", "absolute_loss": "absolute_error"}
_LOSSES = {**_SQUARED, **_ABSOLUTE, "least_squares": "squared_error"}
_LOSSES.update(least_absolute_deviation="absolute_error")

# Scores of before 0.18; they were negative too.
_SCORES = (
    "log_loss mean_absolute_error mean_squared_error mean_squared_log_error median_absolute_error"
)

# Argument -> old value -> new value.
VALUES: dict[str, dict[Any, Any]] = {
    "class_weight": {"auto": "balanced"},
    "criterion": {**_SQUARED, **_ABSOLUTE},
    "error_score": {"raise-deprecating": "raise"},
    "loss": _LOSSES,
    "penalty": {"none": None},
    "scoring": {name: f"neg_{name}" for name in _SCORES.split()},
    "min_samples_split": {},
    "max_features": {},
    "algorithm": {},
    "max_iter": {},
    "n_estimators": {},
    "n_neighbors": {},
    "n_clusters": {},
}
# The same of one class.
_OF_CLASS = {
    "SGDClassifier": {"loss": {"log": "log_loss"}},
    "GradientBoostingClassifier": {"loss": {"deviance": "log_loss"}},
    "LinearSVC": {"loss": {"l1": "hinge", "l2": "squared_hinge"}},
    "LinearSVR": {"loss": {"l1": "epsilon_insensitive", "l2": "squared_epsilon_insensitive"}},
    "KMeans": {"algorithm": {"auto": "lloyd", "full": "lloyd"}},
}
_INTEGERS = ("max_iter", "n_estimators", "n_neighbors", "n_clusters")


def replace(name: str, argument: str, options: dict[str, Any], known: Container[str]) -> None:
    """Replaces an argument that a callable does not take today, or leaves it.

    Args:
      name: of the function or class.
      argument: the old name, one of `options`.
      options: the named arguments; they change.
      known: the names that the callable takes.
    """
    special = _SPECIAL.get((name, argument)) or _SPECIAL.get(("", argument))
    new = RENAMED.get(argument)
    if special is not None:
        special(options)
    elif new is not None and new in known:
        options.setdefault(new, options.pop(argument))
    elif argument in _IGNORED.split() or (argument in _IGNORED_IF_FALSE and not options[argument]):
        del options[argument]


def replace_value(name: str, argument: str, value: Any) -> Any:
    """Returns the value that means the same today.

    Args:
      name: of the function or class.
      argument: one of VALUES.
      value: its old value.
    """
    if argument == "scoring" and getattr(value, "__module__", "") == "sklearn.metrics":
        # scikit-learn tells by its module that this is an error function, and no score.
        return getattr(value, "__wrapped__", value)
    if argument in _INTEGERS:
        return int(value) if isinstance(value, float) and value.is_integer() else value
    if argument == "min_samples_split":
        return 2 if isinstance(value, int) and value == 1 else value
    if not isinstance(value, str):
        return value
    if argument == "max_features" and value == "auto":
        if name.endswith("Classifier"):
            return "sqrt"
        return None if name.endswith("Regressor") else value
    table = {**VALUES[argument], **_OF_CLASS.get(name, {}).get(argument, {})}
    return table.get(value, value)


def _epochs(options: dict[str, Any]) -> None:
    """SGD: `n_iter` epochs, whatever the loss does."""
    count = options.pop("n_iter")
    if count is not None:
        options.update(max_iter=int(count), tol=None)


def _response(options: dict[str, Any]) -> None:
    """make_scorer: what the scorer calls."""
    if options.pop("needs_proba", False):
        options["response_method"] = "predict_proba"
    if options.pop("needs_threshold", False):
        options["response_method"] = ("decision_function", "predict_proba")


def _sign(options: dict[str, Any]) -> None:
    """FeatureHasher: absolute values had no sign."""
    if options.pop("non_negative"):
        options["alternate_sign"] = False


def _order(options: dict[str, Any]) -> None:
    """auc: points in any order."""
    import numpy as np

    if options.pop("reorder") is True:
        order = np.lexsort((options["y"], options["x"]))
        options.update({name: np.asarray(options[name])[order] for name in ("x", "y")})


def _clip(options: dict[str, Any]) -> None:
    """log_loss: probabilities were at least `eps`."""
    import numpy as np

    eps = options.pop("eps")
    for name in options.keys() & {"y_pred", "y_proba"}:
        options[name] = np.clip(options[name], eps, 1 - eps)


# (function or class, argument) -> what changes the options; "" is any.
_SPECIAL: dict[tuple[str, str], Callable[[dict[str, Any]], None]] = {
    ("FeatureHasher", "non_negative"): _sign,
    ("auc", "reorder"): _order,
    ("log_loss", "eps"): _clip,
    ("", "needs_proba"): _response,
    ("", "needs_threshold"): _response,
}
for _name in (
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "Perceptron",
    "SGDClassifier",
    "SGDRegressor",
):
    _SPECIAL[_name, "n_iter"] = _epochs
