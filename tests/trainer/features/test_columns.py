"""trainer.features.columns: what the model sees of a value, in training and in serving."""

import csv
import io
import math

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.export.receivers import make_serving_receiver_fn
from trainer.features.columns import build_feature_columns
from trainer.features.raw_inputs import list_csv_inputs, list_inputs
from trainer.inputs.dataset import make_eval_input_fn
from trainer.schema import Range, Schema, Statistics
from trainer.training.job import build_source

SEEN = Range(count=4, missing=0, mean=10.0, std=4.0, min=2.0, max=22.0)


def _columns(statistics=None, crosses=(), **columns):
    schema = Schema.model_validate(
        {
            "columns": {**columns, "y": {"type": "float"}},
            "label": {"column": "y"},
            "crosses": list(crosses),
        }
    )
    ranges = {name: SEEN for name in columns} if statistics is None else statistics
    return build_feature_columns(schema, Statistics(4, ranges))


def _dense(columns, **values):
    """Returns what dense columns compute from raw values, float32 [rows, width]."""
    features = {name: tf.constant(value) for name, value in values.items()}
    return tf.keras.layers.DenseFeatures(columns)(features).numpy()


def _ids(column, **values):
    """Returns the ids of a categorical column in each row."""
    rows = _dense([tf.feature_column.indicator_column(column)], **values)
    return [np.flatnonzero(row).tolist() for row in rows]


NUMBERS = [2.0, 10.0, 22.0, -3.0]


@pytest.mark.parametrize(
    ("normalize", "wanted"),
    [
        ("standard", [(x - 10) / 4 for x in NUMBERS]),
        ("minmax", [(x - 2) / 20 for x in NUMBERS]),
        ("log", [math.log(3), math.log(11), math.log(23), -math.log(4)]),
        (
            {"mean": math.log(3), "std": 2, "log": True},
            [0, math.log(11 / 3) / 2, math.log(23 / 3) / 2, -math.log(12) / 2],
        ),
        ("none", NUMBERS),
        ({"mean": 1, "std": 2}, [(x - 1) / 2 for x in NUMBERS]),
    ],
)
def test_normalisers(normalize, wanted):
    deep = _columns(x={"type": "float", "normalize": normalize}).deep
    np.testing.assert_allclose(_dense(deep, x=NUMBERS)[:, 0], wanted, rtol=1e-6)


def test_ints_are_normalised_as_floats():
    deep = _columns(x={"type": "int"}).deep
    np.testing.assert_allclose(_dense(deep, x=[2, 10])[:, 0], [-2.0, 0.0])


@pytest.mark.parametrize("normalize", ["standard", "minmax"])
def test_a_constant_column_does_not_divide_by_zero(normalize):
    seen = Range(count=3, missing=0, mean=5, std=0, min=5, max=5)
    deep = _columns({"x": seen}, x={"type": "float", "normalize": normalize}).deep
    assert _dense(deep, x=[5.0, 7.0])[:, 0].tolist() == [0.0, 2.0]


def test_buckets_are_wide_and_the_number_is_deep():
    columns = _columns(x={"type": "float", "buckets": [0, 10]})
    (wide,), (deep,) = columns.wide, columns.deep
    # A boundary belongs to the bucket above it.
    assert np.argmax(_dense([wide], x=[-1.0, 0.0, 9.9, 10.0]), axis=1).tolist() == [0, 1, 1, 2]
    assert _dense([deep], x=[14.0]).tolist() == [[1.0]]


def test_without_buckets_the_wide_part_sees_the_normalised_number():
    (wide,) = _columns(x={"type": "float"}).wide
    assert _dense([wide], x=[14.0]).tolist() == [[1.0]]


def test_buckets_of_an_int():
    (wide,) = _columns(x={"type": "int", "buckets": [0, 10]}).wide
    assert np.argmax(_dense([wide], x=[-1, 0, 10]), axis=1).tolist() == [0, 1, 2]


def test_vocabulary_with_and_without_oov_buckets():
    (ids,) = _columns(c={"type": "string", "vocabulary": ["a", "ö"]}).wide
    assert _ids(ids, c=["a", "ö", "z", ""]) == [[0], [1], [], []]
    (ids,) = _columns(c={"type": "string", "vocabulary": ["a", "ö"], "oov_buckets": 3}).wide
    known, other, unknown, missing = _ids(ids, c=["a", "ö", "z", ""])
    assert (known, other) == ([0], [1])
    assert unknown[0] in (2, 3, 4) and len(unknown) == 1
    # A missing value is not a word.
    assert missing == []


def test_int_vocabulary():
    (ids,) = _columns(c={"type": "int", "vocabulary": [2013, 7]}).wide
    assert _ids(ids, c=[7, 2013, 8]) == [[1], [0], []]


def test_hash_buckets():
    (ids,) = _columns(c={"type": "string", "hash_buckets": 7}).wide
    first, again, missing = _ids(ids, c=["Zürich", "Zürich", ""])
    assert first == again and 0 <= first[0] < 7
    assert missing == []
    (ids,) = _columns(c={"type": "int", "hash_buckets": 7}).wide
    assert all(0 <= row[0] < 7 for row in _ids(ids, c=[1, -5, 10**12]))


def test_identities_and_ids_outside_them():
    (ids,) = _columns(c={"type": "int", "identities": 3}).wide
    # Feature columns treat -1 as missing.
    assert _ids(ids, c=[0, 2, 3, -2, -1]) == [[0], [2], [0], [0], []]


def test_small_vocabularies_are_one_hot_and_large_ones_embedded():
    (small,) = _columns(c={"type": "string", "hash_buckets": 32}).deep
    assert _dense([small], c=["a"]).shape == (1, 32)
    (large,) = _columns(c={"type": "string", "hash_buckets": 33}).deep
    assert _dense([large], c=["a"]).shape == (1, round(6 * 33**0.25))
    (column,) = _columns(c={"type": "string", "hash_buckets": 4, "embedding": 5}).deep
    assert _dense([column], c=["a"]).shape == (1, 5)


def test_use_chooses_the_part():
    columns = _columns(
        a={"type": "float", "use": ["deep"]},
        b={"type": "float", "use": ["wide"]},
        c={"type": "float", "use": []},
    )
    assert [column.key for column in columns.deep] == ["a"]
    assert [column.key for column in columns.wide] == ["b"]


def test_crosses():
    columns = _columns(
        a={"type": "string", "hash_buckets": 4, "use": []},
        x={"type": "float", "buckets": [0], "use": []},
        crosses=[{"columns": ["a", "x"], "hash_buckets": 1000, "embedding": 6}],
    )
    (ids,), (deep,) = columns.wide, columns.deep
    low, high, other, low_again = _ids(ids, a=["p", "p", "q", "p"], x=[-1.0, 1.0, -1.0, -9.0])
    assert low == low_again
    assert len({low[0], high[0], other[0]}) == 3
    assert _dense([deep], a=["p"], x=[1.0]).shape == (1, 6)
    wide_only = _columns(
        a={"type": "string", "hash_buckets": 4, "use": []},
        x={"type": "float", "buckets": [0], "use": []},
        crosses=[{"columns": ["a", "x"], "hash_buckets": 10}],
    )
    assert len(wide_only.wide) == 1 and wide_only.deep == []


def test_the_inputs_of_an_export(make):
    schema = make.schema("bought", weight=True)
    assert list_inputs(schema) == ["age", "hours", "city", "job", "level", "id"]
    # A CSV line has the columns of a file without label and weight.
    assert list_csv_inputs(schema)[:4] == ["id", "age", "hours", "city"]
    assert not {"bought", "w"} & set(list_csv_inputs(schema))


# Serving and training see the same features.


class Doors:
    """The serving graph of a schema, fed by one of its three receivers."""

    def __init__(self, schema, statistics, delimiter=",", receiver="example"):
        self.graph, self.default = tf.Graph(), receiver
        with self.graph.as_default():
            fn = make_serving_receiver_fn(schema, statistics, receiver, delimiter)
            self.receiver = fn()

    def ask(self, door, inputs):
        """Returns the features that the model gets from one receiver."""
        doors = {self.default: self.receiver.receiver_tensors}
        doors.update(self.receiver.receiver_tensors_alternatives)
        with tf.compat.v1.Session(graph=self.graph) as session:
            feed = {doors[door][name]: value for name, value in inputs.items()}
            return session.run(self.receiver.features, feed)


@pytest.fixture(scope="module")
def served(make, tmp_path_factory):
    """(schema, statistics, raw rows, what training sees of them)."""
    folder = tmp_path_factory.mktemp("served")
    rows = make.rows(40, seed=9)
    schema = make.schema("bought", weight=True)
    job = make.prepare(make.config(rows=make.csv(folder / "a.csv", rows)), schema)
    dataset = make_eval_input_fn(build_source(job, training=True), schema, 100)()
    features, _ = next(dataset.as_numpy_iterator())
    return schema, job.statistics, rows, {name: features[name] for name in list_inputs(schema)}


def _lines(schema, rows, delimiter):
    lines = []
    for row in rows:
        text = io.StringIO()
        fields = ["" if row[name] is None else row[name] for name in list_csv_inputs(schema)]
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerow(fields)
        lines.append(text.getvalue()[:-1])
    return lines


def _same(got, wanted):
    assert set(got) == set(wanted)
    for name, values in wanted.items():
        assert got[name].dtype == values.dtype, name
        np.testing.assert_array_equal(got[name], values, err_msg=name)


@pytest.mark.parametrize("receiver", ["example", "json", "csv"])
def test_every_receiver_gives_what_training_sees(make, served, receiver):
    schema, statistics, rows, wanted = served
    doors = Doors(schema, statistics, receiver=receiver)
    examples = [make.example({name: row[name] for name in list_inputs(schema)}) for row in rows]
    _same(doors.ask("example", {"examples": examples}), wanted)
    _same(doors.ask("csv", {"csv": _lines(schema, rows, ",")}), wanted)
    _same(doors.ask("json", wanted), wanted)


def test_csv_lines_with_another_delimiter(served):
    schema, statistics, rows, wanted = served
    doors = Doors(schema, statistics, delimiter=";")
    _same(doors.ask("csv", {"csv": _lines(schema, rows, ";")}), wanted)


def test_missing_value_texts_apply_in_serving():
    schema = Schema.model_validate(
        {
            "columns": {
                "x": {"type": "float", "default": "mean"},
                "n": {"type": "int", "default": 3},
                "c": {"type": "string", "hash_buckets": 4, "default": "other"},
                "y": {"type": "float"},
            },
            "label": {"column": "y"},
            "missing_values": ["", "?"],
        }
    )
    doors = Doors(schema, Statistics(4, {"x": SEEN}))
    got = doors.ask("csv", {"csv": ["?,?,?", ",,", "1,2,z"]})
    assert got["x"].tolist() == [10, 10, 1]
    assert got["n"].tolist() == [3, 3, 2]
    assert got["c"].tolist() == [b"other", b"other", b"z"]
    got = doors.ask("example", {"examples": [b""]})
    assert (got["x"].tolist(), got["n"].tolist(), got["c"].tolist()) == ([10], [3], [b"other"])


def test_a_missing_value_without_default_is_an_error_in_serving():
    columns = {"x": {"type": "float"}, "z": {"type": "int"}, "y": {"type": "float"}}
    schema = Schema.model_validate({"columns": columns, "label": {"column": "y"}})
    doors = Doors(schema, Statistics(4, {"x": SEEN, "z": SEEN}))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Feature: [xz] .*is required"):
        doors.ask("example", {"examples": [b""]})
    for line in (",1", "1,", "zz,1", "1,2.5"):
        with pytest.raises(tf.errors.InvalidArgumentError, match="StringToNumber"):
            doors.ask("csv", {"csv": [line]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expect 2 fields"):
        doors.ask("csv", {"csv": ["1"]})
