"""TensorFlow 1.x programs run unchanged, as real processes, by `run --tf1`."""

import glob
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import forked
import pytest

from trainer.cluster.processes import SHARING, find_addresses

pytestmark = [pytest.mark.versions, pytest.mark.newest]

HERE = Path(__file__).parents[1]
LEGACY = HERE / "legacy"

# Asks an export a question in a fresh process: export, signature, inputs as JSON; prints JSON.
ASK = """
import json, sys
import numpy as np
import tensorflow as tf
export, signature, inputs = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
served = tf.saved_model.load(export).signatures[signature]
wanted = served.structured_input_signature[1]
feed = {k: tf.constant(v, wanted[k].dtype) for k, v in inputs.items()}
print(json.dumps({k: np.asarray(v).astype(str).tolist() for k, v in served(**feed).items()}))
"""


def environment(**extra):
    env = {k: v for k, v in os.environ.items() if k not in ("TF_CONFIG", "TF_USE_LEGACY_KERAS")}
    env.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3", PYTHONUNBUFFERED="1", **extra)
    return env


def command(*args):
    return [sys.executable, "-m", "estimator_bridge", "run", "--tf1", *map(str, args)]


def run(folder, *args, status=0, timeout=240, fresh=False):
    """Runs a program from its own folder, as its people did; returns what it wrote.

    It is forked from a process that has imported TensorFlow, unless it is to be `fresh`.
    """
    done = (subprocess if fresh else forked).run(
        command(*args),
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == status, done.stdout[-6000:]
    return done.stdout


def ask(export, signature, **inputs):
    done = forked.run(
        [sys.executable, "-c", ASK, str(export), signature, json.dumps(inputs)],
        preload="tensorflow",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def last_metrics(output):
    """Returns the metrics of the last evaluation that the program's log tells."""
    line = re.findall(r"Saving dict for global step \d+: (.*)", output)[-1]
    return {name: float(value) for name, value in re.findall(r"(\S+) = ([-\d.e]+)", line)}


def only(pattern):
    (found,) = glob.glob(str(pattern))
    return found


def test_wide_and_deep_with_lookup_tables(tmp_path):
    output = run(
        LEGACY / "wide_deep",
        *("-m", "trainer.task", "--train-files", tmp_path / "train.csv"),
        *("--eval-files", tmp_path / "eval.csv", "--job-dir", tmp_path / "job"),
        *("--train-steps", 300, "--eval-steps", 10),
    )
    assert last_metrics(output)["auc"] > 0.9
    assert (tmp_path / "job" / "model.ckpt-300.index").is_file()
    person = {
        "age": [45.0],
        "workclass": [" Private"],
        "education": [" Masters"],
        "education_num": [14.0],
        "occupation": [" Exec-managerial"],
        "gender": [" Female"],
        "hours_per_week": [55.0],
        "native_country": [" United-States"],
    }
    export = only(tmp_path / "job" / "export" / "census" / "*")
    rich = ask(export, "predict", **person)
    poor = ask(
        export,
        "predict",
        **dict(
            person,
            hours_per_week=[15.0],
            education=[" HS-grad"],
            education_num=[9.0],
            occupation=[" Sales"],
        ),
    )
    assert float(rich["logistic"][0][0]) > 0.8 > 0.2 > float(poor["logistic"][0][0])


def test_text_cnn_with_contrib_layers(tmp_path):
    output = run(
        LEGACY / "text_cnn",
        *("-m", "trainer.task", "--output_dir", tmp_path / "job", "--data_dir", tmp_path),
        *("--hparams", "learning_rate=0.02,filter_sizes=[2]", "--train_steps", 200),
    )
    assert last_metrics(output)["acc"] > 0.95
    # A line of the log is there once, not a second time from the root logger.
    assert output.count("Loss for final step") == 1
    assert '"learning_rate": 0.02' in output and '"filter_sizes": [2]' in output
    export = only(tmp_path / "job" / "export" / "Servo" / "*")
    answer = ask(export, "serving_default", title=["the rain and storm", "big bank profit today"])
    assert answer["class"] == ["weather", "market"]


def test_sequence_tagger_with_fused_lstm_and_crf(tmp_path):
    output = run(LEGACY / "tagger", "main.py", tmp_path / "data", tmp_path / "job")
    assert last_metrics(output)["acc"] > 0.97
    assert "answer B-PER I-PER O O B-LOC" in output
    assert list((tmp_path / "job").glob("model.ckpt-*.index"))
    export = only(tmp_path / "job" / "saved_model" / "*")
    answer = ask(export, "serving_default", words=[["Eva", "went", "to", "Rome"]], nwords=[4])
    assert answer["tags"] == [["B-PER", "O", "O", "B-LOC"]]


def test_image_model_with_batch_norm(tmp_path):
    output = run(
        LEGACY / "image",
        *("-m", "trainer.task", "--data_dir", tmp_path / "data", "--model_dir", tmp_path / "job"),
    )
    # Evaluation normalizes by the moving averages: without the update ops it would be chance.
    assert last_metrics(output)["accuracy"] > 0.9
    names = variable_names(tmp_path / "job")
    assert "block0/batch_normalization/moving_mean" in names
    assert "block1/conv2d/kernel/Momentum" in names
    rows = [[[0.5 if i == j else -0.4] for j in range(12)] for i in range(12)]
    export = only(tmp_path / "job" / "export" / "*")
    key = "input"
    answer = ask(export, "serving_default", **{key: [rows]})
    assert answer["classes"] == ["2"]


def variable_names(model_dir):
    code = (
        "import sys, json, tensorflow as tf\n"
        "print(json.dumps([n for n, _ in tf.train.list_variables(sys.argv[1])]))"
    )
    done = forked.run(
        [sys.executable, "-c", code, str(model_dir)],
        preload="tensorflow",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)


def test_encoder_with_tpu_estimator(tmp_path):
    job = tmp_path / "job"
    flags = ["--do_train", "--do_eval", "--do_predict", "--output_dir", job]
    flags += ["--num_train_epochs", "10"]
    output = run(LEGACY / "bert", "run_classifier.py", *flags)
    results = dict(
        line.split(" = ") for line in (job / "eval_results.txt").read_text().splitlines()
    )
    # 101 examples in batches of 8: the last one is not full.
    assert float(results["eval_accuracy"]) > 0.9
    assert results["global_step"] == "125"
    assert "Running train on CPU" in output
    rows = (job / "test_results.tsv").read_text().splitlines()
    assert len(rows) == 21
    assert all(abs(sum(map(float, row.split("\t"))) - 1) < 1e-3 for row in rows)
    names = variable_names(job)
    assert "bert/encoder/layer_0/attention/output/LayerNorm/gamma" in names
    assert "bert/encoder/layer_1/intermediate/dense/kernel/adam_v" in names
    ids = [20, 3, 4, 5, 6, 21, 3, 4, 19, 21]
    example = {
        "input_ids": [ids + [0] * 6],
        "input_mask": [[1] * len(ids) + [0] * 6],
        "segment_ids": [[0] * 6 + [1] * 4 + [0] * 6],
    }
    answer = ask(only(job / "export" / "*"), "serving_default", **example)
    assert float(answer["probabilities"][0][1]) > 0.8
    # Fine-tuning starts from the checkpoint: a step more, and it knows already.
    second = tmp_path / "second"
    flags = ["--do_train", "--do_eval", "--output_dir", second, "--nodo_export"]
    flags += ["--init_checkpoint", job / "model.ckpt-125", "--num_train_epochs", "0.2"]
    output = run(LEGACY / "bert", "run_classifier.py", *flags, "--learning_rate", "1e-4")
    assert "*INIT_FROM_CKPT*" in output
    assert last_metrics(output)["eval_accuracy"] > 0.9


def test_use_tpu_is_refused_in_one_line(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import tensorflow as tf\n"
        "tf.contrib.tpu.TPUEstimator(lambda features, labels, mode, params: None,\n"
        "    config=tf.contrib.tpu.RunConfig(), train_batch_size=8)\n"
    )
    output = run(tmp_path, program, status=2)
    assert output.count("TPUEstimator(use_tpu=True)") == 1
    assert "TPUEstimator(use_tpu=True)" in output.splitlines()[-1]
    assert "use_tpu=False" in output.splitlines()[-1]
    assert 'program.py", line 2' in output


def test_contrib_learn_experiment(tmp_path):
    output = run(LEGACY / "contrib_learn", "-m", "trainer.task", "--job-dir", tmp_path / "job")
    metrics = last_metrics(output)
    assert metrics["accuracy"] > 0.85
    assert metrics["share"] == pytest.approx(metrics["accuracy"], abs=1e-5)
    assert list((tmp_path / "job" / "export" / "Servo").glob("*/saved_model.pb"))


def test_parameter_servers_with_device_filters(tmp_path):
    addresses = find_addresses(4)
    cluster = {"master": addresses[:1], "worker": addresses[1:2], "ps": addresses[2:]}
    processes, outputs = {}, {}
    try:
        for role, index in (("ps", 0), ("ps", 1), ("worker", 0), ("master", 0)):
            task = {"type": role, "index": index}
            config = json.dumps({"cluster": cluster, "task": task, "environment": "cloud"})
            outputs[role, index] = tmp_path / f"{role}{index}.log"
            with open(outputs[role, index], "w") as log:
                processes[role, index] = forked.Popen(
                    command("-m", "trainer.task", "--job-dir", tmp_path / "job"),
                    cwd=LEGACY / "ps_job",
                    env=environment(TF_CONFIG=config, **SHARING),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
        for role in ("master", "worker"):
            status = processes[role, 0].wait(timeout=180)
            assert status == 0, outputs[role, 0].read_text()[-4000:]
        # As in 1.x, a parameter server serves until its launcher ends it.
        assert processes["ps", 0].poll() is None and processes["ps", 1].poll() is None
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    master = outputs["master", 0].read_text()
    assert last_metrics(master)["auc"] > 0.97
    assert re.search(r"master 0 ran \d+ steps", master)
    assert "/job:worker/task:0" in outputs["worker", 0].read_text()
    # The weights are split over both servers, and saved by each.
    assert list((tmp_path / "job").glob("model.ckpt-*.data-00001-of-00002"))


def test_installed_by_a_line_of_the_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from estimator_bridge import tf1\n"
        "tf1.install()\n"
        "import tensorflow as tf\n"
        "x = tf.contrib.layers.fully_connected(tf.placeholder(tf.float32, [None, 3]), 2)\n"
        "print(tf.__version__, x.shape, tf.estimator.DNNClassifier.__name__)\n"
    )
    done = forked.run(
        [sys.executable, str(program)],
        preload="tensorflow",
        env=environment(PYTHONPATH=str(HERE.parents[1])),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == "1.15.5 (?, 2) DNNClassifier\n"


def test_a_failing_import_has_an_unchanged_traceback(tmp_path):
    (tmp_path / "helper.py").write_text("import tensorflow as tf\nimport not_there_at_all\n")
    program = tmp_path / "program.py"
    program.write_text("import helper\n")
    output = run(tmp_path, program, status=1)
    lines = [line for line in output.splitlines() if line.strip().startswith("File ")]
    assert len(lines) == 2 and "program.py" in lines[0] and "helper.py" in lines[1], output
    assert output.splitlines()[-1] == "ModuleNotFoundError: No module named 'not_there_at_all'"


def test_a_hub_without_modules_of_1x_names_the_version_to_install(tmp_path):
    # As tensorflow-hub 0.16, as far as it is read.
    (tmp_path / "tensorflow_hub.py").write_text("def load(): ...\n")
    program = "import tensorflow_hub as hub\nprint(hasattr(hub, 'nothing'))\nhub.Module('m')\n"
    (tmp_path / "task.py").write_text(program)
    output = run(tmp_path, "task.py", status=1)
    # The output comes after the traceback.
    *_, message, printed = output.splitlines()
    assert printed == "False"
    assert message == (
        "AttributeError: module 'tensorflow_hub' has no attribute 'Module': tensorflow-hub 0.16 "
        "removed the modules of TensorFlow 1.x; install an older one: pip install "
        "'tensorflow-hub<0.16'"
    )


def test_a_library_may_import_tensorflow_before_the_program_does(tmp_path):
    (tmp_path / "tensorflow_text.py").write_text("import tensorflow as tf\n")
    program = "import tensorflow_text\nimport tensorflow as tf\n"
    program += "print('versions', tensorflow_text.tf.__version__[0], tf.__version__)\n"
    (tmp_path / "task.py").write_text(program)
    assert "versions 2 1.15.5" in run(tmp_path, "task.py", fresh=True)


def test_a_program_without_tensorflow_does_not_import_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint('loaded', 'tensorflow' in sys.modules)\n")
    assert "loaded False" in run(tmp_path, program, fresh=True)


def test_a_session_that_is_open_while_python_is_called_does_not_keep_the_process(tmp_path):
    program = tmp_path / "open_session.py"
    program.write_text(
        "import time\n"
        "import tensorflow as tf\n"
        "def look_up(number):\n"
        "    time.sleep(0.2)\n"
        "    return number\n"
        "dataset = tf.data.Dataset.range(1000).map(\n"
        "    lambda number: tf.py_func(look_up, [number], tf.int64), num_parallel_calls=2)\n"
        "element = tf.data.make_one_shot_iterator(dataset.batch(2)).get_next()\n"
        "session = tf.Session()\n"
        "print(session.run(element))\n"
    )
    assert "[0 1]" in run(tmp_path, program, fresh=True, timeout=60)
