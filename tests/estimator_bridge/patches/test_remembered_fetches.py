"""Fetches that a session has had before give what they gave, and what TensorFlow gives."""

import collections

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import estimator_bridge
from estimator_bridge.patches import remembered_fetches
from estimator_bridge.private_tf import session as sessions

estimator_bridge.install()


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def planned(monkeypatch):
    """The fetches for which TensorFlow has planned the results."""
    found, plan = [], sessions._FetchMapper.for_fetch

    def plan_and_note(fetch):
        found.append(fetch)
        return plan(fetch)

    monkeypatch.setattr(sessions._FetchMapper, "for_fetch", staticmethod(plan_and_note))
    return found


def test_the_same_fetches_are_planned_once(graph, planned):
    one, nothing = tf.constant(1.0), tf.no_op()
    with tf.Session() as session:
        for _ in range(3):
            assert session.run([one, {"two": (one, nothing)}]) == [1.0, {"two": (1.0, None)}]
    assert planned.count(one) == 2


@pytest.mark.parametrize("resource", [True, False])
def test_a_variable_is_planned_once_and_read_anew(graph, planned, resource):
    variable = tf.get_variable("v", [], initializer=tf.zeros_initializer(), use_resource=resource)
    add = variable.assign_add(1.0).op
    with tf.Session() as session:
        session.run(variable.initializer)
        found = []
        for _ in range(3):
            session.run(add)
            found.append(session.run(variable))
    assert found == [1.0, 2.0, 3.0]
    assert sum(one is variable for one in planned) == 1


def test_a_monitored_session_remembers_the_fetches_of_its_hooks(graph, planned):
    step = tf.train.get_or_create_global_step()
    add, loss = tf.identity(tf.assign_add(step, 1)), tf.constant(2.0, name="loss")
    seen = []

    class Hook(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs({"loss": loss, "more": [step]})

        def after_run(self, run_context, run_values):
            seen.append(run_values.results)

    with tf.train.MonitoredSession(hooks=[Hook(), tf.train.StopAtStepHook(4)]) as session:
        found = []
        while not session.should_stop():
            found.append(session.run(add))
    assert found == [1, 2, 3, 4] and [one["loss"] for one in seen] == [2.0] * 4
    assert sum(one is loss for one in planned) == 1


def test_a_structure_that_the_program_changes_is_another(graph):
    one, two = tf.constant(1.0), tf.constant(2.0)
    with tf.Session() as session:
        fetches, several = {"a": one}, [one]
        assert session.run([fetches, several]) == [{"a": 1.0}, [1.0]]
        fetches["b"] = two
        several[0] = two
        assert session.run([fetches, several]) == [{"a": 1.0, "b": 2.0}, [2.0]]
        assert session.run([{"a": one}, [one]]) == [{"a": 1.0}, [1.0]]
        assert list(session.run({"b": one, "a": two})) == ["b", "a"]


def test_types_of_structures_and_keys_are_those_of_the_fetches(graph):
    one = tf.constant(1.0)
    pair = collections.namedtuple("Pair", "a b")
    with tf.Session() as session:
        for _ in range(2):
            assert type(session.run([one])) is list and type(session.run((one,))) is tuple
            assert session.run(pair(one, one)) == pair(1.0, 1.0)
            ordered = session.run(collections.OrderedDict(z=one, a=one))
            assert type(ordered) is collections.OrderedDict and list(ordered) == ["z", "a"]
            assert [type(key) for key in session.run({1: one})] == [int]
            assert [type(key) for key in session.run({True: one})] == [bool]
            assert session.run([]) == [] and session.run({}) == {}


def test_a_fetch_that_is_fed_gives_what_is_fed(graph):
    one = tf.constant(1.0)
    double = one * 2
    with tf.Session() as session:
        for fed in (None, 5.0, None, 7.0):
            found = session.run([one, double], {} if fed is None else {one: fed})
            assert found == ([1.0, 2.0] if fed is None else [fed, 2 * fed])


def test_other_kinds_of_fetches_are_as_before(graph):
    one = tf.constant(1.0, name="one")
    sparse = tf.SparseTensor([[0]], [3.0], [1])
    with tf.Session() as session:
        for _ in range(2):
            assert session.run(["one:0", one]) == [1.0, 1.0]
            assert session.run({"s": sparse})["s"].values == np.float32([3.0])
            with pytest.raises(TypeError, match="Cannot be None"):
                session.run([one, None])


def test_an_operation_that_may_no_longer_be_fetched_is_refused(graph):
    one = tf.constant(1.0)
    with tf.Session() as session:
        assert session.run(one) == 1.0
        graph.prevent_fetching(one.op)
        with pytest.raises(ValueError, match="not fetchable"):
            session.run(one)


def test_a_tensor_of_another_graph_is_refused_each_time(graph):
    with tf.Graph().as_default():
        other = tf.constant(2.0)
    tf.constant(1.0)
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(ValueError, match="cannot be interpreted as a Tensor"):
                session.run(other)


def test_few_fetches_are_remembered(graph):
    several = [tf.constant(float(number)) for number in range(100)]
    with tf.Session() as session:
        assert [session.run(one) for one in several] == list(range(100))
        assert [session.run(one) for one in several[::-1]] == list(range(100))[::-1]
    kept = getattr(graph, remembered_fetches._ATTRIBUTE)
    assert 0 < len(kept) <= remembered_fetches._MOST
