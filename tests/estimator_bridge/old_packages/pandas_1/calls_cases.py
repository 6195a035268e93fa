"""Calls of pandas 1 that today's pandas refuses: by position, and with arguments that it lacks."""

import io

import numpy as np
import pandas as pd


def frame():
    return pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [1, 1, 2], "c": [3, 2, 1]})


def grouped():
    letters = pd.Categorical(list("xyx"), categories=list("xyz"))
    return pd.DataFrame(
        {
            "g": pd.Series(list("aab"), dtype=object),
            "h": letters,
            "v": [1, 2, 3],
            "w": [0.5, 0.25, 4],
        }
    )


def days():
    return pd.Series(range(4), index=pd.date_range("2020-01-01", periods=4))


def texts(index):
    return [str(one) for one in index]


def changed(value, change):
    change(value)
    return value


def case_drop_by_position():
    return [frame().drop("a", 1), frame().drop([0], 0)]


def case_drop_in_place_by_position():
    return changed(frame(), lambda df: df.drop("a", 1, inplace=True))


def case_concat_by_position():
    return [
        pd.concat([frame(), frame().b], 1),
        pd.concat([frame(), frame()[["b"]]], 0, "inner", True),
    ]


def case_any_all_by_position():
    return [frame().isnull().any(1), frame().isnull().all(0), frame().b.eq(1).any(0)]


def case_dropna_by_position():
    return [frame().dropna(0), frame().dropna(1, "any"), frame().a.dropna(0)]


def case_index_by_position():
    return [
        frame().set_index("b", False),
        frame().set_index("b", True, True),
        frame().set_index("b").reset_index("b", True),
        frame().b.reset_index(None, True),
    ]


def case_sort_by_position():
    return [
        frame().sort_values("c", 0, True),
        frame().sort_values(["b", "c"], 0, [False, True]),
        frame().sort_index(0, None, False),
        frame().c.sort_values(0, False),
        frame().c.sort_index(0, None, False),
    ]


def case_fillna_by_position():
    return [
        frame().fillna(0, None, 1),
        frame().a.fillna(None, "bfill"),
        frame().a.ffill(0, False, 1),
    ]


def case_reductions_by_position():
    df = frame()
    return [
        df.sum(1),
        df.mean(0),
        df.std(1, True),
        df.var(0, True, None, 0),
        df.max(1),
        df.b.sum(0),
    ]


def case_count_by_position():
    return [frame().count(1), frame().count(0)]


def case_clip_by_position():
    return [frame().clip(1, 2, 0), frame().b.clip(1, 1)]


def case_where_by_position():
    return [frame().where(frame() > 1, 0, False), frame().b.mask(frame().b > 1, 7, False)]


def case_replace_by_position():
    return [frame().replace(1, 5, False), frame().b.replace(1, 5, False)]


def case_drop_duplicates_by_position():
    return [frame().drop_duplicates("b", "last"), frame().b.drop_duplicates("last")]


def case_pivot_by_position():
    df = pd.DataFrame({"i": [0, 0, 1], "c": list("xyx"), "v": [1, 2, 3]})
    return [df.pivot("i", "c", "v"), pd.pivot(df, "i", "c", "v")]


def case_split_by_position():
    texts = pd.Series(["a b c"], dtype=object)
    return [texts.str.split(" ", 1), texts.str.rsplit(" ", 1), texts.str.split(" ", -1, True)]


def case_read_csv_by_position():
    return pd.read_csv(io.StringIO("a;b\n1;2\n"), ";")


def case_to_csv_by_position():
    file = io.StringIO()
    frame().to_csv(file, ";", "?", None, ["a", "b"], True, False)
    return file.getvalue()


def case_to_json_by_position():
    return frame().to_json(None, "records")


def case_to_dict():
    df = frame()[["b", "c"]]
    return [df.to_dict("records"), df.to_dict("record"), df.to_dict("l"), df.to_dict(orient="sp")]


def case_reindex_by_position():
    return [frame().reindex([0, 5]), frame().reindex([0, 1], ["a", "z"])]


def case_take_by_position():
    return [frame().take([1, 0], 0), frame().take([0], 1, False), frame().take([0], is_copy=False)]


def case_set_names_by_position():
    index = pd.MultiIndex.from_tuples([(1, 2), (3, 4)])
    return [list(index.set_names(["p", "q"]).names), list(index.set_names("q", 1).names)]


def case_index_sort_values_by_position():
    return pd.Index([2, 3, 1]).sort_values(False, False)


def case_index_join_by_position():
    return pd.Index([1, 2, 3]).join(pd.Index([2, 3, 4]), "inner")


def case_shift_by_position():
    return [grouped().groupby("g").v.shift(1), grouped().groupby("g").v.rank("first", False)]


def case_fillna_method():
    df = frame()
    return [
        df.fillna(method="ffill"),
        df.fillna(method="pad", axis=1),
        df.a.fillna(method="bfill"),
        changed(frame(), lambda df: df.fillna(method="backfill", inplace=True)),
    ]


def case_fillna_downcast():
    return [frame().a.fillna(0, downcast="infer"), frame().fillna(0, downcast="infer")]


def case_replace_method():
    numbers = pd.Series([0, 1, 2, 2, 3])
    return [
        numbers.replace(2, method="pad"),
        numbers.replace([1, 2], method="bfill"),
        numbers.replace([1, 2], method="pad", limit=1),
    ]


def case_categories_in_place():
    values = pd.Series(list("xyx")).astype("category")
    values.cat.set_categories(["y", "x", "z"], inplace=True)
    first = list(values.cat.categories)
    values.cat.rename_categories(["p", "q", "r"], inplace=True)
    values.cat.remove_unused_categories(inplace=True)
    values.cat.add_categories(["s"], inplace=True)
    values.cat.as_ordered(inplace=True)
    return [first, list(values.cat.categories), values.tolist(), values.cat.ordered]


def case_categorical_in_place():
    values = pd.Categorical(list("xyx"))
    values.rename_categories(["p", "q"], inplace=True)
    return [list(values), list(values.categories)]


def case_errors_ignore():
    texts = pd.Series(["1", "a"], dtype=object)
    return [
        pd.to_numeric(texts, errors="ignore"),
        pd.to_numeric(texts, "ignore"),
        pd.to_numeric(["1", "2"], errors="ignore"),
        pd.to_numeric(pd.Series(["1", "2"]), errors="ignore"),
    ]


def case_date_range_closed():
    return [
        texts(pd.date_range("2020-01-01", "2020-01-03", closed="left")),
        texts(pd.date_range("2020-01-01", "2020-01-03", closed=None)),
        texts(pd.date_range("2020-01-01", "2020-01-03", None, None, None, False, None, "right")),
        texts(pd.bdate_range("2020-01-01", "2020-01-07", closed="left")),
    ]


def case_between():
    numbers = pd.Series([1, 2, 3])
    return [
        numbers.between(1, 3, inclusive=True),
        numbers.between(1, 3, inclusive=False),
        numbers.between(1, 3, False),
        numbers.between(1, 2),
    ]


def case_between_time():
    values = pd.Series(range(4), index=pd.date_range("2020-01-01", periods=4, freq="360min"))
    return values.between_time("00:00", "12:00", include_end=False).tolist()


def case_set_axis_in_place():
    return changed(frame(), lambda df: df.set_axis(["x", "y", "z"], axis=1, inplace=True))


def case_factorize():
    codes, values = pd.factorize(pd.Series(["x", None, "y"]), na_sentinel=-5)
    return [codes, list(values)]


def case_describe_dates():
    return frame().describe(datetime_is_numeric=True)


def case_apply_convert_dtype():
    return frame().b.apply(lambda one: one + 1, convert_dtype=True)


def case_map_arg():
    return frame().b.map(arg={1: 10})


def case_to_csv_line_terminator():
    return frame().to_csv(line_terminator="|", index=False)


def case_rename_copy():
    return frame().rename(columns={"a": "z"}, copy=False)


def case_level():
    index = pd.MultiIndex.from_product([["x", "w"], [0, 1]], names=["k", "n"])
    df = pd.DataFrame({"a": [1, 2, 3, 4], "b": [0.5, np.nan, 1, 2]}, index=index)
    return [
        df.sum(level=0),
        df.mean(level="k"),
        df.max(level=1),
        df.a.sum(level="k"),
        df.b.count(level="k"),
        df.count(level="k"),
        (df > 1).any(level="k"),
        df.std(level=0),
        df.T.sum(axis=1, level=0),
    ]


def case_groupby_axis():
    df = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=list("abc"))
    groups = df.groupby({"a": "x", "b": "x", "c": "y"}, axis=1)
    return [
        groups.sum(),
        groups.mean(),
        df.groupby([0, 0, 1], 1).sum(),
        df.groupby([0, 1], 0).sum(),
    ]


def case_groupby_axis_parts():
    df = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=list("abc"))
    return [[key, part] for key, part in df.groupby([0, 0, 1], axis=1)]


def case_rolling_axis():
    df = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=list("abc"))
    return [
        df.rolling(2, axis=1).sum(),
        df.rolling(2, 1, axis=0).sum(),
        df.expanding(1, axis=1).max(),
    ]


def case_resample_arguments():
    return [
        days().resample("2D", loffset="1D").sum().tolist(),
        texts(days().resample("2D", loffset="1D").sum().index),
        texts(days().resample("2D").sum().index),
    ]


def case_resample_base():
    values = pd.Series(range(6), index=pd.date_range("2020-01-01", periods=6, freq="10min"))
    found = values.resample("30min", base=10).sum()
    return [texts(found.index), found.tolist()]


def case_concat_observed():
    df = grouped()
    return [
        df.groupby(["g", "h"]).v.sum().tolist(),
        df.groupby("h").v.mean(),
        df.pivot_table("v", "g", "h"),
        df.pivot_table(values="v", index="h", columns="g", aggfunc="sum"),
        pd.crosstab(df.g, df.h),
        pd.crosstab(df.g, df.h, normalize=True, margins=True),
    ]


def case_value_counts():
    values = pd.Series([2, 1, 2], name="n")
    return [
        values.value_counts(),
        values.value_counts(normalize=True),
        values.value_counts().reset_index(),
        values.value_counts().rename_axis("v").reset_index(name="counts"),
        pd.value_counts(values),
        pd.value_counts([1, 2, 2]),
        values.to_frame().value_counts().reset_index(),
        grouped().groupby("g").v.value_counts(),
        pd.Index([1, 2, 2], name="i").value_counts(),
        grouped().h.value_counts().tolist(),
        values.value_counts(bins=2).tolist(),
    ]


def case_groupby_apply():
    groups = grouped().groupby("g")
    return [
        groups.apply(lambda part: part.g.iloc[0]).tolist(),
        groups.apply(lambda part: part.v - part.v.mean()),
        groups.apply(lambda part: part),
        groups.apply(lambda part: part.assign(z=part.v.sum())),
        groups.apply(lambda part: part.sort_values("v", ascending=False)),
        groups.apply(lambda part: part.head(1)),
        groups.apply(lambda part: pd.Series({"m": part.v.max(), "n": len(part)})),
        groups.v.apply(lambda part: part / part.sum()),
        groups[["v", "w"]].apply(lambda part: part - part.mean()),
    ]


def case_groupby_tuple():
    return grouped().groupby("g")["v", "w"].sum()


def case_pct_change():
    numbers = pd.Series([1.0, np.nan, 3.0, 6.0])
    return [
        numbers.pct_change(),
        numbers.pct_change(2),
        numbers.pct_change(fill_method="bfill"),
        numbers.pct_change(fill_method="pad", limit=1),
        pd.DataFrame({"a": numbers}).pct_change(),
        grouped().groupby("g").w.pct_change(),
    ]


def case_quantile_of_window():
    return frame().b.rolling(2).quantile(quantile=0.5)


def case_drop_duplicates_keep():
    return [frame().duplicated("b"), frame().drop_duplicates(subset=["b"], keep="last")]


def case_align():
    left, right = pd.Series([1, 2], index=[0, 2]), pd.Series([3], index=[1])
    return list(left.align(right, method="ffill"))
