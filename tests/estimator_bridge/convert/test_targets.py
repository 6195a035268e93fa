"""Converts a module that turns eager execution off; what fails leaves no file behind."""

import importlib.metadata
import os
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest

from estimator_bridge.convert import command
from estimator_bridge.convert.verify import command as verify_command
from estimator_bridge.convert.write.targets import complete_together
from estimator_bridge.errors import BridgeError

KERAS = importlib.metadata.version("keras")

PROGRAM = textwrap.dedent(
    """
    import numpy as np
    import tensorflow as tf

    def input_fn():
        words = np.array(["a", "b", "c", "d"] * 4, object)
        rows = {"left": words, "right": words[::-1]}, np.arange(16)[:, None] % 2
        return tf.data.Dataset.from_tensor_slices(rows).batch(8)

    def build():
        columns = tf.feature_column.shared_embeddings(
            [
                tf.feature_column.categorical_column_with_vocabulary_list(key, ["a", "b", "c"])
                for key in ("left", "right")
            ],
            dimension=2,
        )
        return tf.estimator.DNNClassifier([4], columns, "model_dir")
    """
)


@pytest.mark.slow
@pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)
def test_a_module_without_eager_execution(tmp_path, monkeypatch):
    from estimator_bridge import tf
    from estimator_bridge.convert.read.user_code import load_function

    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared_program.py").write_text(PROGRAM)
    (tmp_path / "no_eager.py").write_text(
        "import tensorflow as tf\n"
        "tf.compat.v1.disable_eager_execution()\n"
        "from shared_program import build\n"
    )
    # In this process, eager execution stays on.
    with tf.Graph().as_default():
        built = load_function("shared_program:build", "--estimator")()
    built.train(load_function("shared_program:input_fn", "--input_fn"))
    command = [sys.executable, "-m", "estimator_bridge", "convert", "--estimator=no_eager:build"]
    done = subprocess.run([*command, "--output=m.keras"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "converted dnn (binary), step 2" in done.stdout

    import keras

    model = keras.saving.load_model("m.keras")
    rows = {"left": np.array(["a", "d"]), "right": np.array(["c", "b"])}
    expected = list(built.predict(lambda: tf.data.Dataset.from_tensors(rows)))
    given = {name: tf.constant(values) for name, values in rows.items()}
    for found, row in zip(model(given)["logits"].numpy(), expected):
        assert abs(found - row["logits"]).max() < 1e-6
    assert not [name for name in os.listdir() if name.startswith(".partial")]


@pytest.mark.quick
def test_nothing_is_left_of_what_fails(tmp_path):
    old, folder = tmp_path / "old.keras", tmp_path / "folder"
    old.write_text("old")

    def write(fails):
        with complete_together([str(old), str(folder), str(tmp_path / "none")]) as paths:
            for path in paths:
                assert os.path.dirname(path) == str(tmp_path)
            assert paths[0].endswith("old.keras")
            with open(paths[0], "w") as file:
                file.write("new")
            os.mkdir(paths[1])
            if fails:
                raise ValueError

    with pytest.raises(ValueError):
        write(True)
    assert (os.listdir(tmp_path), old.read_text()) == (["old.keras"], "old")
    write(False)
    write(False)
    assert (sorted(os.listdir(tmp_path)), old.read_text()) == (["folder", "old.keras"], "new")


@pytest.mark.parametrize("flag", ["--output=m.keras", "--output=x.keras --emit_code=m.keras"])
def test_a_folder_is_not_replaced_by_a_file(tmp_path, monkeypatch, flag):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.keras").mkdir()
    with pytest.raises(BridgeError, match="m.keras: is a folder"):
        command._check_targets(command._parse(["--job_dir=job", "--overwrite", *flag.split()]))


def test_only_a_saved_model_is_replaced_by_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mine.txt").touch()
    options = command._parse(["--job_dir=job", "--overwrite", "--output=models.keras"])
    with pytest.raises(BridgeError, match="models: not a SavedModel"):
        command._check_targets(options)
    (tmp_path / "models" / "saved_model.pb").touch()
    assert command._check_targets(options) == "models"


@pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"verifies Keras 3 models; installed: Keras {KERAS}"
)
@pytest.mark.parametrize("content", [b"", b"PK\3\4half"])
def test_a_part_of_a_keras_model_is_told_before_tensorflow_is_loaded(tmp_path, content):
    path = tmp_path / "m.keras"
    path.write_bytes(content)
    with pytest.raises(BridgeError, match="only a part of one; convert the checkpoint again"):
        verify_command.main([f"--job_dir={tmp_path}", f"--keras_model={path}"])


@pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"verifies Keras 3 models; installed: Keras {KERAS}"
)
@pytest.mark.parametrize("option", ["--saved_model", "--export"])
def test_a_part_of_a_saved_model_is_told_before_tensorflow_is_loaded(tmp_path, option):
    path, folder = tmp_path / "m.keras", tmp_path / "saved"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("config.json", "{}")
    folder.mkdir()
    words = [f"--job_dir={tmp_path}", f"--keras_model={path}", f"{option}={folder}"]
    with pytest.raises(BridgeError, match=r"saved_model.pb: missing; name the folder"):
        verify_command.main(words)
    (folder / "saved_model.pb").write_bytes(b"\x12\x80")
    with pytest.raises(BridgeError, match=r"saved_model.pb: damaged, or cut off; copy"):
        verify_command.main(words)
