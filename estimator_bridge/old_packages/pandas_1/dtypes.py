"""Types of columns and values as pandas 1 chose them, where pandas 2 and 3 choose others."""

import functools
import warnings
from typing import Any

import numpy as np

__all__ = ["install"]


def install(version: int) -> None:
    """Restores the choices from which the imported pandas differs.

    Args:
      version: the major version of pandas, 2 or more.
    """
    import pandas as pd

    _make_dummies_integers()
    _replace_patterns()
    _set_whole_columns()
    if version >= 3:
        # Text is of type object, by which old programs choose columns.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pd.set_option("future.infer_string", False)
        _count_nanoseconds()
        _infer_types_of_filled_objects()
        _accept_other_types()


def _make_dummies_integers() -> None:
    """Indicators are uint8 again; pandas 2 made them bool, which numeric columns do not take."""
    import pandas as pd

    original = pd.get_dummies

    @functools.wraps(original)
    def get_dummies(*args: Any, **kwargs: Any) -> Any:
        # dtype is the last of eight arguments.
        if len(args) < 8 and kwargs.get("dtype") is None:
            kwargs["dtype"] = np.uint8
        return original(*args, **kwargs)

    pd.get_dummies = get_dummies


def _replace_patterns() -> None:
    """Series.str.replace takes a text of several characters for a pattern again."""
    import pandas as pd

    accessor = pd.Series.str
    original = accessor.replace

    @functools.wraps(original)
    def replace(
        self: Any,
        pat: Any,
        repl: Any = None,
        n: int = -1,
        case: Any = None,
        flags: int = 0,
        regex: bool = True,
    ) -> Any:
        if repl is None:
            return original(self, pat, n=n, case=case, flags=flags, regex=regex)
        if isinstance(pat, str) and len(pat) < 2 and not flags and case in (None, True):
            regex = callable(repl)
        return original(self, pat, repl, n=n, case=case, flags=flags, regex=regex)

    accessor.replace = replace


def _count_nanoseconds() -> None:
    """Times and differences of times are in nanoseconds again, unless these cannot express them."""
    from pandas.core.arrays import DatetimeArray, TimedeltaArray
    from pandas.errors import OutOfBoundsDatetime, OutOfBoundsTimedelta

    for kind in (DatetimeArray, TimedeltaArray):
        original = kind.__dict__["_simple_new"].__func__

        @functools.wraps(original)
        def _simple_new(
            cls: Any, values: Any, *args: Any, _new: Any = original, **kwargs: Any
        ) -> Any:
            made = _new(cls, values, *args, **kwargs)
            if made.unit == "ns":
                return made
            try:
                return made.as_unit("ns")
            except (OutOfBoundsDatetime, OutOfBoundsTimedelta):
                return made

        kind._simple_new = classmethod(_simple_new)


def _infer_types_of_filled_objects() -> None:
    """replace and fillna make numbers of objects again, if no others are left."""
    from pandas.core.generic import NDFrame

    for name in ("replace", "fillna"):
        setattr(NDFrame, name, _then_infer(getattr(NDFrame, name), only_missing=name == "fillna"))


def _then_infer(original: Any, only_missing: bool) -> Any:
    @functools.wraps(original)
    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = _find_objects(self, only_missing)
        result = original(self, *args, **kwargs)
        if not chosen or result is None:
            return result
        inferred = _infer(result, chosen)
        if inferred is result:
            return result
        if result is self:
            self._update_inplace(inferred)
            return self
        return inferred

    return change


def _find_objects(values: Any, only_missing: bool) -> list[int]:
    """Returns the numbers of the columns of objects, or of those that lack values; [0] if 1-d."""
    frame = values.to_frame() if values.ndim == 1 else values
    return [
        number
        for number, one in enumerate(frame.dtypes)
        if one == np.dtype(object) and (not only_missing or frame.iloc[:, number].isna().any())
    ]


def _infer(values: Any, chosen: list[int]) -> Any:
    """Returns values whose chosen columns of objects have a fitting type, or the same values."""
    if values.ndim == 1:
        return values.infer_objects() if values.dtype == object else values
    changed = {}
    for number in chosen:
        column = values.iloc[:, number]
        if column.dtype == object:
            inferred = column.infer_objects()
            if inferred.dtype != object:
                changed[number] = inferred
    if not changed:
        return values
    result = values.copy()
    for number, column in changed.items():
        result.isetitem(number, column)
    return result


def _accept_other_types() -> None:
    """Setting a value of another type changes the type of the column again."""
    from pandas.core.internals.blocks import Block

    original = Block.coerce_to_target_dtype

    @functools.wraps(original)
    def coerce_to_target_dtype(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        return original(self, other, raise_on_upcast=False)

    Block.coerce_to_target_dtype = coerce_to_target_dtype


def _set_whole_columns() -> None:
    """`frame.loc[:, "a"] = values` gives the column the type of the values again."""
    from pandas.core.indexing import _iLocIndexer

    indexer: Any = _iLocIndexer
    original = indexer._setitem_single_column

    @functools.wraps(original)
    def _setitem_single_column(self: Any, loc: int, value: Any, plane_indexer: Any) -> None:
        frame = self.obj
        rows = plane_indexer
        whole = isinstance(rows, slice) and range(*rows.indices(len(frame))) == range(len(frame))
        if whole and _has_other_type(value, frame.dtypes.iloc[loc]):
            frame.isetitem(loc, value)
        else:
            original(self, loc, value, plane_indexer)

    indexer._setitem_single_column = _setitem_single_column


def _has_other_type(value: Any, dtype: Any) -> bool:
    import pandas as pd

    found = getattr(value, "dtype", None)
    if found is None:
        found = pd.Series(value if isinstance(value, (list, tuple)) else [value]).dtype
    return bool(found != dtype)
