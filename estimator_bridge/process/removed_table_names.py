"""Restores names that pandas and SciPy had at the time of TensorFlow 1.x to 2.12.

They are set when the program imports these packages, and only where they are missing.
"""

import datetime
from typing import Any

from estimator_bridge.process.importing import call_when_imported

__all__ = ["install"]


def install() -> None:
    """Sets the missing names, now or when a package is imported."""
    call_when_imported("pandas", _pandas)
    call_when_imported("scipy.sparse", _sparse)


def _set_missing(owner: Any, **values: Any) -> None:
    for name, value in values.items():
        if not hasattr(owner, name):
            setattr(owner, name, value)


def _pandas() -> None:
    """Names that pandas 1.0 and 2.0 removed."""
    import numpy as np
    import pandas as pd

    def append_rows(self, other, ignore_index=False, verify_integrity=False, sort=False):
        others = other if isinstance(other, (list, tuple)) else [other]
        parts = [_as_rows(one, ignore_index, self.columns) for one in others]
        return pd.concat(
            [self, *parts],
            ignore_index=ignore_index,
            verify_integrity=verify_integrity,
            sort=sort,
        )

    def append_values(self, to_append, ignore_index=False, verify_integrity=False):
        others = to_append if isinstance(to_append, (list, tuple)) else [to_append]
        return pd.concat(
            [self, *others], ignore_index=ignore_index, verify_integrity=verify_integrity
        )

    def as_matrix(self, columns=None):
        return (self if columns is None else self[columns]).values

    for kind in (pd.DataFrame, pd.Series):
        _set_missing(kind, as_matrix=as_matrix, iteritems=kind.items)
        _set_missing(kind, get_values=lambda self: self.values)
    _set_missing(pd.DataFrame, append=append_rows)
    _set_missing(pd.DataFrame, get_value=lambda self, index, col: self.at[index, col])
    _set_missing(pd.Series, append=append_values)
    _set_missing(pd, datetime=datetime.datetime, np=np)


def _as_rows(value, ignore_index, columns):
    """Returns a frame of a frame, of a Series or of a dict, which are one row each."""
    import pandas as pd

    if isinstance(value, pd.DataFrame):
        return value
    row = pd.Series(value)
    if row.name is None and not ignore_index:
        raise TypeError("append: a row without a name needs ignore_index=True")
    order = [*columns[columns.isin(row.index)], *row.index[~row.index.isin(columns)]]
    return row[order].to_frame().T.infer_objects()


def _sparse() -> None:
    """Attributes of sparse matrices that SciPy 1.14 removed."""
    import scipy.sparse

    _set_missing(
        scipy.sparse.spmatrix,
        A=property(lambda self: self.toarray()),
        H=property(lambda self: self.T.conj()),
    )
