"""Names that pandas 1.0 and 2.0 removed."""

import datetime

from estimator_bridge.old_packages.missing import set_missing

__all__ = ["install"]


def install() -> None:
    """Sets the missing names."""
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
        set_missing(kind, as_matrix=as_matrix, iteritems=kind.items)
        set_missing(kind, get_values=lambda self: self.values)
    set_missing(pd.DataFrame, append=append_rows)
    set_missing(pd.DataFrame, get_value=lambda self, index, col: self.at[index, col])
    set_missing(pd.Series, append=append_values)
    set_missing(pd, datetime=datetime.datetime, np=np)


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
