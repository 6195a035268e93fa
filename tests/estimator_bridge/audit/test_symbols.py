"""Compares the table of symbols with the installed TensorFlow and tensorflow-estimator."""

import ast
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

from estimator_bridge.audit.supplied import FORWARDED
from estimator_bridge.audit.symbol import data
from estimator_bridge.audit.table import Table
from estimator_bridge.audit.verdict import KERAS_HOURS
from estimator_bridge.shims import boosted_trees
from estimator_bridge.versions import SUPPORTED, installed_tensorflow, parse

pytestmark = [pytest.mark.newest, pytest.mark.quick]

TOOLS = pathlib.Path(__file__).parents[3] / "tools"
TODAY = parse(installed_tensorflow())[:2]
NEWEST = parse(SUPPORTED[-1].tensorflow)[:2]
# Names of tf.compat.v1.keras that tf.keras of TensorFlow 1.x did not have.
COMPAT_V1_OF_TENSORFLOW_2 = (
    *("layers.disable_v2_dtype_behavior", "layers.enable_v2_dtype_behavior"),
    *("models.LinearModel", "models.WideDeepModel", "utils.DeterministicRandomTestTool"),
    *("utils.get_or_create_layer", "utils.track_tf1_style_variables"),
)
UNLISTED = ("raw_ops", "__internal__", "__operators__", "tools")


@pytest.fixture(scope="module")
def table():
    return Table()


def folder(package):
    return pathlib.Path(importlib.util.find_spec(package).submodule_search_locations[0])


def public_names(root, skipped=()):
    """Returns the names and the modules that the generated files of an API export."""
    names, modules = set(), set()
    for path in root.rglob("*.py"):
        module = path.relative_to(root).with_suffix("").parts
        module = module[:-1] if module[-1] in ("__init__", "v1", "v2") else module
        if module[:1] in [(name,) for name in skipped]:
            continue
        modules.add(".".join(module))
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    name = alias.asname or alias.name
                    if not name.startswith("_") and name != "compat":
                        names.add(".".join((*module, name)))
    names = {name for name in names - modules if name.split(".")[0] not in UNLISTED}
    return names, modules


@pytest.fixture(scope="module")
def apis():
    """Returns (names, modules) of TensorFlow's APIs, by version."""
    root = folder("tensorflow") / "_api" / "v2"
    return {
        "v1": public_names(root / "compat" / "v1", ("compat",)),
        "v2": public_names(root, ("compat",)),
    }


def estimator_names(generation):
    root = folder("tensorflow_estimator") / "_api" / generation / "estimator"
    return public_names(root)[0]


def every_entry():
    for file in ("estimator", "feature_column", "keras2", "tf1"):
        yield from data(file).items()
    for package, room in data("contrib").items():
        yield f"tf.contrib.{package}", room
        for name, entry in room["names"].items():
            yield f"tf.contrib.{package}.{name}", entry or {}


def test_each_estimator_name_has_an_entry_with_a_replacement_or_none():
    entries = data("estimator")
    restored = {f"tf.estimator.{name}" for name in boosted_trees.NAMES}
    for generation in ("v1", "v2"):
        there = {f"tf.estimator.{name}" for name in estimator_names(generation)} | restored
        assert len(there) > 60
        assert {name for name in entries if generation in entries[name]["views"]} == there
    for name, entry in entries.items():
        assert entry["keras"], name
        assert {*entry["views"]} and {*entry["views"]} <= {"v1", "v2"}
        assert entry["gone"] == ("2.9" if name in restored else "2.16"), name


def test_each_feature_column_has_an_entry(apis):
    entries = data("feature_column")
    for generation, (names, _) in apis.items():
        there = {f"tf.{name}" for name in names if name.startswith("feature_column.")}
        assert {name for name in entries if generation in entries[name]["views"]} == there
    assert all(entry["keras"] for entry in entries.values())


def test_each_name_of_tensorflow_1_alone_has_an_entry(apis, table):
    only = apis["v1"][0] - apis["v2"][0]
    only = {name for name in only if name.split(".")[0] not in ("estimator", "feature_column")}
    assert len(only) > 700
    missing = {name for name in only if "tf." + name not in data("tf1")}
    # Keras has the same names for these in both APIs.
    assert {
        name for name in missing if not name.startswith(("initializers.", "losses.", "metrics."))
    } == set()


def keras_3_names():
    """Returns the names of `tf.keras` as Keras 3, which takes most of its modules from `keras`."""
    package, found = folder("keras"), set()
    text = (package / "_tf_keras" / "keras" / "__init__.py").read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            found.add(alias.name)
            home = package.parent.joinpath(*node.module.split("."), alias.name)
            if home.is_dir():
                found |= {f"{alias.name}.{name}" for name in public_names(home)[0]}
    return found


def test_each_name_of_keras_2_alone_has_an_entry(table):
    apis = folder("tf_keras") / "api"
    names = {view: public_names(apis / f"_{view}" / "keras")[0] for view in ("v1", "v2")}
    later = keras_3_names()
    assert "losses.MeanSquaredError" in later and "saving.load_model" not in later
    only = {name for name in names["v2"] - later if not name.startswith("__internal__")}
    assert len(only) > 150
    assert {name for name in only if table.look_up(f"tensorflow.keras.{name}") is None} == set()
    for name in names["v1"] - names["v2"] - later - set(COMPAT_V1_OF_TENSORFLOW_2):
        if not name.startswith("__internal__"):
            assert table.look_up(f"tensorflow.keras.{name}").runs == "--tf1", name


def test_replacements_exist(apis):
    v1, modules = apis["v1"]
    gone = data("api")["gone"]
    for name in data("tf1"):
        tail = name[3:]
        if tail.split(".")[0] == "layers" or tail.startswith("nn.") or name in gone:
            continue
        assert tail in v1 or tail in modules or tail == "app.flags", name
    for name, since in gone.items():
        there = name[3:] in v1 or name[3:] in apis["v2"][0]
        assert there == (parse(since) > TODAY), name


def test_each_new_name_exists(apis):
    v2, modules = apis["v2"]
    for name, entry in data("tf1").items():
        now = entry.get("now")
        kept = now is None or now.startswith(("tf.compat.", "tf.raw_ops."))
        assert kept or now[3:] in v2, (name, now)


def test_no_public_name_is_unknown(apis, table):
    for view, (names, modules) in zip(("compat.v1.", ""), apis.values()):
        for name in names | modules - {""}:
            if name.split(".")[0] in UNLISTED:
                continue
            symbol = table.look_up(f"tensorflow.{view}{name}")
            # A pre-release has names that are newer than the table.
            if TODAY <= NEWEST:
                assert symbol is None or symbol.kind != "unknown", (view, name)
            if symbol is not None and symbol.kind not in ("private", "estimator"):
                assert symbol.plain or symbol.removed_in, (view, name)
    only_v2 = apis["v2"][0] - apis["v1"][0]
    for name in only_v2:
        symbol = table.look_up(f"tensorflow.{name}")
        # Names newer than the table are not in it.
        assert symbol is None or (symbol.plain, symbol.tf1) == (True, False), name


def test_contrib_has_every_name_of_tensorflows_upgrade_tool(table):
    tool = folder("tensorflow") / "tools" / "compatibility"
    found = set()
    for path in tool.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        found.update(re.findall(r"[\"']tf\.(contrib\.[\w.]+\w)[\"']", text))
    assert len(found) > 100
    for name in found:
        symbol = table.look_up(f"tensorflow.{name}")
        assert symbol.kind == "contrib", name
        assert symbol.keras, name


def test_contrib_lists_every_module():
    packages = data("contrib")
    assert len(packages) > 85
    names = [name for room in packages.values() for name in room["names"]]
    assert len(names) > 1600
    for package in [
        "layers",
        "rnn",
        "learn",
        "framework",
        "metrics",
        "tpu",
        "estimator",
        "data",
        "seq2seq",
        "slim",
    ]:
        assert len(packages[package]["names"]) > 25, package


def test_each_entry_is_well_formed():
    traps = data("traps")
    used = set()
    for name, entry in every_entry():
        assert set(entry.get("traps", ())) <= set(traps), name
        assert entry.get("work", "small") in KERAS_HOURS, name
        assert "keras" not in entry or entry["keras"], name
        used.update(entry.get("traps", ()))
    assert used == set(traps)
    for required in (
        "loss_reduction",
        "auc",
        "learning_rate",
        "batch_norm",
        "column_order",
        "hashing",
    ):
        assert traps[required]["title"] and traps[required]["text"]


@pytest.mark.long
def test_private_modules_match_the_table(table, monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    from record_private_modules import fates, modules_of

    known = data("private")
    root = folder("tensorflow").parent
    files = (path.relative_to(root).as_posix() for path in (root / "tensorflow").rglob("*"))
    there = modules_of(files)
    assert len(there) > 1300
    if TODAY == (2, 21):
        assert set(known["modules"]) == there
    for module in (
        "lib.io.file_io",
        "lib.io.file_io.FileIO",
        "debug.lib.debug_data",
        # A class in a package.
        "data.Dataset.from_tensors",
    ):
        assert table.look_up(f"tensorflow.python.{module}").plain, module
    for name, is_supplied in (
        ("python.framework.common_shapes.rank", True),
        ("python.framework.common_shapes.call_cpp_shape_fn", False),
        ("python.eager.function.defun", True),
        ("tools.graph_transforms.TransformGraph", False),
    ):
        found = table.look_up(f"tensorflow.{name}")
        assert (found.plain, found.tf1) == (False, is_supplied), name
    for module, since in known["gone"].items():
        assert parse(since) > TODAY or module not in there, module
    estimator = folder("tensorflow_estimator").parent
    for module in known["estimator_modules"]:
        path = estimator.joinpath(*module.split("."))
        assert path.is_dir() or path.with_suffix(".py").exists(), module
    versions = [("1.15.5", {"a", "b", "c"}), ("2.0.4", {"a", "b"}), ("2.1.4", {"a", "c"})]
    assert fates(versions) == ({"a", "c"}, {"b": "2.1"})
    old = ["tensorflow_core/python/x.py", "tensorflow-1.13.2.data/purelib/tensorflow/core/y.py"]
    assert {"tensorflow.python.x", "tensorflow.core.y"} <= modules_of([*old, "numpy/core/z.py"])


SCRIPT = """
import importlib.util, inspect, json, sys
import tensorflow as tf
from estimator_bridge.audit.symbol import data
sys.path.insert(0, {tools!r})
from record_tf1_names import supplied

def function(root, name):
    for part in name.split(".")[1:]:
        root = getattr(root, part)
    return root.__init__ if inspect.isclass(root) else root

import tensorflow.compat.v2 as v2
wrong = []
for name, words in data("api")["keywords"].items():
    if name.startswith(("tf.losses", "tf.metrics")):
        continue
    old = inspect.signature(function(tf, name)).parameters
    new = inspect.signature(function(v2, name)).parameters
    wrong += [(name, word) for word in words if word not in old or word in new]
examples = importlib.util.find_spec("estimator_bridge.tf1.examples") is not None
json.dump({{"supplied": supplied(), "wrong": wrong, "examples": examples}}, open({output!r}, "w"))
"""


@pytest.fixture(scope="module")
def tf1_view(tmp_path_factory):
    """Returns the names that a program finds when it runs with --tf1."""
    place = tmp_path_factory.mktemp("tf1")
    script = textwrap.dedent(SCRIPT).format(tools=str(TOOLS), output=str(place / "out.json"))
    (place / "program.py").write_text(script, encoding="utf-8")
    command = [sys.executable, "-m", "estimator_bridge", "run", "--tf1", str(place / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads((place / "out.json").read_text(encoding="utf-8"))


@pytest.mark.long
def test_names_that_run_with_tf1_are_supplied(tf1_view, table):
    real = tf1_view["supplied"]
    promised = missing = 0
    for package, room in data("contrib").items():
        if package in FORWARDED:
            continue
        for name in room["names"]:
            says = table.look_up(f"tensorflow.contrib.{package}.{name}").tf1
            promised += says
            # The record is of the newest TensorFlow; an older one may have more names.
            missing += name in real.get(package, ()) and not says
            assert not says or name in real.get(package, ()), (
                f"tf.contrib.{package}.{name} is not supplied any more; run "
                "python -m estimator_bridge run --tf1 tools/record_tf1_names.py"
            )
    assert promised > 400
    assert missing < promised / 5, "run tools/record_tf1_names.py: its record is old"
    assert table.look_up("tensorflow.examples.tutorials.mnist").tf1 == tf1_view["examples"]


@pytest.mark.long
def test_record_of_supplied_names_is_current(tf1_view):
    """The record contains what tools/record_tf1_names.py finds, without modules like `tf`."""
    recorded = data("supplied")
    if TODAY >= (2, 21):
        assert tf1_view["supplied"] == recorded, "run tools/record_tf1_names.py"
    assert [package for package, names in recorded.items() if "tf" in names] == []


def test_keyword_arguments_of_tensorflow_1_alone(tf1_view):
    assert tf1_view["wrong"] == []


@pytest.mark.parametrize(
    ("name", "kind", "runs", "gone"),
    [
        ("estimator.DNNClassifier", "estimator", "plain", "2.16"),
        ("estimator.inputs.numpy_input_fn", "estimator", "--tf1", "2.16"),
        ("compat.v1.estimator.inputs.numpy_input_fn", "estimator", "plain", "2.16"),
        ("estimator.BoostedTreesClassifier", "estimator", "plain", "2.9"),
        ("estimator.experimental.RNNClassifier", "estimator", "plain", "2.16"),
        ("contrib.layers.xavier_initializer", "contrib", "--tf1", "2.0"),
        ("contrib.tensor_forest.random_forest", "contrib", "--tf1", "2.0"),
        ("contrib.tensorrt.create_inference_graph", "contrib", "no", "2.0"),
        ("placeholder", "tf1", "--tf1", "2.0"),
        ("compat.v1.placeholder", "tf1", "plain", ""),
        ("compat.v1.layers.dense", "tf1", "plain", "2.16"),
        ("feature_column.numeric_column", "feature_column", "plain", ""),
        ("feature_column.input_layer", "feature_column", "--tf1", "2.0"),
        ("keras.layers.DenseFeatures", "keras2", "plain", "2.16"),
        ("keras.optimizers.legacy.Adam", "keras2", "plain", "2.16"),
        ("keras.losses.mean_squared_error", "keras2", "plain", "2.16"),
        ("keras.layers.CuDNNLSTM", "keras2", "--tf1", "2.0"),
        ("keras.backend.get_session", "keras2", "--tf1", "2.0"),
        ("compat.v1.keras.backend.get_session", "keras2", "plain", "2.16"),
        ("python.framework.ops.Graph", "private", "plain", ""),
        ("python.framework.ops.Tensor", "private", "--tf1", "2.15 or before"),
        ("python.layers.normalization.BatchNormalization", "private", "--tf1", "2.15 or before"),
        ("python.layers.utils.static_shape", "private", "no", "2.15 or before"),
        ("python.estimator.canned.head", "private", "plain", "2.16"),
        ("python.no.such.module", "private", "no", "1.15 or before"),
        ("no_such_name", "unknown", "no", "1.15 or before"),
        ("merge_all_summaries", "unknown", "no", "1.0"),
        ("GradientTape", None, None, None),
        ("keras.layers.Dense", None, None, None),
        ("float32", None, None, None),
        ("__version__", None, None, None),
    ],
)
def test_look_up(table, name, kind, runs, gone):
    symbol = table.look_up(f"tensorflow.{name}")
    if kind is None:
        assert symbol is None
    else:
        assert (symbol.kind, symbol.runs, symbol.removed_in) == (kind, runs, gone)


def test_names_of_the_estimator_package_are_found(table):
    for name in (
        "tensorflow_estimator.estimator.DNNClassifier",
        "tensorflow_estimator.python.estimator.api._v2.estimator.DNNClassifier",
        "estimator_bridge.estimator.DNNClassifier",
        "estimator_bridge.tf.estimator.DNNClassifier",
    ):
        assert table.look_up(name).name.endswith("estimator.DNNClassifier"), name
    private = table.look_up("tensorflow_estimator.python.estimator.canned.dnn.DNNClassifier")
    assert private.keras == table.look_up("tensorflow.estimator.DNNClassifier").keras


def test_untrained_shared_table_is_a_trap(table):
    found = table.look_up("tensorflow.feature_column.shared_embeddings")
    assert "shared_table" in found.traps
    assert "never trained" in data("traps")["shared_table"]["text"]
    first = table.look_up("tensorflow.compat.v1.feature_column.shared_embedding_columns")
    assert "shared_table" not in first.traps


@pytest.mark.parametrize(
    ("name", "keywords", "expected"),
    [
        ("compat.v1.losses.mean_squared_error", (), "tf.compat.v1.losses.mean_squared_error"),
        ("losses.mean_squared_error", ("labels", "predictions"), "tf.losses.mean_squared_error"),
        ("losses.mean_squared_error", ("y_true", "y_pred"), None),
        ("compat.v2.losses.mean_squared_error", ("labels",), None),
        ("losses.Reduction.SUM_BY_NONZERO_WEIGHTS", (), "tf.losses.Reduction"),
        ("losses.Reduction.SUM", (), None),
    ],
)
def test_name_of_both_apis_is_identified_by_its_use(table, name, keywords, expected):
    found = table.look_up(f"tensorflow.{name}", keywords)
    assert (found and found.name) == expected
