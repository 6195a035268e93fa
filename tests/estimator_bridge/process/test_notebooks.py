"""Notebooks: run as programs, and by Jupyter with the bridge's kernel."""

import contextlib
import importlib.util
import json
import os
import pty
import signal
import subprocess
import sys
import threading

import forked
import pytest
from waiting import wait_for_file

from estimator_bridge.errors import BridgeError
from estimator_bridge.process import kernel, notebooks

pytestmark = pytest.mark.newest
# Only the environment of the newest TensorFlow has them.
pytest.importorskip("IPython")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

MODEL = """
%tensorflow_version 1.x
import tensorflow as tf

def model_fn(features, labels, mode):
    logits = tf.contrib.layers.fully_connected(features["x"], 1, activation_fn=None)
    loss = tf.losses.mean_squared_error(labels, logits)
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
"""
TRAIN = """
import numpy as np
x = np.ones([8, 1], np.float32)
read = tf.estimator.inputs.numpy_input_fn({"x": x}, x, batch_size=4, num_epochs=None, shuffle=False)
job = tf.estimator.Estimator(model_fn, "job")
job.train(read, steps=3).get_variable_value("global_step").item()
"""


@pytest.fixture
def jupyter(tmp_path, monkeypatch):
    """The folder of Jupyter's data of this user."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    return tmp_path / "jupyter"


def write(path, *cells, **tags):
    """Writes a notebook of code; `tags` are those of the cell c0, c1 and so on."""
    made = [nbformat.v4.new_code_cell(text) for text in cells]
    for name, tag in tags.items():
        made[int(name[1:])].metadata["tags"] = [tag]
    made.insert(0, nbformat.v4.new_markdown_cell("A title"))
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    return str(path)


def run(notebook, *arguments, **options):
    """Runs a notebook; returns its exit status, its output and the lines of its errors."""
    done = forked.run(
        [sys.executable, "-m", "estimator_bridge", "run", *arguments, notebook],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=240,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        **options,
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


def test_cells_run_in_the_folder_of_the_notebook(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "beside.py").write_text("VALUE = 7")
    notebook = write(
        tmp_path / "inner" / "a.ipynb",
        "import beside, os, sys\nsys.argv[1:], os.getcwd()",
        "%%time\nx = !echo from a shell\nprint(x[0])",
        "1 / 0",
        "await __import__('asyncio').sleep(0, 'awaited')",
        c2="raises-exception",
    )
    home = tmp_path / "home"
    home.mkdir()
    arguments = ["--its=flag"]
    done = forked.run(
        [sys.executable, "-m", "estimator_bridge", "run", notebook, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(home)},
        timeout=240,
    )
    assert done.returncode == 0, done.stdout
    assert f"(['--its=flag'],\n {str(tmp_path / 'inner')!r})" in done.stdout
    assert 0 < done.stdout.index("from a shell") < done.stdout.index("ZeroDivisionError")
    assert done.stdout.endswith("Out[4]: 'awaited'\n")
    assert not (home / ".ipython").exists()


def test_the_first_cell_that_fails_ends_it(tmp_path):
    notebook = write(
        tmp_path / "a.ipynb", "print('first')", "def f():\n    1 / 0\nf()", "print('no')"
    )
    status, output, errors = run(notebook)
    assert (status, output) == (1, "first\n")
    assert "ZeroDivisionError: division by zero" in errors
    assert errors[-1] == "estimator_bridge: cell 3 of a.ipynb failed"
    assert sum("ZeroDivisionError" in line for line in errors) == 2  # its heading, and its end
    assert not any("process/notebooks.py" in line for line in errors)


def test_what_notebooks_of_jupyter_use_works(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "inside.py").write_text("VALUE = 7")
    notebook = write(
        tmp_path / "a.ipynb",
        "%autosave 0\n%tensorflow_version\n%cd -q in",
        "import inside\ninside.VALUE",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
        "from IPython.display import clear_output\nclear_output()",
    )
    status, output, errors = run(notebook)
    assert (status, errors) == (0, [])
    assert output == "Out[2]: 7\n<Figure size 640x480 with 1 Axes>\n"


def test_help_waits_for_no_key_on_a_terminal(tmp_path):
    notebook = write(tmp_path / "a.ipynb", "import json\njson.dumps?", "print('end')")
    ours, theirs = pty.openpty()
    process = forked.Popen(
        [sys.executable, "-m", "estimator_bridge", "run", notebook],
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    timer = threading.Timer(60, process.kill)
    timer.start()
    printed = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(ours, 1 << 16):
            printed += chunk
    os.close(ours)
    assert process.wait() == 0
    timer.cancel()
    assert b"Serialize" in printed and printed.endswith(b"end\r\n")


def test_a_cell_that_exits_leaves_the_others_out(tmp_path):
    status, output, errors = run(write(tmp_path / "a.ipynb", "exit()", "print(1)", "print(2)"))
    assert (status, output) == (0, "")
    assert errors == [
        "estimator_bridge: cell 2 of a.ipynb exited; the 2 cells after it did not run"
    ]


@pytest.mark.parametrize(("text", "status"), [("print('end')", 0), ("1 / 0", 1)])
def test_a_thread_that_is_left_does_not_keep_the_process(tmp_path, text, status):
    start = "import threading\nthreading.Thread(target=threading.Event().wait, name='left').start()"
    done, _, errors = run(write(tmp_path / "a.ipynb", start, text))
    assert done == status
    assert errors[-1] == "estimator_bridge: a.ipynb has ended; ended threads that it left: left"


def test_threads_that_end_are_waited_for(tmp_path):
    text = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
idle = ThreadPoolExecutor(1)
idle.submit(print, "idle").result()
threading.Thread(target=lambda: (time.sleep(1), print("late"))).start()
"""
    assert run(write(tmp_path / "a.ipynb", text)) == (0, "idle\nlate\n", [])


@pytest.mark.parametrize(
    ("text", "status"), [("import sys; sys.exit(3)", 3), ("exit()", 0), ("def f(:", 1)]
)
def test_the_exit_status_is_that_of_the_notebook(tmp_path, text, status):
    assert run(write(tmp_path / "a.ipynb", text, "print('no')"))[:2] == (status, "")


@pytest.mark.parametrize(
    "text", ["import time\nopen('begun', 'w').close()\ntime.sleep(60)", "!touch begun; sleep 60"]
)
def test_an_interrupt_is_that_of_the_notebook(tmp_path, text):
    begun = tmp_path / "begun"
    process = forked.Popen(
        [sys.executable, "-m", "estimator_bridge", "run", write(tmp_path / "a.ipynb", text)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for_file(begun)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == -signal.SIGINT
    assert errors.splitlines()[-1] == "estimator_bridge: cell 2 of a.ipynb failed"


def test_a_notebook_of_1x_trains(tmp_path):
    """Its magic chooses the version, though it prints that of TensorFlow."""
    status, output, errors = run(write(tmp_path / "a.ipynb", MODEL, TRAIN, "print(tf.__version__)"))
    assert status == 0, errors
    assert output == "Out[2]: 3\n1.15.5\n"
    assert "because a.ipynb, cell 2, line 2, has %tensorflow_version 1.x" in errors[0]


def test_a_magic_that_asks_for_another_version_fails(tmp_path):
    status, _, errors = run(write(tmp_path / "a.ipynb", "%tensorflow_version 1.x"), "--as=2.8")
    assert status == 1
    assert errors[0] == (
        "UsageError: %tensorflow_version 1.x: the notebook gets TensorFlow 2.8; choose with the "
        "option --tf1 or --as of estimator_bridge"
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("x = 1", "not a notebook: "),
        ('{"cells": []}', "the notebook has no code in Python"),
        ('{"metadata": {"kernelspec": {"language": "R"}}, "cells": [{"cell_type": "code"}]}', "no"),
    ],
)
def test_another_file_is_refused(tmp_path, content, problem):
    path = tmp_path / "a.ipynb"
    path.write_text(content)
    status, output, (error,) = run(str(path))
    assert (status, output) == (2, "")
    assert error.startswith(f"estimator_bridge: {path}: ") and problem in error


def test_what_a_notebook_needs_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "a.ipynb", "1")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BridgeError, match="a notebook needs IPython: pip install ipython"):
        notebooks.load(path)


def test_jupyter_runs_a_notebook_of_1x_with_the_kernel(jupyter, tmp_path, capsys):
    assert kernel.main(["--tf1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"written: {jupyter}/kernels/estimator-bridge-1.15/kernel.json"
    assert lines[1].endswith("kernel_name=estimator-bridge-1.15 NOTEBOOK.ipynb")
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "own.py").write_text("VALUE = 7")
    use_own = "from trainer import own; own.VALUE"
    path = write(tmp_path / "a.ipynb", MODEL, TRAIN, use_own, "1 / 0")
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        kernel_name="estimator-bridge-1.15",
        timeout=240,
        allow_errors=True,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    last = [cell.outputs[-1] for cell in notebook.cells[2:]]
    assert [one["data"]["text/plain"] for one in last[:2]] == ["3", "7"]
    assert last[2].ename == "ZeroDivisionError"


def test_a_kernel_is_told_the_options_of_run(jupyter, tmp_path):
    assert kernel.main(["--as=2.8", "--name=old", f"--prefix={tmp_path}"]) == 0
    made = json.loads((tmp_path / "share/jupyter/kernels/old/kernel.json").read_text())
    run_it = ["-m", "estimator_bridge", "run", "--as=2.8", "-m", "ipykernel_launcher"]
    assert made["argv"] == [sys.executable, *run_it, "-f", "{connection_file}"]
    assert "TensorFlow 2.8" in made["display_name"]
    # Its own may be written again.
    assert kernel.main([]) == kernel.main([]) == 0
    assert not jupyter.joinpath("kernels", "old").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--name=python3"], "--name=python3: another kernel has this name"),
        (["--name=a b"], "Invalid kernel name"),
        (["--prefix=/proc/none"], "No such file or directory"),
        (["a.py"], "a.py: a kernel runs no program of its own"),
    ],
)
def test_a_wrong_kernel_is_refused(jupyter, arguments, problem):
    with pytest.raises(BridgeError, match=problem):
        kernel.main(arguments)
    assert not jupyter.exists()
