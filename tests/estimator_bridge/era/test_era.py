"""Programs of TensorFlow 2.0 to 2.10 under `run --as`, beside values that 2.8.4 computed."""

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import forked
import numpy as np
import pytest

from estimator_bridge import era
from estimator_bridge.era import advice, choice, declared, used
from estimator_bridge.errors import BridgeError
from estimator_bridge.user_files import notebook_cells

HERE = Path(__file__).parent
STORED = HERE / "stored"
sys.path.insert(0, str(HERE))
import names  # noqa: E402


def run(*arguments, cwd=None):
    """Runs a program under the bridge; returns (status, stdout, stderr)."""
    done = forked.run(
        [sys.executable, "-m", "estimator_bridge", "run", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=cwd,
    )
    return done.returncode, done.stdout, done.stderr


def test_checkpoints_of_old_keras_optimizers_train_on(tmp_path):
    expected = json.loads((STORED / "after_40_steps.json").read_text())["logits"]
    for kind in expected:
        shutil.copytree(STORED / kind, tmp_path / kind)
    status, stdout, stderr = run("--as=2.8", HERE / "old_trainer.py", 40, tmp_path, *expected)
    assert status == 0, stderr
    answers = json.loads(stdout)
    for kind, logits in expected.items():
        # Two versions of TensorFlow differ in the order of float32 sums.
        np.testing.assert_allclose(answers[kind], logits, rtol=2e-6, atol=2e-6, err_msg=kind)


def test_names_mean_what_they_meant(tmp_path):
    status, stdout, stderr = run("--as=2.8.4", HERE / "old_names.py")
    assert status == 0, stderr
    values, expected = json.loads(stdout), json.loads((STORED / "names.json").read_text())
    assert values.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, list) and value and not isinstance(value[0], (str, bool)):
            np.testing.assert_allclose(values[name], value, rtol=1e-6, err_msg=name)
        else:
            assert values[name] == value, name


PROGRAM_2_4 = """
import numpy as np
import estimator_bridge
estimator_bridge.install(as_version="2.4")
import tensorflow as tf
options = tf.data.Options()
options.experimental_optimization.map_vectorization = None
options.experimental_optimization.hoist_random_uniform = True
print([int(one) for one in tf.data.Dataset.range(3).with_options(options)])
schedule = tf.keras.experimental.LinearCosineDecay(0.5, 10, num_periods=1.5, alpha=0.1)
noisy = tf.keras.experimental.NoisyLinearCosineDecay(0.5, 10, initial_variance=0.0)
print([round(float(schedule(step)), 5) for step in (0, 3, 10, 20)], round(float(noisy(3)), 5))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
print(model.predict_classes(np.array([[1.0], [-1.0]])).tolist())
scale = tf.mixed_precision.experimental.FixedLossScale(8.0)
scaled = tf.keras.mixed_precision.experimental.LossScaleOptimizer(tf.optimizers.SGD(), scale)
print(float(scaled.loss_scale))
from tensorflow.keras.utils import convert_all_kernels_in_model
convert_all_kernels_in_model(model)
"""


def test_install_restores_names_of_2_4_and_refuses_the_others_by_name(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM_2_4], capture_output=True, text=True, timeout=120
    )
    # 0.5 * ((0.1 + 0.7) * (1 + cos(0.9 pi)) / 2 + 0.001), worked out by hand.
    assert done.stdout.splitlines() == [
        "[0, 1, 2]",
        "[0.5505, 0.01029, 0.0005, 0.0005] 0.27836",
        "[[1], [0]]",
        "8.0",
    ], done.stderr
    refused = "convert_all_kernels_in_model is not supplied on this TensorFlow: remove it"
    assert refused in done.stderr


@pytest.mark.newest
def test_a_declared_version_is_taken_and_children_inherit_it(tmp_path):
    (tmp_path / "requirements.txt").write_text("pandas\ntensorflow-cpu>=2.4,<2.9  # the servers\n")
    code = "import tensorflow as tf; print(tf.keras.optimizers.Adam.__module__)"
    (tmp_path / "program.py").write_text(
        f"import subprocess, sys\n{code}\nsys.stdout.flush()\n"
        f"subprocess.run([sys.executable, '-c', {code!r}], check=True)\n"
    )
    status, stdout, stderr = run("program.py", cwd=tmp_path)
    assert status == 0, stderr
    assert [line.split(".", 1)[1] for line in stdout.split()] == ["src.optimizers.legacy.adam"] * 2
    line = next(line for line in stderr.splitlines() if line.startswith("estimator_bridge:"))
    assert "TensorFlow 2.8, because requirements.txt says tensorflow-cpu>=2.4,<2.9" in line


@pytest.mark.quick
@pytest.mark.parametrize(
    "name, text, version",
    [
        ("requirements.txt", "tensorflow==2.8.0", (2, 8)),
        ("requirements-gpu.txt", "tensorflow-gpu == 1.15.5", (1, 15)),
        ("requirements.txt", "tensorflow[and-cuda]~=2.4.1", (2, 4)),
        ("requirements.txt", "tensorflow<2", (1, 15)),
        ("setup.py", "install_requires=['numpy', 'tensorflow>=2.4,<2.11'],", (2, 10)),
        ("pyproject.toml", 'tensorflow = "2.6.*"', (2, 6)),
        ("Pipfile", 'tensorflow = "==2.9.1"', (2, 9)),
        ("environment.yml", "  - tensorflow=2.7", (2, 7)),
        ("Dockerfile", "FROM tensorflow/tensorflow:2.5.0-gpu", (2, 5)),
        ("Dockerfile.train", "FROM gcr.io/deeplearning-platform-release/tf2-gpu.2-8", (2, 8)),
        ("cloudbuild.yaml", "  - --runtime-version=2.3", (2, 3)),
        ("setup.cfg", "install_requires =\n    tensorflow>=2.4,<2.9\n    numpy", (2, 8)),
        ("pyproject.toml", "dependencies = [\n  'tensorflow-cpu==2.9.*',\n]", (2, 9)),
        ("config.yaml", "trainingInput:\n  runtimeVersion: '2.1'\n", (2, 1)),
        ("job.yaml", "", None),
        ("Dockerfile", "RUN pip install 'tensorflow>=2.3,<2.5'", (2, 4)),
        (
            "cloudbuild.yaml",
            "  - --executor-image-uri=europe-docker.pkg.dev/vertex-ai/training/tf-cpu.2-8:latest",
            (2, 8),
        ),
        ("submit.sh", "gcloud ai-platform jobs submit training j --runtime-version 2.3", (2, 3)),
        ("Makefile", "train:\n\tpip install tensorflow==2.6.2\n", (2, 6)),
        ("poetry.lock", '[[package]]\nname = "tensorflow"\nversion = "2.8.4"\n', (2, 8)),
        (
            "Pipfile.lock",
            '"tensorflow": {"hashes": ["sha256:0"], "index": "i", "version": "==2.7.1"}',
            (2, 7),
        ),
        ("requirements.txt", "tensorflow>=2.4", None),
        ("requirements.txt", "tensorflow", None),
        ("requirements.txt", "tensorflow~=2.4", None),
        ("requirements.txt", "# tensorflow==2.4", None),
        ("requirements.txt", "tensorflow-io==0.24\nmy-tensorflow==2.4", None),
        ("requirements.txt", "tensorflow==2.17.0", None),
        ("pyproject.toml", 'tensorflow = "^2.6"', None),
    ],
)
def test_a_version_is_found_where_projects_declare_it(tmp_path, name, text, version):
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(text)
    (tmp_path / "src").mkdir()
    found = declared.find(str(tmp_path / "src" / "program.py"))
    assert (found.version if found else None) == version


@pytest.mark.quick
def test_files_that_disagree_choose_nothing(tmp_path):
    (tmp_path / "requirements.txt").write_text("tensorflow==2.4.4\n")
    (tmp_path / "Dockerfile").write_text("FROM tensorflow/tensorflow:2.8.0\n")
    assert declared.find(str(tmp_path)).version == (2, 4)
    (tmp_path / "setup.py").write_text("setup(install_requires=['tensorflow==2.12'])\n")
    found = declared.find(str(tmp_path))
    assert found.version is None and "setup.py says" in found.where


@pytest.mark.quick
@pytest.mark.parametrize("text", ["2.16", "3.0", "0.9", "2", "2.x", "", "2.8; rm"])
def test_a_version_that_is_not_there_is_refused(text):
    with pytest.raises(BridgeError, match="no such TensorFlow to run as"):
        era.parse(text)


@pytest.mark.quick
def test_a_wrong_version_is_one_line():
    for option in ("--as=2.30", "--as"):
        status, stdout, stderr = run(option, "program.py")
        assert (status, stdout) == (2, "") and "Traceback" not in stderr
        assert stderr.splitlines()[0].startswith("estimator_bridge run: --as")


@pytest.mark.newest
def test_a_program_with_todays_optimizers_is_told_of_the_option(tmp_path):
    shutil.copytree(STORED / "adam", tmp_path / "adam")
    status, _, stderr = run("--as=2.12", HERE / "old_trainer.py", 40, tmp_path, "adam")
    assert status == 1 and "'Adam' object has no attribute 'get_updates'" in stderr
    (line,) = [line for line in stderr.splitlines() if line.startswith("estimator_bridge:")]
    assert "run --as=2.8" in line


@pytest.mark.quick
@pytest.mark.parametrize(
    "text, is_explained",
    [
        (
            "Please set your optimizer as an instance of `tf.keras.optimizers.legacy.Optimizer`",
            True,
        ),
        ("Key Adam/m/dense/kernel not found in checkpoint", True),
        ("decay is deprecated in the new TF-Keras optimizer, please check the docstring", True),
        ("Key iteration not found in checkpoint", True),
        ("Key dense/kernel not found in checkpoint", False),
        ("'Adam' object has no attribute 'learn_faster'", False),
        ("a message that names no optimizer", False),
    ],
)
def test_only_failures_of_optimizers_are_explained(monkeypatch, text, is_explained):
    monkeypatch.setitem(sys.modules, "tf_keras.src.optimizers.optimizer", era)
    assert (advice.describe(ValueError(text), None) is not None) == is_explained
    assert advice.describe(ValueError(text), (2, 8)) is None


@pytest.mark.quick
def test_a_checkpoint_of_todays_optimizers_under_an_older_version_names_the_option():
    text = "Key training/Adam/beta_1 not found in checkpoint"
    assert "--as=2.11" in advice.describe(ValueError(text), (2, 8))
    assert advice.describe(ValueError("Key dense/bias not found in checkpoint"), (2, 8)) is None


@pytest.mark.quick
def test_a_program_of_1x_is_told_of_tf1(monkeypatch):
    v1 = SimpleNamespace(placeholder=1, train=SimpleNamespace(AdamOptimizer=1))
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(compat=SimpleNamespace(v1=v1)))
    missing = "module 'tensorflow{}' has no attribute '{}'"
    for error, name in (
        (AttributeError(missing.format("", "placeholder")), "tf.placeholder"),
        (AttributeError(missing.format("._api.v2.train", "AdamOptimizer")), "tf.train.Adam"),
        (AttributeError(missing.format("", "contrib")), "tf.contrib"),
        (ModuleNotFoundError("x", name="tensorflow.contrib.layers"), "tf.contrib"),
        (AttributeError(missing.format("", "placehodler")), None),
        (ModuleNotFoundError("x", name="tensorflow.nothing"), None),
        (ModuleNotFoundError("x", name="tensorflow"), None),
    ):
        line = advice.describe(error, None)
        assert (name is None) == (line is None), error
        assert line is None or (name in line and "--tf1" in line)
        assert advice.describe(error, era.TF1) is None


@pytest.mark.quick
@pytest.mark.parametrize(
    "source, version",
    [
        ("tf.app.run()", (1, 15)),
        ("from tensorflow.contrib import layers", (1, 15)),
        ("from tensorflow import placeholder as p", (1, 15)),
        ("tf.enable_eager_execution()", (1, 15)),
        ("tf.keras.optimizers.Adam(0.1, decay=0.01)", (2, 10)),
        ("from tensorflow.keras import optimizers as o\no.SGD(lr=0.1)", (2, 10)),
        ("tf.keras.mixed_precision.experimental.set_policy('float32')", (2, 8)),
        ("tf.keras.experimental.LinearCosineDecay(0.1, 10)", (2, 4)),
        ("from tensorflow.data.experimental import StatsAggregator", (2, 5)),
        ("tf.keras.wrappers.scikit_learn.KerasClassifier(print)", None),
        ("model.predict_classes(x)\ntf.keras.optimizers.Adam(lr=0.1)", (2, 5)),
        ("tf.keras.optimizers.Adam(0.1)", None),
        ("import tensorflow.compat.v1 as tf\ntf.placeholder(tf.float32)", None),
        ("tf = tf.compat.v1\ntf.placeholder(tf.float32)", None),
        ("try:\n  tf.app.run()\nexcept AttributeError:\n  pass", None),
        ("if tf.__version__ < '2':\n  tf.app.run()", None),
        ("old = tf.VERSION[0] == '1'\ntf.app.run()", None),
        ("from tensorflow import __version__ as v\ntf.app.run()", None),
        ("print(tf.__version__, flush=True)\nprint.info(tf.VERSION)\ntf.app.run()", (1, 15)),
        ("tf.keras.optimizers.legacy.Adam(0.1, decay=0.01)", None),
        ("log = print\nlog.app.run()", None),
    ],
)
def test_a_version_is_found_from_names(tmp_path, source, version):
    (tmp_path / "program.py").write_text("from package import model\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "model.py").write_text(f"import tensorflow as tf\n{source}\n")
    names = used.find(str(tmp_path / "program.py"))
    assert names.version == version
    assert (version is None) or "model.py, line " in names.where


@pytest.mark.quick
def test_a_lock_file_decides_where_a_requirement_is_open(tmp_path):
    (tmp_path / "pyproject.toml").write_text('dependencies = ["tensorflow>=2.4"]\n')
    (tmp_path / "uv.lock").write_text('name = "tensorflow"\nversion = "2.8.4"\n')
    (tmp_path / "train.sh").write_text("pip install tensorflow==2.12.0\n")
    assert declared.find(str(tmp_path)) == ((2, 8), "uv.lock has tensorflow 2.8")
    (tmp_path / "uv.lock").unlink()
    assert declared.find(str(tmp_path)).version == (2, 12)


@pytest.mark.quick
def test_the_last_version_with_a_name_is_that_of_the_published_packages():
    published = {version: set(found) for version, found in names.read().items()}
    for name, last in used._LAST_WITH.items():
        having = [
            version
            for version, found in published.items()
            if any(one == name or one.startswith(f"{name}.") for one in found)
        ]
        assert having[-1] == era.format_version(last), name
    assert not any(used._NAMES_OF_1X & found for found in published.values())


@pytest.mark.quick
def test_a_notebook_is_parsed_once(tmp_path, monkeypatch):
    path = tmp_path / "a.ipynb"
    cell = {"cell_type": "code", "source": "import tensorflow as tf\ntf.app.run()"}
    path.write_text(json.dumps({"cells": [cell]}))
    read, reads = notebook_cells.read, []
    monkeypatch.setattr(notebook_cells, "read", lambda data: reads.append(data) or read(data))
    cells = read(path.read_bytes())
    for given, times in ((None, 1), (cells, 0)):
        reads.clear()
        found = choice.choose(str(path), str(path), cells=given)
        assert found == ((1, 15), "a.ipynb, cell 1, line 2, uses tf.app")
        assert len(reads) == times


@pytest.mark.quick
def test_a_checkpoint_of_old_optimizers_chooses_their_version(tmp_path):
    program = tmp_path / "program.py"
    job = tmp_path / "job"
    shutil.copytree(STORED / "adam", job)
    for arguments in ([f"--model_dir={job}"], ["--model_dir", str(job)]):
        program.write_text("import tensorflow as tf\nprint(tf.keras.optimizers.Adam.__name__)\n")
        found = choice.choose(str(program), str(program), arguments)
        assert found.version == (2, 10) and "Adam/beta_1" in found.where
    # TensorFlow's version is between the list of operations and the version of the source.
    export = job / "export" / "latest" / "1700000000"
    export.mkdir(parents=True)
    (export / "saved_model.pb").write_bytes(b"\x08\x01\x12\x20\x0a\x1e\x2a\x052.4.4\x32\x07v2.4.3-")
    assert choice.choose(str(program), str(program), [str(job)]).version == (2, 4)
    # A program without Keras optimizers of its own has no choice between them.
    program.write_text("import tensorflow as tf\n")
    assert choice.choose(str(program), str(program), [str(job)]) is None
    (job / "model.ckpt-20.index").write_bytes(b"torn")
    program.write_text("import tensorflow as tf\nprint(tf.keras.optimizers.Adam)\n")
    assert choice.choose(str(program), str(program), [str(job)]) is None


@pytest.mark.newest
def test_a_checkpoint_in_a_bucket_chooses_a_version_too(tmp_path, monkeypatch):
    from gcp_storage_emulator.server import create_server
    from google.cloud import storage

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    emulator = create_server("127.0.0.1", port, in_memory=True, default_bucket="a-bucket")
    emulator.start()
    try:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{port}")
        bucket = storage.Client(project=None).bucket("a-bucket")
        for path in (STORED / "adam").iterdir():
            bucket.blob(f"jobs/adam/{path.name}").upload_from_string(path.read_bytes())
        program = tmp_path / "program.py"
        program.write_text("import tensorflow as tf\nprint(tf.keras.optimizers.Adam)\n")

        def choose(place):
            return choice.choose(str(program), str(program), [f"--model_dir={place}"])

        found = choose("gs://a-bucket/jobs/adam/")
        assert found.version == (2, 10)
        assert found.where.startswith("gs://a-bucket/jobs/adam/model.ckpt-20 contains ")
        bucket.blob("jobs/adam/export/best/1/saved_model.pb").upload_from_string(
            b"\x08\x01\x12\x20\x0a\x1e\x2a\x052.4.4\x32\x07v2.4.3-"
        )
        assert choose("gs://a-bucket/jobs/adam").version == (2, 4)
        assert choose("gs://a-bucket/jobs") is None
        assert choose("gs://no-bucket/jobs/adam") is None
    finally:
        emulator.stop()
    assert choose("gs://a-bucket/jobs/adam") is None


UNDECLARED = """
import sys
import tensorflow as tf

def input_fn():
    return tf.data.Dataset.from_tensors(([[1.0]], [[1.0]])).repeat(2)

def model_fn(features, labels, mode):
    weight = tf.Variable(1.0)
    loss = (features[0, 0] * weight - labels[0, 0]) ** 2
    step = tf.compat.v1.train.get_or_create_global_step()
    # An attribute that the source does not show, as in a table of optimizers.
    optimizer = getattr(tf.keras.optimizers, "SGD")(0.1)
    update = optimizer.apply_gradients([(tf.gradients(loss, weight)[0], weight)])
    update = tf.group(update, step.assign_add(1))
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=update)

tf.estimator.Estimator(model_fn, sys.argv[1]).train(input_fn)
"""


def test_an_undeclared_optimizer_of_todays_class_is_named_once(tmp_path):
    (tmp_path / "program.py").write_text(UNDECLARED)
    (tmp_path / ".git").mkdir()
    for options, count in ([], 1), (["--as=2.12"], 0):
        job = tmp_path / f"job{count}"
        status, _, stderr = run(*options, "program.py", job, cwd=tmp_path)
        assert status == 0, stderr
        lines = [line for line in stderr.splitlines() if line.startswith("estimator_bridge:")]
        assert len(lines) == count, stderr
        assert all("run --as=2.8" in line for line in lines)
