"""Models of older TensorFlows: which versions load them, and what repair makes of them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from estimator_bridge import tf
from estimator_bridge.cli import main
from estimator_bridge.downgrade import files, operations
from estimator_bridge.errors import BridgeError
from estimator_bridge.loadable import find_unsupported
from estimator_bridge.repair.bodies import bodies
from estimator_bridge.repair.operations import REPLACED, Repair
from estimator_bridge.repair.proof import prove_buckets

v1 = tf.compat.v1
GOLDEN = Path(__file__).parents[1] / "golden"
# Written by TensorFlow 2.8.4: a BoostedTreesClassifier of three classes.
TREES = GOLDEN / "2.8.4" / "boosted_trees" / "saved_model"
# Written by TensorFlow 1.15.5 and tensorflow-hub.
MODULE = GOLDEN / "1.15.5" / "hub_module"
FAILS = "nothing is written"


def read_json(capsys, *args):
    assert main(["audit", "--format=json", *map(str, args)]) == 0
    return json.loads(capsys.readouterr().out)


def serialize(row):
    feature = tf.train.Feature
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "age": feature(float_list=tf.train.FloatList(value=[row["age"]])),
                "hours": feature(float_list=tf.train.FloatList(value=row["hours"])),
                "job": feature(bytes_list=tf.train.BytesList(value=[row["job"].encode()])),
            }
        )
    ).SerializeToString()


@pytest.mark.versions
def test_boosted_trees_of_2_8_answer_as_there(tmp_path, capsys):
    output = tmp_path / "repaired"
    assert main(["repair", str(TREES), f"--output={output}"]) == 0
    printed = capsys.readouterr().out
    assert "node boosted_trees/BoostedTreesPredict: 200 rows through 5 trees, equal bit by bit" in (
        printed
    )
    assert "signature predict: answers; outputs 6" in printed
    stored = json.loads(TREES.with_suffix(".json").read_text())
    predict = tf.saved_model.load(str(output)).signatures["predict"]
    found = predict(tf.constant([serialize(row) for row in stored["rows"]]))["logits"].numpy()
    assert (found == np.array(stored["logits"], np.float32)).all()
    # The graph saves and restores what it did: it can be repaired no further.
    assert main(["repair", str(output)]) == 0
    assert "nothing to repair" in capsys.readouterr().out
    assert sorted(one.name for one in tmp_path.iterdir()) == ["repaired"]


def test_the_audit_says_what_loads_a_saved_model(capsys):
    (found,) = read_json(capsys, TREES)
    assert (found["kind"], found["written_by"], found["error"]) == ("SavedModel", "2.8.4", "")
    assert (found["loads"][0], found["loads"][-1]) == ("2.1", "2.8")
    assert found["loads"] == found["serving"]
    kernels = [one for one in found["obstacles"] if one["what"].startswith("no kernel: ")]
    assert {one["advice"] for one in kernels} == {"`repair` rewrites this"}
    assert "BoostedTreesPredict" in kernels[0]["what"] and kernels[0]["versions"][0] == "2.9"
    assert main(["audit", str(TREES), "--fail_on=any"]) == 1
    printed = capsys.readouterr().out
    assert "  loads on TensorFlow 2.1 to 2.8\n" in printed
    assert f"  next: python -m estimator_bridge repair {TREES}\n" in printed


def test_a_hub_module_becomes_a_saved_model(tmp_path, capsys):
    module = tmp_path / "module"
    shutil.copytree(MODULE, module)
    assert read_json(capsys, module)[0]["kind"] == "TF-Hub 1.x module"
    assert main(["repair", str(module)]) == 0
    assert "signature vec: inputs v; outputs default; equal bit by bit" in capsys.readouterr().out
    shutil.rmtree(module)
    signatures = tf.saved_model.load(str(tmp_path / "module-repaired")).signatures
    assert sorted(signatures) == ["default", "serving_default", "vec"]
    found = signatures["serving_default"](tf.constant(["a", "c", "z"]))
    assert found["default"].numpy().tolist() == [[1, 2], [5, 6], [0.5, 0.25]]
    assert found["sum"].numpy().tolist() == [[3], [11], [0.75]]


def write_graph(folder, build):
    """Writes the graph that a function builds as a frozen graph; returns its path."""
    with v1.Graph().as_default() as graph:
        build()
    path = folder / "frozen.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


def build_buckets():
    @tf.function
    def bucketize(x, y):
        edges = [tf.constant([-1.0, 0.5]), tf.constant([2.0])]
        first, second = tf.raw_ops.BoostedTreesBucketize(
            float_values=[x, y], bucket_boundaries=edges
        )
        return second, first

    x, y = v1.placeholder(tf.float32, [None], "x"), v1.placeholder(tf.float32, [None], "y")
    second, first = bucketize(x, y)
    tf.identity(first, name="first")
    tf.identity(second, name="second")


def test_a_frozen_graph_with_buckets_in_a_function(tmp_path, capsys):
    path = write_graph(tmp_path, build_buckets)
    (found,) = read_json(capsys, path)
    # A graph by itself does not say which attributes are those of its version.
    assert "2.8" in found["loads"] and "2.9" not in found["loads"]
    assert main(["repair", str(path), "--outputs=a=first,second:0"]) == 0
    printed = capsys.readouterr().out
    assert "of function __inference_bucketize" in printed and "equal bit by bit" in printed
    served = tf.saved_model.load(str(tmp_path / "frozen-repaired")).signatures["serving_default"]
    nan = float("nan")
    answer = served(x=tf.constant([-2.0, -1.0, 0.0, 9.0]), y=tf.constant([0.0, 2.0, 9.0, nan]))
    assert answer["a"].numpy().tolist() == [0, 0, 1, 1]
    assert answer["second"].numpy().tolist() == [0, 0, 0, 0]


def test_boundaries_that_are_computed(tmp_path):
    def build():
        x, edges = (v1.placeholder(tf.float32, [None], name) for name in ("x", "edges"))
        tf.raw_ops.BoostedTreesBucketize(float_values=[x], bucket_boundaries=[edges], name="b")

    path = write_graph(tmp_path, build)
    assert main(["repair", str(path)]) == 0
    served = tf.saved_model.load(str(tmp_path / "frozen-repaired")).signatures["serving_default"]
    x = tf.constant([-2.0, 0.5, 9.0])
    # The last two are the answers of 2.8.4 to boundaries that are not sorted.
    cases = (
        ([], [0, 0, 0]),
        ([0.0, 1.0, 2.0], [0, 1, 2]),
        ([3.0, -1.0, 2.0, 0.0, 1.0], [0, 2, 4]),
        ([1.0, float("nan"), -3.0, 0.0], [3, 3, 3]),
    )
    for edges, wanted in cases:
        answer = served(x=x, edges=tf.constant(edges, tf.float32))
        assert answer["b"].numpy().tolist() == wanted


def test_a_replacement_that_differs_is_refused():
    def compute(values, edges):
        return [tf.searchsorted(edges, values, side="right")]

    spec = tf.TensorSpec([None], tf.float32)
    traced = tf.function(compute).get_concrete_function(spec, spec)
    with pytest.raises(BridgeError, match=FAILS):
        prove_buckets(traced, [np.array([0.0, 1.0], np.float32)], "node b")


def test_the_graph_of_transform(tmp_path, capsys):
    transform = tmp_path / "transform"
    (transform / "metadata").mkdir(parents=True)
    (transform / "metadata" / "schema.pbtxt").write_text("feature {}")
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None], "x")
        (buckets,) = tf.raw_ops.BoostedTreesBucketize(
            float_values=[x], bucket_boundaries=[tf.constant([0.0, 1.0])]
        )
        signature = v1.saved_model.predict_signature_def({"x": x}, {"b": buckets})
        builder = v1.saved_model.Builder(str(transform / "transform_fn"))
        builder.add_meta_graph_and_variables(session, ["serve"], {"transform": signature})
        builder.save()
    assert read_json(capsys, tmp_path)[0]["kind"] == "Transform graph"
    assert main(["repair", str(transform)]) == 0
    repaired = tmp_path / "transform-repaired"
    assert (repaired / "metadata" / "schema.pbtxt").read_text() == "feature {}"
    served = tf.saved_model.load(str(repaired / "transform_fn")).signatures["transform"]
    assert served(tf.constant([-1.0, 0.5]))["b"].numpy().tolist() == [0, 1]
    assert not list(tmp_path.glob(".partial*"))


def build_training():
    handle = tf.raw_ops.BoostedTreesEnsembleResourceHandleOp()
    tf.raw_ops.BoostedTreesGetEnsembleStates(tree_ensemble_handle=handle, name="states")


def test_what_cannot_be_repaired_is_named(tmp_path, capsys):
    cases = [
        (build_training, "BoostedTreesGetEnsembleStates (node states) has no equivalent"),
        (
            lambda: tf.raw_ops.BoostedTreesMakeStatsSummary(
                node_ids=[0], gradients=[[0.0]], hessians=[[0.0]], max_splits=1, num_buckets=1,
                bucketized_features_list=[[0]], name="n",
            ),
            "no kernel for BoostedTreesMakeStatsSummary (node n): trains boosted trees",
        ),
        (
            lambda: tf.raw_ops.BoostedTreesPredict(
                tree_ensemble_handle=tf.raw_ops.BoostedTreesEnsembleResourceHandleOp(),
                bucketized_features=[tf.constant([0])], logits_dimension=1,
            ),
            "the graph does not restore the trees of node BoostedTreesEnsembleResourceHandleOp",
        ),
    ]  # fmt: skip
    for build, message in cases:
        path = write_graph(tmp_path, build)
        assert main(["repair", str(path)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line and line.startswith(f"estimator_bridge: {path}: ")
    assert [one.name for one in tmp_path.iterdir()] == ["frozen.pb"]


@pytest.mark.parametrize(
    "op, version, message",
    [
        (
            "TensorForestTreePredict",
            "2.21",
            "has no operation TensorForestTreePredict (node n): of",
        ),
        ("GatherTree", "2.4", "GatherTree (node n): of tf.contrib: export the model anew"),
        ("Addons>GatherTree", "2.21", "of TensorFlow Addons: import tensorflow_addons"),
        ("Rpc", "2.21", "nothing replaces it exactly"),
        ("MyOwn", "2.21", "of no TensorFlow: load the library"),
        ("TreePredictionsV4", "2.21", "random forests of tf.contrib: build the Estimator under"),
        ("GradientTreesPrediction", "2.21", "boosted trees of tf.contrib: build the Estimator"),
        ("DecodeLibsvm", "2.21", "now in TensorFlow I/O"),
        ("Resampler", "2.21", "write it anew in Python"),
        ("BytesInUse", "2.21", "export the model anew from its checkpoint, under `run --tf1`"),
    ],
)
def test_operations_that_are_gone_get_advice(op, version, message):
    graph = v1.GraphDef()
    graph.node.add(name="n", op=op)
    (line,) = find_unsupported(graph, operations.find(version))
    assert message in line


def test_operations_with_the_same_advice_get_it_once():
    graph = v1.GraphDef()
    for op in ("TreePredictionsV4", "MyOwn", "TreeSize", "TreeSize"):
        graph.node.add(name=op.lower(), op=op)
    forests, own = find_unsupported(graph, operations.find("2.21"))
    assert "TreePredictionsV4 (node treepredictionsv4), TreeSize (node treesize): of the" in forests
    assert forests.endswith("checkpoint_path='MODEL/variables/variables'")
    assert "MyOwn (node myown): of no TensorFlow" in own


def test_all_that_is_replaced_is_an_operation_without_a_kernel():
    for op in REPLACED:
        assert operations.find("2.8").has_kernel(op) or operations.find("1.15").has_contrib(op), op
        assert not operations.newest().has_kernel(op), op


def test_outputs_of_a_node_in_a_function_keep_their_order():
    graph = v1.GraphDef()
    with v1.Graph().as_default() as built:
        build_buckets()
    graph.CopyFrom(built.as_graph_def())
    Repair(graph, None).run()
    (body, *_) = [one for one in bodies(graph) if one.function is not None]
    returned = [body.function.ret[arg.name] for arg in body.function.signature.output_arg]
    nodes = {node.name: node for node in body.nodes}
    sources = [nodes[name.split(":")[0]].input[0] for name in returned]
    assert [one.split(":")[1:] for one in sources] == [["output", "1"], ["output", "0"]]


def test_wrong_arguments_give_one_line(tmp_path, capsys):
    frozen = write_graph(tmp_path, build_buckets)
    cases = [
        (["nowhere"], "no such file or folder: nowhere"),
        ([TREES, f"--output={tmp_path}"], "already exists"),
        ([TREES, f"--output={tmp_path}/a/b"], "there is no folder"),
        ([TREES, "--inputs=x"], "--inputs and --outputs are for frozen graphs"),
        ([frozen, "--with=python"], "--with is for SavedModels"),
        ([frozen, "--outputs=nothing"], "--outputs=nothing: the graph has no tensor nothing"),
        ([], "repair: the following arguments are required: MODEL"),
    ]
    for args, message in cases:
        assert main(["repair", *map(str, args)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
    assert [one.name for one in tmp_path.iterdir()] == ["frozen.pb"]


def test_checkpoints_are_audited(tmp_path, capsys):
    with v1.Graph().as_default(), v1.Session() as session:
        v1.get_variable("w", initializer=tf.zeros([2]), use_resource=True)
        session.run(v1.global_variables_initializer())
        for step in (1, 2):
            v1.train.Saver().save(session, str(tmp_path / "model.ckpt"), step)
    (found,) = read_json(capsys, tmp_path)
    assert Path(found["path"]).name == "model.ckpt-2"
    assert found["contents"] == "1 values, by names of variables"
    assert (found["loads"][0], found["loads"][-1]) == ("1.13", "2.21")
    assert found["notes"] == ["1 older checkpoint is beside it"]
    trees = GOLDEN / "2.8.4" / "boosted_trees" / "regressor"
    (found,) = read_json(capsys, trees)
    assert "boosted_trees:0_serialized: trees, which" in found["notes"][0]
    (shard,) = tmp_path.glob("model.ckpt-2.data-*")
    shard.write_bytes(shard.read_bytes()[:5])
    (found,) = read_json(capsys, tmp_path / "model.ckpt-2")
    assert found["error"].endswith("has 5 bytes, but needs 8")
    shard.unlink()
    (found,) = read_json(capsys, tmp_path / "model.ckpt-2")
    assert found["error"].endswith(f"a damaged checkpoint: {shard.name} is missing")
    (tmp_path / "model.ckpt-2.index").write_bytes(b"nothing")
    (found,) = read_json(capsys, tmp_path / "model.ckpt-2")
    assert "no checkpoint, or a damaged one" in found["error"]


def test_a_folder_of_models_and_a_damaged_one(tmp_path, capsys):
    shutil.copytree(TREES, tmp_path / "one")
    shutil.copytree(TREES, tmp_path / "two")
    (tmp_path / "two" / "saved_model.pb").write_bytes(b"nothing")
    one, two = read_json(capsys, tmp_path)
    assert one["loads"][-1] == "2.8" and "damaged" in two["error"]
    assert main(["audit", str(tmp_path / "none"), "--models"]) == 2
    assert main(["audit", str(tmp_path), "--models", "--format=html"]) == 2
    assert files.read(str(tmp_path / "one")).written_by() == "2.8.4"


@pytest.mark.parametrize("is_sharded", [False, True])
def test_the_audit_finds_checkpoints_without_an_index(is_sharded, tmp_path, capsys):
    with v1.Graph().as_default(), v1.Session() as session:
        weight = v1.get_variable("weight", initializer=[1.0, 2.0], use_resource=False)
        session.run(weight.initializer)
        saver = v1.train.Saver(write_version=v1.train.SaverDef.V1, sharded=is_sharded)
        for step in (1, 2):
            saver.save(session, str(tmp_path / "model.ckpt"), global_step=step)
    # Other programs write such files, too.
    (tmp_path / "epoch.ckpt").write_bytes(b"PK, and more")
    newest = tmp_path / "model.ckpt-2"
    for path in (tmp_path, newest):
        (found,) = read_json(capsys, path)
        assert (found["kind"], found["path"], found["error"]) == ("checkpoint", str(newest), "")
        assert found["contents"] == "1 values, by names of variables, without an index (V1)"
        assert (found["loads"][0], found["loads"][-1]) == ("1.13", "2.21")
    assert read_json(capsys, tmp_path)[0]["notes"] == ["1 older checkpoint is beside it"]


@pytest.mark.versions
def test_operations_of_contrib_answer_as_on_1_15(tmp_path, capsys):
    # Written by TensorFlow 1.15.5, with what it answers.
    model = GOLDEN / "1.15.5" / "contrib_operations"
    (found,) = read_json(capsys, model)
    assert found["loads"] == []
    assert {one["advice"] for one in found["obstacles"]} == {"`repair` rewrites this"}
    output = tmp_path / "repaired"
    assert main(["repair", str(model), f"--output={output}"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("equal bit by bit") == 6
    signatures = tf.saved_model.load(str(output)).signatures
    for name, stored in json.loads(model.with_suffix(".json").read_text()).items():
        specs = signatures[name].structured_input_signature[1]
        given = {key: tf.constant(one, specs[key].dtype) for key, one in stored["inputs"].items()}
        answers = signatures[name](**given)
        for key, wanted in stored["outputs"].items():
            found = answers[key].numpy()
            if found.dtype == object:
                wanted = [[text.encode() for text in row] for row in wanted]
            assert (found == np.array(wanted, found.dtype)).all(), (name, key)


def build_contrib(op, **attrs):
    """Returns the NodeDef of an operation of tf.contrib, in a graph of its own."""
    graph = v1.GraphDef()
    node = graph.node.add(name="node", op=op)
    for number in range(attrs.pop("inputs")):
        graph.node.add(name=f"in_{number}", op="Placeholder")
        node.input.append(f"in_{number}")
    for name, value in attrs.items():
        if isinstance(value, list):
            node.attr[name].list.type.extend(one.as_datatype_enum for one in value)
        elif isinstance(value, bool):
            node.attr[name].b = value
        elif isinstance(value, int):
            node.attr[name].i = value
        else:
            node.attr[name].type = value.as_datatype_enum
    return graph


def test_computed_boundaries_of_contrib_are_refused_like_those_of_1_15(tmp_path):
    graph = build_contrib("BucketizeWithInputBoundaries", T=tf.float32, inputs=2)
    for node in list(graph.node)[1:]:
        node.attr["dtype"].type = tf.float32.as_datatype_enum
    path = tmp_path / "frozen.pb"
    path.write_bytes(graph.SerializeToString())
    assert main(["repair", str(path)]) == 0
    served = tf.saved_model.load(str(tmp_path / "frozen-repaired")).signatures["serving_default"]
    x = tf.constant([-1.0, 0.0, 1.5, 2.5])
    # The answers of 1.15.5.
    for edges, wanted in (
        ([1.0, 1.0, 2.0], [0, 0, 2, 3]),
        ([1e-45, 0.0], [0, 2, 2, 2]),
        ([1.0, float("nan"), 0.5], [2, 2, 3, 3]),
    ):
        assert served(in_0=x, in_1=tf.constant(edges))["node"].numpy().tolist() == wanted
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected sorted boundaries"):
        served(in_0=x, in_1=tf.constant([3.0, 1.0, 2.0]))


@pytest.mark.parametrize(
    "attrs",
    [
        {"op": "BucketizeWithInputBoundaries", "T": one, "inputs": 2}
        for one in (tf.float32, tf.float64, tf.int32, tf.int64)
    ]
    + [
        {"op": op, "N": 2, "inputs": 7, "hashed_output": True, "num_buckets": buckets, **key,
         "sparse_types": [tf.string, tf.int64], "dense_types": [tf.int64],
         "out_type": tf.int64, "internal_type": tf.int64}
        for op, key in (("SparseFeatureCross", {}), ("SparseFeatureCrossV2", {"hash_key": 12345}))
        for buckets in (0, 1000)
    ],
)  # fmt: skip
def test_each_kind_of_a_contrib_operation_is_proved(attrs):
    repair = Repair(build_contrib(**attrs), None)
    repair.run()
    assert len(repair.findings) == 1


def test_a_wrong_replacement_of_a_contrib_operation_is_refused(monkeypatch):
    from estimator_bridge import contrib_operations
    from estimator_bridge.repair import contrib, contrib_proof

    monkeypatch.setattr(contrib_proof, "INCREMENT", contrib_operations.INCREMENT + 1)
    cross = {
        "N": 1, "inputs": 4, "hashed_output": True, "num_buckets": 9, "sparse_types": [tf.string],
        "dense_types": [tf.int64], "out_type": tf.int64, "internal_type": tf.int64,
    }  # fmt: skip
    with pytest.raises(BridgeError, match=FAILS):
        Repair(build_contrib("SparseFeatureCross", **cross), None).run()
    monkeypatch.setattr(contrib, "_bucketize", lambda x, edges: [tf.cast(x, tf.int32)])
    with pytest.raises(BridgeError, match=FAILS):
        Repair(build_contrib("BucketizeWithInputBoundaries", T=tf.float32, inputs=2), None).run()
    graph = build_contrib("BucketizeWithInputBoundaries", T=tf.float32, inputs=2)
    del graph.node[2]
    edges = graph.node.add(name="in_1", op="Const")
    edges.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([2.0, 1.0]))
    with pytest.raises(BridgeError, match="boundaries are not sorted"):
        Repair(graph, None).run()
