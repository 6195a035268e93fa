"""Random forests: a job of 1.15 on digits goes on here, and what it exports is served."""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.contrib.tensor_forest.client import eval_metrics, random_forest
from tensorflow.contrib.tensor_forest.python import tensor_forest

from estimator_bridge.tf1.unsupported import NotSuppliedError

HERE = Path(__file__).resolve().parent
PARITY = HERE.parent / "parity_1x"
STORED = HERE.parent / "golden" / "1.15.5" / "forests.json.gz"
sys.path.insert(0, str(PARITY))
import jobs  # noqa: E402


def digits():
    with np.load(PARITY / "digits.npz") as table:
        return table["data"].astype(np.float32), table["target"].astype(np.int64)


def input_fn(data, labels, epochs=None):
    return tf.estimator.inputs.numpy_input_fn(
        {"pixels": data}, labels, batch_size=100, num_epochs=epochs, shuffle=epochs is None
    )


def params(**options):
    given = {"num_classes": 10, "num_features": 64, "num_trees": 10, "max_nodes": 300}
    return tensor_forest.ForestHParams(**dict(given, split_after_samples=12, **options))


def small(**options):
    given = {"num_classes": 2, "num_features": 1, "num_trees": 2, "split_after_samples": 4}
    return tensor_forest.ForestHParams(**dict(given, **options)).fill()


def test_digits_of_1_15_go_on(tmp_path):
    """The checkpoint is one that 1.15.5 wrote."""
    stored = json.loads(gzip.decompress(STORED.read_bytes()))["digits"]
    folder = str(tmp_path / "job")
    jobs.unpack(stored["checkpoint"], folder)
    data, labels = digits()
    model = random_forest.TensorForestEstimator(params(), model_dir=folder)
    before = model.evaluate(input_fn=input_fn(data[:400], labels[:400], 1))
    assert before["global_step"] == 5
    model.fit(input_fn=input_fn(data[:400], labels[:400]), steps=40)
    after = model.evaluate(input_fn=input_fn(data[:400], labels[:400], 1))
    assert after["global_step"] == 45
    assert after["accuracy"] > max(0.9, before["accuracy"])
    reader = tf.train.load_checkpoint(folder)
    kept = {key for key, shape in reader.get_variable_to_shape_map().items()}
    assert kept == {name for name, _, _ in stored["variables"]}

    def receive():
        pixels = tf.placeholder(tf.float32, [None, 64])
        return tf.contrib.learn.InputFnOps({"pixels": pixels}, None, {"pixels": pixels})

    exported = tf.compat.as_str(model.export_savedmodel(str(tmp_path / "exports"), receive))
    with tf.Graph().as_default(), tf.Session() as session:
        served = tf.saved_model.loader.load(session, ["serve"], exported)
        operations = {node.op for node in session.graph.as_graph_def().node}
        assert not [name for name in operations if "PyFunc" in name or "Tree" in name]
        signature = served.signature_def["serving_default"]
        answer = session.run(
            signature.outputs["probabilities"].name, {signature.inputs["pixels"].name: data[:20]}
        )
    rows = model.predict(input_fn=input_fn(data[:20], None, 1))
    np.testing.assert_array_equal(answer, [row["probabilities"] for row in rows])


def test_a_graph_grows_and_is_saved_and_restored(tmp_path):
    data = np.random.RandomState(1).uniform(size=[40, 1]).astype(np.float32)
    labels = (data[:, 0] > 0.5).astype(np.int32)
    forest = tensor_forest.RandomForestGraphs(small(checkpoint_stats=True))
    rows, classes = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.int32, [None])
    step = forest.training_graph(rows, classes)
    mean, paths, variance = forest.inference_graph(rows)
    saver = tf.train.Saver()
    resources = [one.create for one in tf.get_collection("resources")]
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), resources])
        for _ in range(10):
            session.run(step, {rows: data, classes: labels})
        first = session.run([mean, variance], {rows: data})
        path = saver.save(session, str(tmp_path / "model"))
        reader = tf.train.load_checkpoint(path)
        kept = {key: reader.get_tensor(key) for key in ("tree-1:0", "stats-1:0")}
    assert (first[0].argmax(1) == labels).mean() > 0.9
    with tf.Session() as session:
        saver.restore(session, path)
        again, found = session.run([[mean, variance], paths], {rows: data})
        path = saver.save(session, str(tmp_path / "again"))
        session.run(step, {rows: data, classes: labels})
    np.testing.assert_array_equal(again, first)
    assert found.shape == (40, 2)
    reader = tf.train.load_checkpoint(path)
    assert {key: reader.get_tensor(key) for key in kept} == kept


def test_a_tree_alone_grows():
    data = np.random.RandomState(1).uniform(size=[40, 1]).astype(np.float32)
    labels = (data[:, 0] > 0.5).astype(np.int32)
    forest = tensor_forest.RandomForestGraphs(small())
    step = forest.trees[1].training_graph(tf.constant(data), tf.constant(labels), 0, None)
    sizes = [tree.size() for tree in forest.trees]
    with tf.Session() as session:
        session.run([tf.global_variables_initializer()])
        session.run([one.create for one in tf.get_collection("resources")])
        for _ in range(3):
            session.run(step)
        assert session.run(sizes[0]) == 1 and session.run(sizes[1]) > 1


class Context:
    """Stands for the context of a hook."""

    stopped = False

    def request_stop(self):
        self.stopped = True


@pytest.mark.parametrize(
    ("losses", "last"),
    # What 1.15.5 does with five rounds: equal negative losses count as smaller.
    [([-1.0] * 12, None), ([-1, -5] + [-3] * 9, 7), ([3, 2] + [1] * 9, 8)],
)
def test_the_loss_hook_stops_as_in_1_15(losses, last):
    hook = random_forest.TensorForestLossHook(5, 0.001)
    context, stopped = Context(), None
    for step, loss in enumerate(losses):
        results = {"global_step": step, "current_loss": loss}
        hook.after_run(context, tf.train.SessionRunValues(results, None, None))
        if context.stopped:
            stopped = step
            break
    assert stopped == last


@pytest.mark.parametrize(
    "options", [{"split_finish_name": "hoeffding"}, {"inference_tree_paths": True}]
)
def test_what_is_not_supplied_is_named(options):
    (name,) = options
    with pytest.raises(NotSuppliedError, match=name):
        tensor_forest.RandomForestGraphs(small(**options))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (lambda: tf.constant([[1], [2]]), "int32"),
        (lambda: tf.SparseTensor([[0, 0]], [1.0], [2, 1]), "sparse"),
    ],
)
def test_other_columns_are_refused(column, message):
    forest = tensor_forest.RandomForestGraphs(small())
    with pytest.raises(NotSuppliedError, match=message):
        forest.inference_graph({"x": column()})


# What 1.15.5 computes for the rows of the test; of thresholds, each sixteenth.
METRICS = {
    "accuracy": [0.16667],
    "auc": [0.21875],
    "classification_log_loss": [0.49921],
    "precision": [0.16667],
    "precision_at_thresholds": [0.33333, 0.22222, 0.14286, 0.16667, 0.2, 0.0, 0.0],
    "r2": [-3.58098],
    "recall": [0.25],
    "recall_at_thresholds": [1.0, 0.5, 0.25, 0.25, 0.25, 0.0, 0.0],
    "sigmoid_entropy": [0.79665],
    "softmax_entropy": [1.77084],
    "top_5": [0.91667],
}
TWO_CLASSES = (
    *("auc", "precision", "recall", "sigmoid_entropy"),
    *("precision_at_thresholds", "recall_at_thresholds"),
)


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_metric_is_that_of_1_15(name):
    random = np.random.RandomState(0)
    six, targets = random.dirichlet(np.ones(6), 12), random.randint(0, 6, 12)
    both, classes = random.dirichlet(np.ones(2), 12), random.randint(0, 2, 12)
    random.rand(12)
    scores, numbers = random.rand(12, 1), random.rand(12, 1)
    given, labels = (both, classes) if name in TWO_CLASSES else (six, targets)
    if eval_metrics.get_prediction_key(name) == "classes":
        given = given.argmax(1)
    if name in ("sigmoid_entropy", "classification_log_loss"):
        labels = labels[:, None]
    if name == "r2":
        given, labels = scores, numbers
    kind = np.int64 if given.dtype.kind == "i" else np.float32
    labels = labels.astype(np.float32) if name == "r2" else labels
    metric = eval_metrics.get_metric(name)
    value, update = metric(tf.constant(given.astype(kind)), tf.constant(labels))
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        session.run(update)
        found = np.ravel(session.run(value))
    np.testing.assert_allclose(found[:: max(1, found.size // 6)], METRICS[name], atol=1e-5)


@pytest.mark.parametrize(
    "build", [random_forest.TensorForestEstimator, random_forest.CoreTensorForestEstimator]
)
def test_a_cluster_is_refused(build, monkeypatch):
    cluster = {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"], "ps": ["127.0.0.1:3"]}
    task = {"type": "worker", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    with pytest.raises(ValueError, match="one process grows the forest.* without TF_CONFIG"):
        build(params())
