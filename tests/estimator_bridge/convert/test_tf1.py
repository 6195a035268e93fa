"""Converts and verifies Estimators of a TensorFlow 1.x program, from checkpoints of 1.15.5.

`stored_1x/old_trainer.py` is the program; TensorFlow 1.15.5 wrote the checkpoints beside it, and
computed the predictions and the losses of the next steps in expected.json.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import forked
import numpy as np
import pytest

pytestmark = pytest.mark.newest

STORED = Path(__file__).parent / "stored_1x"
EXPECTED = json.loads((STORED / "expected.json").read_text())
BATCH = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A copy of the program and its checkpoints."""
    return Path(shutil.copytree(STORED, tmp_path_factory.mktemp("program") / "program"))


@pytest.fixture
def program(folder, monkeypatch):
    """What the program defines without TensorFlow; the test runs in its folder."""
    monkeypatch.chdir(folder)
    source = (folder / "old_trainer.py").read_text().partition("def dataset")[0]
    found = {"__file__": str(folder / "old_trainer.py")}
    source = source.replace("import tensorflow as tf", "").replace("tf.logging", "# tf.logging")
    exec(source, found)
    return found


def convert(name, *flags):
    """Converts an Estimator of the program; returns the Keras model."""
    import keras

    from estimator_bridge.convert import command

    output = f"keras_{name}.keras"
    flags = ("--tf1", f"--estimator=old_trainer:build_{name}", f"--output={output}", *flags)
    assert command.main(list(flags)) == 0
    return keras.saving.load_model(output, safe_mode=False)


def assert_answers(model, given, name):
    found = model(given)
    for output, values in EXPECTED[name]["predictions"].items():
        np.testing.assert_allclose(found[output], values, atol=1e-6, err_msg=output)


def assert_losses(model, given, labels, name, weights):
    """Checks the losses of the next steps; with a mean for the sum they were a sixteenth."""
    found = []
    for step in range(3):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        batch = {key: value[rows] for key, value in given.items()}
        target = {"logits": labels[rows].astype(np.float32)}
        model.reset_metrics()
        found.append(
            float(model.train_on_batch(batch, target, sample_weight={"logits": weights[rows]}))
        )
    np.testing.assert_allclose(found, EXPECTED[name]["losses"], rtol=1e-5)


def inputs_of(model, features):
    import tensorflow as tf

    return {name: tf.constant(features[name]) for name in model.input}


def test_a_model_goes_on_where_1_15_stopped(program, folder, capsys):
    flags = ("--input_fn=old_trainer:rows_of_two", "--emit_code=written.py")
    model = convert("wide_deep", *flags)
    printed = capsys.readouterr()
    assert "converted wide_deep (binary), step 12" in printed.out
    assert "initial value" not in printed.err and "assumed" not in printed.err
    features = program["make_features"]()
    given = inputs_of(model, features)
    assert_answers(model, given, "wide_deep")
    labels = program["make_labels"]("two")
    assert_losses(model, given, labels, "wide_deep", features["share"])
    env = {k: v for k, v in os.environ.items() if k not in ("TF_CONFIG", "TF_USE_LEGACY_KERAS")}
    done = forked.run(
        [
            *(sys.executable, "-m", "estimator_bridge", "verify", "--tf1", "--steps=20"),
            *("--estimator=old_trainer:build_wide_deep", "--input_fn=old_trainer:rows_of_two"),
            *("--keras_model=keras_wide_deep.keras", f"--batch_size={BATCH}"),
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
    assert "training: 20 steps; the losses differ by at most" in done.stdout


def test_the_variables_of_a_model_fn_can_be_trained(program):
    model = convert("own", "--model_fn", "--input_fn=old_trainer:rows_of_numbers")
    assert_answers(model, inputs_of(model, program["make_features"]()), "own")
    # Two kernels, a bias, and the beta of the batch normalisation.
    assert len(model.trainable_weights) == 4


NEW_PROGRAM = textwrap.dedent(
    """
    import tensorflow as tf

    def build():
        fc = tf.feature_column
        columns = [fc.bucketized_column(fc.numeric_column("age"), [20.0, 30.0, 45.0])]
        return tf.estimator.LinearClassifier(columns, "wide_deep")
    """
)


def test_state_of_1_x_is_not_left_behind(program):
    from estimator_bridge import BridgeError
    from estimator_bridge.convert import command

    Path("new_program.py").write_text(NEW_PROGRAM)
    flags = ["--estimator=new_program:build", "--output=none.keras"]
    with pytest.raises(
        BridgeError, match=r"age_bucketized.* is that of TensorFlow 1\.x \(Ftrl\).*add --tf1"
    ):
        command.main(flags)
    assert not Path("none.keras").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--estimator=old_trainer:build_own"], "has no attribute 'logging'; add --tf1 for a"),
        (["--tf1", "--job_dir=job"], "^--as and --tf1 belong to --estimator"),
        (["--tf1", "--estimator=no_such_module:build"], "module no_such_module cannot be imported"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(flags, message, program):
    from estimator_bridge import BridgeError
    from estimator_bridge.convert import command

    with pytest.raises(BridgeError, match=message) as caught:
        command.main([*flags, "--output=none.keras"])
    assert "\n" not in str(caught.value)
