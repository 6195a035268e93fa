"""Groups, aggregates and sets of labels, whose results pandas 2 and 3 changed or refuse."""

import numpy as np
import pandas as pd


def frame():
    groups = pd.Series(["a", "a", "b"], dtype=object)
    return pd.DataFrame({"g": groups, "v": [1, 3, 5]})


def typed():
    return pd.DataFrame(
        {
            "g": [1, 1, 2],
            "t": [True, True, False],
            "i": np.array([1, 3, 5], "int8"),
            "f": [0.5, 1, 2],
        }
    )


def case_types():
    groups = typed().groupby("g")
    return [
        groups.mean(),
        groups.median(),
        groups.var(),
        groups.prod(),
        groups.i.mean(),
        groups.t.mean(),
    ]


def case_types_of_aggregates():
    groups = frame().groupby("g")
    return [
        groups.v.agg(lambda one: one.mean()),
        groups.v.agg(np.mean),
        groups.v.agg(["mean", "var"]),
        groups.agg({"v": "mean"}),
        groups.v.transform("mean"),
        frame().groupby("g", as_index=False).v.mean(),
        frame().groupby("g", as_index=False).v.agg("mean").v,
        frame().pivot_table("v", "g"),
    ]


def case_keys_of_a_list():
    df = frame()
    return [
        [key for key, _ in df.groupby(["g"])],
        [key for key, _ in df.groupby("g")],
        [key for key, _ in df.groupby(["g", "v"])],
        df.groupby(["g"]).get_group("a"),
        df.groupby("g").get_group("a"),
        df.groupby(["g", "v"]).get_group(("a", 3)),
    ]


def case_nth():
    df = frame()
    return [
        df.groupby("g").nth(0),
        df.groupby("g").nth(-1),
        df.groupby("g").v.nth(0),
        df.groupby("g", as_index=False).nth(0),
        df.groupby("g").nth([0, 1]),
        df.groupby("g").head(1),
    ]


def case_labels_of_functions():
    df = frame()
    return [
        df.groupby("g").v.agg(["max", len, "mean"]),
        df.groupby("g").v.agg([np.sum, np.mean, np.std]),
        df.groupby("g").agg({"v": [np.max, np.min, np.median]}),
        df.groupby("g").v.agg([np.max, len]),
        df[["v"]].agg([np.max, np.std]),
        df.v.agg([np.max, np.min, "mean"]),
        df.pivot_table("v", "g", aggfunc=[np.max, np.std]),
    ]


def case_dropna():
    df = pd.DataFrame({"a": [1, None], "b": [None, None], "c": [1, 2]})
    return [
        df.dropna(axis=0, how="any", thresh=2),
        df.dropna(how="any", thresh=None),
        df.dropna(thresh=1, axis=1),
        df.dropna(how="all", axis=1),
    ]


def case_sets_of_labels():
    left, right = pd.Index([1, 2, 3]), pd.Index([2, 3, 4])
    return [left & right, left | right, list(pd.Index(["a", "b"]) & pd.Index(["b"]))]


def case_sets_choose():
    df = frame()
    return [df[{"v"}], df.loc[{0}], df[{"v": 1}.keys()], df.loc[{1: 0}.keys()]]


def case_lists():
    return [
        list(pd.factorize(["x", None, "y", "x"])[0]),
        list(pd.factorize(["x", "a"], True)[0]),
        pd.unique([2, 1, 2]),
        pd.unique(["x", "y", "x"]),
        pd.unique((1.5, 1.5)),
    ]


def dated():
    df = pd.DataFrame({"g": [1, 1, 2], "a": [1.0, np.nan, 3.0], "b": [np.nan, 5.0, 6.0]})
    return df.assign(d=pd.date_range("2020-01-30", periods=3))


def case_stack():
    df = dated()[["a", "b"]]
    return [df.stack().tolist(), df.stack(dropna=False).tolist(), df.stack(-1).index.tolist()]


def case_describe():
    return [dated().describe(), dated()[["a"]].describe()]


def case_rows_of_a_time():
    df = dated().set_index("d")
    return [
        df["2020-01"].a.tolist(),
        df["2020"].b.tolist(),
        df["a"].tolist(),
        len(df["2020-01":"2020-02"]),
    ]


def case_fill_groups():
    groups = dated()[["g", "a", "b"]].groupby("g")
    return [
        groups.a.fillna(method="ffill"),
        groups.a.fillna(0),
        groups.fillna(method="bfill").b.tolist(),
        groups.ffill(),
    ]


def case_quantile_of_groups():
    df = dated().assign(s=pd.Series(["x", "y", "z"], dtype=object))
    return list(df.groupby("g").quantile(0.5).columns)
