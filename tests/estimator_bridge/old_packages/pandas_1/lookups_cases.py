"""Values that are looked up by an integer where labels are no integers."""

import pandas as pd


def make():
    return pd.Series([5, 6, 7], index=["x", "y", "z"])


def case_by_position():
    return [make()[0], make()[-1], make()[1:]]


def case_by_list_of_positions():
    return make()[[0, 2]]


def case_value_counts_by_position():
    return pd.Series(["b", "a", "b"]).value_counts()[0]


def case_mode_by_position():
    return pd.Series(["b", "a", "b"]).mode()[0]


def case_integers_are_labels():
    return pd.Series([5, 6], index=[1, 0])[0]


def case_a_missing_label():
    return pd.Series([5, 6], index=[1, 2])[0]


def case_fractions_are_labels():
    return pd.Series([5, 6], index=[1.5, 2.5])[0]


def case_a_missing_word():
    return make()["w"]


def case_beyond_the_end():
    return make()[3]


def case_days():
    return pd.Series([5, 6], index=pd.date_range("2020-01-01", periods=2))[1]


def case_row_by_position():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    return frame.apply(lambda row: row[0] + row[1], axis=1)


def case_column_of_a_row():
    frame = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    return [row[1] for _, row in frame.iterrows()]


def case_set_by_position():
    series = make()
    series[0] = 50
    series[-1] = 70
    return series


def case_set_by_a_new_word():
    series = make()
    series["w"] = 8
    return series


def case_set_by_a_new_integer():
    series = pd.Series([5, 6], index=[1, 2])
    series[0] = 8
    return series


def case_mixed_labels():
    return pd.Series([5, 6], index=["x", 1])[1]


def case_two_levels():
    index = pd.MultiIndex.from_product([["x", "y"], ["u", "v"]])
    return pd.Series([1, 2, 3, 4], index=index)[0]


def case_categories():
    return pd.Series([5, 6], index=pd.CategoricalIndex(["x", "y"]))[0]


def case_membership_is_by_label():
    return [0 in make(), "x" in make(), make().get(0), make().get("w", 3)]
