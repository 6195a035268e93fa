"""Checks of scikit-learn under the bridge; test_scikit_learn.py runs each in its own process."""

import pickle
import sys

import numpy as np

from estimator_bridge.errors import BridgeError
from estimator_bridge.process import removed_names

SAMPLE = np.array([[1.0, 2.0], [3.0, 8.0], [2.0, 2.0], [0.0, 1.0]])


def check_estimators():
    from sklearn.base import clone
    from sklearn.utils import all_estimators

    count = 0
    for _, kind in all_estimators():
        name = kind.__name__
        try:
            first = kind()
        except TypeError:
            continue
        again = clone(first)
        assert type(again) is kind, name
        assert again.get_params().keys() == first.get_params().keys(), name
        assert repr(first) == repr(again) == f"{name}()", name
        assert repr(pickle.loads(pickle.dumps(first))) == repr(first), name
        assert first.set_params(**first.get_params()) is first
        count += 1
    assert count > 100


def check_messages():
    import sklearn.datasets
    import sklearn.mixture

    for call, text in [
        (sklearn.datasets.load_boston, "boston_housing.load_data"),
        (lambda: sklearn.datasets.fetch_mldata("MNIST original"), "fetch_openml('mnist_784'"),
        (sklearn.mixture.VBGMM, "BayesianGaussianMixture"),
    ]:
        try:
            call()
            raise AssertionError(text)
        except BridgeError as error:
            assert text in str(error) and "\n" not in str(error)
    assert not hasattr(sklearn.datasets, "no_such_name")


def check_names_of_other_versions():
    from sklearn.externals import joblib
    from sklearn.lda import LDA
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.metrics import get_scorer, mean_squared_error, plot_confusion_matrix
    from sklearn.model_selection import cross_val_score
    from sklearn.preprocessing import StandardScaler
    from sklearn.qda import QDA

    assert "joblib" in joblib.__name__ and callable(plot_confusion_matrix)
    assert {LDA.__name__[:6], QDA.__name__[:9]} == {"Linear", "Quadratic"}
    scaler = StandardScaler().fit(SAMPLE)
    assert np.array_equal(scaler.std_, scaler.scale_)
    true, said = SAMPLE[:, 0], SAMPLE[:, 1]
    root = np.sqrt(np.mean((true - said) ** 2))
    assert np.isclose(mean_squared_error(true, said, squared=False), root)
    assert mean_squared_error(true, said) == np.mean((true - said) ** 2)
    assert mean_squared_error(SAMPLE, SAMPLE + 2, squared=False) == 2
    labels = np.array([0, 1] * 6)
    table = np.random.RandomState(0).randn(12, 2)
    old = cross_val_score(LogisticRegression(), table, labels, scoring="log_loss", cv=3)
    new = cross_val_score(LogisticRegression(), table, labels, scoring="neg_log_loss", cv=3)
    assert np.array_equal(old, new)
    assert SGDClassifier("log").loss == "log_loss" and callable(get_scorer("mean_squared_error"))


def check_own_names_stay():
    """Modules that exist are the package's own; valid calls of today give what they gave."""
    import sklearn.linear_model
    import sklearn.metrics
    from sklearn.linear_model import _logistic
    from sklearn.metrics import _classification

    assert sklearn.linear_model.LogisticRegression is _logistic.LogisticRegression
    true, said = [0, 1, 2, 2], [0, 2, 2, 2]
    for options in [{"average": "macro"}, {"average": None, "labels": [0, 1]}]:
        new = sklearn.metrics.f1_score(true, said, zero_division=0, **options)
        assert np.array_equal(new, _classification.f1_score(true, said, zero_division=0, **options))
    assert sklearn.metrics.f1_score.__doc__ == _classification.f1_score.__doc__
    assert sklearn.__version__


def check_modules():
    """Renamed modules have the names of their packages, also those that were restored."""
    from sklearn.datasets.base import Bunch, load_boston, load_iris
    from sklearn.datasets.mldata import fetch_mldata
    from sklearn.datasets.svmlight_format import load_svmlight_file
    from sklearn.decomposition.pca import RandomizedPCA
    from sklearn.ensemble.voting_classifier import VotingClassifier
    from sklearn.exceptions import ChangedBehaviorWarning
    from sklearn.feature_extraction.hashing import FeatureHasher
    from sklearn.metrics.classification import _check_targets, jaccard_similarity_score
    from sklearn.mixture.gmm import GMM
    from sklearn.neighbors import DistanceMetric
    from sklearn.preprocessing.imputation import Imputer
    from sklearn.utils.extmath import fast_dot, logsumexp

    classes = (Bunch, RandomizedPCA, VotingClassifier, FeatureHasher, GMM, Imputer)
    functions = (load_boston, load_iris, fetch_mldata, load_svmlight_file, fast_dot, logsumexp)
    assert all(map(callable, [*classes, *functions, _check_targets, jaccard_similarity_score]))
    assert issubclass(ChangedBehaviorWarning, Warning)
    assert DistanceMetric.get_metric("euclidean").pairwise(SAMPLE[:1])[0, 0] == 0


def double(value):
    # Old names of NumPy and scikit-learn, in another process.
    from sklearn.externals.six import PY3

    return np.float(value) * 2 if PY3 else None


def check_processes():
    from sklearn.externals.joblib import Parallel, delayed
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    assert Parallel(n_jobs=2)(delayed(double)(value) for value in (1, 2)) == [2.0, 4.0]
    table = np.random.RandomState(0).randn(30, 2)
    model = LogisticRegression(multi_class="ovr", solver="lbfgs")
    options = {"cv": 3, "method": "predict_proba"}
    one, two = (
        cross_val_predict(model, table, np.arange(30) % 3, n_jobs=count, **options)
        for count in (1, 2)
    )
    assert np.array_equal(one, two)


def check_error_as_score():
    import sklearn.metrics
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score

    try:
        cross_val_score(
            LogisticRegression(), SAMPLE, [0, 1, 0, 1], scoring=sklearn.metrics.f1_score
        )
        raise AssertionError
    except ValueError as error:
        assert "make_scorer" in str(error)


if __name__ == "__main__":
    removed_names.install((1, 15))
    globals()[f"check_{sys.argv[1]}"]()
