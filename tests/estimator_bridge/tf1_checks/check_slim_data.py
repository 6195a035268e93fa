"""Data sets, queues and evaluation of slim, and mixed precision."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.contrib.compiler import jit, xla
from tensorflow.contrib.slim.python.slim.data import dataset as dataset_lib
from tensorflow.contrib.slim.python.slim.data import dataset_data_provider, prefetch_queue

slim = tf.contrib.slim
mixed_precision = tf.contrib.mixed_precision


@pytest.fixture
def records(tmp_path):
    """Returns a slim data set of 40 records in two files: x and 2x."""
    for part in range(2):
        with tf.python_io.TFRecordWriter(str(tmp_path / f"train-{part}.tfrecord")) as writer:
            for value in range(20 * part, 20 * part + 20):
                x = tf.train.Feature(float_list=tf.train.FloatList(value=[value / 10.0]))
                y = tf.train.Feature(int64_list=tf.train.Int64List(value=[2 * value]))
                features = tf.train.Features(feature={"x": x, "y": y})
                writer.write(tf.train.Example(features=features).SerializeToString())
    decoder = slim.tfexample_decoder.TFExampleDecoder(
        {"x": tf.FixedLenFeature([], tf.float32), "y": tf.FixedLenFeature([], tf.int64)},
        {
            "point": slim.tfexample_decoder.Tensor("x"),
            "double": slim.tfexample_decoder.Tensor("y"),
        },
    )
    return slim.dataset.Dataset(
        data_sources=str(tmp_path / "train-*"),
        reader=tf.TFRecordReader,
        decoder=decoder,
        num_samples=40,
        items_to_descriptions={"point": "a point", "double": "twice that, in tenths"},
        num_classes=3,
    )


@pytest.mark.parametrize("shuffle", [True, False])
def test_provider_returns_each_record_once_per_epoch(records, shuffle):
    provider = slim.dataset_data_provider.DatasetDataProvider(
        records, 2 if shuffle else 1, shuffle=shuffle, num_epochs=1, common_queue_min=4, seed=1
    )
    assert isinstance(records, dataset_lib.Dataset) and records.num_classes == 3
    assert provider.num_samples() == 40
    assert provider.list_items() == ["point", "double", "record_key"]
    with pytest.raises(ValueError, match="nothing"):
        provider.get(["nothing"])
    point, double, key = provider.get(["point", "double", "record_key"])
    found, keys = [], set()
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.OutOfRangeError), slim.queues.QueueRunners(session):
            while True:
                one, two, name = session.run([point, double, key])
                assert two == round(20 * one)
                found.append(int(two))
                keys.add(name)
    assert sorted(found) == list(range(0, 80, 2)) and len(keys) == 40
    assert (found == sorted(found)) != shuffle


def test_item_with_the_name_of_the_record_key_raises(records):
    with pytest.raises(ValueError, match="another record_key"):
        dataset_data_provider.DatasetDataProvider(records, record_key="point")


def test_single_pass_read_keeps_the_order(records):
    _, record = slim.parallel_reader.single_pass_read(records.data_sources, tf.TFRecordReader)
    (double,) = records.decoder.decode(record, ["double"])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            with (
                pytest.raises(slim.queues.NestedQueueRunnerError),
                slim.queues.QueueRunners(session),
            ):
                pass
            assert [session.run(double) for _ in range(40)] == list(range(0, 80, 2))


def test_prefetched_batches_train_an_estimator(records, tmp_path):
    def input_fn():
        provider = slim.dataset_data_provider.DatasetDataProvider(records, common_queue_min=8)
        points, doubles = tf.train.batch(provider.get(["point", "double"]), batch_size=8)
        queue = slim.prefetch_queue.prefetch_queue({"x": points, "y": doubles}, capacity=2)
        batch = queue.dequeue()
        assert batch["x"].shape.as_list() == [8]
        return {"x": batch["x"]}, batch["y"]

    def model_fn(features, labels, mode):
        weight = tf.get_variable("weight", [])
        loss = tf.losses.mean_squared_error(tf.to_float(labels), weight * features["x"])
        step = tf.train.GradientDescentOptimizer(0.05).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path / "job"))
    estimator.train(input_fn, steps=60)
    assert estimator.get_variable_value("weight") == pytest.approx(20, abs=0.01)
    assert prefetch_queue.prefetch_queue is slim.prefetch_queue.prefetch_queue


def test_evaluation_of_each_checkpoint(tmp_path):
    """Covers metrics, summaries and a final value, for one checkpoint and for all."""
    weight = tf.get_variable("weight", [], initializer=tf.ones_initializer())
    step = tf.train.get_or_create_global_step()
    job, logs = str(tmp_path / "job"), str(tmp_path / "logs")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in (1, 2):
            session.run([weight.assign(number * 1.5), step.assign(number)])
            path = saver.save(session, f"{job}/model.ckpt", global_step=number)
    value, update = slim.metrics.streaming_mean(tf.identity(weight))
    count = tf.get_local_variable("count", [], initializer=tf.zeros_initializer())
    tf.summary.scalar("value", value)
    options = {"num_evals": 3, "eval_op": [update, count.assign_add(1)]}
    with tf.Graph().as_default():
        again = tf.get_variable("weight", [])
        once = slim.evaluation.evaluate_once(
            "", path, None, final_op=again, variables_to_restore=[again]
        )
    assert once == 3
    with tf.Graph().as_default():
        # The hook that writes the summaries creates the global step.
        again = tf.get_variable("weight", [])
        assert slim.evaluation.evaluate_once("", path, str(tmp_path / "once"), final_op=again) == 3
    seen = []

    class Watch(tf.train.SessionRunHook):
        def end(self, session):
            seen.append(session.run([value, count, step]))
            saver.save(session, f"{job}/model.ckpt", global_step=9)

    last = slim.evaluation.evaluation_loop(
        "",
        job,
        logs,
        final_op={"mean": value},
        hooks=[Watch()],
        eval_interval_secs=0,
        max_number_of_evaluations=2,
        timeout=20,
        **options,
    )
    # Each session evaluates one checkpoint; the metric and the count restart.
    assert last == {"mean": 3} and seen == [[3, 3, 2]] * 2
    assert list((tmp_path / "logs").glob("events*"))


def test_loss_scale_rises_and_falls_with_the_gradients(run):
    with pytest.raises(ValueError, match="at least 1"):
        mixed_precision.FixedLossScaleManager(0.5)
    manager = mixed_precision.ExponentialUpdateLossScaleManager(
        8, incr_every_n_steps=2, decr_every_n_nan_or_inf=2, incr_ratio=4, decr_ratio=0.5
    )
    finite = tf.placeholder(tf.bool, [])
    update = manager.update_loss_scale(finite)
    scale = manager.get_loss_scale()
    names = {variable.op.name for variable in tf.global_variables()}
    assert names == {"loss_scale", "good_steps", "bad_steps"} and not tf.trainable_variables()
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for is_finite in (1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0):
            session.run(update, {finite: bool(is_finite)})
            seen.append(session.run(scale))
    assert seen[:10] == [8, 32, 32, 32, 32, 16, 16, 64, 64, 32] and seen[-1] == 1


def test_step_with_infinite_gradients_is_skipped():
    weight = tf.get_variable("weight", [2], initializer=tf.ones_initializer())
    table = tf.get_variable("table", [4], initializer=tf.ones_initializer())
    factor = tf.placeholder(tf.float32, [])
    loss = factor * tf.reduce_sum(weight) + tf.reduce_sum(tf.gather(table, [1]))
    manager = mixed_precision.FixedLossScaleManager(128)
    optimizer = mixed_precision.LossScaleOptimizer(tf.train.MomentumOptimizer(0.1, 0.9), manager)
    step = tf.train.get_or_create_global_step()
    gradients = optimizer.compute_gradients(loss)
    assert isinstance(dict((v.op.name, g) for g, v in gradients)["table"], tf.IndexedSlices)
    train = optimizer.apply_gradients(gradients, global_step=step)
    assert optimizer.get_slot_names() == ["momentum"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {factor: 3.0})
        session.run(train, {factor: np.inf})
        values = session.run([weight, table, step])
    np.testing.assert_allclose(values[0], [0.7, 0.7], rtol=1e-6)
    np.testing.assert_allclose(values[1], [1, 0.9, 1, 1], rtol=1e-6)
    assert values[2] == 1


def test_compiled_model_fn(tmp_path):
    @xla.estimator_model_fn
    def model_fn(features, labels, mode, params):
        with jit.experimental_jit_scope():
            weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
            loss = tf.square(weight - params["goal"]) + 0 * tf.reduce_sum(features)
        optimizer = tf.train.GradientDescentOptimizer(0.5)
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), params={"goal": 4.0})
    estimator.train(lambda: tf.data.Dataset.from_tensors(tf.ones([2])), steps=1)
    assert estimator.get_variable_value("weight") == 4
