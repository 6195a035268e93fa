"""`run --exports_for`: what a program writes is for the older TensorFlow at once."""

import subprocess
import sys

import pytest

from estimator_bridge.versions import SUPPORTED, installed_tensorflow, parse

IS_NEWER = parse(installed_tensorflow())[:2] > parse(SUPPORTED[-1].tensorflow)[:2]

PROGRAM = """
import os
import subprocess
import sys

import tensorflow as tf

x = tf.placeholder(tf.float32, [None, 2], name="x")
with tf.variable_scope("model", use_resource=True):
    y = tf.layers.dense(x, 1)
train = tf.train.AdamOptimizer().minimize(tf.reduce_sum(y))
session = tf.Session()
session.run(tf.global_variables_initializer())
tf.train.Saver().save(session, "made/model.ckpt")
tf.train.write_graph(session.graph, "made", "graph.pbtxt")
tf.saved_model.simple_save(session, "made/export", {"x": x}, {"y": y})
# An address that is no path, as of a bucket.
tf.train.Saver().save(session, "ram://away/model.ckpt")
tf.train.write_graph(session.graph, "ram://away", "graph.pbtxt")
tf.saved_model.simple_save(session, "ram://away/export", {"x": x}, {"y": y})
for name in ("graph.pbtxt", "model.ckpt.meta", "export/saved_model.pb"):
    tf.gfile.MakeDirs(os.path.dirname(f"made/away/{name}"))
    tf.gfile.Copy(f"ram://away/{name}", f"made/away/{name}")
code = "import os; print(os.environ['ESTIMATOR_BRIDGE_EXPORTS_FOR'])"
assert subprocess.check_output([sys.executable, "-c", code]).decode().strip() == "1.15"

# From here on there is a graph that 1.15 cannot express.
values, indices = tf.raw_ops.TopKV2(input=x, k=1, index_type=tf.int64)
tf.train.Saver().save(session, "made/later.ckpt")
try:
    tf.saved_model.simple_save(session, "ram://away/refused", {"x": x}, {"y": indices})
except Exception as error:
    print("refused:", error)
print("left:", tf.gfile.ListDirectory("ram://away"))
tf.saved_model.simple_save(session, "made/refused", {"x": x}, {"y": indices})
"""


def run(folder, *args):
    command = [sys.executable, "-m", "estimator_bridge", "run", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.newest
def test_everything_that_a_program_writes_is_for_the_older_version(tmp_path):
    from estimator_bridge.downgrade import files, operations

    (tmp_path / "program.py").write_text(PROGRAM)
    done = run(tmp_path, "--tf1", "--exports_for=1.15", "program.py")
    assert done.returncode == 2, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert "--exports_for=1.15: made/refused: TensorFlow 1.15 does not have" in last
    assert "output indices of TopKV2" in last
    assert not (tmp_path / "made" / "refused").exists()
    assert "refused: --exports_for=1.15: ram://away/refused: TensorFlow 1.15" in done.stdout
    (left,) = [line for line in done.stdout.splitlines() if line.startswith("left:")]
    assert "'export'" in left and "refused" not in left
    # A checkpoint is written all the same, and the log says it.
    assert "later.ckpt.meta and the graphs after it are written for this TensorFlow" in done.stderr
    target = operations.find("1.15")
    graphs = []
    names = ("export", "model.ckpt.meta", "graph.pbtxt")
    for name in (*names, *(f"away/{name}" for name in names)):
        export = files.read(str(tmp_path / "made" / name))
        graphs += [one.graph_def for one in export.meta_graphs()] or [export.message]
    assert len(graphs) == 6
    ops = set()
    for graph in graphs:
        for node in graph.node:
            ops.add(node.op)
            known = {attr.name for attr in target.definition(node.op).attr}
            assert not {name for name in node.attr if not name.startswith("_")} - known
    assert {"VarHandleOp", "MatMul", "ResourceApplyAdam"} < ops


@pytest.mark.quick
@pytest.mark.parametrize(
    "version, message",
    [
        ("1.12", "no list of operations of TensorFlow 1.12; choose from 1.13, 1.14"),
        pytest.param(
            "2.21",
            "--exports_for=2.21: not older than the installed TensorFlow 2.",
            marks=pytest.mark.skipif(IS_NEWER, reason="2.21 is older than this TensorFlow"),
        ),
    ],
)
def test_an_impossible_version_is_refused_before_the_program_starts(version, message, tmp_path):
    (tmp_path / "program.py").write_text("print('started')\n")
    done = run(tmp_path, f"--exports_for={version}", "program.py")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert message in line
