"""OneHotEncoder with the arguments `n_values` and `categorical_features`, of before 0.22."""

import functools
import sys
from typing import Any

from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.old_packages.scikit_learn.arguments import keep

__all__ = ["install"]


def install() -> None:
    """Restores the arguments and attributes of OneHotEncoder."""
    module: Any = sys.modules["sklearn.preprocessing"]
    kind = module.OneHotEncoder
    keep(kind, ["n_values", "categorical_features"])
    kind.fit = _fitting(kind.fit)
    kind.transform = _transforming(kind.transform)
    set_missing(
        kind,
        n_values_=property(_count_values),
        feature_indices_=property(_find_starts),
        active_features_=property(_find_active),
    )


def _is_old(encoder):
    return vars(encoder).get("n_values") is not None or _is_partial(encoder)


def _is_partial(encoder):
    chosen = vars(encoder).get("categorical_features")
    return chosen is not None and not (isinstance(chosen, str) and chosen == "all")


def _divide(encoder, X):
    """Returns the columns to encode, and the others."""
    import numpy as np

    chosen = np.zeros(X.shape[1], bool)
    chosen[np.asarray(encoder.categorical_features)] = True
    return X[:, chosen], X[:, ~chosen]


def _fitting(fit):
    @functools.wraps(fit)
    def replacing(self, X, y=None):
        import numpy as np

        if not _is_old(self):
            return fit(self, X, y)
        X = np.asarray(X)
        if _is_partial(self):
            X, _ = _divide(self, X)
        counts = vars(self).get("n_values", "auto")
        if isinstance(counts, str):
            return fit(self, X, y)
        before = self.categories
        counts = np.broadcast_to(counts, X.shape[1])
        self.categories = [np.arange(count) for count in counts]
        try:
            return fit(self, X, y)
        finally:
            self.categories = before

    return replacing


def _transforming(transform):
    @functools.wraps(transform)
    def replacing(self, X):
        import numpy as np
        from scipy import sparse

        if not _is_partial(self):
            return transform(self, X)
        chosen, others = _divide(self, np.asarray(X))
        encoded = transform(self, chosen)
        if sparse.issparse(encoded):
            return sparse.hstack((encoded, sparse.csr_matrix(others.astype(self.dtype)))).tocsr()
        return np.hstack((encoded, others))

    return replacing


def _count_values(encoder):
    import numpy as np

    return np.array([int(values.max()) + 1 for values in encoder.categories_])


def _find_starts(encoder):
    import numpy as np

    return np.cumsum([0, *_count_values(encoder)])


def _find_active(encoder):
    import numpy as np

    starts = _find_starts(encoder)
    parts = [values + start for values, start in zip(encoder.categories_, starts)]
    return np.concatenate(parts).astype(int)
