"""Functions and classes of the module pandas that versions 0.18 to 2.0 removed."""

import functools

from estimator_bridge.old_packages.missing import set_missing

__all__ = ["install"]

_ROLLING = "count sum mean median std var min max skew kurt"


def install() -> None:
    """Sets the missing functions."""
    import pandas as pd

    set_missing(
        pd,
        Float64Index=_index_class("float64"),
        Int64Index=_index_class("int64"),
        UInt64Index=_index_class("uint64"),
        TimeGrouper=_group_by_time,
        Expr=str,
        Term=str,
        ewma=functools.partial(_weigh, "mean"),
        ewmstd=functools.partial(_weigh, "std"),
        ewmvar=functools.partial(_weigh, "var"),
        ewmvol=functools.partial(_weigh, "std"),
        expanding_apply=_expand_apply,
        expanding_quantile=_expand_quantile,
        get_store=lambda path, **kwargs: pd.HDFStore(path, **kwargs),
        groupby=lambda obj, by, **kwargs: obj.groupby(by, **kwargs),
        match=_match,
        rolling_apply=_roll_apply,
        rolling_quantile=_roll_quantile,
        rolling_window=_roll_window,
        **{f"rolling_{name}": functools.partial(_roll, name) for name in _ROLLING.split()},
        **{f"expanding_{name}": functools.partial(_expand, name) for name in _ROLLING.split()},
        **{f"rolling_{name}": functools.partial(_roll_two, name) for name in ("corr", "cov")},
        **{f"expanding_{name}": functools.partial(_expand_two, name) for name in ("corr", "cov")},
    )
    # That of pandas 2 names its result "count".
    pd.value_counts = _value_counts
    for name in ("scatter_matrix", "parallel_coordinates", "andrews_curves", "radviz", "lag_plot"):
        set_missing(pd, **{name: _plot(name)})


def _index_class(dtype):
    import pandas as pd

    class Kind(type):
        def __instancecheck__(cls, value):
            return isinstance(value, pd.Index) and value.dtype == dtype and value.nlevels == 1

    def make(cls, data=None, dtype=None, copy=False, name=None):
        return pd.Index(data, dtype=dtype or cls.of, copy=copy, name=name)

    name = {"float64": "Float64Index", "int64": "Int64Index", "uint64": "UInt64Index"}[dtype]
    return Kind(name, (), {"__new__": make, "of": dtype, "__module__": "pandas"})


def _value_counts(values, sort=True, ascending=False, normalize=False, bins=None, dropna=True):
    """Counts the values of a Series, an Index, an array or a list."""
    import pandas as pd

    if not isinstance(values, (pd.Series, pd.Index)):
        values = pd.Series(values)
    if isinstance(values, pd.Index):
        values = values.to_series()
    return values.value_counts(normalize, sort, ascending, bins, dropna)


def _group_by_time(  # noqa: PLR0913
    freq=None, key=None, level=None, how=None, axis=0, base=0, loffset=None, **kwargs
):
    import pandas as pd

    return pd.Grouper(key=key, level=level, freq=freq, **kwargs)


def _match(to_match, values, na_sentinel=-1):
    import numpy as np
    import pandas as pd

    places = pd.Index(pd.unique(pd.Series(values))).get_indexer(to_match)
    return places if na_sentinel == -1 else np.where(places == -1, na_sentinel, places)


def _of(arg, compute):
    """Computes for a frame, a series or an array, and returns the same kind."""
    import numpy as np
    import pandas as pd

    if not isinstance(arg, (list, np.ndarray)):
        return compute(arg)
    values = np.asarray(arg)
    return compute(pd.Series(values) if values.ndim == 1 else pd.DataFrame(values)).to_numpy()


def _sampled(values, freq, how):
    return values if freq is None else values.resample(freq).agg(how or "mean")


def _roll(name, arg, window, min_periods=None, freq=None, center=False, how=None, **kwargs):  # noqa: PLR0913
    if name == "count" and min_periods is None:
        min_periods = 0

    def compute(values):
        windows = _sampled(values, freq, how).rolling(window, min_periods, center=center)
        return getattr(windows, name)(**kwargs)

    return _of(arg, compute)


def _expand(name, arg, min_periods=1, freq=None, **kwargs):
    def compute(values):
        return getattr(_sampled(values, freq, None).expanding(min_periods), name)(**kwargs)

    return _of(arg, compute)


def _roll_two(  # noqa: PLR0913
    name, arg1, arg2=None, window=None, min_periods=None, freq=None, center=False, **kwargs
):
    import pandas as pd

    other = pd.Series(arg2) if arg2 is not None and not hasattr(arg2, "index") else arg2
    how = {key: kwargs[key] for key in ("pairwise", "ddof") if key in kwargs}

    def compute(values):
        return getattr(values.rolling(window, min_periods, center=center), name)(other, **how)

    return _of(arg1, compute)


def _expand_two(name, arg1, arg2=None, min_periods=1, freq=None, **kwargs):
    import pandas as pd

    other = pd.Series(arg2) if arg2 is not None and not hasattr(arg2, "index") else arg2
    return _of(arg1, lambda values: getattr(values.expanding(min_periods), name)(other))


def _roll_apply(arg, window, func, min_periods=None, freq=None, center=False, args=(), kwargs=None):  # noqa: PLR0913
    return _roll(
        "apply",
        arg,
        window,
        min_periods,
        freq,
        center,
        func=func,
        raw=True,
        args=args,
        kwargs=kwargs,
    )


def _expand_apply(arg, func, min_periods=1, freq=None, center=False, args=(), kwargs=None):  # noqa: PLR0913
    return _expand("apply", arg, min_periods, freq, func=func, raw=True, args=args, kwargs=kwargs)


def _roll_quantile(arg, window, quantile, min_periods=None, freq=None, center=False):
    return _roll("quantile", arg, window, min_periods, freq, center, q=quantile)


def _expand_quantile(arg, quantile, min_periods=1, freq=None):
    return _expand("quantile", arg, min_periods, freq, q=quantile)


def _roll_window(arg, window, win_type=None, min_periods=None, center=False, mean=True, **kwargs):
    def compute(values):
        windows = values.rolling(window, min_periods, center=center, win_type=win_type)
        return windows.mean(**kwargs) if mean else windows.sum(**kwargs)

    return _of(arg, compute)


def _weigh(  # noqa: PLR0913
    name,
    arg,
    com=None,
    span=None,
    halflife=None,
    alpha=None,
    min_periods=0,
    freq=None,
    adjust=True,
    how=None,
    ignore_na=False,
    bias=False,
):
    kwargs = {} if name == "mean" else {"bias": bias}

    def compute(values):
        windows = _sampled(values, freq, how).ewm(
            com, span, halflife, alpha, min_periods, adjust, ignore_na
        )
        return getattr(windows, name)(**kwargs)

    return _of(arg, compute)


def _plot(name):
    def plot(*args, **kwargs):
        import pandas.plotting

        return getattr(pandas.plotting, name)(*args, **kwargs)

    plot.__name__ = plot.__qualname__ = name
    return plot
