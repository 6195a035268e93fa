"""trainer.export.serving_session: runs of signatures, and outputs as plain Python."""

import json

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.export.serving_session import ServingSession, to_python


def test_a_number_has_the_digits_of_its_type():
    values = np.array([0.1, 7.5305009, 1e-30, 16777216, np.nan], np.float32)
    found = to_python(values)
    assert json.dumps(found[:4]) == "[0.1, 7.530501, 1e-30, 16777216.0]"
    assert np.array_equal(np.array(found, np.float32), values, equal_nan=True)
    assert to_python(np.float64(0.1)) == 0.1 and to_python(np.int64(3)) == 3


@pytest.fixture
def session(tmp_path):
    path = str(tmp_path / "export")
    with tf.Graph().as_default(), tf.compat.v1.Session() as writer:
        pairs = tf.compat.v1.placeholder(tf.float32, [None, 2])
        words = tf.compat.v1.placeholder(tf.string, [None])
        checked = tf.compat.v1.debugging.assert_positive(pairs, message="not positive")
        with tf.control_dependencies([checked]):
            total = tf.reduce_sum(pairs, axis=1)
        outputs = {"total": total, "again": total, "size": tf.strings.length(words)}
        define = tf.compat.v1.saved_model.predict_signature_def
        inputs = {"pairs": pairs, "words": words}
        signatures = {"plain": define(inputs, outputs), "key": define(inputs, {"key": words})}
        builder = tf.compat.v1.saved_model.Builder(path)
        builder.add_meta_graph_and_variables(writer, ["serve"], signatures)
        builder.save()
    with ServingSession(path) as opened:
        yield opened


def _rows(pairs=((1, 2), (3, 4))):
    return {"pairs": np.array(pairs), "words": np.array(["a", "\u00e4b"], object)}


def test_a_run_does_not_examine_the_names_again(session, monkeypatch):
    def fail(*_):
        raise AssertionError("Session.run")

    monkeypatch.setattr(session._session, "run", fail)
    for rows in (_rows(), dict(reversed(_rows().items()))):
        found = session.run("plain", rows)
        assert found.keys() == {"total", "again", "size"}
        assert found["total"].dtype == np.float32
        assert [found[name].tolist() for name in found] == [
            {"total": [3, 7], "again": [3, 7], "size": [1, 3]}[name] for name in found
        ]
    assert session.run("plain", _rows(), outputs=["size"])["size"].tolist() == [1, 3]


def test_an_output_may_be_an_input(session):
    assert session.run("key", _rows())["key"].tolist() == ["a", "\u00e4b"]


def test_errors_are_those_of_session_run(session):
    with pytest.raises(tf.errors.InvalidArgumentError, match="not positive"):
        session.run("plain", _rows([[1, 2], [3, -4]]))
    for pairs in ([[1, 2, 3]], [1, 2]):
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            session.run("plain", _rows(pairs))
    with pytest.raises(ValueError, match="could not convert"):
        session.run("plain", _rows([["x", "y"]]))
    assert session.run("plain", _rows())["total"].tolist() == [3, 7]
