"""Missing values mean the same in every file format and in every input of an export."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from estimator_bridge import tf
from trainer.config import DataConfig
from trainer.errors import UserError
from trainer.export import receivers
from trainer.export.checker import check_exports
from trainer.export.receivers import make_serving_receiver_fn
from trainer.inputs.bad_rows import BadRows
from trainer.inputs.files import find_files
from trainer.inputs.missing import mark_missing
from trainer.inputs.tables import read_batches
from trainer.schema import Range, Schema, Statistics

pytestmark = pytest.mark.newest

SCHEMA = Schema.model_validate(
    {
        "missing_values": ["", "?", "-999"],
        "columns": {
            "id": {"type": "string"},
            "a": {"type": "float", "default": "mean"},
            "n": {"type": "int", "default": 7, "identities": 10},
            "s": {"type": "string", "hash_buckets": 5, "default": "none"},
            "tags": {"type": "string", "vocabulary": ["x", "y"], "separator": "|"},
            "y": {"type": "float"},
        },
        "label": {"column": "y"},
        "key": "id",
    }
)
STATISTICS = Statistics(4, {"a": Range(count=4, missing=0, mean=2.5, std=1.0, min=1.0, max=4.0)})
ROWS = [
    {"id": "k", "a": 1.5, "n": 3, "s": "?", "tags": "x|y", "y": 1.0},
    {"id": "l", "a": -999.0, "n": -999, "s": "", "tags": "?", "y": 2.0},
    {"id": "m", "a": float("nan"), "n": 4, "s": "-999", "tags": "y", "y": 3.0},
    {"id": "n", "a": None, "n": None, "s": None, "tags": None, "y": 4.0},
]


def _write(kind, path):
    if kind == "parquet":
        pa.parquet.write_table(pa.Table.from_pylist(ROWS), path)
    elif kind == "csv":
        text = {None: "", "nan": "nan"}
        lines = [",".join(text.get(value, str(value)) for value in row.values()) for row in ROWS]
        path.write_text(",".join(ROWS[0]) + "\n" + "\n".join(lines) + "\n")
    else:
        with tf.io.TFRecordWriter(str(path)) as writer:
            for row in ROWS:
                writer.write(_to_example(row))
    return str(path)


def _to_example(row):
    features = {}
    for name, value in row.items():
        if value is None:
            continue
        kind = SCHEMA.columns[name].type
        if kind == "string":
            feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))
        elif kind == "int":
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
        else:
            feature = tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        features[name] = feature
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


@pytest.mark.parametrize("kind", ["csv", "parquet", "tfrecord"])
def test_every_format_has_the_same_missing_values(tmp_path, kind):
    (file,) = find_files([_write(kind, tmp_path / f"a.{kind}")], kind, "data")
    (batch,) = read_batches(file, SCHEMA, list(SCHEMA.columns), DataConfig())
    assert batch.columns.to_pydict() == {
        "id": ["k", "l", "m", "n"],
        "a": [1.5, None, None, None],
        "n": [3, None, 4, None],
        "s": [None, None, None, None],
        "tags": ["x|y", None, "y", None],
        "y": [1.0, 2.0, 3.0, 4.0],
    }


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "dictionary"])
def test_a_word_among_numbers_is_missing_in_every_format(tmp_path, kind):
    schema = SCHEMA.model_copy(update={"missing_values": ("", "NA", "inf")})
    words = ["1.5", "NA", "", "inf", "2"]
    columns = {"id": ["NA"] * 5, "a": words, "n": ["1", "NA", "", None, "2"], "y": [1.0] * 5}
    path = tmp_path / f"a.{kind.replace('dictionary', 'parquet')}"
    if kind == "csv":
        rows = zip(
            *[["" if value is None else str(value) for value in columns[n]] for n in columns]
        )
        path.write_text("\n".join(map(",".join, [columns, *rows])) + "\n")
    elif kind == "jsonl":
        rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
        path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    else:
        table = pa.table(columns)
        if kind == "dictionary":
            table = table.set_column(1, "a", table["a"].dictionary_encode())
        pa.parquet.write_table(table, path)
    (file,) = find_files([str(path)], "auto", "data")
    wanted = {"a": [1.5, None, None, None, 2.0], "n": [1, None, None, None, 2]}
    for bad_rows in (None, BadRows(0)):
        (batch,) = read_batches(file, schema, ["a", "n"], DataConfig(), bad_rows)
        assert batch.columns.to_pydict() == wanted


def test_an_infinite_number_may_mean_a_missing_value():
    schema = SCHEMA.model_copy(update={"missing_values": ("inf", "-999")})
    batch = pa.record_batch({"a": pa.array([1, float("inf"), -999, float("-inf")], pa.float32())})
    assert mark_missing(batch, schema).to_pydict() == {"a": [1, None, None, float("-inf")]}


def test_the_key_is_never_missing_and_words_without_rows_are_dropped():
    words = pa.array(["?", "x", None, "?"]).dictionary_encode()
    batch = pa.RecordBatch.from_pydict({"id": words, "s": words})
    found = mark_missing(batch, SCHEMA)
    assert found.column("id").to_pylist() == ["?", "x", None, "?"]
    assert found.column("s").to_pylist() == [None, "x", None, None]
    assert found.column("s").dictionary.to_pylist() == ["x"]


def test_every_input_of_an_export_fills_the_same_missing_values():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        receiver = make_serving_receiver_fn(SCHEMA, STATISTICS, "json", ",")()
        raw = receiver.receiver_tensors
        alternatives = receiver.receiver_tensors_alternatives
        fields = {"id": "?", "a": "nan", "n": "?", "s": "?", "tags": "?"}
        given = [
            {
                raw["id"]: ["?"],
                raw["a"]: [np.nan],
                raw["n"]: [-999],
                raw["s"]: ["?"],
                raw["tags"]: ["?"],
            },
            {alternatives["csv"]["csv"]: [",".join(fields.values())]},
            {alternatives["csv"]["csv"]: ["?,-999.0,-999,-999,-999"]},
            {alternatives["csv"]["csv"]: ["?,,,,"]},
            {
                alternatives["example"]["examples"]: [
                    _to_example({"id": "?", "a": -999.0, "n": -999, "s": "?", "tags": "-999"})
                ]
            },
            {alternatives["example"]["examples"]: [_to_example({"id": "?"})]},
        ]
        for feed in given:
            features = session.run(receiver.features, feed)
            assert {name: values.tolist() for name, values in features.items()} == {
                "id": [b"?"],
                "a": [2.5],
                "n": [7],
                "s": [b"none"],
                "tags": [b""],
            }


def _build_wide_receiver(num_columns):
    columns = {"y": {"type": "float"}}
    kinds = ({"type": "float", "default": 0}, {"type": "string", "hash_buckets": 9, "default": "a"})
    columns.update((f"c{number}", kinds[number % 2]) for number in range(num_columns))
    schema = Schema.model_validate({"columns": columns, "label": {"column": "y"}})
    return make_serving_receiver_fn(schema, Statistics(1, {}), "json", ",")()


def test_an_export_has_few_operations_for_the_inputs_of_each_column():
    counts = []
    for number in (10, 60):
        with tf.Graph().as_default() as graph:
            _build_wide_receiver(number)
            counts.append(len(graph.get_operations()))
    # One operation for each column and each kind of missing value would be more than 30.
    assert (counts[1] - counts[0]) / 50 < 8


def test_a_missing_number_without_default_fails_beside_one_with_default():
    kinds = {"a": {"type": "float", "default": 3}, "b": {"type": "float"}, "y": {"type": "float"}}
    schema = Schema.model_validate({"columns": kinds, "label": {"column": "y"}})
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        receiver = make_serving_receiver_fn(schema, Statistics(1, {}), "csv", ",")()
        lines = receiver.receiver_tensors["csv"]
        found = session.run(receiver.features, {lines: [",1.5", "2,nan"]})
        assert found["a"].tolist() == [3, 2]
        assert found["b"][0] == 1.5 and np.isnan(found["b"][1])
        with pytest.raises(tf.errors.InvalidArgumentError, match="convert string"):
            session.run(receiver.features, {lines: ["1,"]})


@pytest.mark.parametrize("is_filled", [True, False])
def test_the_check_of_an_export_leaves_values_out(bench, monkeypatch, is_filled):
    if not is_filled:
        monkeypatch.setattr(
            receivers, "fill_missing", lambda features, schema, statistics: features
        )
    kinds = {"label": {"type": "int"}, "w": {"type": "float", "default": 1}}
    label = {"column": "label", "num_classes": 2}
    schema = bench.build_schema(label, kinds)
    built = bench.build(bench.build_config(model={"type": "linear"}), schema)
    built.train(bench.feed(bench.positive, w=np.ones(bench.num_rows, np.float32)), steps=2)
    receiver_fn = make_serving_receiver_fn(schema, STATISTICS, "json", ",")
    path = built.export_saved_model(str(bench.folder / "export"), receiver_fn).decode()
    rows = [{"x": 0.5, "color": "red", "w": 2.0}]
    if is_filled:
        check_exports([path], rows, schema, ",")
    else:
        with pytest.raises(UserError, match="row 2 as json: .* not a finite number"):
            check_exports([path], rows, schema, ",")
