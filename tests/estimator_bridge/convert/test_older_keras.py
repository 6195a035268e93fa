"""Models for older versions of Keras: what is left out, what is refused, what they compute."""

import importlib.metadata
import json
import subprocess
import sys
import zipfile

import pytest

from estimator_bridge import BridgeError
from estimator_bridge.cli import main
from estimator_bridge.convert.write.older_keras import check_version, rewrite_for

needs_keras_3 = pytest.mark.skipif(
    importlib.metadata.version("keras").startswith("2."), reason="writes Keras 3 models"
)
ADDED = {"quantization_config", "ragged", "renorm", "oov_method", "vocabulary_size", "input_axes"}
CHECK = """
import json, sys
import keras, numpy as np
model = keras.saving.load_model(sys.argv[1])
rows = {"word": [["a"], ["z"]], "number": [[1], [2]]}
found = model({name: keras.ops.convert_to_tensor(np.array(row)) for name, row in rows.items()})
steps = int(model.optimizer.iterations.numpy())
print(json.dumps([keras.__version__, np.array(found).tolist(), steps]))
"""


def save_model(folder, **compile_options):
    """Saves a model of the layers that convert writes; returns (path, its answers)."""
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(1)
    word = keras.Input((1,), name="word", dtype="string")
    number = keras.Input((1,), name="number", dtype="int64")
    ids = keras.layers.StringLookup(vocabulary=["a", "b"])(word)
    table = keras.layers.Flatten()(keras.layers.Embedding(3, 2)(ids))
    # As convert writes the bias of a linear part whose first input is a text.
    one = keras.ops.add(keras.ops.zeros_like(word, dtype="float32"), 1.0)
    net = keras.layers.Concatenate()([table, keras.ops.cast(number, "float32"), one])
    net = keras.layers.BatchNormalization()(keras.layers.Dense(3, "relu")(net))
    model = keras.Model({"word": word, "number": number}, keras.layers.Dense(1)(net))
    options = {"optimizer": keras.optimizers.Adagrad(0.1), "loss": "mse", **compile_options}
    model.compile(**options)
    model.optimizer.build(model.trainable_variables)
    model.optimizer.iterations.assign(7)
    path = str(folder / "model.keras")
    model.save(path)
    rows = {"word": tf.constant([["a"], ["z"]]), "number": tf.constant([[1], [2]])}
    return path, model(rows).numpy().tolist()


def objects_of(path):
    """Yields the description of each object in a file."""
    with zipfile.ZipFile(path) as archive:
        waiting = [json.loads(archive.read("config.json"))]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("config"), dict) and "class_name" in value:
                yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def configs_of(path):
    return {one["class_name"]: one["config"] for one in objects_of(path)}


@needs_keras_3
def test_what_an_older_keras_does_not_know_is_left_out(tmp_path):
    path, _ = save_model(tmp_path)
    before = configs_of(path)
    rewrite_for(path, "3.5")
    after = configs_of(path)
    assert before.keys() == after.keys()
    assert not [name for name, config in after.items() if ADDED & set(config)]
    assert "name" not in after["Cast"] and after["Cast"]["dtype"] == "float32"
    # An older ZerosLike takes the dtype in each call; its own would be that of a layer.
    (zeros,) = (one for one in objects_of(path) if one["class_name"] == "ZerosLike")
    (node,) = zeros["inbound_nodes"]
    assert ("dtype" in zeros["config"], node["kwargs"]) == (False, {"dtype": "float32"})
    assert after["Dense"]["units"] == before["Dense"]["units"]
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("metadata.json"))["keras_version"] == "3.5.0"
        assert "model.weights.h5" in archive.namelist()
    assert [one.name for one in tmp_path.iterdir()] == ["model.keras"]


@needs_keras_3
def test_what_an_older_keras_lacks_is_refused(tmp_path):
    import keras

    if not hasattr(keras.optimizers, "MultiOptimizer"):
        pytest.skip("this Keras has no MultiOptimizer")
    sgd = keras.optimizers.SGD(0.1)
    optimizer = keras.optimizers.MultiOptimizer(keras.optimizers.OptimizerMap(sgd, {}))
    path, _ = save_model(tmp_path, optimizer=optimizer)
    with pytest.raises(
        BridgeError, match=r"MultiOptimizer \(Keras 3.*; choose --keras=3.*, or add"
    ):
        rewrite_for(path, "3.8")
    assert not list(tmp_path.iterdir())


@needs_keras_3
def test_a_layer_that_reads_what_it_returned_needs_3_7(tmp_path):
    import keras

    # As boosted trees do, which look up one node after the other.
    inputs = keras.Input((2,))
    layer = keras.layers.Dense(2)
    path = str(tmp_path / "model.keras")
    keras.Model(inputs, layer(keras.ops.relu(layer(inputs)))).save(path)
    rewrite_for(path, "3.7")
    with pytest.raises(
        BridgeError, match=r"needs layers called at .* \(Keras 3.7\); choose --keras"
    ):
        rewrite_for(path, "3.6")


@pytest.mark.quick
def test_an_unknown_version_gives_one_line(tmp_path, capsys):
    assert check_version("3.10.0") == "3.10"
    args = ["--estimator=nothing:build", f"--output={tmp_path}/model.keras", "--keras=3.4"]
    assert main(["convert", *args]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("estimator_bridge: --keras=3.4: choose one of 3.5, 3.6, ")


@needs_keras_3
@pytest.mark.matrix
@pytest.mark.parametrize("version", ["3.5.0", "3.8.0", "3.10.0", None])
def test_older_versions_compute_the_same(version, tmp_path):
    path, expected = save_model(tmp_path)
    packages = tmp_path / "packages"
    if version is not None:
        rewrite_for(path, check_version(version))
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target"]
        subprocess.run([*command, str(packages), f"keras=={version}"], check=True)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(packages)!r})\n{CHECK}", path],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == [version or importlib.metadata.version("keras"), expected, 7]
