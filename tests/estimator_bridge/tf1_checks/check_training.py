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
            # First: a runner that has not been stopped reports that its queue is closed.
            coordinator.request_stop()
            for thread in threads[-2:]:
                thread.start()
            coordinator.join(threads, stop_grace_period_secs=20)
    with tf.Session() as session:
        session.run(ended)
        session.run(given_up, options=tf.RunOptions(timeout_in_ms=20_000))
        with pytest.raises(tf.errors.CancelledError, match="already closed"):
            session.run(ended)


def run_if_open(session, operation):
    with contextlib.suppress(tf.errors.CancelledError):
        session.run(operation)


def sampled(wanted, **options):
    """Returns the shares of three classes in 200 batches of 16, and the mean of their values."""
    label = tf.cast(tf.multinomial(tf.log([[0.7, 0.2, 0.1]]), 1)[0, 0], tf.int32)
    (value,), labels = tf.contrib.training.stratified_sample(
        [tf.cast(label, tf.float32) * 10.0], label, wanted, 16, **options
    )
    assert value.shape == labels.shape == (16,) and labels.dtype == tf.int32
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [session.run([value, labels]) for _ in range(200)]
        counts = session.run(tf.global_variables())
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10, ignore_live_threads=True)
    for values, classes in found:
        np.testing.assert_array_equal(values, classes * 10.0)
    classes = np.concatenate([classes for _, classes in found])
    return np.bincount(classes, minlength=3) / len(classes), counts


@pytest.mark.parametrize("init", [[0.7, 0.2, 0.1], None])
def test_batches_have_the_wanted_share_of_each_class(init):
    wanted = [0.2, 0.3, 0.5]
    shares, counts = sampled(wanted, init_probs=init)
    # Of 3,200 rows; without known shares, the first ones are those of three equal classes.
    np.testing.assert_allclose(shares, wanted, atol=0.04)
    names = [one.name for one in tf.global_variables()]
    if init is None:
        assert names == ["stratified_sample/class_count:0"]
        np.testing.assert_allclose(counts[0] / counts[0].sum(), [0.7, 0.2, 0.1], atol=0.03)
    else:
        assert names == []
    queues = [
        (one.name, one.get_attr("capacity"))
        for one in tf.get_default_graph().get_operations()
        if one.type == "FIFOQueueV2"
    ]
    assert queues == [
        ("stratified_sample/batch/fifo_queue", 16),
        ("stratified_sample/batch_1/fifo_queue", 32),
    ]


def test_several_examples_are_sampled():
    rows = [tf.ones([7, 2]), tf.fill([7], "a")]
    labels = tf.constant([0, 1, 2, 0, 1, 2, 1], tf.int64)
    batches, classes = tf.contrib.training.stratified_sample(
        rows, labels, [0.25, 0.25, 0.5], 4, [0.3, 0.3, 0.4], enqueue_many=True, name="sample"
    )
    assert [one.shape.as_list() for one in batches] == [[4, 2], [4]]
    assert (classes.dtype, classes.shape, classes.op.name) == (tf.int64, (4,), "sample/batch_1")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"init_probs": [0.5, 0.5]}, ValueError),
        ({"labels": np.zeros([6], np.int32), "enqueue_many": True}, ValueError),
        ({"target_probs": [-0.5, 0.5, 1.0]}, (ValueError, tf.errors.InvalidArgumentError)),
    ],
)
def test_what_cannot_be_sampled_is_refused(options, error):
    given = {"labels": np.int32(1), "target_probs": [0.25, 0.25, 0.5], "batch_size": 4}
    with pytest.raises(error):
        tf.contrib.training.stratified_sample([tf.ones([7, 2])], **{**given, **options})


@pytest.mark.parametrize("shares", [[0.2, 0.2, 0.2], [0.0, 0.5, 0.5]])
def test_wrong_shares_are_an_error_of_the_queue(shares):
    _, labels = tf.contrib.training.stratified_sample(
        [tf.ones([2])], tf.constant(1), [0.25, 0.25, 0.5], 4, shares
    )
    (runner, _) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
    accepted = tf.get_default_graph().get_tensor_by_name("stratified_sample/cond/Merge:0")
    assert labels.shape == (4,) and runner is not None
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(accepted)


def test_a_hook_writes_the_summaries_of_several_graphs(tmp_path):
    hook = tf.contrib.training.SummaryAtEndHook(str(tmp_path))
    for value in (3.0, 4.0):
        with tf.Graph().as_default():
            tf.train.create_global_step()
            tf.summary.scalar("value", value)
            with tf.train.SingularMonitoredSession(hooks=[hook]):
                pass
    (file,) = tmp_path.iterdir()
    events = list(tf.train.summary_iterator(str(file)))
    found = [value.simple_value for event in events for value in event.summary.value]
    assert found == [3.0, 4.0]
