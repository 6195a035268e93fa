"""Types of columns and values, which pandas 2 and 3 choose differently without an error."""

import io

import numpy as np
import pandas as pd

CSV = "number,text,flag,day\n1.5,x,yes,2020-01-01\n,y,no,2020-01-02\n3.0,,yes,2020-02-03\n"


def read(**options):
    return pd.read_csv(io.StringIO(CSV), **options)


def case_types_of_a_file():
    return [str(one) for one in read().dtypes]


def case_text_columns_are_chosen_by_object():
    frame = read()
    chosen = [name for name in frame.columns if frame[name].dtype == object]
    return [chosen, list(frame.select_dtypes(include=["object"]).columns)]


def case_types_of_a_frame_of_lists():
    return [str(one) for one in pd.DataFrame({"a": ["x", None], "b": [1, 2]}).dtypes]


def case_astype_str():
    return read().number.astype(str)


def case_array_of_text():
    return np.array(read()[["text", "flag"]])


def case_index_of_text():
    return pd.Series([1, 2], index=["a", "b"]).index


def case_unique_text():
    return read().text.unique()


def case_get_dummies():
    return pd.get_dummies(read()[["number", "flag"]])


def case_get_dummies_of_a_series():
    return pd.get_dummies(read().flag, prefix="f", drop_first=True)


def case_get_dummies_of_a_type():
    return pd.get_dummies(read().flag, dtype=float)


def case_replaced_words_become_numbers():
    return read().flag.replace({"yes": 1, "no": 0})


def case_replaced_words_of_a_frame_become_numbers():
    return read().replace({"flag": {"yes": 1, "no": 0}})


def case_lists_of_replaced_words():
    return read().flag.replace(["yes", "no"], [0.5, 1])


def case_replaced_within_a_frame():
    frame = read()
    frame.replace({"yes": True, "no": False}, inplace=True)
    return frame


def case_some_words_replaced():
    return read().flag.replace("yes", 1)


def case_nothing_replaced():
    return pd.Series([1, 2], dtype=object).replace("x", 3)


def case_replaced_numbers_keep_their_type():
    return pd.DataFrame({"a": [1, 2], "b": [1.5, 2.0]}).replace(2, 5)


def case_missing_flags_are_filled():
    return pd.Series([True, None, False], dtype=object).fillna(False)


def case_missing_numbers_of_objects_are_filled():
    return pd.DataFrame({"a": pd.Series([1, None, 3], dtype=object), "b": [1.0, None, 2.0]}).fillna(
        0
    )


def case_missing_words_are_filled():
    return read().text.fillna("none")


def case_missing_values_are_filled_within():
    frame = pd.DataFrame({"a": pd.Series([True, None], dtype=object)})
    frame.fillna(True, inplace=True)
    return frame


def case_numbers_filled_with_words():
    return read().number.fillna("none")


def case_a_word_is_set_in_integers():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [1.0, 2.0, 3.0]})
    frame.loc[frame.a > 1, "a"] = "many"
    return frame


def case_a_word_is_set_by_position():
    frame = pd.DataFrame({"a": [1, 2, 3]})
    frame.iloc[0, 0] = "x"
    return frame


def case_pattern_is_replaced_by_default():
    return pd.Series(["a1b22", "c"]).str.replace(r"\d+", "-")


def case_a_single_character_is_no_pattern():
    return pd.Series(["a.b", "ab"]).str.replace(".", "-")


def case_pattern_is_not_replaced_if_told():
    return pd.Series(["a.b", "axb"]).str.replace("a.b", "-", regex=False)


def case_a_function_replaces():
    return pd.Series(["a1"]).str.replace(r"\d", lambda found: found.group() * 2)


def case_days_as_integers():
    return pd.to_datetime(read().day).astype("int64")


def case_days_as_integers_by_numpy():
    return pd.to_datetime(read().day).values.astype(np.int64) // 10**9


def case_days_read_from_a_file():
    return read(parse_dates=["day"]).day.astype(np.int64)


def case_days_as_an_array():
    return pd.to_datetime(read().day).values


def case_days_by_to_numpy_and_asarray():
    days = pd.to_datetime(read().day)
    return [days.to_numpy(), np.asarray(days), np.array(days)]


def case_days_of_an_index():
    days = pd.date_range("2020-01-01", periods=3)
    return [days.values, days.astype("int64"), days.asi8]


def case_differences_of_days_as_integers():
    days = pd.to_datetime(read().day)
    return (days - days[0]).astype("int64")


def case_differences_of_days_as_an_array():
    days = pd.to_datetime(read().day)
    return (days - days[0]).values


def case_types_of_days():
    days = pd.to_datetime(read().day)
    return [
        str(days.dtype),
        str((days - days[0]).dtype),
        str(pd.date_range("2020", periods=2).dtype),
    ]


def case_days_in_a_frame():
    return pd.DataFrame({"a": pd.to_datetime(["2020-01-01"]), "b": [1]}).values


def case_view_of_days():
    return pd.Series(pd.to_datetime(["2020-01-01"])).astype("datetime64[ns]").values.view("int64")
