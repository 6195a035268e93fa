"""Programs of 2.x under `run`: generators are read ahead and batches parsed at once, in graphs."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import estimator_bridge
from estimator_bridge import tf1
from estimator_bridge.private_tf import batch_op, from_generator_op
from estimator_bridge.process import batch_first
from estimator_bridge.tf1.generators import dataset as generators_dataset

estimator_bridge.install()

NOTE = "parse parses a batch of rows at once"
PROGRAM = """
import tensorflow as tf

def parse(row):
    number, label = tf.io.decode_csv(row, [[0.0], [0]])
    return {"x": number}, label

def input_fn():
    return tf.data.Dataset.from_tensors("1.5,1").repeat(40).map(parse).batch(10)

model = tf.estimator.LinearClassifier([tf.feature_column.numeric_column("x")])
model.train(input_fn)
print("steps", model.get_variable_value("global_step"))
"""


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.setattr(batch_op, "_batch", batch_op._batch)
    monkeypatch.setattr(from_generator_op, "_from_generator", from_generator_op._from_generator)
    tf1.install_input(in_graphs_only=True)
    batch_first.announce.cache_clear()


def parse(row):
    return tf.io.decode_csv(row, [[0], [0.5]])


def parsed():
    rows = tf.data.Dataset.from_tensor_slices([f"{n},{n / 3:.4f}" for n in range(23)])
    return rows.map(parse).batch(5)


def called():
    def double(number):
        return 2 * number

    def make(number):
        return tf.reshape(tf.numpy_function(double, [number], tf.int64), [])

    return tf.data.Dataset.range(23).map(make).batch(10)


def generated():
    def generate():
        yield from range(200)

    return tf.data.Dataset.from_generator(generate, tf.int64, tf.TensorShape([])).batch(7)


def list_calls(dataset):
    """Returns the operations of a dataset and of its functions."""
    graph = tf.data.experimental.to_variant(dataset).graph.as_graph_def()
    functions = [node for one in graph.library.function for node in one.node_def]
    return [node.op for node in [*graph.node, *functions]]


def read(dataset):
    element = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
    found = []
    with tf.compat.v1.Session() as session:
        while True:
            try:
                found.append(session.run(element))
            except tf.errors.OutOfRangeError:
                return found


def test_a_graph_parses_batches_at_once(capsys):
    with tf.Graph().as_default():
        found = read(parsed())
        # As an input function does for each evaluation.
        parsed()
    assert capsys.readouterr().err.count(NOTE) == 1
    assert np.concatenate([one[0] for one in found]).tolist() == list(range(23))
    assert [len(one[1]) for one in found] == [5, 5, 5, 5, 3]


def test_a_graph_calls_python_for_several_rows(capsys):
    with tf.Graph().as_default():
        found = read(called())
    assert "double is called for 10 rows at once" in capsys.readouterr().err
    assert np.concatenate(found).tolist() == list(range(0, 46, 2))


def test_a_graph_reads_generators_ahead():
    with tf.Graph().as_default():
        dataset = generated()
        # Elements that come together are split again.
        assert "TensorSliceDataset" in list_calls(dataset)
        assert np.concatenate(read(dataset)).tolist() == list(range(200))


def test_eager_datasets_stay_as_they_are(capsys, monkeypatch):
    monkeypatch.setattr(generators_dataset, "build", lambda *given: pytest.fail("replaced"))
    own = tf.data.Dataset.from_generator(lambda: iter([1, 2]), tf.int64, tf.TensorShape([]))
    assert [one.numpy() for one in own] == [1, 2]
    assert np.concatenate([one[0] for one in parsed()]).tolist() == list(range(23))
    assert np.concatenate(list(called())).tolist() == list(range(0, 46, 2))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("options", [[], ["--batch_first=no"]])
def test_run_parses_batches_at_once(options, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = [sys.executable, "-m", "estimator_bridge", "run", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "steps 4\n"
    assert (NOTE in done.stderr) == (not options)
