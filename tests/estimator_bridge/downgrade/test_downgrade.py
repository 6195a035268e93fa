"""Exports rewritten for 1.15: every node is one of 1.15, and the answers are equal."""

import json
import shutil
import sys

import pytest

from estimator_bridge import tf
from estimator_bridge.cli import main
from estimator_bridge.downgrade import files, operations, proof
from estimator_bridge.errors import BridgeError

pytestmark = pytest.mark.newest

v1 = tf.compat.v1
E5M2 = tf.dtypes.experimental.float8_e5m2
PADDING = [[0, 0], [1, 1], [1, 1], [0, 0]]


def build_export(folder):
    """Writes a SavedModel with what later versions added, and returns its folder."""
    with tf.Graph().as_default(), v1.Session() as session:
        serialized = v1.placeholder_with_default(tf.zeros([0], tf.string), [None], "examples")
        parsed = tf.io.parse_example(
            serialized,
            {"words": tf.io.VarLenFeature(tf.string), "x": tf.io.FixedLenFeature([2], tf.float32)},
        )
        with v1.variable_scope("model", use_resource=True):
            # Its initial values come from a stateless random operation.
            initial = tf.random.stateless_uniform([20, 4], [3, 4], -1.0)
            table = v1.get_variable("table", initializer=initial)
            kernel = v1.get_variable(
                "kernel", initializer=tf.random.stateless_normal([6, 1], [1, 2])
            )
        ids = tf.strings.to_hash_bucket_fast(parsed["words"].values, 20)
        words = tf.SparseTensor(parsed["words"].indices, ids, parsed["words"].dense_shape)
        embedded = v1.nn.safe_embedding_lookup_sparse(table, words, combiner="mean")
        # What a saver of resource variables does from 2.12 on.
        tf.raw_ops.DisableCopyOnRead(resource=kernel.handle, name="mark")
        mark = session.graph.get_operation_by_name("mark")
        with tf.control_dependencies([mark]):
            outputs = tf.matmul(tf.concat([embedded, parsed["x"]], 1), kernel)
        session.run(v1.global_variables_initializer())
        builder = v1.saved_model.Builder(str(folder))
        lines = v1.placeholder(tf.string, [None], name="lines")
        number, _ = tf.io.decode_csv(lines, [[""], [""]])
        number = tf.strings.to_number(number)
        predict = v1.saved_model.predict_signature_def
        signatures = {
            "serving_default": predict({"examples": serialized}, {"y": outputs}),
            "csv": predict({"lines": lines}, {"number": number}),
        }
        builder.add_meta_graph_and_variables(session, ["serve"], signatures)
        builder.save()
        saver = v1.train.Saver()
        saver.export_meta_graph(str(folder / "graph.meta"))
        tf.io.write_graph(session.graph, str(folder), "graph.pbtxt")
    return folder


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    return build_export(tmp_path_factory.mktemp("made") / "export")


def fits(graph, version):
    """Yields what a version does not know of a graph: by its definitions, read anew."""
    target = operations.find(version)
    for node in [*graph.node, *(node for one in graph.library.function for node in one.node_def)]:
        definition = target.definition(node.op)
        if definition is None:
            yield node.op
            continue
        for name in {*node.attr} - {attr.name for attr in definition.attr}:
            if not name.startswith("_"):
                yield node.op, name
        if node.op.startswith("SparseSegment"):
            if "Tsegmentids" in {attr.name for attr in definition.attr}:
                continue
            if node.attr["Tidx"].type != 3:
                # 1.15 defines the operation, but has no kernel of it.
                yield node.op, "Tidx"
            (source,) = [one for one in graph.node if one.name == node.input[2].split(":")[0]]
            if source.op != "Cast" or source.attr["DstT"].type != 3:
                yield node.op, "segment_ids"


def test_a_saved_model_becomes_one_of_1_15_and_answers_equally(export, tmp_path, capsys):
    output = tmp_path / "for-1.15"
    original = files.read(str(export))
    assert {"ParseExampleV2", "DisableCopyOnRead", ("VarHandleOp", "debug_name")} < {
        *fits(original.message.meta_graphs[0].graph_def, "2.0")
    }
    assert main(["downgrade", str(export), "--to=1.15", f"--output={output}"]) == 0
    text = capsys.readouterr().out
    assert "1  DisableCopyOnRead removed" in text and "VarHandleOp debug_name" in text
    rewritten = files.read(str(output))
    (meta_graph,) = rewritten.message.meta_graphs
    assert not list(fits(meta_graph.graph_def, "1.15"))
    assert {node.op for node in meta_graph.graph_def.node} == {
        op.name for op in meta_graph.meta_info_def.stripped_op_list.op
    }
    # Today's TensorFlow reads it as well, and computes the same.
    requests = proof.make_requests(original)
    loaded, *compared = proof.prove(original, output, sys.executable, requests)
    assert loaded == f"loaded by {sys.executable}"
    assert compared == [
        f"signature {name}: rows 32, outputs 1, largest difference 0.0e+00"
        for name in ("csv", "serving_default")
    ]


@pytest.mark.parametrize("version", ["1.15", "2.4"])
def test_initial_values_stay_the_same(export, version, tmp_path):
    # 2.4 has the random operation with a key and a counter, but not the one that makes these.
    output = tmp_path / "rewritten"
    assert main(["downgrade", str(export), f"--to={version}", f"--output={output}"]) == 0
    (meta_graph,) = files.read(str(output)).message.meta_graphs
    assert not list(fits(meta_graph.graph_def, version))
    values = []
    for path in (export, output):
        with tf.Graph().as_default(), v1.Session() as session:
            v1.saved_model.load(session, ["serve"], str(path))
            restored = session.run(v1.global_variables())
            session.run([one.initializer for one in v1.global_variables()])
            values.append([*restored, *session.run(v1.global_variables())])
    for one, other in zip(*values):
        assert (one == other).all()


@pytest.mark.parametrize("name", ["graph.meta", "graph.pbtxt"])
def test_files_of_a_graph_are_rewritten(export, name, tmp_path, monkeypatch):
    shutil.copy(export / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["downgrade", name, "--to=1.15"]) == 0
    stem, ending = name.split(".")
    rewritten = files.read(f"{stem}-tf1.15.{ending}")
    graph = rewritten.message if ending == "pbtxt" else rewritten.message.graph_def
    assert not list(fits(graph, "1.15"))
    with tf.Graph().as_default():
        tf.import_graph_def(graph, name="")


def test_a_function_is_rewritten_like_the_graph(tmp_path):
    @tf.function
    def read(x):
        tf.raw_ops.DisableCopyOnRead(resource=variable.handle)
        return tf.math.segment_sum(variable, x) + tf.sparse.segment_sum(variable, [0, 1], x[:2])

    variable = tf.Variable([[1.0], [2.0]])
    concrete = read.get_concrete_function(tf.TensorSpec([2], tf.int64))
    graph = concrete.graph.as_graph_def()
    graph.library.function.append(concrete.function_def)
    del graph.node[:]
    ops = {node.op for node in graph.library.function[0].node_def}
    assert {"DisableCopyOnRead", "SparseSegmentSum"} <= ops
    path = tmp_path / "functions.pb"
    graph.node.add(name="n", op="NoOp")
    path.write_bytes(graph.SerializeToString())
    assert main(["downgrade", str(path), "--to=1.15"]) == 0
    graph = files.read(str(tmp_path / "functions-tf1.15.pb")).message
    (function,) = graph.library.function
    nodes = {node.op: node for node in function.node_def}
    assert "DisableCopyOnRead" not in nodes
    assert "DisableCopyOnRead" not in [*function.control_ret, *function.signature.control_output]
    assert nodes["SparseSegmentSum"].input[2] == f"{nodes['Cast'].name}:y:0"
    with tf.Graph().as_default():
        tf.import_graph_def(graph)


def save(tmp_path, build):
    """Writes the graph that a function builds; returns the path."""
    with tf.Graph().as_default() as graph:
        build()
        tf.io.write_graph(graph, str(tmp_path), "graph.pbtxt")
    return str(tmp_path / "graph.pbtxt")


@pytest.mark.parametrize(
    "build, message",
    [
        (
            lambda: tf.raw_ops.StatelessRandomUniformV2(
                shape=[2], key=[tf.constant(1, tf.uint64)], counter=tf.zeros([2], tf.uint64), alg=1,
                name="random",
            ),
            "does not have operation StatelessRandomUniformV2 (node random)",
        ),
        (
            lambda: tf.nn.max_pool2d(tf.zeros([1, 4, 4, 1]), 2, 1, PADDING),
            'explicit_paddings=list { i: 0 i: 0 i: 1 i: 1 i: 1 i: 1 i: 0 i: 0 } of MaxPool',
        ),
        (
            lambda: tf.math.top_k(tf.zeros([4]), 2, index_type=tf.int64),
            "does not have the type of output indices of TopKV2",
        ),
        (lambda: v1.placeholder(E5M2, name="p"), "data type DT_FLOAT8_E5M2 (node p)"),
    ],
)  # fmt: skip
def test_what_1_15_cannot_express_is_named(build, message, tmp_path, capsys):
    path = save(tmp_path, build)
    assert main(["downgrade", path, "--to=1.15"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and line.startswith(f"estimator_bridge: {path}: TensorFlow 1.15 ")
    assert [one.name for one in tmp_path.iterdir()] == ["graph.pbtxt"]


def test_bad_exports_give_one_line_and_write_nothing(export, tmp_path, capsys):
    damaged = tmp_path / "damaged"
    shutil.copytree(export, damaged)
    file = damaged / "saved_model.pb"
    file.write_bytes(file.read_bytes()[:-7])
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "saved_model.pb").write_bytes(b"")
    # A pre-release is not in the table.
    too_new = f"was written by TensorFlow {tf.__version__}, which"
    if operations.minor(tf.__version__) not in operations.known_versions():
        too_new = f"no list of operations of TensorFlow {tf.__version__}"
    cases = [
        ([damaged], f"{damaged}/saved_model.pb: damaged, or cut off; copy the whole export again"),
        ([empty], f"{empty}/saved_model.pb: damaged, or cut off; copy the whole export again"),
        ([export.parent], f"contains no saved_model.pb; did you mean {export}?"),
        ([export / "saved_model.pb"], "name the folder of the SavedModel"),
        ([export / "variables" / "variables.index"], "neither a SavedModel's folder nor"),
        ([export, f"--output={empty}"], f"{empty} already exists"),
        ([export, f"--output={tmp_path}/a/b"], "there is no folder"),
        ([export, f"--to={tf.__version__}"], too_new),
        ([export, "--with=no-such-python"], "--with=no-such-python: no such program"),
    ]
    before = sorted(tmp_path.rglob("*")), sorted(export.parent.rglob("*"))
    for args, message in cases:
        assert main(["downgrade", "--to=1.15", *map(str, args)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
    assert before == (sorted(tmp_path.rglob("*")), sorted(export.parent.rglob("*")))


def test_a_copy_that_fails_the_proof_is_not_kept(export, tmp_path):
    def refuse(path):
        assert (path / "variables" / "variables.index").exists() and path.parent == tmp_path
        raise BridgeError("signature serving_default: output y is 1 for 2")

    with pytest.raises(BridgeError, match="output y is 1 for 2"):
        files.write(files.read(str(export)), tmp_path / "output", refuse)
    assert not list(tmp_path.iterdir())


def test_answers_are_equal_but_for_rounding():
    def answer(*values, dtype="float32"):
        return json.loads(
            json.dumps({"y": {"dtype": dtype, "shape": [len(values)], "values": values}})
        )

    compare = proof.check.compare_answers
    assert compare("s", answer(1.0, float("nan")), answer(1.000001, float("nan"))) < 2e-6
    for one, other in [
        (answer(1.0), answer(1.1)),
        (answer(1.0), answer(float("nan"))),
        (answer(1, dtype="int64"), answer(2, dtype="int64")),
        (answer("YQ==", dtype="bytes"), answer("Yg==", dtype="bytes")),
    ]:
        with pytest.raises(BridgeError, match=r"^s: output y is "):
            compare("s", one, other)


def test_another_tensorflow_than_the_wanted_one_is_refused():
    with pytest.raises(BridgeError, match=f"has TensorFlow {tf.__version__}, not 1.15"):
        proof.find_interpreter(sys.executable, "1.15")
    # A program that is no Python.
    with pytest.raises(BridgeError, match="cannot import TensorFlow: it prints no version"):
        proof.find_interpreter("true", "1.15")


def test_rows_of_a_table_become_int32_where_there_is_no_other_kernel(tmp_path, monkeypatch):
    def build():
        rows = v1.placeholder(tf.int64, [2], "rows")
        segments = tf.constant([0, 0], tf.int64)
        table = tf.constant([[1.0], [2.0], [6.0]])
        tf.sparse.segment_mean(table, rows, segments, name="mean")

    save(tmp_path, build)
    monkeypatch.chdir(tmp_path)
    assert main(["downgrade", "graph.pbtxt", "--to=1.15"]) == 0
    graph = files.read("graph-tf1.15.pbtxt").message
    assert not list(fits(graph, "1.15"))
    with tf.Graph().as_default(), v1.Session() as session:
        tf.import_graph_def(graph, name="")
        assert session.run("mean:0", {"rows:0": [1, 2]}).tolist() == [[4.0]]


def test_an_export_at_an_address_is_rewritten_beside_it(export, tmp_path, capsys):
    # In place of a bucket.
    files_of = tf.io.gfile
    for name in ("variables/variables.index", "variables/variables.data-00000-of-00001"):
        files_of.makedirs("ram://a-bucket/job/export/17/variables")
        files_of.copy(f"{export}/{name}", f"ram://a-bucket/job/export/17/{name}")
    files_of.copy(f"{export}/saved_model.pb", "ram://a-bucket/job/export/17/saved_model.pb")
    address = "ram://a-bucket/job/export/17"
    refused = [
        ("ram://a-bucket/job/none", "no such file or folder: ram://a-bucket/job/none"),
        ("ram://a-bucket/job/export", "ram://a-bucket/job/export is not a SavedModel: it con"),
    ]
    assert main(["downgrade", address, "--to=1.15", f"--output={tmp_path}/local"]) == 0
    capsys.readouterr()
    for path, message in refused:
        assert main(["downgrade", path, "--to=1.15"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
    assert main(["downgrade", f"{address}/", "--to=1.15"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(address) and said.endswith(f"  written {address}-tf1.15\n")
    written = f"{address}-tf1.15/saved_model.pb"
    assert files_of.GFile(written, "rb").read() == (tmp_path / "local/saved_model.pb").read_bytes()
    assert files_of.exists(f"{address}-tf1.15/variables/variables.index")
    # The file system in memory lists 17-tf1.15 as a file of 17, so that 17 is not read again.
    output = f"--output={address}-tf1.15"
    assert main(["downgrade", str(export), "--to=1.15", output]) == 2
    assert f"{address}-tf1.15 already exists; remove it" in capsys.readouterr().err
