"""What a program for TensorFlow 1.x has exported is judged, tried and pushed like any export."""

import json
from pathlib import Path

import pytest

from trainer.export.fingerprint import EXTRA
from trainer.gating import command as gate
from trainer.release import push_command as push
from trainer.sandboxing import command as sandbox

pytestmark = [pytest.mark.newest, pytest.mark.slow]
# As trainers of 2018 were written: feature columns, numpy_input_fn, export_savedmodel.
PROGRAM = """
import csv
import sys

import numpy as np
import tensorflow as tf

tf.app.flags.DEFINE_string("data", None, "training data")
tf.app.flags.DEFINE_string("output", None, "folder of the exports")
FLAGS = tf.app.flags.FLAGS


def main(_):
    with open(FLAGS.data) as stream:
        rows = list(csv.DictReader(stream))
    features = {
        "age": np.array([row["age"] or 49 for row in rows], np.float32),
        "city": np.array([row["city"] for row in rows]),
    }
    labels = np.array([row["bought"] == "yes" for row in rows], np.int32)
    age = tf.feature_column.numeric_column("age", default_value=49.0)
    city = tf.feature_column.categorical_column_with_vocabulary_list(
        "city", ["Ulm", "Bonn"], num_oov_buckets=1)
    columns = [
        tf.feature_column.bucketized_column(age, [30, 40, 50, 60, 70]),
        tf.feature_column.indicator_column(city),
    ]
    estimator = tf.estimator.DNNClassifier([8], columns, optimizer=tf.train.AdamOptimizer(0.05))
    estimator.train(tf.estimator.inputs.numpy_input_fn(features, labels, 64, 20, shuffle=True))
    spec = tf.feature_column.make_parse_example_spec(columns)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    print(estimator.export_savedmodel(FLAGS.output, receiver).decode(), file=sys.stderr)


if __name__ == "__main__":
    tf.app.run()
"""


def test_a_1x_program_passes_gate_sandbox_and_push(shop, make, run_module, tmp_path, capsys):
    pytest.importorskip("tensorflow_serving")
    (tmp_path / "train.py").write_text(PROGRAM)
    flags = [f"--data={shop / 'train.csv'}", f"--output={tmp_path / 'exports'}"]
    done = run_module("estimator_bridge", "run", "--tf1", str(tmp_path / "train.py"), *flags)
    assert done.returncode == 0, done.stderr
    (export,) = (tmp_path / "exports").iterdir()
    values = make.schema_values()
    for name, column in values["columns"].items():
        if name not in ("age", "city"):
            values["columns"][name] = {**column, "use": []}
    values["columns"]["age"]["default"] = 49.0
    del values["crosses"]
    schema = make.yaml(tmp_path / "schema.yaml", values)
    rules = make.yaml(tmp_path / "rules.yaml", [{"metric": "auc", "lower_bound": 0.8}])
    served = tmp_path / "served"
    judge = [f"--candidate={export}", f"--schema={schema}", f"--rules={rules}"]
    judge += [f"--data={shop / 'eval.csv'}", f"--baseline={served}", "--may_be_first"]
    assert push.main([f"--export={export}", f"--to={served}"]) == 3
    assert gate.main(judge) == 0, capsys.readouterr()
    assert sandbox.main([f"--export={export}", f"--schema={schema}"]) == 0, capsys.readouterr()
    tried = json.loads((export / EXTRA / "sandbox.json").read_text())
    asked = {one["signature"] for one in tried["latencies"]}
    assert asked == {"serving_default", "classification", "predict", "regression"}
    assert push.main([f"--export={export}", f"--to={served}"]) == 0
    assert (served / "1" / "saved_model.pb").read_bytes() == Path(
        export, "saved_model.pb"
    ).read_bytes()
