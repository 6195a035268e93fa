"""Classes and functions that scikit-learn removed."""

import functools
import sys
from typing import Any

from estimator_bridge.errors import BridgeError

__all__ = ["BY_MODULE"]

_BOSTON = (
    "scikit-learn removed load_boston and its data for ethical reasons; "
    "tf.keras.datasets.boston_housing.load_data() has the same rows in another order, and "
    "sklearn.datasets.fetch_california_housing() other houses"
)
_MLDATA = (
    "the site of fetch_mldata has closed; use sklearn.datasets.fetch_openml, "
    "for 'MNIST original' fetch_openml('mnist_784', version=1, as_frame=False)"
)
_BAYESIAN = "use sklearn.mixture.BayesianGaussianMixture"


def _set(module: Any, **values: Any) -> None:
    """Sets what a module lacks, without its `__getattr__`, which raises ImportError."""
    for name, value in values.items():
        if name not in vars(module):
            setattr(module, name, value)


def _refuse(message):
    def refusing(*arguments, **options):
        raise BridgeError(f"{message}.")

    return refusing


def _datasets() -> None:
    module = sys.modules["sklearn.datasets"]
    _set(module, load_boston=_refuse(_BOSTON), fetch_mldata=_refuse(_MLDATA))


def _metrics() -> None:
    import numpy as np

    metrics: Any = sys.modules["sklearn.metrics"]

    def jaccard_similarity_score(y_true, y_pred, normalize=True, sample_weight=None):
        true, predicted = np.asarray(y_true), np.asarray(y_pred)
        if true.ndim == 1:
            return metrics.accuracy_score(
                true, predicted, normalize=normalize, sample_weight=sample_weight
            )
        union = ((true != 0) | (predicted != 0)).sum(1)
        both = ((true != 0) & (predicted != 0)).sum(1)
        score = np.where(union == 0, 1.0, both / np.maximum(union, 1))
        if normalize:
            return np.average(score, weights=sample_weight)
        return score.sum() if sample_weight is None else np.dot(score, sample_weight)

    _set(
        metrics,
        jaccard_similarity_score=jaccard_similarity_score,
        calinski_harabaz_score=metrics.calinski_harabasz_score,
    )
    _set(
        metrics,
        plot_confusion_matrix=metrics.ConfusionMatrixDisplay.from_estimator,
        plot_precision_recall_curve=metrics.PrecisionRecallDisplay.from_estimator,
        plot_roc_curve=metrics.RocCurveDisplay.from_estimator,
    )
    for name in ("mean_squared_error", "mean_squared_log_error"):
        setattr(metrics, name, _with_root(getattr(metrics, name)))


def _with_root(error):
    """Returns an error function with `squared=False`, its root (since 0.22, until 1.5)."""

    @functools.wraps(error)
    def replacing(*arguments, squared=True, **options):
        import numpy as np

        if squared:
            return error(*arguments, **options)
        average = options.pop("multioutput", "uniform_average")
        roots = np.sqrt(error(*arguments, multioutput="raw_values", **options))
        if isinstance(average, str):
            return roots if average == "raw_values" else float(np.mean(roots))
        return float(np.average(roots, weights=average))

    return replacing


def _preprocessing() -> None:
    from estimator_bridge.old_packages.scikit_learn.imputer import Imputer

    _set(sys.modules["sklearn.preprocessing"], Imputer=Imputer)


def _decomposition() -> None:
    module: Any = sys.modules["sklearn.decomposition"]

    def randomized_pca(
        n_components=None, copy=True, iterated_power=2, whiten=False, random_state=None
    ):
        return module.PCA(
            n_components,
            copy=copy,
            iterated_power=iterated_power,
            whiten=whiten,
            random_state=random_state,
            svd_solver="randomized",
        )

    _set(module, RandomizedPCA=randomized_pca)


def _mixture() -> None:
    from estimator_bridge.old_packages.scikit_learn.mixture import GMM

    refused = {name: _refuse(f"scikit-learn removed {name}; {_BAYESIAN}") for name in _REMOVED}
    _set(sys.modules["sklearn.mixture"], GMM=GMM, **refused)


_REMOVED = ("DPGMM", "VBGMM")


def _covariance() -> None:
    module: Any = sys.modules["sklearn.covariance"]
    _set(
        module,
        GraphLasso=module.GraphicalLasso,
        GraphLassoCV=module.GraphicalLassoCV,
        graph_lasso=module.graphical_lasso,
    )


_JOBS = ("Memory", "Parallel", "cpu_count", "delayed")


def _utils() -> None:
    import joblib

    utils: Any = sys.modules["sklearn.utils"]
    _set(utils, safe_indexing=utils._safe_indexing, **{name: vars(joblib)[name] for name in _JOBS})


def _neighbors() -> None:
    from sklearn.metrics import DistanceMetric

    _set(sys.modules["sklearn.neighbors"], DistanceMetric=DistanceMetric)


def _inspection() -> None:
    module: Any = sys.modules["sklearn.inspection"]
    plot = module.PartialDependenceDisplay.from_estimator
    _set(module, plot_partial_dependence=plot)


def _exceptions() -> None:
    class ChangedBehaviorWarning(UserWarning):
        """A warning that scikit-learn no longer gives; programs filter it."""

    _set(sys.modules["sklearn.exceptions"], ChangedBehaviorWarning=ChangedBehaviorWarning)


def _extmath() -> None:
    import numpy as np
    from scipy import linalg, special

    _set(
        sys.modules["sklearn.utils.extmath"],
        fast_dot=np.dot,
        log_logistic=special.log_expit,
        logsumexp=special.logsumexp,
        norm=linalg.norm,
        pinvh=linalg.pinvh,
    )


# Module -> what sets its missing names.
BY_MODULE = {
    "sklearn.covariance": _covariance,
    "sklearn.datasets": _datasets,
    "sklearn.decomposition": _decomposition,
    "sklearn.exceptions": _exceptions,
    "sklearn.inspection": _inspection,
    "sklearn.metrics": _metrics,
    "sklearn.mixture": _mixture,
    "sklearn.neighbors": _neighbors,
    "sklearn.preprocessing": _preprocessing,
    "sklearn.utils": _utils,
    "sklearn.utils.extmath": _extmath,
}
