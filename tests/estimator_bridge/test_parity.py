"""Old and new TensorFlow train the same model, and take over each other's checkpoints and exports.

The folder golden/ has what TensorFlow 2.15.1 and 2.21.0 wrote. `python test_parity.py`, called in
an environment of one version, writes that version's part anew.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import estimator_bridge
from estimator_bridge import tf

pytestmark = pytest.mark.versions

GOLDEN = Path(__file__).parent / "golden"
VERSIONS = ("2.15.1", "2.21.0")
STEPS = 20
COLORS = ("red", "green", "blue")
QUERY = {"x": [[0.1, 0.2], [0.9, -0.4]], "c": [["red"], ["blue"]]}


def features():
    numbers = np.random.RandomState(0)
    x = numbers.uniform(-1, 1, (64, 2)).astype(np.float32)
    c = np.array(COLORS)[numbers.randint(0, 3, 64)].reshape(-1, 1)
    return {"x": x, "c": c}, ((x.sum(axis=1) + (c[:, 0] == "red")) > 0.5).astype(np.int64)


def input_fn():
    return tf.data.Dataset.from_tensor_slices(features()).batch(16).repeat()


def columns():
    fc = tf.feature_column
    color = fc.categorical_column_with_vocabulary_list("c", COLORS)
    return [fc.numeric_column("x", (2,)), color], [fc.embedding_column(color, 3)]


def config():
    return tf.estimator.RunConfig(tf_random_seed=11, save_summary_steps=None)


def linear(folder):
    wide, _ = columns()
    return tf.compat.v1.estimator.LinearClassifier(wide, model_dir=folder, config=config())


def deep(folder):
    wide, embedded = columns()
    return tf.compat.v1.estimator.DNNClassifier(
        [8, 4], [wide[0], *embedded], model_dir=folder, config=config(), dropout=0.2
    )


def wide_and_deep(folder):
    wide, embedded = columns()
    return tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=wide,
        dnn_feature_columns=[wide[0], *embedded],
        dnn_hidden_units=[8],
        model_dir=folder,
        config=config(),
    )


def own_model_fn(folder):
    # A layer's own initializer takes its seed from Python's random numbers, not from the graph.
    start = tf.compat.v1.glorot_uniform_initializer(seed=5)

    def model_fn(features, labels, mode):
        net = tf.compat.v1.layers.dense(features["x"], 8, tf.nn.relu, kernel_initializer=start)
        net = tf.compat.v1.layers.batch_normalization(net, training=mode == "train")
        logits = tf.compat.v1.layers.dense(net, 2, kernel_initializer=start)
        loss = tf.compat.v1.losses.sparse_softmax_cross_entropy(labels, logits)
        step = tf.compat.v1.train.get_global_step()
        updates = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(updates):
            train_op = tf.compat.v1.train.AdamOptimizer().minimize(loss, step)
        return tf.estimator.EstimatorSpec(mode, {"y": logits}, loss, train_op)

    return tf.estimator.Estimator(model_fn, model_dir=folder, config=config())


MODELS = {m.__name__: m for m in (linear, deep, wide_and_deep, own_model_fn)}


def variables(folder):
    checkpoint = tf.train.load_checkpoint(str(folder))
    return {name: checkpoint.get_tensor(name) for name in checkpoint.get_variable_to_shape_map()}


def answer(export):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], str(export))
        chosen = meta.signature_def["predict"]
        feeds = {chosen.inputs[name].name: value for name, value in QUERY.items()}
        return session.run(chosen.outputs["probabilities"].name, feeds).tolist()


def write_golden():
    home = GOLDEN / tf.__version__
    shutil.rmtree(home, ignore_errors=True)
    for name, build in MODELS.items():
        scratch = home / "scratch"
        model = build(str(scratch))
        model.train(input_fn, steps=STEPS)
        target = home / name
        target.mkdir(parents=True)
        for path in scratch.glob(f"model.ckpt-{STEPS}.[id]*"):
            shutil.copy(path, target)
        (target / "checkpoint").write_text(f'model_checkpoint_path: "model.ckpt-{STEPS}"\n')
        if build is wide_and_deep:
            with tf.Graph().as_default():
                receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(
                    {
                        "x": tf.compat.v1.placeholder(tf.float32, (None, 2), "x"),
                        "c": tf.compat.v1.placeholder(tf.string, (None, 1), "c"),
                    }
                )
            path = model.export_saved_model(str(scratch / "export"), receiver).decode()
            shutil.copytree(path, home / "export")
            (home / "answer.json").write_text(json.dumps(answer(home / "export")) + "\n")
        shutil.rmtree(scratch)


def largest_difference(mine, other):
    """The largest difference of any two values, relative to them where they are above 1."""
    return max(
        float(np.max(np.abs(mine[name] - other[name]) / np.maximum(1, np.abs(other[name]))))
        for name in mine
    )


@pytest.mark.parametrize("name", MODELS)
def test_same_seed_same_checkpoint(name, tmp_path):
    MODELS[name](str(tmp_path)).train(input_fn, steps=STEPS)
    mine = variables(tmp_path)
    for version in VERSIONS:
        other = variables(GOLDEN / version / name)
        assert {n: v.shape for n, v in mine.items()} == {n: v.shape for n, v in other.items()}
        assert largest_difference(mine, other) < 1e-5


@pytest.mark.parametrize("name", MODELS)
def test_checkpoints_are_resumed(name, tmp_path):
    resumed = {}
    for version in VERSIONS:
        folder = tmp_path / version
        shutil.copytree(GOLDEN / version / name, folder)
        model = MODELS[name](str(folder))
        model.train(input_fn, max_steps=STEPS + 5)
        assert model.get_variable_value("global_step") == STEPS + 5
        resumed[version] = variables(folder)
    assert largest_difference(resumed["2.15.1"], resumed["2.21.0"]) < 1e-5


@pytest.mark.parametrize("version", VERSIONS)
def test_exports_are_served(version):
    home = GOLDEN / version
    expected = json.loads((home / "answer.json").read_text())
    np.testing.assert_allclose(answer(home / "export"), expected, atol=1e-5)


if __name__ == "__main__":
    estimator_bridge.set_verbosity("error")
    write_golden()
    sys.exit(0)
