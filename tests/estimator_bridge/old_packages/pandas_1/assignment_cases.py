"""Values that are set in a column of a frame, or in its array."""

import numpy as np
import pandas as pd


def make():
    return pd.DataFrame(
        {"a": [1.0, np.nan, 3.0], "b": [10.0, 20.0, 30.0], "n": [1, 2, 3], "t": ["x", "y", None]}
    )


def case_missing_values_of_a_column_are_filled():
    frame = make()
    frame["a"].fillna(0, inplace=True)
    return frame


def case_missing_values_of_an_attribute_are_filled():
    frame = make()
    frame.t.fillna("none", inplace=True)
    frame.a.fillna(frame.a.mean(), inplace=True)
    return frame


def case_values_of_a_column_are_replaced():
    frame = make()
    frame["t"].replace({"x": 1, "y": 2, None: 3}, inplace=True)
    frame.n.replace(1, 7, inplace=True)
    return frame


def case_a_column_is_set_by_a_mask():
    frame = make()
    frame["a"][frame["n"] == 1] = 9
    return frame


def case_a_column_is_set_by_a_label():
    frame = make()
    frame["b"][1] = 9
    return frame


def case_a_column_is_set_by_loc_and_iloc():
    frame = make()
    frame["a"].loc[frame.n == 2] = 5
    frame["b"].iloc[0] = 6
    return frame


def case_a_column_is_set_by_at_and_iat():
    frame = make()
    frame["a"].at[1] = 5
    frame["b"].iat[2] = 6
    return frame


def case_a_column_is_set_in_a_loop():
    frame = make()
    for number in range(len(frame)):
        frame["b"][number] = frame["n"][number] * 2
    return frame


def case_a_column_gets_another_type():
    frame = make()
    frame["n"][frame.b > 10] = 1.5
    frame["a"][1] = "x"
    return frame


def case_a_kept_column_is_a_view():
    frame = make()
    column = frame["b"]
    column[0] = 5
    frame.loc[1, "b"] = 6
    frame["b"][2] = 7
    return [frame, column]


def case_a_kept_column_after_the_frame_gets_another():
    frame = make()
    column = frame["b"]
    frame["b"] = 0
    return [frame, column]


def case_a_kept_column_is_filled():
    frame = make()
    column = frame["a"]
    column.fillna(4, inplace=True)
    column += 1
    return [frame, column]


def case_a_column_is_the_same_object():
    frame = make()
    return frame["a"] is frame["a"]


def case_a_copy_of_a_column_is_no_view():
    frame = make()
    column = frame["a"].copy()
    column.fillna(0, inplace=True)
    column[0] = 5
    return [frame, column]


def case_chosen_rows_are_a_copy():
    frame = make()
    rows = frame[frame.n > 1]
    rows["b"] = 0
    rows["a"][rows.index[0]] = 8
    frame.loc[frame.n > 1]["b"] = 1
    return [frame, rows]


def case_a_new_frame_does_not_share():
    frame = make()
    others = [
        frame.drop("t", axis=1),
        frame.rename(columns={"a": "c"}),
        frame.reset_index(drop=True),
    ]
    others += [frame.assign(m=1), frame[["a", "b"]], frame.copy()]
    frame["a"][0] = 100
    frame.loc[1, "b"] = 200
    frame["b"].values[2] = 300
    return [frame, *others]


def case_writing_in_a_new_frame_does_not_reach_the_old_one():
    frame = make()
    other = frame.drop("t", axis=1)
    other["a"][0] = 100
    other["b"].values[2] = 300
    other.loc[0, "n"] = 400
    return [frame, other]


def case_values_of_a_column_can_be_set():
    frame = make()
    frame["b"].values[0] = 5
    np.asarray(frame["a"])[1] = 6
    return frame


def case_values_of_a_series_can_be_set():
    series = pd.Series([1.0, 2.0, 3.0])
    values = series.values
    values[values > 1] = 0
    return [series, values]


def case_values_of_a_frame_can_be_set():
    frame = make()[["a", "b"]]
    values = frame.values
    values[0, 0] = 5
    values /= 2
    return values


def case_values_can_be_shuffled():
    series = pd.Series([1.0, 1.0])
    np.random.shuffle(series.values)
    frame = pd.DataFrame(np.ones([2, 2]))
    np.random.shuffle(frame.values)
    return [series.values.flags.writeable, frame.values.flags.writeable, series, frame]


def case_arrays_are_writeable():
    frame = make()
    arrays = [frame["b"].values, frame["b"].to_numpy(), np.asarray(frame["b"]), frame.values]
    arrays += [np.asarray(frame), frame[["a", "b"]].values, frame[["a", "b"]].to_numpy()]
    arrays += [frame["t"].values, frame.n.values, pd.Series([1, 2]).index.values]
    return [one.flags.writeable for one in arrays]


def case_sorted_within():
    frame = make()
    frame.sort_values("n", ascending=False, inplace=True)
    frame["a"].fillna(0, inplace=True)
    return frame


def case_names_are_changed_between():
    frame = make()
    frame["a"]
    frame.columns = ["c", "b", "n", "t"]
    frame["c"].fillna(0, inplace=True)
    return frame


def case_a_column_that_was_deleted():
    frame = make()
    column = frame.pop("a")
    column.fillna(0, inplace=True)
    frame["m"] = column
    return [frame, column]


def case_two_columns_with_one_name():
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"])
    frame["a"]["b"] = 1
    return frame


def case_rows_by_iterrows_are_copies():
    frame = make()
    for _, row in frame.iterrows():
        row["t"] = "changed"
    return frame


def case_a_frame_keeps_the_array_that_it_was_made_of():
    array = np.zeros([2, 2])
    frame = pd.DataFrame(array, columns=["a", "b"])
    frame["a"][0] = 5
    return frame


def case_a_frame_of_frames():
    train, test = make(), make()
    for frame in [train, test]:
        frame["a"].fillna(frame["a"].median(), inplace=True)
        frame["t"] = frame["t"].fillna("S")
        frame.loc[frame["b"] <= 10, "b"] = 0
        frame["b"][frame["b"] > 25] = 1
    return [train, test]


def case_rows_of_apply():
    frame = make()[["a", "b", "n"]].fillna(0)
    return frame.apply(lambda row: row.values.sum() + np.asarray(row)[0], axis=1)


def case_values_of_rows_are_written():
    frame = make()[["b", "n"]] * 1.0

    def double(row):
        row.values[:] = row.values * 2
        return row

    return frame.apply(double, axis=1)


def case_values_of_groups():
    frame = make()
    return frame.groupby("t")["b"].apply(lambda group: group.values.sum())


def case_a_new_column_does_not_share():
    frame = make()
    frame["c"] = frame["b"]
    frame["b"][0] = 5
    frame["c"].values[1] = 6
    return frame


def case_values_of_a_frame_that_was_built_by_columns():
    frame = make()[["a", "b"]].astype("float32")
    frame["c"] = np.float32(1)
    frame.values[0] = 7
    np.asarray(frame)[1, 1] = 8
    return frame
