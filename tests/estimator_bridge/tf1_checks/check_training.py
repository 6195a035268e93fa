"""tf.contrib.training's bucketing, and the LARS optimizer."""

import contextlib
import threading

import numpy as np
import pytest
import tensorflow as tf

contrib = tf.contrib

LENGTHS = [1, 9, 2, 5, 3, 8, 7, 1, 4]


def sequences(count=1):
    """Returns length and tokens of each example, in order, `count` times."""
    length = tf.train.slice_input_producer([tf.constant(LENGTHS)], num_epochs=count, shuffle=False)[
        0
    ]
    return length, tf.range(10 * length, 11 * length)


def read_all(fetches):
    """Returns the output of the queue runners until the end of the input."""
    read = []
    with tf.train.SingularMonitoredSession() as session:
        while not session.should_stop():
            read.append(session.run(fetches))
    return read


@pytest.mark.parametrize("smaller", [False, True])
def test_buckets_contain_sequences_of_similar_length(smaller):
    length, tokens = sequences()
    lengths, batch = contrib.training.bucket_by_sequence_length(
        length,
        {"tokens": tokens, "half": tf.cast(length, tf.float32) / 2},
        batch_size=[3, 2, 2],
        bucket_boundaries=[4, 8],
        dynamic_pad=True,
        allow_smaller_final_batch=smaller,
    )
    assert batch["tokens"].shape.as_list() == [None, None]
    found = []
    for sizes, values in read_all([lengths, batch]):
        found.append(sorted(sizes.tolist()))
        assert values["tokens"].shape == (len(sizes), max(sizes))
        np.testing.assert_array_equal(values["half"], sizes / 2)
        for row, size in zip(values["tokens"], sizes):
            assert row[:size].tolist() == list(range(10 * size, 11 * size))
            assert (row[size:] == 0).all()
    full = [[1, 2, 3], [5, 7], [8, 9]]
    assert sorted(found) == sorted([*full, [1], [4]] if smaller else full)


def test_bucket_may_drop_examples():
    length, _ = sequences()
    which, values = contrib.training.bucket(
        [length], length % 2, batch_size=2, num_buckets=2, keep_input=length < 8, num_threads=2
    )
    assert values.shape.as_list() == [2]
    found = [(int(number), sorted(batch.tolist())) for number, batch in read_all([which, values])]
    assert sum(len(batch) for _, batch in found) == 6
    assert all(size % 2 == number and size < 8 for number, batch in found for size in batch)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"bucket_boundaries": []}, ValueError, "bucket_boundaries: the list is empty"),
        ({"bucket_boundaries": [5, 5]}, ValueError, "bucket_boundaries: they must increase"),
        ({"bucket_boundaries": [5.0]}, TypeError, "bucket_boundaries: expected integers, got 5.0"),
        (
            {"bucket_boundaries": [5], "batch_size": [1, 2, 3]},
            ValueError,
            "batch_size: expected 2 entries, got 3",
        ),
    ],
)
def test_bucketing_rejects_invalid_arguments(options, kind, message):
    length, tokens = sequences()
    options = {"batch_size": 2, "dynamic_pad": True, **options}
    with pytest.raises(kind, match=message):
        contrib.training.bucket_by_sequence_length(length, [tokens], **options)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("nesterov", [False, True])
def test_lars_scales_the_learning_rate_by_the_norms(resource, nesterov):
    start = {"weight": np.array([3.0, -4.0]), "zero": np.zeros(2), "bias": np.array([1.0, 2.0])}
    slope = {"weight": np.array([0.6, 0.8]), "zero": np.ones(2), "bias": np.array([0.5, 0.5])}
    variables = {
        name: tf.Variable(value.astype(np.float32), name=name, use_resource=resource)
        for name, value in start.items()
    }
    loss = tf.add_n([tf.reduce_sum(variables[name] * slope[name]) for name in variables])
    optimizer = contrib.opt.LARSOptimizer(
        0.5,
        momentum=0.8,
        weight_decay=0.1,
        eeta=0.2,
        epsilon=0.5,
        skip_list=["bias"],
        use_nesterov=nesterov,
    )
    step = optimizer.minimize(loss)
    assert optimizer.get_slot_names() == ["momentum"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
        got = session.run(variables)
    for name, value in start.items():
        momentum = np.zeros(2)
        for _ in range(3):
            rate, gradient = 0.5, slope[name]
            norm, gradient_norm = np.linalg.norm(value), np.linalg.norm(gradient)
            if name != "bias":
                if norm:
                    rate *= 0.2 * norm / (gradient_norm + 0.1 * norm + 0.5)
                gradient = gradient + 0.1 * value
            momentum = 0.8 * momentum + rate * gradient
            value = value - (0.8 * momentum + rate * gradient if nesterov else momentum)
        np.testing.assert_allclose(got[name], value, rtol=1e-5)


def test_lars_rejects_a_negative_momentum():
    with pytest.raises(ValueError, match="momentum: -0.1 is negative"):
        contrib.opt.LARSOptimizer(0.1, momentum=-0.1)


def test_segments_that_have_ended_can_be_given_up():
    """A barrier that has ended and is closed again keeps a session from ending."""
    saver = tf.contrib.training.SequenceQueueingStateSaver(
        batch_size=2,
        num_unroll=2,
        input_length=tf.constant(6),
        input_key=tf.constant("a"),
        input_sequences={"x": tf.ones([6, 1])},
        input_context={},
        initial_states={"s": tf.zeros([2])},
    )
    ended, given_up = saver.close(), saver.close(cancel_pending_enqueues=True)
    tf.train.add_queue_runner(tf.train.QueueRunner(saver, [saver.prefetch_op]))
    for _ in range(20):
        with tf.Session() as session:
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            # The threads of the runner do both when they stop, in any order.
            threads += [
                threading.Thread(target=run_if_open, args=(session, one))
                for one in (ended, given_up)
            ]
            for thread in threads[-2:]:
                thread.start()
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=20)
    with tf.Session() as session:
        session.run(ended)
        session.run(given_up, options=tf.RunOptions(timeout_in_ms=20_000))
        with pytest.raises(tf.errors.CancelledError, match="already closed"):
            session.run(ended)


def run_if_open(session, operation):
    with contextlib.suppress(tf.errors.CancelledError):
        session.run(operation)
