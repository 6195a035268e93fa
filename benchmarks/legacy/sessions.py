"""Programs with sessions of their own, slim, and models of contrib.factorization."""

import os
import time

import numpy as np
import tensorflow as tf
from jobs import EstimatorJob, SessionJob, config, program, receiver

slim = tf.contrib.slim


def random(*shape):
    return np.random.RandomState(1).uniform(size=shape).astype(np.float32)


def classes(count, below):
    return np.random.RandomState(2).randint(below, size=count).astype(np.int32)


def dense_model(inputs, labels, outputs=10):
    net = tf.layers.dense(inputs, 128, tf.nn.relu)
    net = tf.layers.dense(net, 64, tf.nn.relu)
    return tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(net, outputs))


@program
def slim_cnn(data, folder):
    """A CNN with batch normalisation from slim, with queues."""

    def train(clock):
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            one = tf.train.slice_input_producer([random(2000, 24, 24, 3), classes(2000, 10)])
            images, labels = tf.train.batch(one, 32)
            with slim.arg_scope(
                [slim.conv2d],
                normalizer_fn=slim.batch_norm,
                normalizer_params={"is_training": True, "decay": 0.9},
                weights_regularizer=slim.l2_regularizer(1e-4),
            ):
                net = slim.repeat(images, 2, slim.conv2d, 32, [3, 3], scope="conv1")
                net = slim.max_pool2d(net, [2, 2])
                net = slim.repeat(net, 2, slim.conv2d, 64, [3, 3], scope="conv2")
                net = slim.max_pool2d(net, [2, 2])
            logits = slim.fully_connected(slim.flatten(net), 10, None)
            tf.losses.sparse_softmax_cross_entropy(labels, logits)
            operation = slim.learning.create_train_op(
                tf.losses.get_total_loss(), tf.train.MomentumOptimizer(0.01, 0.9)
            )

            def step(*arguments):
                result = slim.learning.train_step(*arguments)
                clock.tick()
                return result

            slim.learning.train(
                operation, folder, train_step_fn=step, number_of_steps=80, save_summaries_secs=600
            )
        return []

    return SessionJob(train, 32)


@program
def feed_dict(data, folder):
    """Feeds in a MonitoredTrainingSession."""

    def train(clock):
        x, y = random(4096, 100), classes(4096, 10)
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            inputs = tf.placeholder(tf.float32, [None, 100])
            labels = tf.placeholder(tf.int32, [None])
            loss = dense_model(inputs, labels)
            step = tf.train.get_or_create_global_step()
            operation = tf.train.AdamOptimizer().minimize(loss, step)
            hooks = [clock, tf.train.StopAtStepHook(last_step=1500)]
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=folder, hooks=hooks, save_summaries_steps=100
            ) as session:
                start = 0
                while not session.should_stop():
                    rows = slice(start, start + 128)
                    session.run([operation, loss], {inputs: x[rows], labels: y[rows]})
                    start = (start + 128) % 4096
        return []

    return SessionJob(train, 128)


@program
def py_func_in_map(data, folder):
    """Rows made by Python in a map."""
    x, y = random(2048, 50), classes(2048, 2)

    def look_up(number):
        row = x[number] * 2
        return row.astype(np.float32), y[number]

    def rows(training):
        dataset = tf.data.Dataset.range(2048)
        if training:
            dataset = dataset.shuffle(2048, seed=1).repeat()

        def make(number):
            row, label = tf.py_func(look_up, [number], [tf.float32, tf.int32])
            return {"x": tf.reshape(row, [50])}, tf.reshape(label, [])

        return dataset.map(make, num_parallel_calls=2).batch(64).prefetch(1)

    model = tf.estimator.DNNClassifier(
        [64], [tf.feature_column.numeric_column("x", [50])], folder, config=config(folder)
    )
    inputs = (lambda: rows(True)), (lambda: rows(False))
    return EstimatorJob(model, inputs, 64, 2048, receiver(x=(tf.float32, [None, 50])), 300)


@program
def summaries_each_step(data, folder):
    """A loop of session.run that writes summaries in each step."""

    def train(clock):
        times = []
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(1)
            dataset = tf.data.Dataset.from_tensor_slices((random(4096, 100), classes(4096, 10)))
            dataset = dataset.shuffle(4096, seed=1).repeat().batch(128)
            inputs, labels = dataset.make_one_shot_iterator().get_next()
            loss = dense_model(inputs, labels)
            operation = tf.train.AdamOptimizer().minimize(loss)
            tf.summary.scalar("loss", loss)
            for variable in tf.trainable_variables():
                tf.summary.histogram(variable.op.name, variable)
            merged, saver = tf.summary.merge_all(), tf.train.Saver()
            writer = tf.summary.FileWriter(folder, session.graph)
            session.run(tf.global_variables_initializer())
            for step in range(600):
                text, _ = session.run([merged, operation])
                writer.add_summary(text, step)
                clock.tick()
            started = time.perf_counter()
            saver.save(session, os.path.join(folder, "model.ckpt"))
            times.append(time.perf_counter() - started)
            writer.close()
        return times

    return SessionJob(train, 128)


@program
def wals(data, folder):
    """Matrix factorization of 2000 x 1000 ratings."""
    factorization = tf.contrib.factorization.WALSMatrixFactorization
    sides = (2000, 1000)
    places = np.unique(np.random.RandomState(1).randint(0, 1 << 30, [20000, 2]) % sides, axis=0)

    def batches(places, size, batch):
        order = np.lexsort([places[:, 1], places[:, 0]])
        places = places[order]
        starts = np.searchsorted(places[:, 0], np.arange(0, size, batch))
        ends = list(starts[1:]) + [len(places)]
        found = tf.data.Dataset.from_tensor_slices((starts, np.array(ends)))
        every = tf.constant(places.astype(np.int64))
        shape = [size, sides[0] + sides[1] - size]

        def make(start, end):
            here = every[start:end]
            return tf.SparseTensor(here, tf.ones([end - start]), shape)

        return found.map(make).repeat().make_one_shot_iterator().get_next()

    def read():
        return {
            factorization.INPUT_ROWS: batches(places, sides[0], 200),
            factorization.INPUT_COLS: batches(places[:, ::-1], sides[1], 200),
            factorization.PROJECT_ROW: tf.constant(True),
        }, None

    model = factorization(
        *(sides[0], sides[1], 16),
        regularization_coeff=0.1,
        model_dir=folder,
        config=tf.contrib.learn.RunConfig(model_dir=folder, tf_random_seed=1),
    )

    def train(clock):
        model.fit(input_fn=read, steps=150, monitors=[clock])
        return []

    return SessionJob(train, 200)


@program
def kmeans(data, folder):
    points = random(4096, 20)

    def read(repeat):
        dataset = tf.data.Dataset.from_tensor_slices({"x": points})
        if repeat:
            dataset = dataset.repeat()
        return dataset.batch(256)

    model = tf.contrib.factorization.KMeansClustering(
        16, folder, random_seed=1, use_mini_batch=True, config=config(folder)
    )
    inputs = (lambda: read(True)), (lambda: read(False))
    return EstimatorJob(model, inputs, 256, 4096, None, 400)
