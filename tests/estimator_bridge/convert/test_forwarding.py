"""Converts Estimators whose predictions contain features."""

import importlib.metadata
import json
import textwrap

import numpy as np
import pytest

from estimator_bridge.convert.plan.columns import Input
from estimator_bridge.convert.plan.model import Head, Plan
from estimator_bridge.convert.read.forwarding import add_forwarded
from estimator_bridge.convert.read.input_function import Feature

KERAS = importlib.metadata.version("keras")
pytestmark = pytest.mark.skipif(
    KERAS.startswith("2."), reason=f"writes Keras 3 models; installed: Keras {KERAS}"
)

PROGRAM = textwrap.dedent(
    """
    import numpy as np
    import tensorflow as tf
    from estimator_bridge.tf1.contrib.estimator.extenders import forward_features

    def features():
        x = np.linspace(-1, 1, 12, dtype=np.float32)
        ids = np.array([f"row {row}" for row in range(12)], object)
        return {"x": x, "id": ids, "place": np.stack([x, -x], 1), "day": np.arange(12)[:, None]}

    def input_fn():
        given = features()
        data = tf.data.Dataset.from_tensor_slices((given, 2 * given["x"])).batch(6)
        tags = tf.SparseTensor([[0, 0], [4, 1]], ["a", "b"], [6, 2])
        return data.map(lambda some, labels: ({**some, "tags": tags}, labels))

    def build():
        x = tf.feature_column.numeric_column("x")
        plain = tf.estimator.LinearRegressor([x], "job")
        plain = forward_features(plain, "tags", {"tags": "-"})
        return forward_features(plain, ["id", "x", "place", "day"])
    """
)


def test_forwarded_features_are_outputs(tmp_path, monkeypatch, capsys):
    from estimator_bridge.convert import command
    from estimator_bridge.convert.read.user_code import load_function
    from estimator_bridge.convert.verify import command as verify

    monkeypatch.chdir(tmp_path)
    (tmp_path / "program_that_forwards.py").write_text(PROGRAM)
    name = "program_that_forwards"
    input_fn = load_function(f"{name}:input_fn", "--input_fn")
    load_function(f"{name}:build", "--estimator")().train(input_fn)
    flags = [f"--estimator={name}:build"]
    assert command.main([*flags, "--output=unknown.keras"]) == 0
    said = capsys.readouterr().err
    assert "not among the outputs of the Keras model: id, place, day, tags; add --input_fn" in said
    flags += [f"--input_fn={name}:input_fn"]
    assert command.main([*flags, "--output=model.keras"]) == 0
    assert "forward_features" not in capsys.readouterr().err
    assert verify.main([*flags, "--keras_model=model.keras", "--steps=0", "--json=v.json"]) == 0
    found = json.loads((tmp_path / "v.json").read_text())
    compared = {(one["side"], one["output"]): one["max_abs"] for one in found["differences"]}
    for output in ("id", "x", "place", "day", "tags"):
        assert compared["keras", output] == compared["saved_model", output] == 0

    import keras

    model = keras.saving.load_model("model.keras")
    given = load_function(f"{name}:features", "--input_fn")()
    given["tags"] = np.full([12, 3], "-", object)
    given = {key: keras.ops.convert_to_tensor(value) for key, value in given.items()}
    assert model(given)["id"].numpy().ravel().tolist() == given["id"].numpy().tolist()


def test_what_cannot_be_forwarded_is_named(tmp_path):
    from estimator_bridge import tf
    from estimator_bridge.tf1.contrib.estimator.extenders import forward_features

    head = Head("regression", 1, None, "sum", None)
    inputs = (Input("color", "string", None, (), ""),)
    plan = Plan("linear", inputs, (), "sum", (), None, head, None, None, (), None)
    plain = tf.estimator.LinearRegressor([tf.feature_column.numeric_column("x")], str(tmp_path))
    assert add_forwarded(plan, plain, None) == plan
    color = Feature((None, None), "string", sparse=True)
    known = add_forwarded(plan, forward_features(plain), {"color": color})
    assert [key.name for key in known.keys] == ["color"] and not known.left_out
    (line,) = add_forwarded(plan, forward_features(plain), None).left_out
    assert "features that the model does not read; add --input_fn" in line
    padded = forward_features(plain, ["color"], {"color": "-"})
    (line,) = add_forwarded(plan, padded, {"color": color}).left_out
    assert "color, which the Estimator pads otherwise" in line
