"""`tf.keras.wrappers.scikit_learn` beside what TensorFlow 1.15.5 computed."""

import json
import sys
from pathlib import Path

import forked
import pytest

HERE = Path(__file__).parent

SEARCH = """
import runpy, sys
import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score
import tensorflow as tf
from tensorflow.python.keras.wrappers.scikit_learn import KerasClassifier as private
old = runpy.run_path(sys.argv[1])
assert private is old["KerasClassifier"] is tf.keras.wrappers.scikit_learn.KerasClassifier
labels = (old["X"].sum(1) > 0).astype(int)
model = old["KerasClassifier"](old["two_classes"], **{**old["OPTIONS"], "epochs": 20})
search = GridSearchCV(model, {"batch_size": [2, 24]}, cv=3).fit(old["X"], labels)
print(search.best_params_["batch_size"] in (2, 24), search.best_score_ > 0.9)
print((cross_val_score(model, old["X"], labels, cv=3) > 0.7).tolist())
"""


def run(*words):
    done = forked.run(
        [sys.executable, "-m", "estimator_bridge", "run", *words],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("version", ["--tf1", "--as=2.8"])
def test_computes_what_1_15_computed(version):
    found = json.loads(run(version, str(HERE / "old_scikit_learn.py"))[-1])
    expected = json.loads((HERE / "stored" / "scikit_learn.json").read_text())
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert _near(found[name], values), name


def _near(found, expected):
    """Whether numbers, words and nested lists are equal, numbers to 2e-5."""
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(_near, found, expected))
    return found == (expected if isinstance(expected, str) else pytest.approx(expected, abs=2e-5))


def test_scikit_learn_searches_among_models(tmp_path):
    program = tmp_path / "search.py"
    program.write_text(SEARCH)
    lines = run("--tf1", str(program), str(HERE / "old_scikit_learn.py"))
    assert lines[-2:] == ["True True", "[True, True, True]"]
