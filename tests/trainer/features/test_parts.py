"""Multivalent columns and dates: the same values from every receiver, and models that use them."""

import datetime

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
from trainer.schema import Schema

pytestmark = pytest.mark.newest

TAGS = ["red", "green", "blue", "rare"]
COLUMNS = {
    "tags": {"type": "string", "vocabulary": TAGS[:3], "separator": "|", "embedding": 2},
    "topics": {"type": "string", "hash_buckets": 50, "separator": "; "},
    "day": {"type": "string", "date": ["year", "month", "day", "weekday", "hour"]},
    "id": {"type": "string"},
    "y": {"type": "float"},
}
SCHEMA = {"columns": COLUMNS, "label": {"column": "y"}, "key": "id"}


def _rows(number, seed=0):
    """Returns rows whose label is 3 for red and 2 more on weekends, with lists and dates."""
    rng = np.random.default_rng(seed)
    rows = []
    for index in range(number):
        tags = [tag for tag in TAGS if rng.random() < 0.4]
        day = datetime.datetime(2019, 1, 1) + datetime.timedelta(hours=int(rng.integers(30_000)))
        label = 3.0 * ("red" in tags) + 2.0 * (day.weekday() >= 5)
        topics = [f"topic {n}" for n in rng.integers(0, 9, int(rng.integers(0, 3)))]
        rows.append({"tags": tags, "topics": topics, "day": day, "id": f"r{index}", "y": label})
    return rows


def _joined(rows):
    return [
        {
            **row,
            "tags": "|".join(row["tags"]) or None,
            "topics": "; ".join(row["topics"]) or None,
            "day": str(row["day"]),
        }
        for row in rows
    ]


def _write(make, folder, kind, rows):
    path = folder / f"a.{kind}"
    if kind == "csv":
        return make.csv(path, _joined(rows))
    if kind == "parquet":
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        pa.parquet.write_table(pa.table(columns), path)
        return str(path)
    from estimator_bridge import tf

    def feature(values):
        words = [str(value).encode() for value in values]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=words))

    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in rows:
            features = {
                "tags": feature(row["tags"]),
                "topics": feature(row["topics"]),
                "day": feature([row["day"]]),
                "id": feature([row["id"]]),
                "y": tf.train.Feature(float_list=tf.train.FloatList(value=[row["y"]])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    return str(path)


def test_every_format_gives_the_same_rows_and_counts(make, tmp_path):
    rows = _rows(200)
    schema = Schema.model_validate(SCHEMA)
    read = {}
    for kind in ("csv", "parquet", "tfrecord"):
        config = make.config(rows=_write(make, tmp_path, kind, rows))
        job = make.prepare(config, schema)
        from trainer.training.job import build_source

        source = build_source(job, training=True)
        read[kind] = {
            name: [value for chunk in source.read() for value in chunk[name].tolist()]
            for name in COLUMNS
        }
        counts = job.statistics.categories["tags"]
        assert counts.counts == {
            tag: number
            for tag in counts.counts
            if (number := sum(tag in row["tags"] for row in rows))
        }
        assert set(counts.counts) == set(TAGS)
        assert counts.missing == sum(not row["tags"] for row in rows)
        assert "day" not in job.statistics.categories
    assert read["csv"]["tags"] == [(row["tags"] or "").encode() for row in _joined(rows)]
    assert read["csv"]["day"][0] == str(rows[0]["day"]).encode()
    assert read["csv"] == read["tfrecord"]
    for name in ("tags", "topics", "id", "y"):
        assert read["parquet"][name] == read["csv"][name]
    # A time stamp may have more digits; the parts are the same.
    assert [day[:13] for day in read["parquet"]["day"]] == [day[:13] for day in read["csv"]["day"]]


def test_values_and_date_parts_are_derived_in_the_graph():
    from estimator_bridge import tf
    from trainer.features.parts import derive_features, split_dates
    from trainer.schema import Statistics

    schema = Schema.model_validate(SCHEMA)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tags = {"tags": tf.constant(["a|b", "", "c", "|a||b |"])}
        got = session.run(derive_features(tags, schema, Statistics(1, {}))["tags"])
    assert got.values.tolist() == [b"a", b"b", b"c", b"a", b"b"]
    assert got.indices.tolist() == [[0, 0], [0, 1], [2, 0], [3, 0], [3, 1]]
    days = [
        datetime.datetime(1899, 12, 31) + datetime.timedelta(days=n, hours=n)
        for n in range(0, 99_000, 37)
    ]
    texts = [day.strftime("%Y-%m-%d %H:%M:%S") for day in days]
    texts += ["2020-02-29", "2020-02-29T07", "", "yesterday", "2020-13-01", "2020-01-01 25:00"]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        parts = session.run(split_dates(tf.constant(texts)))
    got = np.stack([parts[name] for name in ("year", "month", "day", "weekday", "hour")], axis=1)
    expected = [[day.year, day.month, day.day, day.weekday(), day.hour] for day in days]
    expected += [[2020, 2, 29, 5, -1], [2020, 2, 29, 5, 7], *[[-1] * 5] * 4]
    assert got.tolist() == expected


@pytest.fixture(scope="module")
def learned(make, tmp_path_factory):
    """A model of these rows, trained from Parquet lists and time stamps."""
    folder = tmp_path_factory.mktemp("parts")
    path = _write(make, folder, "parquet", _rows(2000))
    config = make.config(
        folder / "job",
        path,
        model={"type": "wide_deep", "hidden_units": [8]},
        train={"max_steps": 300, "batch_size": 100, "learning_rate": 0.1},
        export={"exporters": ["final"]},
    )
    schema = Schema.model_validate(SCHEMA)
    job, result = make.run(config, schema)
    return config, schema, result


def test_a_model_learns_from_single_values_and_weekdays(learned):
    from trainer.job_dir.metrics_log import MetricsLog

    last = MetricsLog(learned[0].job_dir).read("eval")[-1]
    # Without the tags, or without the weekday, it would be above 0.9.
    assert last["rmse"] < 0.3


def test_all_receivers_of_an_export_agree(learned):
    from trainer.export.checker import check_exports

    config, schema, result = learned
    rows = [
        {"tags": "red|blue", "topics": "topic 1; topic 2", "day": "2020-06-06 10:00", "id": "a"},
        {"tags": "", "topics": "", "day": "2020-06-08", "id": "b"},
        {"tags": "rare|unheard", "topics": "new", "day": "", "id": "c"},
    ]
    export = result.exports["final"][-1]
    check_exports([export], rows, schema, ",")
    answers = predict.Predictor(export).predict(rows)
    got = [answer["predictions"][0] for answer in answers]
    # Red on a Saturday, nothing on a Monday.
    assert got[0] == pytest.approx(5, abs=0.8) and got[1] == pytest.approx(0, abs=0.8)


def test_an_example_may_hold_separate_values(learned):
    from estimator_bridge import tf

    export = learned[2].exports["final"][-1]
    predictor = predict.Predictor(export)

    def example(tags):
        words = {"tags": tags, "topics": [b"x"], "day": [b"2020-06-06"], "id": [b"a"]}
        features = {
            name: tf.train.Feature(bytes_list=tf.train.BytesList(value=value))
            for name, value in words.items()
        }
        made = tf.train.Example(features=tf.train.Features(feature=features))
        return made.SerializeToString()

    records = [example([b"red", b"blue"]), example([b"red|blue"]), example([])]
    name = predictor.find_signature("predict", "example")
    answers = predictor.run_rows(name, {"examples": np.array(records, object)}, 3)
    got = [row["predictions"][0] for row in answers]
    assert got[0] == got[1] != got[2]


def test_a_text_that_is_not_a_date_is_reported(make, tmp_path):
    rows = _joined(_rows(20))
    rows[4]["day"] = "31.12.2020"
    schema = Schema.model_validate(SCHEMA)
    files = find_files([make.csv(tmp_path / "a.csv", rows)], "auto", "data")
    with pytest.raises(UserError) as caught:
        scan_files(files, schema, DataConfig(), Console())
    assert "row 6, column day: '31.12.2020' is not a date such as 2020-12-31" in str(caught.value)
    assert scan_files(files, schema, DataConfig(max_bad_rows=1), Console()).num_bad_rows == 1


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"type": "string", "hash_buckets": 5, "separator": "|", "text": {}}, "separator needs"),
        ({"type": "string", "use": [], "separator": "|"}, "separator needs"),
        ({"type": "string", "hash_buckets": 5, "date": ["year"]}, "date needs type string"),
        ({"type": "float", "date": ["year"]}, "date needs type string"),
        ({"type": "string", "date": ["minute"]}, "minute"),
    ],
)
def test_contradictory_schemas_are_rejected(make, tmp_path, column, words):
    from trainer.schema import load_schema

    values = {"columns": {"x": column, "y": {"type": "float"}}, "label": {"column": "y"}}
    with pytest.raises(UserError, match=words):
        load_schema(make.yaml(tmp_path / "s.yaml", values))
