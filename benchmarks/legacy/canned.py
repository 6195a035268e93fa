"""Canned Estimators and the inputs that were usual for them."""

import os

import numpy as np
import tensorflow as tf
from jobs import EstimatorJob, config, program, receiver

NAMES = ["age", "hours", "gain", "work", "school", "job", "country", "label"]
DEFAULTS = [[0.0], [0.0], [0.0], [""], [""], [""], [""], [0]]
BATCH, ROWS = 128, 24000
column = tf.feature_column


def columns():
    numbers = [column.numeric_column(name) for name in NAMES[:3]]
    texts = [column.categorical_column_with_hash_bucket(name, 100) for name in NAMES[3:7]]
    ages = column.bucketized_column(numbers[0], [20, 30, 40, 50, 60])
    wide = [ages, *texts, column.crossed_column(["school", "job"], 1000)]
    wide.append(column.crossed_column([ages, "school", "job"], 10000))
    return wide, numbers + [column.embedding_column(text, 8) for text in texts]


def classifier(folder):
    wide, deep = columns()
    return tf.estimator.DNNLinearCombinedClassifier(
        folder,
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_hidden_units=[100, 75, 50, 25],
        config=config(folder),
    )


REQUEST = {name: (tf.float32 if name in NAMES[:3] else tf.string, [None]) for name in NAMES[:7]}


def parse(line):
    values = tf.decode_csv(line, DEFAULTS)
    features = dict(zip(NAMES, values))
    return features, features.pop("label")


def lines(data, training):
    dataset = tf.data.TextLineDataset(os.path.join(data, "census.csv"))
    if training:
        dataset = dataset.shuffle(5000, seed=1)
    dataset = dataset.map(parse, num_parallel_calls=2)
    dataset = dataset.repeat() if training else dataset.take(6000)
    return dataset.batch(BATCH)


@program
def wide_deep_csv(data, folder):
    inputs = (lambda: lines(data, True)), (lambda: lines(data, False))
    return EstimatorJob(classifier(folder), inputs, BATCH, 6000, receiver(**REQUEST), 300)


@program
def wide_deep_queues(data, folder):
    def read(epochs):
        files = tf.train.string_input_producer(
            [os.path.join(data, "census.csv")], num_epochs=epochs, seed=1
        )
        _, line = tf.TextLineReader().read(files)
        features, label = parse(line)
        label = tf.reshape(label, [])
        if epochs is None:
            batch = tf.train.shuffle_batch(
                dict(features, label=label), BATCH, 5000, 1000, num_threads=2, seed=1
            )
        else:
            batch = tf.train.batch(
                dict(features, label=label), BATCH, allow_smaller_final_batch=True
            )
        return batch, batch.pop("label")

    inputs = (lambda: read(None)), (lambda: read(1))
    return EstimatorJob(classifier(folder), inputs, BATCH, ROWS, receiver(**REQUEST), 200, False)


def table(data):
    with open(os.path.join(data, "census.csv")) as file:
        rows = [line.strip().split(",") for line in file]
    found = {}
    for place, name in enumerate(NAMES):
        kind = np.float32 if name in NAMES[:3] else np.int32 if name == "label" else object
        found[name] = np.array([row[place] for row in rows], kind)
    return found, found.pop("label")


@program
def numpy_input(data, folder):
    x, y = table(data)
    read = tf.estimator.inputs.numpy_input_fn
    train = read(x, y, BATCH, num_epochs=None, shuffle=True)
    once = read(x, y, BATCH, num_epochs=1, shuffle=False)
    return EstimatorJob(classifier(folder), (train, once), BATCH, ROWS, receiver(**REQUEST), 400)


@program
def pandas_input(data, folder):
    import pandas as pd

    x, y = table(data)
    frame, label = pd.DataFrame(x), pd.Series(y)
    read = tf.estimator.inputs.pandas_input_fn
    train = read(frame, label, BATCH, num_epochs=None, shuffle=True)
    once = read(frame, label, BATCH, num_epochs=1, shuffle=False)
    return EstimatorJob(classifier(folder), (train, once), BATCH, ROWS, receiver(**REQUEST), 400)


@program
def million_rows(data, folder):
    """Sparse embeddings of a million rows, with an input of sparse tensors."""
    ids = column.categorical_column_with_hash_bucket("id", 1000000, tf.int64)
    model = tf.estimator.DNNClassifier(
        [32],
        [column.embedding_column(ids, 16)],
        folder,
        optimizer=tf.train.AdagradOptimizer(0.05),
        config=config(folder),
    )

    def rows(count):
        numbers = tf.data.Dataset.range(count).batch(BATCH)

        def make(number):
            several = tf.stack([number * 7919 % 1000003, number * 104729 % 999983], 1)
            return {"id": several}, tf.to_int32(number % 2)

        return numbers.map(make)

    inputs = (lambda: rows(10**7)), (lambda: rows(6000))
    return EstimatorJob(model, inputs, BATCH, 6000, receiver(id=(tf.int64, [None, 2])), 400)
