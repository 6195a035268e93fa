"""The table of all Estimators in the documents forgets none, and says what is supplied."""

import importlib.util
from pathlib import Path

import pytest

pytestmark = [pytest.mark.quick, pytest.mark.newest]

ROOT = Path(__file__).parents[2]


def load_tool():
    path = ROOT / "tools" / "estimators_table.py"
    spec = importlib.util.spec_from_file_location("estimators_table", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_the_table_lists_every_estimator():
    tool = load_tool()
    text = (ROOT / "docs" / "contrib_estimators.md").read_text(encoding="utf-8")
    assert tool.render() in text, "run: python tools/estimators_table.py docs/contrib_estimators.md"
    names = tool.list_estimators()
    assert len(names) > 60
    assert all(f"| `{name}` | {', '.join(found)} |" in text for name, found in names.items())


def test_a_name_in_tensorflow_estimator_has_its_public_place():
    names = load_tool().list_estimators()
    assert "tf.estimator.experimental.KMeans" in names
    assert not [name for name in names if name.endswith("V2")]


def test_an_estimator_of_contrib_is_supplied_only_if_the_audit_says_so():
    tool = load_tool()
    supplied = {"learn": ["SVM"]}
    assert tool.is_supplied("tf.contrib.learn.SVM", supplied)
    assert not tool.is_supplied("tf.contrib.learn.LinearEstimator", supplied)
    assert not tool.is_supplied("tf.contrib.timeseries.ARRegressor", supplied)
    assert tool.is_supplied("tf.estimator.LinearEstimator", supplied)
