"""Queue runners that parse many rows at once where this gives the same."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_bridge.tf1 import batched_queues

NOTE = "at once instead of one by one"
ROWS = [f"{number},{number / 3:.6f},text {number % 4},{number % 2}" for number in range(150)]


def parse(line):
    number, share, text, label = tf.decode_csv(line, [[0], [0.5], ["none"], [0]])
    return {"number": number, "share": share * 2.0, "text": text, "label": tf.reshape(label, [])}


def with_exp(line):
    return {"number": parse(line)["number"], "exp": tf.exp(parse(line)["share"])}


def with_constant(line):
    return {"number": parse(line)["number"], "one": tf.constant(1)}


def batch_some(tensors, size, **options):
    return tf.train.maybe_batch(tensors, tf.placeholder_with_default(True, []), size, **options)


def write(folder, rows):
    """Writes rows to two files, the first of 90 rows."""
    names = [str(folder / name) for name in ("first.csv", "second.csv")]
    for name, part in zip(names, (rows[:90], rows[90:])):
        with open(name, "w") as file:
            file.write("".join(row + "\n" for row in part))
    return names


def read(files, function=parse, batch=tf.train.batch, uses=None, **options):
    """Returns the batches of two passes, and the error that ended them."""
    with tf.Graph().as_default() as graph:
        names = tf.train.string_input_producer(files, num_epochs=2, shuffle=False)
        key, line = tf.TextLineReader(skip_header_lines=1).read(names)
        if uses is not None:
            uses(key, line)
        batches = batch(function(line), 16, allow_smaller_final_batch=True, **options)
        found = []
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            graph.finalize()
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            assert graph.finalized
            try:
                while True:
                    found.append(session.run(batches))
            except tf.errors.OutOfRangeError:
                pass
            coordinator.request_stop()
            try:
                coordinator.join(threads)
            except tf.errors.InvalidArgumentError as error:
                return found, error.message
        return found, None


@pytest.fixture
def one_by_one(monkeypatch):
    """one_by_one(…) → what `read` returns without the change."""

    def run(*arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr(batched_queues, "_build", lambda enqueue: None)
            return read(*arguments, **options)

    return run


def assert_same(found, expected):
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert ours.keys() == theirs.keys()
        for name in ours:
            assert ours[name].dtype == theirs[name].dtype
            np.testing.assert_array_equal(ours[name], theirs[name])


def test_rows_and_their_order_are_the_same(tmp_path, one_by_one, capfd):
    files = write(tmp_path, ROWS)
    found, error = read(files)
    assert NOTE in capfd.readouterr().err
    expected, _ = one_by_one(files)
    assert error is None and sum(len(one["number"]) for one in found) == 2 * 148
    assert_same(found, expected)
    assert NOTE not in capfd.readouterr().err


def test_a_queue_smaller_than_the_rows_that_are_read(tmp_path, one_by_one):
    files = write(tmp_path, ROWS)
    assert_same(read(files, capacity=3)[0], one_by_one(files, capacity=3)[0])


def test_a_shuffled_queue_of_two_threads_has_each_row(tmp_path, capfd):
    options = {"capacity": 100, "min_after_dequeue": 20, "num_threads": 2, "seed": 1}
    found, error = read(write(tmp_path, ROWS), batch=tf.train.shuffle_batch, **options)
    assert NOTE in capfd.readouterr().err and error is None
    numbers = sorted(number for one in found for number in one["number"])
    assert numbers == sorted(2 * [*range(1, 90), *range(91, 150)])


def test_a_faulty_row_raises_its_error_after_the_rows_before_it(tmp_path, one_by_one):
    files = write(tmp_path, [*ROWS[:40], "no number,1,text,0", *ROWS[40:]])
    found, error = read(files)
    expected, message = one_by_one(files)
    assert "Field 0 in record 0 is not a valid int32: no number" in error
    assert error == message
    # Rows in the queue when it is closed may be dropped, in both cases.
    most = min(len(found), len(expected))
    assert_same(found[:most], expected[:most])


@pytest.mark.parametrize(
    "changes",
    [
        {"function": with_exp},
        {"function": with_constant},
        {"uses": lambda key, line: tf.strings.length(line)},
        {"uses": lambda key, line: tf.identity(key)},
        {"batch": batch_some},
    ],
    ids=["inexact", "constant", "line", "key", "condition"],
)
def test_others_are_parsed_one_by_one(tmp_path, one_by_one, capfd, changes):
    files = write(tmp_path, ROWS)
    found, _ = read(files, **changes)
    assert NOTE not in capfd.readouterr().err
    assert_same(found, one_by_one(files, **changes)[0])


def test_the_graph_has_the_same_operations_until_the_threads_start(tmp_path):
    files = write(tmp_path, ROWS)
    with tf.Graph().as_default() as graph:
        _, line = tf.TextLineReader().read(tf.train.string_input_producer(files, shuffle=False))
        tf.train.batch(parse(line), 16)
        before = [one.name for one in graph.get_operations()]
        with tf.train.MonitoredSession() as session:
            assert not any("estimator_bridge" in name for name in before)
            added = [one.name for one in graph.get_operations() if one.name not in before]
            assert any("estimator_bridge_rows" in name for name in added)
            assert not session.should_stop()
