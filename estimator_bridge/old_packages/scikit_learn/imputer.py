"""sklearn.preprocessing.Imputer, which 0.22 removed."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array

__all__ = ["Imputer"]


def _as_floats(X):
    return check_array(
        X, accept_sparse="csc", dtype=[np.float64, np.float32], ensure_all_finite=False
    )


class Imputer(TransformerMixin, BaseEstimator):
    """Replaces missing values by the mean, the median or the most frequent value.

    Args:
      missing_values: the missing values, 'NaN' or a number.
      strategy: mean, median or most_frequent.
      axis: 0 for the values of the column, 1 for those of the row.
      verbose: has no effect.
      copy: whether to leave the input as it is.
    """

    def __init__(self, missing_values="NaN", strategy="mean", axis=0, verbose=0, copy=True):
        self.missing_values = missing_values
        self.strategy = strategy
        self.axis = axis
        self.verbose = verbose
        self.copy = copy

    def _build(self):
        # Its module imports sklearn.preprocessing.
        from sklearn.impute import SimpleImputer

        text = isinstance(self.missing_values, str) and self.missing_values.lower() == "nan"
        missing = np.nan if text else self.missing_values
        return SimpleImputer(missing_values=missing, strategy=self.strategy, copy=self.copy)

    def fit(self, X, y=None):
        """Computes the values of the columns.

        Args:
          X: array [rows, columns].
          y: not used.

        Returns:
          The imputer itself.
        """
        if self.axis not in (0, 1):
            raise ValueError(
                f"Can only impute missing values on axis 0 and 1,  got axis={self.axis}"
            )
        if self.axis == 0:
            self.columns_ = self._build().fit(_as_floats(X))
            self.statistics_ = self.columns_.statistics_
        return self

    def transform(self, X):
        """Returns the array with the missing values replaced.

        Args:
          X: array [rows, columns].

        Returns:
          Array [rows, columns], without the columns that had no value in `fit`.

        Raises:
          ValueError: a row has no value, with axis 1.
        """
        if self.axis == 0:
            return self.columns_.transform(_as_floats(X))
        rows = np.array(X, np.float64).T
        found = self._build().fit_transform(rows).T
        if found.shape != rows.T.shape:
            raise ValueError("Some rows only contain missing values.")
        return found
