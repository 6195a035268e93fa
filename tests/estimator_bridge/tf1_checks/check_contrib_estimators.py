"""The examples of docs/contrib_estimators.md, which are one program."""

import re
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

PAGE = Path(__file__).parents[3] / "docs" / "contrib_estimators.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def test_the_examples_run_and_learn(tmp_path):
    program = "\n".join(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    found = {}
    exec(compile(program, str(PAGE), "exec"), found)  # noqa: S102
    result = found["circle"].evaluate(input_fn=found["read"](found["inside"]), steps=1)
    assert result["accuracy"] > 0.9
    np.testing.assert_allclose(found["mixture"].weights().sum(), 1.0, atol=1e-6)
    assert found["centers"].clusters().shape == (3, 2)
    check_export_of_two_heads(found["both"], str(tmp_path))


def check_export_of_two_heads(estimator, folder):
    def receive():
        inputs = {"xy": tf.placeholder(tf.float32, [None, 2])}
        return tf.contrib.learn.InputFnOps(inputs, None, inputs)

    with pytest.raises(ValueError, match="default_output_alternative_key"):
        estimator.export_savedmodel(folder, receive)
    exported = estimator.export_savedmodel(folder, receive, "sum")
    with tf.Session(graph=tf.Graph()) as session:
        model = tf.saved_model.loader.load(session, ["serve"], exported)
    outputs = {
        key.rpartition(":")[2]: sorted(one.outputs) for key, one in model.signature_def.items()
    }
    assert outputs["serving_default"] == outputs["sum"] != outputs["above"]
