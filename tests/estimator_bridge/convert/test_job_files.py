"""The files of a job_dir that somebody else wrote: their values never run as code."""

import ast
import copy
import json
import math
import types

import numpy as np
import pytest
import yaml

from estimator_bridge.convert.plan.columns import Input
from estimator_bridge.convert.plan.model import Data, Head, Optimizer, Plan, Schedule
from estimator_bridge.convert.read.job_dir import read_job_dir
from estimator_bridge.convert.read.rows import default_files, is_divided
from estimator_bridge.convert.write.module import write_module
from estimator_bridge.errors import BridgeError

pytestmark = [pytest.mark.quick, pytest.mark.newest]

# Writes a file if it is run.
HOSTILE = "__import__('pathlib').Path('was_run').touch() or x"

# Those of keras.ops that NumPy has too.
OPERATIONS = ("multiply", "sign", "log1p", "abs", "subtract", "divide")

COLUMN = {
    "type": "float",
    "use": ["wide", "deep"],
    "default": None,
    "vocabulary": None,
    "oov_buckets": 0,
    "hash_buckets": None,
    "identities": None,
    "buckets": [1.0, 2],
    "embedding": None,
    "normalize": "standard",
    "separator": None,
    "weights": None,
    "date": [],
}
FILES = {
    "config.yaml": {
        "data": {"delimiter": ",", "eval": ["rows.csv"]},
        "model": {
            "type": "wide_deep",
            "hidden_units": [4],
            "activation": "relu",
            "dropout": 0.5,
            "batch_norm": False,
        },
        "train": {
            "max_steps": 10,
            "epochs": None,
            "batch_size": 4,
            "optimizer": "adagrad",
            "learning_rate": 0.1,
            "linear_optimizer": "ftrl",
            "linear_learning_rate": None,
            "decay": "exponential",
            "decay_steps": 5,
            "decay_rate": 0.5,
            "l1": 0.0,
            "l2": 0.0,
        },
    },
    "schema.json": {
        "columns": {
            "age": COLUMN,
            "seen": {**COLUMN, "type": "string", "buckets": None, "date": ["month"]},
            "bought": {**COLUMN, "type": "int", "use": [], "buckets": None},
        },
        "label": {"column": "bought", "vocabulary": None, "num_classes": 2},
        "weight": None,
        "key": None,
        "crosses": [],
        "missing_values": [""],
    },
    "statistics.json": {
        "num_rows": 40,
        "columns": {"age": {"mean": 1.0, "std": 2.0, "min": 0.0, "max": 3.0}},
    },
}


def write_job(folder, files=FILES):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        dump = yaml.safe_dump if name.endswith(".yaml") else json.dumps
        (folder / name).write_text(dump(content), encoding="utf-8")
    return str(folder)


def change(path, value):
    """FILES with one field replaced; a path is file/key/key."""
    files = copy.deepcopy(FILES)
    name, *keys, last = path.split("/")
    content = files[name]
    for key in keys:
        content = content[key]
    content[last] = value
    return files


def test_a_job_becomes_a_module(tmp_path):
    plan = read_job_dir(write_job(tmp_path))
    assert plan.deep_optimizer.rate == Schedule("ExponentialDecay", (0.1, 5, 0.5), {})
    code = write_module(plan, "a job").code
    assert "keras.optimizers.schedules.ExponentialDecay(0.1, 5, 0.5)" in code
    assert default_files(str(tmp_path)) == ["rows.csv"] and not is_divided(str(tmp_path))


def test_a_growing_table_is_refused(tmp_path):
    files = copy.deepcopy(FILES)
    files["schema.json"]["columns"]["age"].update(growing={"capacity": 99}, buckets=None)
    with pytest.raises(BridgeError, match="column age are those of a growing table.*hash_buckets"):
        read_job_dir(write_job(tmp_path, files))


def test_a_job_that_divides_its_files_is_verified_on_them(tmp_path):
    files = copy.deepcopy(FILES)
    files["config.yaml"]["data"] = {"train": ["all.csv"], "eval": [], "eval_share": 0.2}
    assert default_files(write_job(tmp_path, files)) == ["all.csv"]
    assert is_divided(str(tmp_path))


def test_the_logarithm_is_normalised_by_its_moments(tmp_path):
    files = copy.deepcopy(FILES)
    moments = {"mean": 1.5, "std": 2.0, "log": True}
    files["schema.json"]["columns"]["age"].update(normalize=moments, buckets=None)
    plan = read_job_dir(write_job(tmp_path, files))
    numbers = [each for each in plan.deep if getattr(each, "key", None) == "age"]
    ops = types.SimpleNamespace(
        **{name: getattr(np, name) for name in OPERATIONS}, cast=lambda x, kind: x.astype(kind)
    )
    found = eval(numbers[0].normalizer.expression, {"ops": ops, "x": np.array([0.0, 7, -7])})
    assert found == pytest.approx([-0.75, (math.log(8) - 1.5) / 2, (-math.log(8) - 1.5) / 2])


@pytest.mark.parametrize(
    "path",
    [
        "config.yaml/model/activation",
        "config.yaml/model/dropout",
        "config.yaml/model/hidden_units",
        "config.yaml/model/batch_norm",
        "config.yaml/train/learning_rate",
        "config.yaml/train/linear_learning_rate",
        "config.yaml/train/optimizer",
        "config.yaml/train/decay_steps",
        "config.yaml/train/decay_rate",
        "config.yaml/train/l1",
        "config.yaml/train/max_steps",
        "config.yaml/data/delimiter",
        "schema.json/columns/age/type",
        "schema.json/columns/age/use",
        "schema.json/columns/age/buckets",
        "schema.json/columns/age/normalize",
        "schema.json/columns/age/oov_buckets",
        "schema.json/columns/age/hash_buckets",
        "schema.json/columns/age/embedding",
        "schema.json/columns/seen/date",
        "schema.json/label/num_classes",
        "statistics.json/num_rows",
        "statistics.json/columns/age/mean",
    ],
)
@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: [text]], ids=["text", "list"])
def test_code_in_place_of_a_value_is_refused(tmp_path, path, wrap):
    job_dir = write_job(tmp_path / "job", change(path, wrap(HOSTILE)))
    with pytest.raises(BridgeError) as caught:
        read_job_dir(job_dir)
    message = str(caught.value)
    name, *_ = path.split("/")
    assert name in message and "the trainer never writes" in message and "\n" not in message


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_without_a_literal_are_refused(tmp_path, value):
    with pytest.raises(BridgeError, match="train.learning_rate"):
        read_job_dir(write_job(tmp_path / "a", change("config.yaml/train/learning_rate", value)))
    with pytest.raises(BridgeError, match="column age: the mean"):
        path = "statistics.json/columns/age/mean"
        read_job_dir(write_job(tmp_path / "b", change(path, value)))


@pytest.mark.parametrize("name", ["nonsense", "base64"])
def test_an_encoding_that_no_text_has_is_refused(tmp_path, name):
    files = copy.deepcopy(FILES)
    files["config.yaml"]["data"]["encoding"] = name
    with pytest.raises(BridgeError, match="no such text encoding"):
        read_job_dir(write_job(tmp_path / "job", files))


@pytest.mark.parametrize("content", ["[" * 100_000, "[1]", "null", "{"])
def test_damaged_files_are_one_line(tmp_path, content):
    folder = write_job(tmp_path / "job")
    (tmp_path / "job" / "schema.json").write_text(content, encoding="utf-8")
    with pytest.raises(BridgeError, match="schema.json") as caught:
        read_job_dir(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ['a"""\nimport os', 'x\\"""+f()+"""', "é\x1b[31m", 'end"'])
def test_names_stay_data_in_the_module(name):
    """The folder, columns, labels, the key and texts of data files are only string literals."""
    heads = tuple(
        Head("binary", 1, (name, "no"), "sum", name, name=part) for part in (name, "other")
    )
    plan = Plan(
        kind="baseline",
        inputs=(Input(name, "float32", 1),),
        wide=(),
        wide_combiner="sum",
        deep=(),
        network=None,
        head=Head("multihead", 2, None, "sum", name, parts=heads),
        wide_optimizer=Optimizer("ftrl", 0.1, {"beta": 0.0}, 2),
        deep_optimizer=None,
        keys=(Input(name, "string", 1),),
        data=Data((name,), ((name,), ("other",)), ",", (name,), {name: name}, {}),
    )
    plain = write_module(_rename(plan, name, "plain"), "plain").code
    hostile = write_module(plan, name).code
    assert _shape(hostile) == _shape(plain)


def _rename(value, old, new):
    """The same plan with another name."""
    if value == old:
        return new
    if isinstance(value, dict):
        return {_rename(k, old, new): _rename(v, old, new) for k, v in value.items()}
    if isinstance(value, tuple):
        items = [_rename(one, old, new) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _shape(code):
    """The kinds of all syntax nodes: equal for modules that differ in literals and names."""
    return [type(node).__name__ for node in ast.walk(ast.parse(code))]
