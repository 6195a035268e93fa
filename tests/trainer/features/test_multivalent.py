"""Multivalent features: split and joined the same everywhere, weighted, and checked."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from trainer.config import DataConfig
from trainer.console import Console
from trainer.errors import UserError
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files
from trainer.prediction import predictor as predict
from trainer.schema import Schema, Statistics

TAGS = {"type": "string", "vocabulary": ["a", "b", "c"], "separator": "|", "weights": "w"}
IDS = {"type": "int", "identities": 5, "separator": " "}
WORDS = {"type": "string", "hash_buckets": 9, "text": {}, "use": ["sequence"]}
COLUMNS = {
    "tags": {**TAGS, "embedding": 2},
    "w": {"type": "float", "separator": "|"},
    "ids": IDS,
    "y": {"type": "float"},
}
SCHEMA = {"columns": COLUMNS, "label": {"column": "y"}}


def _schema(**columns):
    return Schema.model_validate({**SCHEMA, "columns": {**COLUMNS, **columns}})


def _rows(number, seed=0):
    """Returns rows whose label is the weights of a, less those of b, plus 1 for each 3."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(number):
        tags = [str(tag) for tag in rng.choice(list("abcx"), int(rng.integers(0, 4)))]
        weights = [float(np.float32(rng.uniform(0.1, 2))) for _ in tags]
        ids = [int(n) for n in rng.integers(0, 5, int(rng.integers(0, 3)))]
        label = sum(w * {"a": 1, "b": -1}.get(t, 0) for w, t in zip(weights, tags)) + ids.count(3)
        rows.append({"tags": tags, "w": weights, "ids": ids, "y": float(label)})
    return rows


def _joined(rows):
    separators = {"tags": "|", "w": "|", "ids": " "}
    return [
        {
            name: separators[name].join(map(str, value)) or None if name in separators else value
            for name, value in row.items()
        }
        for row in rows
    ]


def _write(make, folder, kind, rows):
    path = folder / f"a.{kind}"
    if kind == "csv":
        return make.csv(path, _joined(rows))
    if kind == "parquet":
        types = {"w": pa.list_(pa.float32()), "ids": pa.large_list(pa.int16())}
        columns = {name: pa.array([row[name] for row in rows], types.get(name)) for name in rows[0]}
        pa.parquet.write_table(pa.table(columns), path)
        return str(path)
    from estimator_bridge import tf

    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in rows:
            writer.write(_example(row))
    return str(path)


def _example(row):
    from estimator_bridge import tf

    train = tf.train
    words = [tag.encode() for tag in row["tags"]]
    features = {
        "tags": train.Feature(bytes_list=train.BytesList(value=words)),
        "w": train.Feature(float_list=train.FloatList(value=row["w"])),
        "ids": train.Feature(int64_list=train.Int64List(value=row["ids"])),
        "y": train.Feature(float_list=train.FloatList(value=[row.get("y", 0.0)])),
    }
    return train.Example(features=train.Features(feature=features)).SerializeToString()


def test_texts_are_split_and_joined_in_graph():
    from estimator_bridge import tf
    from trainer.features.multivalent import (
        drop_empty,
        drop_unpaired,
        join_values,
        split_values,
        to_numbers,
    )

    values = split_values(tf.constant(["a| b ||c", "", "  ", "|", "d"]), "|")
    assert values.to_list() == [[b"a", b"b", b"", b"c"], [], [], [b"", b""], [b"d"]]
    assert drop_empty(values).to_list() == [[b"a", b"b", b"c"], [], [], [], [b"d"]]
    weights = split_values(tf.constant(["1|2|3|4", "", "", "5|", "1e-3"]), "|")
    kept = drop_unpaired(weights, values, ("w", "tags"))
    assert kept.to_list() == [[1, 2, 4], [], [], [], [np.float32(1e-3)]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="column w: it needs one number"):
        drop_unpaired(values[:, :1], values, ("w", "tags"))
    ids = split_values(tf.constant(["1 2", ""]), " ")
    assert to_numbers(ids, tf.int64).to_list() == [[1, 2], []]
    numbers = tf.ragged.constant([[0.1, 1 / 3], []], tf.float32)
    joined = join_values(numbers, " ")
    again = to_numbers(split_values(joined, " "), tf.float32)
    assert again.flat_values.numpy().tolist() == numbers.flat_values.numpy().tolist()
    assert joined[1] == b""


def test_every_format_gives_the_same_values_and_counts(make, tmp_path):
    from trainer.training.job import build_source

    rows, schema, read = _rows(100), _schema(), {}
    for kind in ("csv", "parquet", "tfrecord"):
        job = make.prepare(make.config(rows=_write(make, tmp_path, kind, rows)), schema)
        source = build_source(job, training=True)
        read[kind] = {
            name: [value for chunk in source.read() for value in chunk[name].tolist()]
            for name in COLUMNS
        }
        seen = job.statistics.columns["w"]
        weights = [weight for row in rows for weight in row["w"]]
        assert seen.count == len(weights) and seen.bins is None
        assert seen.missing == sum(not row["w"] for row in rows)
        assert seen.mean == pytest.approx(np.mean(weights), rel=1e-6)
        ids = job.statistics.categories["ids"].counts
        assert ids["3"] == sum(row["ids"].count(3) for row in rows)
    for name in ("tags", "ids"):
        assert read["csv"][name] == read["parquet"][name] == read["tfrecord"][name]

    def numbers(texts):
        return [[np.float32(x) for x in text.decode().split("|") if x] for text in texts]

    assert numbers(read["csv"]["w"]) == numbers(read["parquet"]["w"])
    assert numbers(read["csv"]["w"]) == numbers(read["tfrecord"]["w"])


@pytest.mark.parametrize("shared", [False, True])
def test_an_embedding_is_the_weighted_mean(shared):
    from estimator_bridge import tf
    from trainer.features.columns import build_feature_columns
    from trainer.features.parts import derive_features

    schema = _schema()
    if shared:
        two = {"tags": TAGS, "more": {**TAGS, "weights": None}, "ids": {**IDS, "use": []}}
        values = {**SCHEMA, "columns": {**COLUMNS, **two}}
        values["shared_embeddings"] = [{"columns": ["tags", "more"], "dimension": 2}]
        schema = Schema.model_validate(values)
    deep = build_feature_columns(schema, Statistics(1, {})).deep[:1]
    features = {
        "tags": tf.constant(["a|b", "a||c", ""]),
        "w": tf.constant(["1|3", "2|9|2", ""]),
        "ids": tf.constant(["", "", ""]),
        "more": tf.constant(["", "", ""]),
    }
    layer = tf.keras.layers.DenseFeatures(deep)
    got = layer(derive_features(features, schema, Statistics(1, {}))).numpy()[:, :2]
    (table,) = (variable.numpy() for variable in layer.trainable_variables)
    wanted = [(table[0] + 3 * table[1]) / 4, (table[0] + table[2]) / 2, [0, 0]]
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_model_learns_the_weights_and_all_receivers_agree(make, tmp_path):
    from trainer.export.checker import check_exports
    from trainer.job_dir.metrics_log import MetricsLog

    schema = _schema()
    config = make.config(
        tmp_path / "job",
        _write(make, tmp_path, "tfrecord", _rows(1000)),
        model={"type": "linear"},
        train={"max_steps": 150, "batch_size": 100, "learning_rate": 0.5},
        export={"exporters": ["final"]},
    )
    _, result = make.run(config, schema)
    # Without the weights it would be at least 0.3.
    assert MetricsLog(config.job_dir).read("eval")[-1]["rmse"] < 0.05
    export = result.exports["final"][-1]
    rows = [{"tags": "a|b", "w": "2|0.5", "ids": "1 3"}, {"tags": "", "w": "", "ids": ""}]
    check_exports([export], rows, schema, ",")
    predictor = predict.Predictor(export)
    got = [row["predictions"][0] for row in predictor.predict(rows)]
    assert got == pytest.approx([2.5, 0], abs=0.1)
    lists = [{"tags": ["a", "b"], "w": [2.0, 0.5], "ids": [1, 3]}, {"tags": [], "w": [], "ids": []}]
    name = predictor.find_signature("predict", "example")
    records = {"examples": np.array([_example(row) for row in lists], object)}
    same = [row["predictions"][0] for row in predictor.run_rows(name, records, 2)]
    assert same == pytest.approx(got, abs=1e-6)
    with pytest.raises(UserError, match="column w: it needs one number for each value") as caught:
        predictor.predict([{**rows[0], "w": "1"}])
    assert "\n" not in str(caught.value)


SEQUENCES = {"s": {**TAGS, "weights": None, "use": ["sequence"]},
             "n": {"type": "float", "separator": "|", "use": ["sequence"]}}  # fmt: skip
FAULTS = {
    "fewer weights": ({"w": "1"}, "column w: '1' is not one weight for each value of column tags"),
    "more weights": ({"w": "1|2|3"}, "column w: '1|2|3' is not one weight"),
    "no weights": ({"w": None}, "column w: None is not one weight"),
    "weights alone": ({"tags": None}, "column w: '1|2' is not one weight"),
    "a gap": ({"w": "1|"}, "column w: '1|' is not one weight"),
    "text": ({"w": "1|two"}, "column w: '1|two' is not numbers separated by '|'"),
    "infinite": ({"w": "1|inf"}, "column w: '1|inf' is not numbers"),
    "half an id": ({"ids": "1 2.5"}, "column ids: '1 2.5' is not whole numbers separated by ' '"),
    "shorter": ({"n": "1"}, "column n: '1' is not as long as the sequence in column s"),
    "no step": ({"n": "1||3"}, "column n: '1||3' is not numbers"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_row_that_does_not_fit_is_reported(make, tmp_path, case):
    change, words = FAULTS[case]
    good = {"tags": "a|b", "w": "1|2", "ids": "1 2", "s": "a||c", "n": "1|2|3", "y": 1.0}
    gaps = {**good, "tags": "a||b", "w": "1||2", "ids": None, "s": None, "n": None}
    path = make.csv(tmp_path / "a.csv", [good, gaps, {**good, **change}])
    files = find_files([path], "auto", "data")
    with pytest.raises(UserError) as caught:
        scan_files(files, _schema(**SEQUENCES), DataConfig(), Console())
    assert str(caught.value).startswith(f"{path}: row 4, {words}")
    assert "; fix the" in str(caught.value) and "\n" not in str(caught.value)
    tolerant = scan_files(files, _schema(**SEQUENCES), DataConfig(max_bad_rows=1), Console())
    assert tolerant.num_bad_rows == 1 and tolerant.statistics.num_rows == 2


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"tags": {**TAGS, "weights": "ww"}}, "columns.tags.weights: no feature 'ww'.*mean w"),
        ({"tags": {**TAGS, "weights": "y"}}, "no feature 'y'"),
        ({"tags": {**TAGS, "weights": "ids"}}, "'ids' must be a float with a separator"),
        ({"more": TAGS}, "tags has the weights 'w' too"),
        ({"tags": {**TAGS, "separator": None}}, "weights need a multivalent column"),
        ({"tags": {**TAGS, "use": ["sequence"]}}, "a sequence takes no weights"),
        ({"v": {"type": "float", "separator": "|"}}, "v: a multivalent number is a sequence"),
        ({"v": {"type": "float", "separator": "|", "buckets": [1]}}, "one number per row"),
        ({"v": {"type": "int", "separator": "|", "default": 1}}, "default"),
        ({"v": {**IDS, "separator": None, "use": ["sequence"]}}, "needs a multivalent column"),
        (
            {"v": {**WORDS, "text": {"ngrams": 2}}},
            "a sequence of words takes no ngrams",
        ),
        (
            {
                "v": WORDS,
                "u": {**IDS, "use": ["sequence"]},
            },
            "columns.v: a sequence of words cannot be joined",
        ),
        ({"y": {"type": "float", "separator": "|"}}, "label: column 'y' has a separator"),
    ],
)  # fmt: skip
def test_contradictory_schemas_are_rejected(make, tmp_path, columns, words):
    from trainer.schema import load_schema

    values = {**SCHEMA, "columns": {**COLUMNS, **columns}}
    with pytest.raises(UserError, match=words):
        load_schema(make.yaml(tmp_path / "s.yaml", values))


def test_unused_columns_need_no_weights():
    schema = _schema(tags={**TAGS, "use": []}, w={**COLUMNS["w"], "use": []})
    assert schema.used_features == ["ids"]
    assert _schema().used_features == ["tags", "w", "ids"]
