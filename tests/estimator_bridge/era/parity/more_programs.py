"""More trainers of those years: whole schedules of training, clusters, precision and heads.

ALL has these and those of programs.py. `python more_programs.py FOLDER UNTIL` is one task of the
cluster that TF_CONFIG describes.
"""

import json
import os
import random
import socket
import subprocess
import sys
import warnings

import numpy as np
import programs
import tensorflow as tf
from rows import (
    BATCH,
    ROWS,
    WORDS,
    Program,
    columns,
    config,
    feature_columns,
    input_fn,
    layers,
    optimizers,
    pair_input_fn,
    read_rows,
    receive_examples,
    receive_x,
    whole_input_fn,
)

TIMEOUT_SECS = 600


def deep(folder):
    return tf.estimator.DNNClassifier(
        [4],
        feature_columns()[1],
        optimizer=lambda: optimizers().Adam(0.02),
        config=config(folder, save_checkpoints_steps=25),
    )


def train_with_exporters(estimator, source, until):
    """Trains and evaluates by turns; all three exporters write."""
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(source, max_steps=until),
        tf.estimator.EvalSpec(
            source,
            steps=4,
            start_delay_secs=0,
            throttle_secs=0,
            exporters=[
                tf.estimator.LatestExporter("latest", receive_examples),
                tf.estimator.BestExporter("best", receive_examples, exports_to_keep=1),
                tf.estimator.FinalExporter("final", receive_examples),
            ],
        ),
    )


def train_until_it_stops(estimator, source, until):
    """Stops early, some time after the first hundred steps."""
    stop = tf.estimator.experimental.stop_if_no_decrease_hook(
        estimator,
        "loss",
        max_steps_without_decrease=10**6 if until == 100 else 20,
        run_every_secs=None,
        run_every_steps=5,
    )
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(source, max_steps=until, hooks=[stop]),
        tf.estimator.EvalSpec(source, steps=4, start_delay_secs=0, throttle_secs=0),
    )


def climbing(folder):
    """A model whose loss rises after a while, so that an early stop has a reason."""

    def model_fn(features, labels, mode):
        output = layers.Dense(1)
        logits = output(features["x"])

        def train(loss):
            step = tf.cast(tf.compat.v1.train.get_or_create_global_step(), tf.float32)
            ascent = tf.where(step < 110, 1.0, -1.0)
            optimizer = programs.step_of(optimizers().SGD(0.5))
            return tf.group(*optimizer.get_updates(ascent * loss, output.trainable_variables))

        return programs.spec_of(mode, logits, labels, train)

    return tf.estimator.Estimator(model_fn, config=config(folder, save_checkpoints_steps=10))


def updates_fn(features, labels, mode):
    """A network of Keras whose updates are asked for by input, and its losses too."""
    given = layers.Input(tensor=features["x"])
    regularizer = tf.keras.regularizers.l2(0.01)
    value = layers.Dense(6, use_bias=False, kernel_regularizer=regularizer)(given)
    value = layers.BatchNormalization()(value)
    value = layers.Activation("relu")(value)
    model = tf.keras.Model(given, layers.Dense(1)(value))
    logits = model(features["x"], training=mode == tf.estimator.ModeKeys.TRAIN)

    def train(loss):
        total = tf.add_n([loss, *model.get_losses_for(None)])
        updates = model.get_updates_for(None) + model.get_updates_for(features["x"])
        with tf.control_dependencies(updates):
            optimizer = programs.step_of(optimizers().Adam(0.01))
            found = optimizer.get_gradients(total, model.trainable_variables)
            return optimizer.apply_gradients(zip(found, model.trainable_variables))

    return programs.spec_of(mode, logits, labels, train)


def function_fn(features, labels, mode):
    """Gradients of a tape within a function of TensorFlow."""
    model = tf.keras.Sequential([layers.Dense(4, activation="tanh"), layers.Dense(1)])
    logits = model(features["x"])

    @tf.function
    def compute_gradients(x, wanted):
        with tf.GradientTape() as tape:
            loss = tf.nn.sigmoid_cross_entropy_with_logits(wanted, model(x, training=True))
            loss = tf.nn.compute_average_loss(tf.squeeze(loss, 1), global_batch_size=BATCH)
        found, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), 0.5)
        return found

    def train(loss):
        del loss
        found = compute_gradients(features["x"], labels)
        optimizer = programs.step_of(optimizers().Adamax(0.02))
        return optimizer.apply_gradients(zip(found, model.trainable_variables))

    return programs.spec_of(mode, logits, labels, train)


def mixed_fn(features, labels, mode):
    """Layers compute in half precision; the loss is scaled by a factor that follows overflows."""
    mixed = tf.keras.mixed_precision
    mixed.set_global_policy("mixed_float16")
    try:
        hidden = layers.Dense(4, activation="tanh")
        output = layers.Dense(1, dtype="float32")
        logits = output(hidden(features["x"]))
    finally:
        mixed.set_global_policy("float32")
    variables = hidden.trainable_variables + output.trainable_variables

    def train(loss):
        optimizer = mixed.LossScaleOptimizer(
            programs.step_of(optimizers().Adam(0.02)), initial_scale=1024.0, dynamic_growth_steps=40
        )
        scaled = tf.gradients(optimizer.get_scaled_loss(loss), variables)
        found = optimizer.get_unscaled_gradients(scaled)
        return optimizer.apply_gradients(zip(found, variables))

    return programs.spec_of(mode, logits, labels, train)


def many_heads_fn(features, labels, mode):
    """Five heads on one network: labels for each of them."""
    heads = tf.estimator
    kinds = {
        "logistic": heads.LogisticRegressionHead(name="logistic"),
        "classes": heads.MultiClassHead(3, name="classes"),
        "several": heads.MultiLabelHead(2, name="several"),
        "value": heads.RegressionHead(name="value"),
        "count": heads.PoissonRegressionHead(name="count"),
    }
    head = heads.MultiHead(list(kinds.values()), head_weights=[1.0, 0.5, 0.5, 0.2, 0.1])
    network = layers.Dense(5, activation="relu")
    outputs = {name: layers.Dense(one.logits_dimension) for name, one in kinds.items()}
    hidden = network(features["x"])
    logits = {name: one(hidden) for name, one in outputs.items()}
    made = [network, *outputs.values()]
    return head.create_estimator_spec(
        features,
        mode,
        logits,
        labels=labels,
        optimizer=programs.step_of(optimizers().Adam(0.01)),
        trainable_variables=[one for layer in made for one in layer.trainable_variables],
    )


def many_labels_input_fn():
    features, label = read_rows()
    positive = (features["x"] > 0).astype(np.int64)
    labels = {
        "logistic": label,
        "classes": positive.sum(1, keepdims=True) % 3,
        "several": positive[:, :2],
        "value": features["x"].sum(1, keepdims=True),
        "count": features["number"].astype(np.float32),
    }
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(BATCH)


def canned_head(folder):
    """A canned network with a head: weighted rows and classes with names."""
    wide, deep_columns = feature_columns()
    head = tf.estimator.MultiClassHead(4, weight_column="weight", label_vocabulary=WORDS)
    return tf.estimator.DNNLinearCombinedEstimator(
        head,
        linear_feature_columns=wide[1:],
        linear_optimizer=lambda: optimizers().Ftrl(0.05),
        dnn_feature_columns=[*deep_columns[:1], columns.indicator_column(wide[1])],
        dnn_optimizer=lambda: optimizers().Adagrad(0.05),
        dnn_hidden_units=[5],
        dnn_dropout=None,
        batch_norm=True,
        linear_sparse_combiner="mean",
        config=config(folder),
    )


def weighted_input_fn():
    features, label = read_rows()
    features["weight"] = 0.5 + label
    labels = features["word"]
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(BATCH)


def cluster_estimator(folder, **options):
    # Workers cannot add up gradients of different numbers of rows of an embedding.
    numeric, _, indicator = feature_columns()[1]
    return tf.estimator.DNNClassifier(
        [4],
        [numeric, indicator],
        optimizer=lambda: optimizers().Adam(0.01),
        config=config(folder, **options),
    )


def shard_input_fn():
    """Each of two workers reads a half of each batch."""
    return input_fn().unbatch().batch(BATCH // 2)


def find_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def train_in_two_processes(estimator, source, until):
    """Starts a chief and a worker, as a scheduler does."""
    del source
    chief, worker = find_ports(2)
    cluster = {"chief": [f"localhost:{chief}"], "worker": [f"localhost:{worker}"]}
    processes = []
    for role in cluster:
        described = {"cluster": cluster, "task": {"type": role, "index": 0}}
        environment = dict(os.environ, TF_CONFIG=json.dumps(described))
        command = [sys.executable, os.path.abspath(__file__), estimator.model_dir, str(until)]
        processes.append(subprocess.Popen(command, env=environment))
    try:
        statuses = [one.wait(TIMEOUT_SECS) for one in processes]
    finally:
        for one in processes:
            one.kill()
    if any(statuses):
        raise RuntimeError(f"the processes of the cluster ended with status {statuses}")


def run_task(folder, until):
    """Runs one task of a cluster."""
    random.seed(1)
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    estimator = cluster_estimator(folder, train_distribute=strategy)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(shard_input_fn, max_steps=int(until)),
        tf.estimator.EvalSpec(shard_input_fn, steps=4),
    )


def whole_pair_input_fn():
    return pair_input_fn().unbatch().batch(ROWS)


HALF = "own model_fn, layers in half precision"
CLUSTER = "MultiWorkerMirroredStrategy, two processes"
SCHEDULES = "early stopping and exporters"
ALL = {
    **programs.PROGRAMS,
    "updates_for": Program(programs.STATE, programs.own(updates_fn)),
    "function": Program(programs.OWN, programs.own(function_fn)),
    "mixed": Program(HALF, programs.own(mixed_fn), precision=np.float16),
    "sequential_objects": Program(
        programs.KERAS,
        programs.from_keras("sequential", "checkpoint"),
        whole_pair_input_fn,
        receive_x,
    ),
    "functional_saver": Program(
        programs.KERAS, programs.from_keras("functional", "saver"), whole_input_fn
    ),
    "many_heads": Program(programs.MORE, programs.own(many_heads_fn), many_labels_input_fn),
    "canned_head": Program(programs.MORE, canned_head, weighted_input_fn, receive_examples),
    "exporters": Program(SCHEDULES, deep, receive=receive_examples, train=train_with_exporters),
    "stopped": Program(SCHEDULES, climbing, train=train_until_it_stops),
    "cluster": Program(CLUSTER, cluster_estimator, receive=receive_examples,
                       train=train_in_two_processes),
}  # fmt: skip

if __name__ == "__main__":
    tf.get_logger().setLevel("ERROR")
    warnings.simplefilter("ignore")
    run_task(*sys.argv[1:])
