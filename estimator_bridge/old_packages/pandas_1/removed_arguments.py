"""Arguments that pandas 1.0 to 3.0 removed, where more is to do than to leave them out."""

import functools
import inspect

from estimator_bridge.old_packages.pandas_1 import classes

__all__ = ["install"]


def install() -> None:
    """Wraps the functions that had the arguments."""
    for kind in ("DataFrame", "Series"):
        _add(kind, "fillna", "method downcast", _fillna)
        _add(kind, "ffill", "downcast", _downcast)
        _add(kind, "bfill", "downcast", _downcast)
        _add(kind, "interpolate", "downcast", _downcast)
        _add(kind, "replace", "method limit", _replace)
        _add(kind, "align", "method limit", _align)
        _add(kind, "set_axis", "inplace", _set_axis)
        _add(kind, "astype", "raise_on_error", _astype)
        _add(kind, "between_time", "include_start include_end", _between_time)
        _add(kind, "drop_duplicates", "take_last", _keep)
        _add(kind, "duplicated", "take_last", _keep)
    _add(
        "DataFrame", "sort_index", "by", lambda call, self, by, **rest: self.sort_values(by, **rest)
    )
    stack = inspect.signature(classes.find("DataFrame").stack).parameters.get("future_stack")
    if stack is not None and stack.default is True:
        _add("DataFrame", "stack", None, _stack)
    _add("DataFrame", "describe", None, _describe)
    _add("DataFrame", "__getitem__", None, _get_rows_of_time)
    _add("DataFrame", "dropna", "thresh", _dropna, are_removed=False)
    for name in ("factorize", "unique"):
        _add("pd", name, None, _of_list)
    for name, method in (("__and__", "intersection"), ("__or__", "union")):
        _add("Index", name, None, functools.partial(_combine, method))
    _add("DataFrame", "drop", "index columns", _drop, are_removed=False)
    _add("DataFrame", "reindex", None, _index_and_columns)
    _add("DataFrame", "rename", None, _index_and_columns)
    _add("DataFrame", "to_dict", None, _to_dict)
    _add("Series", "between", None, _between)
    _add("pd", "concat", "join_axes", _concat)
    _add("pd", "date_range", "closed", _closed)
    _add("pd", "bdate_range", "closed", _closed)
    _add("pd", "factorize", "na_sentinel", _factorize)
    for kind in ("Series", "Index"):
        _add(kind, "factorize", "na_sentinel", _factorize)
    _add("pd", "to_numeric", None, _errors)
    for name in [
        "add_categories",
        "remove_categories",
        "rename_categories",
        "reorder_categories",
        "set_categories",
        "as_ordered",
        "as_unordered",
        "set_ordered",
        "remove_unused_categories",
    ]:
        _add("Categorical", name, "inplace", functools.partial(_change_categories, name))
    _keep_series_of_cat()
    _accept_sets()


def _add(owner, name, names, handle, are_removed=True):
    """Calls `handle` in place of the function, where the call has one of the arguments, if any.

    If the arguments are removed ones, a function that still has them all stays.
    """
    names = frozenset(names.split()) if names else None

    def wrap(function):
        if names and are_removed and names <= set(inspect.signature(function).parameters):
            return function

        @functools.wraps(function)
        def call(*args, **kwargs):
            if names is None or (kwargs and not names.isdisjoint(kwargs)):
                return handle(function, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    classes.replace(classes.find(owner), name, wrap)


def _fillna(call, self, value=None, method=None, downcast=None, **rest):
    if method is None:
        if not hasattr(value, "index") and not isinstance(value, dict):
            rest.pop("axis", None)
        return _downcast(call, self, value, downcast=downcast, **rest)
    if value is not None:
        raise ValueError("Cannot specify both 'value' and 'method'.")
    if method not in ("pad", "ffill", "bfill", "backfill"):
        raise ValueError(
            f"Invalid fill method. Expecting pad (ffill) or backfill (bfill). Got {method}"
        )
    fill = self.ffill if method in ("pad", "ffill") else self.bfill
    return fill(downcast=downcast, **rest) if downcast else fill(**rest)


def _downcast(call, self, *args, downcast=None, **rest):
    done = call(self, *args, **rest)
    if downcast is None:
        return done
    inplace = rest.get("inplace", False)
    result = self if inplace else done
    down = result.apply(_to_integers) if result.ndim == 2 else _to_integers(result)
    if not inplace:
        return down
    self._update_inplace(down)
    return done


def _to_integers(values):
    """Returns floats as int64 if all of them are integers."""
    if values.dtype.kind == "f" and len(values) and (values == values.round()).all():
        return values.astype("int64")
    return values


def _replace(call, self, to_replace=None, value=None, method="pad", limit=None, **rest):
    import numpy as np

    listed = to_replace is not None and not isinstance(to_replace, dict)
    if value is not None or not listed:
        if value is not None:
            rest["value"] = value
        return call(self, to_replace, **rest)
    inplace = rest.pop("inplace", False)
    listed = list(to_replace) if isinstance(to_replace, (list, tuple)) else [to_replace]

    def fill(values):
        found = values.isin(listed).to_numpy()
        places = np.arange(len(values))
        if method in ("pad", "ffill"):
            source = np.maximum.accumulate(np.where(found, -1, places))
        else:
            source = np.where(found, len(values), places)
            source = np.minimum.accumulate(source[::-1])[::-1]
        far = limit is not None and abs(source - places) > limit
        source = np.where((source < 0) | (source >= len(values)) | far, places, source)
        result = values.take(source)
        result.index = values.index
        return result

    filled = self.apply(fill) if self.ndim == 2 else fill(self)
    if not inplace:
        return filled
    self._update_inplace(filled)
    return None


def _align(call, self, *args, method=None, limit=None, **rest):
    pair = call(self, *args, **rest)
    return pair if method is None else tuple(one.fillna(method=method, limit=limit) for one in pair)


def _set_axis(call, self, labels, inplace=False, **rest):
    result = call(self, labels, **rest)
    if not inplace:
        return result
    axis = self._get_axis_name(rest.get("axis", 0))
    setattr(self, axis, getattr(result, axis))
    return None


def _astype(call, self, *args, raise_on_error=True, **rest):
    return call(self, *args, **rest, errors="raise" if raise_on_error else "ignore")


def _between_time(call, self, *args, include_start=True, include_end=True, **rest):
    ends = {(1, 1): "both", (1, 0): "left", (0, 1): "right", (0, 0): "neither"}
    return call(self, *args, inclusive=ends[bool(include_start), bool(include_end)], **rest)


def _between(call, self, left, right, inclusive="both"):
    if isinstance(inclusive, bool):
        inclusive = "both" if inclusive else "neither"
    return call(self, left, right, inclusive=inclusive)


def _keep(call, self, *args, take_last=False, **rest):
    return call(self, *args, **rest, keep="last" if take_last else "first")


def _stack(call, self, level=-1, dropna=True, **rest):
    """Leaves missing values out."""
    if "future_stack" in rest:
        return call(self, level, **rest)
    return call(self, level, dropna, future_stack=False, **rest)


def _describe(call, self, percentiles=None, include=None, exclude=None):
    """Describes numbers only, if there are any."""
    if include is None and exclude is None:
        numbers = self.select_dtypes("number")
        if 0 < numbers.shape[1] < self.shape[1]:
            return call(numbers, percentiles)
    return call(self, percentiles, include, exclude)


def _get_rows_of_time(call, self, key):
    """Takes the text of a time for the rows of this time, if it is no column."""
    try:
        return call(self, key)
    except KeyError:
        if not isinstance(key, str) or self.index.dtype.kind != "M":
            raise
        try:
            rows = self.loc[key]
        except KeyError:
            rows = None
        if rows is None or rows.ndim == 1:
            raise
    return rows


def _dropna(call, self, *args, thresh=None, **rest):
    if thresh is None:
        return call(self, *args, **rest)
    rest.pop("how", None)
    return call(self, *args, thresh=thresh, **rest)


def _of_list(call, values, *args, **rest):
    """Takes lists: texts and mixed values become objects."""
    import numpy as np
    from pandas.api.types import infer_dtype

    if isinstance(values, (list, tuple)):
        kind = infer_dtype(values, skipna=False)
        values = np.array(values, dtype=object if kind in ("string", "mixed") else None)
    return call(values, *args, **rest)


def _combine(method, call, self, other):
    """Returns the intersection or union of labels; those of flags are computed for each."""
    import pandas as pd

    if isinstance(other, pd.Index) and self.dtype != bool:
        return getattr(self, method)(other)
    return call(self, other)


def _drop(call, self, labels=None, axis=0, **rest):
    return call(self, labels, axis=0 if labels is None else axis, **rest)


def _index_and_columns(call, self, *args, **rest):
    if len(args) == 2:
        return call(self, index=args[0], columns=args[1], **rest)
    return call(self, *args, **rest)


def _to_dict(call, self, orient="dict", **rest):
    if isinstance(orient, str):
        starts = ("dict", "list", "split", "series", "records", "index", "tight")
        full = [one for one in starts if orient and one.startswith(orient.lower())]
        full = ["series"] if orient.lower() == "s" else full
        orient = full[0] if full else orient
    return call(self, orient=orient, **rest)


def _concat(call, *args, join_axes=None, **rest):
    result = call(*args, **rest)
    if join_axes is None:
        return result
    columns = rest.get("axis", 0) in (0, "index", "rows")
    return result.reindex(**{"columns" if columns else "index": join_axes[0]})


def _closed(call, *args, closed=None, **rest):
    return call(*args, **rest, inclusive="both" if closed is None else closed)


def _factorize(call, *args, na_sentinel=-1, **rest):
    codes, values = call(*args, **rest, use_na_sentinel=na_sentinel is not None)
    if na_sentinel not in (None, -1):
        codes[codes == -1] = na_sentinel
    return codes, values


def _errors(call, arg, errors="raise", *args, **rest):
    if errors != "ignore":
        return call(arg, errors, *args, **rest)
    try:
        return call(arg, "raise", *args, **rest)
    except (ValueError, TypeError):
        return _as_given(arg)


def _as_given(values):
    """Returns what could not be converted: lists as an array, anything else as it is."""
    import numpy as np

    return np.array(values, dtype=object) if isinstance(values, (list, tuple)) else values


def _change_categories(name, call, self, *args, inplace=False, **rest):
    result = call(self, *args, **rest)
    if not inplace:
        return result
    from pandas._libs.arrays import NDArrayBacked

    NDArrayBacked.__init__(self, result._ndarray, result.dtype)
    return None


def _keep_series_of_cat():
    """Makes `series.cat.METHOD(inplace=True)` change the series."""

    def wrap_init(function):
        @functools.wraps(function)
        def call(self, data):
            function(self, data)
            object.__setattr__(self, "_changed_series", data)

        return call

    def wrap_delegate(function):
        @functools.wraps(function)
        def call(self, name, *args, **kwargs):
            if not kwargs.pop("inplace", False):
                return function(self, name, *args, **kwargs)
            self._changed_series._update_inplace(function(self, name, *args, **kwargs))
            # pandas 2 keeps this object for the next access.
            object.__setattr__(self, "_parent", self._changed_series.values)
            return None

        return call

    kind = classes.find("CategoricalAccessor")
    classes.replace(kind, "__init__", wrap_init)
    classes.replace(kind, "_delegate_method", wrap_delegate)


def _accept_sets():
    """Sets and dictionaries choose rows and columns like lists."""
    import sys

    for name in ("indexing", "frame", "series"):
        module = sys.modules[f"pandas.core.{name}"]
        if hasattr(module, "check_dict_or_set_indexers"):
            module.check_dict_or_set_indexers = lambda key: None
