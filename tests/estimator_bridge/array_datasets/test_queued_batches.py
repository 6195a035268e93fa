"""numpy_input_fn and pandas_input_fn give what TensorFlow's queues of rows give."""

import collections

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator_bridge import tf
from estimator_bridge.array_datasets import queued_batches
from estimator_bridge.process import batch_first

pytestmark = pytest.mark.versions

V1 = tf.compat.v1
ROWS = 23
TABLE = {
    "number": np.arange(ROWS, dtype=np.float32),
    "half": np.arange(ROWS).astype(np.float16),
    "text": np.array([f"r{row}" for row in range(ROWS)], object),
    "fixed": np.array([f"r{row}" for row in range(ROWS)]),
    "flag": np.arange(ROWS) % 2 == 0,
    "image": np.arange(6 * ROWS).reshape(ROWS, 2, 3),
}
LABEL = np.arange(ROWS)


def of_arrays(**options):
    return V1.estimator.inputs.numpy_input_fn(TABLE, LABEL, **options)


def of_one_array(**options):
    return V1.estimator.inputs.numpy_input_fn(TABLE["image"], {"a": LABEL, "b": -LABEL}, **options)


def of_frame(**options):
    # TensorFlow 2.15 itself does not accept pandas 3's text type.
    frame = pd.DataFrame({name: array for name, array in TABLE.items() if array.ndim == 1})
    frame = frame.astype({"text": object, "fixed": object})
    frame.index = frame.index[::-1]
    return V1.estimator.inputs.pandas_input_fn(
        frame, pd.Series(LABEL, index=frame.index), **options
    )


INPUTS = [of_arrays, of_one_array, of_frame]


def read(input_fn, most=50, before=None):
    """Returns the batches of an input function, how it ends, and its graph."""
    found, end = [], None
    with tf.Graph().as_default() as graph, V1.Session() as session:
        V1.set_random_seed(7)
        element = input_fn()
        following = tf.random.uniform([])
        coordinator = tf.train.Coordinator()
        threads = V1.train.start_queue_runners(session, coordinator)
        try:
            while len(found) < most:
                found.append(tf.nest.map_structure(lambda one: one.tolist(), session.run(element)))
                if before:
                    before(len(found))
        except tf.errors.OpError as error:
            end = type(error)
        drawn = session.run(following)
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10)
    return found, end, (graph, element, drawn)


def get_labels(batch):
    """Returns the numbers of the rows."""
    return batch[1]["a"] if isinstance(batch[1], dict) else batch[1]


def get_summaries(graph):
    """Returns the tags of the summaries."""
    tags = [one.inputs[0] for one in graph.get_operations() if one.type == "ScalarSummary"]
    with V1.Session(graph=graph) as session:
        return session.run(tags)


def kinds(graph):
    return collections.Counter(one.type for one in graph.get_operations())


def read_row_by_row(monkeypatch, input_fn, **options):
    with monkeypatch.context() as patch:
        patch.setenv(batch_first.VARIABLE, "no")
        found = read(input_fn, **options)
    assert "QueueDequeueV2" not in kinds(found[2][0])
    return found


@pytest.mark.parametrize("passes", [1, 2, 3, None])
@pytest.mark.parametrize("size", [1, 4, ROWS, 30])
@pytest.mark.parametrize("make", INPUTS)
def test_batches_in_order_are_equal(monkeypatch, make, size, passes):
    options = {"batch_size": size, "num_epochs": passes, "shuffle": False}
    found, end, (graph, element, drawn) = read(make(**options))
    expected, expected_end, (rows, queued, expected_draw) = read_row_by_row(
        monkeypatch, make(**options)
    )
    assert kinds(graph)["QueueDequeueV2"] == 1
    assert (found, end, drawn) == (expected, expected_end, expected_draw)
    assert sum(len(get_labels(batch)) for batch in found) >= min(ROWS, 50 * size)
    for one, other in zip(tf.nest.flatten(element), tf.nest.flatten(queued)):
        assert (one.op.name, one.dtype) == (other.op.name, other.dtype)
        assert one.shape.as_list() == other.shape.as_list()
    assert get_summaries(graph) == get_summaries(rows)


@pytest.mark.parametrize("make", INPUTS)
def test_shuffled_batches_have_each_row_as_often(monkeypatch, make):
    options = {"batch_size": 4, "num_epochs": 3, "shuffle": True}
    found, end, (graph, element, drawn) = read(make(**options))
    _, expected_end, (rows, queued, expected_draw) = read_row_by_row(monkeypatch, make(**options))
    assert kinds(graph)["QueueDequeueV2"] == 1
    numbers = sum(map(get_labels, found), [])
    assert collections.Counter(numbers) == dict.fromkeys(range(ROWS), 3)
    assert numbers != sorted(numbers) and len(found) == -(-3 * ROWS // 4)
    # What the program adds has the same seed.
    assert (end, drawn) == (expected_end, expected_draw)
    assert get_summaries(graph) == get_summaries(rows)
    assert tf.nest.flatten(element)[0].op.name == tf.nest.flatten(queued)[0].op.name
    if make is not of_one_array:
        texts = sum((batch[0]["text"] for batch in found), [])
        assert texts == [b"r%d" % row for row in numbers]


@settings(max_examples=100, deadline=None)
@given(
    rows=st.integers(1, 40),
    passes=st.integers(1, 4),
    window=st.integers(0, 60),
    counts=st.lists(st.integers(1, 30), min_size=1),
)
def test_numbers_pass_through_a_window(rows, passes, window, counts):
    numbers, found = queued_batches.RowNumbers(rows, passes, window), []
    for count in counts + [rows] * passes:
        taken = numbers.take(count)
        assert taken.dtype == np.int64 and len(taken) == min(count, rows * passes - len(found))
        found += taken.tolist()
    assert not len(numbers.take(1))
    assert collections.Counter(found) == dict.fromkeys(range(rows), passes)
    if window == 0:
        assert found == list(range(rows)) * passes


def test_a_window_is_shuffled_evenly():
    """Each number leaves as often at each place as it leaves tf.queue.RandomShuffleQueue."""
    rows, window, turns = 10, 4, 4000
    places = collections.Counter()
    for turn in range(turns):
        numbers = queued_batches.RowNumbers(rows, 1, window)
        numbers._random = np.random.default_rng(turn)
        first = numbers._next
        found = np.concatenate([numbers.take(3), numbers.take(7)])
        places.update((int(row - first) % rows, place) for place, row in enumerate(found))
    # One of four leaves at a time while others enter; then the last four in any order.
    for entered in range(rows):
        start = max(0, entered - window + 1)
        for place in range(rows):
            stays = 0.75 ** (min(place, rows - window) - start)
            expected = stays / window if place >= start else 0
            assert places[entered, place] / turns == pytest.approx(expected, abs=0.035)


def test_rows_may_change_while_they_are_read():
    table = {"x": np.zeros([6, 300_000], np.float32)}
    input_fn = V1.estimator.inputs.numpy_input_fn(
        table, batch_size=2, num_epochs=10, shuffle=False, queue_capacity=1
    )

    def change(batches):
        if batches == 5:
            table["x"] += 1

    found = [batch["x"][0][0] for batch in read(input_fn, before=change)[0]]
    assert found[:5] == [0] * 5 and found[-1] == 1 and len(found) == 30


@pytest.mark.parametrize("make", INPUTS)
def test_several_threads_use_the_queue_of_rows(make):
    _, _, (graph, _, _) = read(make(batch_size=4, shuffle=True, num_threads=2), most=1)
    assert kinds(graph)["QueueDequeueUpToV2"] == 1 and not kinds(graph)["QueueDequeueV2"]


@pytest.mark.parametrize(
    "columns",
    [
        {"x": pd.Series([1.0, 2.0, 3.0], index=[2, 0, 1])},
        {"x": np.ma.array([1.0, 2.0, 3.0])},
        {"x": np.zeros([0, 3])},
    ],
    ids=["series", "masked", "no rows"],
)
def test_unusual_tables_are_no_columns(columns):
    assert queued_batches.get_columns(columns) is None


def test_unusual_data_frames_are_no_columns():
    whole = pd.DataFrame({"a": [1, 2], "b": [1.0, 2.0]})
    assert list(queued_batches.get_columns(whole)) == ["a", "b"]
    for frame in (
        whole.astype({"a": "category"}),
        whole.astype({"a": "Int64"}),
        whole.set_index(pd.CategoricalIndex(["u", "v"])),
        whole.set_axis(["a", "a"], axis=1),
        whole[:0],
        whole[[]],
    ):
        assert queued_batches.get_columns(frame) is None


def test_a_wrong_value_ends_the_training(monkeypatch):
    table = {"x": np.array(["a", None, "b"], object)}
    input_fn = V1.estimator.inputs.numpy_input_fn(table, batch_size=1, shuffle=False)
    for attempt in (read, lambda one: read_row_by_row(monkeypatch, one)):
        with pytest.raises(tf.errors.InternalError, match="Unsupported object type NoneType"):
            attempt(input_fn)


def test_a_model_is_trained_and_evaluated(tmp_path):
    column = tf.feature_column.numeric_column("x")
    x = np.random.default_rng(1).uniform(size=500).astype(np.float32)
    model = tf.estimator.LinearRegressor([column], str(tmp_path))
    read_x = V1.estimator.inputs.numpy_input_fn
    model.train(read_x({"x": x}, 2 * x + 1, 50, num_epochs=None, shuffle=True), steps=300)
    once = read_x({"x": x}, 2 * x + 1, 64, shuffle=False)
    assert model.evaluate(once)["average_loss"] < 0.01
    predicted = [float(one["predictions"][0]) for one in model.predict(once)]
    np.testing.assert_allclose(predicted, 2 * x + 1, atol=0.2)
