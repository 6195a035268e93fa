"""Reductions of frames with columns that have none: pandas 1 leaves them out."""

import numpy as np
import pandas as pd

NAMES = ["sum", "prod", "min", "max", "mean", "median", "std", "var", "sem", "skew", "kurt"]


def mixed():
    return pd.DataFrame(
        {
            "a": [1.0, np.nan, 3.0, 5.0],
            "s": pd.Series(["x", "y", None, "z"], dtype=object),
            "b": pd.Series(["yes", "no", "yes", "no"], dtype=object),
            "i": [1, 2, 3, 8],
            "t": [True, False, True, True],
        }
    )


def texts():
    return mixed()[["s", "b"]]


def dated():
    df = mixed()[["a", "i", "b"]]
    return df.assign(d=pd.date_range("2020-01-01", periods=4))


def of_each(values, names=NAMES, **kwargs):
    found = {}
    for name in names:
        try:
            found[name] = getattr(values, name)(**kwargs)
            if name in ("skew", "kurt"):
                # Today's algorithm has other last bits.
                found[name] = found[name].round(12)
        except Exception as error:
            found[name] = type(error).__name__
    return found


def case_mixed():
    return of_each(mixed())


def case_mixed_without_bool():
    return of_each(mixed()[["a", "s", "i"]])


def case_mixed_rows():
    return of_each(mixed()[["a", "s", "i"]], axis=1)


def case_texts():
    return of_each(texts(), ["sum", "mean", "std", "min", "median"])


def case_one_text():
    return of_each(mixed()[["b"]], ["sum", "mean", "std", "min", "median"])


def case_dates():
    return of_each(dated(), ["sum", "mean", "median", "std", "var", "skew", "sem"])


def case_dates_min():
    return dated().min().index.tolist()


def case_numbers():
    return of_each(mixed()[["a", "i"]])


def case_numbers_skip_none():
    return of_each(mixed()[["a", "i"]], skipna=None)


def case_not_skipped():
    return of_each(mixed()[["a", "s", "i"]], [one for one in NAMES if one != "prod"], skipna=False)


def case_numeric_only():
    return of_each(mixed(), numeric_only=True)


def case_empty():
    return of_each(mixed()[["a", "i"]].iloc[:0], ["sum", "mean", "max"])


def case_axis_none():
    df = mixed()[["a", "i"]]
    return [
        df.mean(axis=None),
        np.mean(df),
        np.std(df),
        np.var(df),
        np.sum(df),
        np.max(df),
        np.min(df),
        np.prod(df),
        np.mean(df, axis=1),
        np.mean(mixed()),
        np.sum(mixed()[["a", "i"]], axis=0),
        np.median(mixed()[["i"]]),
    ]


def case_any_all():
    df = mixed()[["i", "t"]]
    return [df.any(), df.all(), df.any(axis=None), np.any(df), np.all(df), df.any(axis=1)]


def case_numeric():
    df = mixed()
    return [
        df.corr(),
        df.cov().round(12),
        df.quantile(0.5),
        df[["a", "i", "s"]].quantile([0.25, 0.5]),
    ]


def case_corr_methods():
    df = mixed()[["a", "s", "i"]]
    return [df.corr("spearman"), df.corr(method="kendall"), df.cov(ddof=0)]


def case_corrwith():
    df = mixed()[["a", "s", "i"]]
    return [df.corrwith(df.i), df.corrwith(df)]


def case_rank():
    return [mixed()[["a", "i", "b"]].rank(), mixed().rank(), mixed()[["a", "i"]].rank(pct=True)]


def case_interpolate():
    df = mixed()[["a", "b", "i"]]
    changed = df.copy()
    changed.interpolate(inplace=True)
    return [df.interpolate(), changed, df[["a"]].interpolate("linear", 0)]


def case_describe():
    return [
        mixed().describe(),
        mixed()[["b"]].iloc[:3].describe(),
        mixed()[["a", "b"]].iloc[:3].describe(include="all"),
    ]


def case_agg():
    df = mixed()[["a", "s", "i"]]
    return [df.agg("mean"), df.agg(["mean", "std"]), df.agg(np.mean)]


def case_apply():
    df = mixed()[["a", "i"]]
    return [
        df.apply(np.mean),
        df.apply(np.sum, axis=1),
        df.apply(lambda one: one.max() - one.min()),
    ]


def case_groups():
    names = [one for one in NAMES if one not in ("sem", "min", "max", "kurt")]
    return of_each(mixed().groupby("b"), [*names, "first", "last", "count", "nunique", "size"])


def case_groups_of_few():
    return of_each(
        mixed()[["a", "s", "b"]].groupby("b"), ["mean", "sum", "std", "quantile", "skew"]
    )


def case_groups_of_texts():
    return of_each(mixed()[["s", "b"]].groupby("b"), ["first", "count"])


def case_groups_agg():
    groups = mixed()[["a", "i", "s", "b"]].groupby("b")
    return [
        groups.agg("mean"),
        groups.agg(np.mean),
        groups.agg("sum"),
        groups.agg({"a": "mean", "i": ["min", "max"]}),
        groups[["a", "i"]].agg(["mean", "std"]),
        groups.a.agg([np.mean, np.std]),
    ]


def case_groups_agg_lists():
    return mixed()[["a", "i", "s", "b"]].groupby("b").agg(["mean", "sum"])


def case_groups_transform():
    groups = mixed()[["a", "i", "b"]].groupby("b")
    return [
        groups.transform("mean"),
        groups.transform(np.mean),
        groups.a.transform("max"),
        groups.cumsum(),
    ]


def case_groups_not_indexed():
    df = mixed()[["a", "i", "s", "b"]].assign(k=[1, 0, 1, 0])
    return [df.groupby("k", as_index=False).mean(), df.groupby("k", as_index=False).sum()]


def case_pivot_table():
    df = mixed()[["a", "i", "s", "b"]]
    return [
        df.pivot_table(index="b"),
        pd.pivot_table(df, index="b", aggfunc=np.mean),
        df.pivot_table(index="b", aggfunc="sum"),
        pd.pivot_table(df, values="i", index="b", columns="s", aggfunc=[np.sum, len], fill_value=0),
        pd.pivot_table(df, values="i", index="b", columns="s", margins=True),
    ]


def case_windows():
    df = mixed()[["a", "s", "i"]]
    return [
        df.rolling(2).mean(),
        df.rolling(2).sum(),
        df.expanding().max(),
        df.ewm(span=2).mean(),
        df.rolling(2).std(),
    ]


def case_resample():
    df = mixed()[["a", "s", "i"]]
    df.index = pd.date_range("2020-01-01", periods=4)
    return [
        one.reset_index(drop=True) for one in (df.resample("2D").mean(), df.resample("2D").sum())
    ]


def case_levels():
    df = mixed()[["a", "s", "i"]]
    df.index = pd.MultiIndex.from_product([["x", "w"], [0, 1]], names=["k", "n"])
    return [df.mean(level=0), df.sum(level="k"), df[["a", "i"]].max(level=1), df.count(level=0)]


def case_values():
    values = mixed().a
    return [
        values.mean(skipna=None),
        values.sum(axis=None),
        np.mean(values),
        np.std(values),
        values.std(ddof=0),
    ]
