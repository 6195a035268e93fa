"""Imports in a `try`: where 1.15 raised an ImportError, the program gets it too.

And imports of all names of a module.
"""

import contextlib
import importlib

import pytest

from estimator_bridge.tf1.unsupported import StandIn

# Neither 1.15.5 nor the bridge has them.
NEITHER = {
    "from tensorflow.contrib.layers import made_up": "cannot import name 'made_up' from "
    "'tensorflow.contrib.layers'",
    "from tensorflow.contrib import made_up": "cannot import name 'made_up'",
    "from tensorflow.contrib.rnn.python.ops.core_rnn_cell import made_up": "cannot import name",
    "import tensorflow.contrib.rnn.python.ops.made_up as x": "No module named 'tensorflow.contrib."
    "rnn.python.ops.made_up'",
    "from tensorflow.contrib.made_up import x": "tensorflow.contrib.made_up",
    "from tensorflow.contrib.tensorrt import made_up": "cannot import name 'made_up'",
    "from tensorflow.python.keras.layers import made_up": "cannot import name 'made_up'",
    "from tensorflow.python.layers.core import made_up": "cannot import name 'made_up'",
    "from tensorflow.examples.tutorials import made_up": "cannot import name 'made_up'",
}
# 1.15.5 has them.
IN_1_15 = [
    "from tensorflow.contrib.layers.python.layers import utils as x",
    "from tensorflow.contrib.layers.python.layers.layers import fully_connected as x",
    "from tensorflow.contrib.rnn.python.ops import core_rnn_cell as x",
    "from tensorflow.contrib.tensorrt import create_inference_graph as x",
    "import tensorflow.contrib.slim.python.slim.nets as x",
    "from tensorflow.contrib.rnn.python.ops.core_rnn_cell import BasicLSTMCell as x",
    "from tensorflow.python.keras.utils.multi_gpu_utils import multi_gpu_model as x",
    "from tensorflow.python.keras.engine import base_layer as x",
    "from tensorflow.examples.tutorials.mnist import input_data as x",
    "from tensorflow import newaxis as x",
    "from tensorflow.contrib.framework.python.ops.variables import *; x = 1",
]


def run(tmp_path, lines):
    """Runs lines as a program's module, and returns its variables."""
    path = tmp_path / "program.py"
    path.write_text("\n".join(lines) + "\n")
    variables = {"__name__": "program", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), variables)  # noqa: S102
    return variables


@pytest.mark.parametrize("kind", ["", " ImportError", " (ValueError, ImportError)", " Exception"])
def test_a_program_uses_its_fallback(tmp_path, kind):
    for statement in NEITHER:
        found = run(tmp_path, ["try:", f"    {statement}", f"except{kind}:", "    way = 2"])
        assert found["way"] == 2, statement


@pytest.mark.parametrize(("statement", "message"), NEITHER.items())
def test_the_error_is_that_of_an_import(tmp_path, statement, message):
    lines = ["try:", f"    {statement}", "except ImportError as error:", "    caught = error"]
    assert message in str(run(tmp_path, lines + ["    kept = error"])["kept"])


def test_what_1_15_had_is_imported(tmp_path):
    for statement in IN_1_15:
        found = run(tmp_path, ["try:", f"    {statement}", "except ImportError:", "    x = 2"])
        assert found["x"] != 2, statement


@pytest.mark.parametrize(
    "lines",
    [
        ["{}"],
        ["try:", "    {}", "except ValueError:", "    pass"],
        ["try:", "    {}", "finally:", "    pass"],
        ["try:", "    raise ImportError", "except ImportError:", "    {}"],
        ["try:", "    pass", "except ImportError:", "    pass", "else:", "    {}"],
        ["try:", "    def read():", "        {}", "        globals()['x'] = x"]
        + ["except ImportError:", "    pass", "read()"],
    ],
)
def test_elsewhere_a_missing_name_has_a_stand_in(tmp_path, lines):
    statement = "from tensorflow.contrib.layers import made_up as x"
    assert isinstance(run(tmp_path, [line.format(statement) for line in lines])["x"], StandIn)


def test_statements_in_a_block_of_a_try_count(tmp_path):
    statement = "from tensorflow.contrib.layers import (\n            made_up as x,\n        )"
    lines = ["def read():", "    try:", "        with open(__file__):", f"            {statement}"]
    lines += ["    except ImportError:", "        return 2", "way = read()"]
    assert run(tmp_path, lines)["way"] == 2


def test_import_module_in_a_try(tmp_path):
    lines = ["import importlib", "try:", "    x = importlib.import_module('{}')"]
    lines += ["except ImportError:", "    x = 2"]
    for path in ("rnn.python.ops.made_up", "made_up"):
        name = f"tensorflow.contrib.{path}"
        assert run(tmp_path, [line.format(name) for line in lines])["x"] == 2


def test_without_source_a_missing_name_has_a_stand_in():
    variables = {"__name__": "program"}
    text = "try:\n    from tensorflow.contrib.layers import made_up\nexcept ImportError:\n    pass"
    exec(text, variables)  # noqa: S102
    assert isinstance(variables["made_up"], StandIn)
    with contextlib.suppress(ImportError):
        importlib.import_module("tensorflow.contrib.layers")


@pytest.mark.parametrize(
    ("module", "names", "absent"),
    [
        ("contrib.data", "shuffle_and_repeat map_and_batch LMDBDataset", "tf transformations"),
        ("contrib.rnn", "LSTMBlockCell static_rnn dynamic_rnn", "tf cells attention"),
        ("contrib.learn", "DNNClassifier Experiment RunConfig ModeKeys", "tf"),
        ("contrib.framework", "get_or_create_global_step arg_scope load_variable", "tf"),
        ("contrib.layers", "fully_connected optimize_loss linear", "tf dense initializers"),
        ("contrib.layers.python.layers.layers", "conv2d batch_norm DATA_FORMAT_NCHW", "tf"),
        ("contrib.rnn.python.ops.rnn_cell", "AttentionCellWrapper NASCell", "tf"),
        ("contrib.keras", "layers models backend", "tf"),
        ("", "contrib estimator layers placeholder", "tf examples"),
    ],
)
def test_all_names_are_those_of_1_15_and_no_others(tmp_path, module, names, absent):
    # The private path gave no names, the package lacked those it finds on first use, and gave `tf`,
    # which replaced the program's.
    whole = ".".join(filter(None, ["tensorflow", module]))
    found = run(tmp_path, [f"from {whole} import *"])
    assert set(names.split()) <= set(found)
    assert not set(absent.split()) & set(found)
    assert not {"np", "re", "functools"} & set(found)


def test_a_starred_name_that_is_not_supplied_says_so(tmp_path):
    found = run(tmp_path, ["from tensorflow.contrib.opt import *"])
    assert callable(found["AdamWOptimizer"])
    with pytest.raises(Exception, match="ShampooOptimizer"):
        found["ShampooOptimizer"]()
