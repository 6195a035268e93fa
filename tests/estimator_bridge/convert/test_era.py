"""Converts and verifies an Estimator with a Keras optimizer of TensorFlow 2.8, with `--as=2.8`.

TensorFlow 2.8.4 wrote the checkpoint, and computed the outputs after 20 more steps.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import forked
import numpy as np
import pytest

pytestmark = pytest.mark.newest

ERA = Path(__file__).parents[1] / "era"
PROGRAM = """
import old_trainer
from old_trainer import input_fn

def build():
    return old_trainer.build("canned", "job")

def rows():
    return input_fn().take(2)
"""
SOURCE = ("--as=2.8", "--estimator=program:build", "--input_fn=program:rows")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the program and of its checkpoint of step 20."""
    made = tmp_path_factory.mktemp("program")
    shutil.copy(ERA / "old_trainer.py", made)
    shutil.copytree(ERA / "stored" / "canned", made / "job")
    (made / "program.py").write_text(PROGRAM)
    return made


def test_a_model_goes_on_where_2_8_stopped(folder, monkeypatch, capsys):
    import keras

    from estimator_bridge.convert import command

    monkeypatch.chdir(folder)
    assert command.main([*SOURCE, "--output=model.keras"]) == 0
    printed = capsys.readouterr()
    assert "converted dnn (binary), step 20" in printed.out
    assert "initial value" not in printed.err
    model = keras.saving.load_model("model.keras")
    assert model.optimizer.__class__.__name__ == "Adam"
    x = np.random.RandomState(0).uniform(-1, 1, (64, 3)).astype(np.float32)
    labels = (x.sum(axis=1, keepdims=True) > 0).astype(np.float32)
    for step in range(20):
        batch = slice(step % 2 * 32, step % 2 * 32 + 32)
        model.train_on_batch({"x": x[batch]}, {"logits": labels[batch]})
    found = np.ravel(model.predict({"x": x[:8]}, verbose=0)["logits"])
    expected = json.loads((ERA / "stored" / "after_40_steps.json").read_text())["logits"]["canned"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    env = {k: v for k, v in os.environ.items() if k not in ("TF_CONFIG", "TF_USE_LEGACY_KERAS")}
    done = forked.run(
        [
            *(sys.executable, "-m", "estimator_bridge", "verify", *SOURCE, "--steps=4"),
            *("--keras_model=model.keras", "--batch_size=32"),
        ],
        preload="bridge",
        cwd=folder,
        env={**env, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout[-4000:]


OWN_PROGRAM = """
import old_trainer
import tensorflow as tf
from old_trainer import input_fn

def build():
    assert tf.keras.optimizers.Adam.__module__.endswith("legacy.adam")
    return old_trainer.build("adam", "own")

def rows():
    return input_fn().take(2)
"""


def test_an_own_model_fn_of_2_8_is_wrapped(folder, monkeypatch, capsys):
    import keras
    import tensorflow as tf

    from estimator_bridge.convert import command

    monkeypatch.chdir(folder)
    shutil.copytree(ERA / "stored" / "adam", "own")
    Path("own.py").write_text(OWN_PROGRAM)
    source = ("--as=2.8", "--estimator=own:build", "--input_fn=own:rows")
    assert command.main([*source, "--model_fn", "--output=wrapped.keras"]) == 0
    assert "wrapped the model_fn of own:build, step 20" in capsys.readouterr().out
    model = keras.saving.load_model("wrapped.keras", safe_mode=False)
    x = np.random.RandomState(0).uniform(-1, 1, (8, 3)).astype(np.float32)
    found = model({"x": x})["logits"]
    # The model_fn of old_trainer.py, in mode PREDICT.
    reader = tf.train.load_checkpoint("own")
    hidden = np.maximum(
        x @ reader.get_tensor("dense/kernel") + reader.get_tensor("dense/bias"), 0.0
    )
    mean, variance, gamma, beta = (
        reader.get_tensor(f"batch_normalization/{name}")
        for name in ("moving_mean", "moving_variance", "gamma", "beta")
    )
    normalized = (hidden - mean) / np.sqrt(variance + 1e-3) * gamma + beta
    expected = normalized @ reader.get_tensor("dense_1/kernel") + reader.get_tensor("dense_1/bias")
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


def test_without_the_version_the_option_is_named(folder, monkeypatch):
    from estimator_bridge import BridgeError
    from estimator_bridge.convert import command

    monkeypatch.chdir(folder)
    (folder / "decaying.py").write_text(
        "import tensorflow as tf\n\n"
        "def build():\n    return tf.keras.optimizers.Adam(0.1, decay=0.01)\n"
    )
    with pytest.raises(BridgeError, match=r"decay is deprecated.*for example --as=2\.8") as caught:
        command.main(["--estimator=decaying:build", "--output=none.keras"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--as=2.8", "--job_dir=job"], "^--as and --tf1 belong to --estimator"),
        (["--as=3.1", "--estimator=program:build"], "no such TensorFlow to run as: '3.1'"),
    ],
)
def test_a_wrong_version_is_refused_before_the_program_is_read(flags, message):
    from estimator_bridge import BridgeError
    from estimator_bridge.convert import command

    with pytest.raises(BridgeError, match=message):
        command.main([*flags, "--output=none.keras"])
