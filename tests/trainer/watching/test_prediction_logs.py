"""Records of TensorFlow Serving are read as the rows that were sent and answered."""

import types

import numpy as np
import pytest

from trainer.watching import reading
from trainer.watching.batches import Wanted

FEATURES = ("id", "age", "hours", "city", "job", "level")


def write_records(path, logs, compression=""):
    from estimator_bridge import tf

    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for log in logs:
            writer.write(log.SerializeToString())


def make_log(kind, rows, make):
    """One record of some rows, as a server logs it."""
    messages = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    from estimator_bridge import tf

    log = messages.PredictionLog()
    log.log_metadata.model_spec.version.value = 7
    log.log_metadata.timestamp_secs = int(rows[0]["time"])
    features = [{name: row[name] for name in FEATURES} for row in rows]
    scores = [row["logistic"] for row in rows]
    if kind in ("tensors", "examples"):
        predict = log.predict_log
        if kind == "examples":
            given = {"examples": np.array([make.example(row) for row in features], object)}
        else:
            blanks = {"age": np.nan, "hours": 40, "city": "", "job": ""}
            given = {
                name: np.array(
                    [blanks[name] if row[name] is None else row[name] for row in features]
                )
                for name in FEATURES
            }
        for name, values in given.items():
            predict.request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
        output = tf.make_tensor_proto(np.array(scores, np.float32)[:, None])
        predict.response.outputs["logistic"].CopyFrom(output)
        return log
    request = log.classify_log.request if kind == "classify" else log.regress_log.request
    for row in features:
        request.input.example_list.examples.add().ParseFromString(make.example(row))
    for score in scores:
        if kind == "regress":
            log.regress_log.response.result.regressions.add(value=score)
        else:
            answer = log.classify_log.response.result.classifications.add()
            # Servers order classes as they like.
            answer.classes.add(label="yes", score=score)
            answer.classes.add(label="no", score=1 - score)
    return log


@pytest.mark.parametrize("kind", ["tensors", "examples", "classify", "regress"])
def test_each_kind_of_record_gives_the_rows_of_the_log(kind, watch, log, make):
    messages = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    rows = [log.rows(day) for day in range(3)]
    for day, one in enumerate(rows):
        logs = [make_log(kind, one[start : start + 50], make) for start in range(0, 400, 50)]
        logs.append(messages.PredictionLog(session_run_log={}))
        path, compression = (log.folder / f"{day}.tfrecord", "") if day else (
            log.folder / "0.tfrecord.gz", "GZIP")  # fmt: skip
        write_records(path, logs, compression)
    # A tensor of ints has no missing value: the client has filled in the default.
    found = watch(4 if kind == "tensors" else 0)
    assert found["rows"] == 1200 and found["newest_period"] == "2026-03-04"
    by_name = {one["name"]: one for one in found["findings"]}
    assert by_name["score of version 7"]["rows"] == 400 and by_name["age"]["value"] is not None


def test_an_incomplete_record_is_read_when_it_is_there(watch, log, make):
    path = log.folder / "a.tfrecord"
    rows = log.rows(0)
    write_records(path, [make_log("examples", [row], make) for row in rows])
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert 190 <= watch(0)["rows"] < 210
    path.write_bytes(content)
    assert watch(0)["rows"] == 400


def test_a_damaged_record_is_told_and_a_part_is_read_exactly(watch, log, make):
    path = log.folder / "a.tfrecord"
    rows = log.rows(0)
    records = [make_log("examples", [row], make) for row in rows]
    damaged = records[7].SerializeToString()[:-3]
    records[7] = types.SimpleNamespace(SerializeToString=lambda: damaged)
    write_records(path, records)
    found = watch(4)
    assert found["rows"] == 399
    assert f"{path}: 1 records are damaged, the first is record 8" in found["problems"][0]
    (one,) = reading.find_logs([str(path)], "requests")
    wanted, progress = Wanted(make.schema("bought"), ["id"]), reading.ReadState(250)
    batches = list(reading.read_log(one.file, wanted, 100, progress))
    keys = [key for batch in batches for key in batch.columns.column("id").to_pylist()]
    assert keys == [row["id"] for row in rows[100:250]] and progress.records == 250


def test_records_of_another_kind_are_named(watch, log, make):
    path = log.folder / "a.tfrecord"
    make.tfrecord(path, make.rows(20))
    (problem,) = watch(4)["problems"]
    assert "a.tfrecord: the file contains no PredictionLog records" in problem
