"""Trainers in the style of TensorFlow 2.4 to 2.12. They run on Python 3.8 and all these versions.

PROGRAMS maps a name to a Program; more are in more_programs.py.
"""

import functools
import os

import tensorflow as tf
from rows import (
    BATCH,
    WORDS,
    Program,
    config,
    feature_columns,
    input_fn,
    layers,
    optimizers,
    pair_input_fn,
    receive_examples,
    receive_x,
    tpu_input_fn,
    whole_input_fn,
)


def linear(folder):
    return tf.estimator.LinearClassifier(feature_columns()[0], config=config(folder))


def deep_v1(folder):
    v1 = tf.compat.v1
    return v1.estimator.DNNClassifier(
        [4], feature_columns()[1], optimizer=v1.train.AdagradOptimizer(0.1), config=config(folder)
    )


def wide_and_deep(folder, v1=False):
    wide, deep = feature_columns()
    given = {"dnn_optimizer": "Adagrad", "linear_optimizer": "Ftrl"}
    kinds = tf.estimator
    if v1:
        kinds = tf.compat.v1.estimator
        given["dnn_optimizer"] = tf.compat.v1.train.AdamOptimizer(0.01)
    return kinds.DNNLinearCombinedClassifier(
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_hidden_units=[4],
        config=config(folder),
        **given,
    )


def deep_adam(folder):
    return tf.estimator.DNNRegressor(
        [4],
        feature_columns()[1],
        optimizer=optimizers().Adam(0.01),
        batch_norm=True,
        config=config(folder),
    )


def deep_schedule(folder):
    rate = tf.keras.optimizers.schedules.ExponentialDecay(0.05, 20, 0.9)
    return tf.estimator.DNNClassifier(
        [4, 3],
        feature_columns()[1],
        optimizer=lambda: optimizers().SGD(rate, momentum=0.9),
        config=config(folder),
    )


def spec_of(mode, logits, labels, train, metrics=None):
    predictions = {"probability": tf.sigmoid(logits)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
    if mode == tf.estimator.ModeKeys.EVAL:
        found = metrics(labels, predictions["probability"]) if metrics else None
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=found)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train(loss))


def step_of(optimizer):
    optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
    return optimizer


def with_optimizer(build, way):
    """Returns a model_fn with one of Keras's optimizers, used in one way."""

    def model_fn(features, labels, mode):
        hidden, output = layers.Dense(4, activation="tanh"), layers.Dense(1)
        logits = output(hidden(features["x"]))
        variables = hidden.trainable_variables + output.trainable_variables

        def compute_loss():
            again = output(hidden(features["x"]))
            return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, again))

        def train(loss):
            optimizer = step_of(build())
            if way == "get_updates":
                return tf.group(*optimizer.get_updates(loss, variables))
            if way == "minimize":
                return optimizer.minimize(compute_loss, variables)
            if way == "scaled":
                scaled = tf.gradients(optimizer.get_scaled_loss(loss), variables)
                found = optimizer.get_unscaled_gradients(scaled)
            else:
                found = tf.gradients(loss, variables)
            return optimizer.apply_gradients(zip(found, variables))

        return spec_of(mode, logits, labels, train)

    return lambda folder: tf.estimator.Estimator(model_fn, config=config(folder))


def tape_fn(features, labels, mode):
    x = features["x"]
    weights = tf.compat.v1.get_variable("weights", [3, 1])
    bias = tf.compat.v1.get_variable("bias", [1], initializer=tf.zeros_initializer())

    def train(loss):
        del loss
        with tf.GradientTape() as tape:
            tape.watch([weights, bias])
            logits = x @ weights + bias
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
        found = tape.gradient(loss, [weights, bias])
        return step_of(optimizers().Adam(0.05)).apply_gradients(zip(found, [weights, bias]))

    return spec_of(mode, x @ weights + bias, labels, train)


def layers_fn(features, labels, mode):
    """Layers of every kind with state, and their updates."""
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    model = [layers.Embedding(8, 3), layers.Conv1D(4, 2, use_bias=False)]
    model += [layers.BatchNormalization()]
    model += [layers.GRU(3, return_sequences=True), layers.LayerNormalization(), layers.LSTM(3)]
    model += [layers.SimpleRNN(2), layers.Dense(1)]
    value = features["steps"]
    for layer in model:
        if isinstance(layer, layers.SimpleRNN):
            value = tf.expand_dims(value, 1)
        if isinstance(layer, layers.BatchNormalization):
            value = layer(value, training=is_training)
        else:
            value = layer(value)

    def train(loss):
        variables = [one for layer in model for one in layer.trainable_variables]
        normalization = model[2]
        updates = normalization.get_updates_for(None) or normalization.updates
        update = step_of(optimizers().Adam(0.01)).get_updates(loss, variables)
        return tf.group(*update, *updates)

    return spec_of(mode, value, labels, train)


def metrics_fn(features, labels, mode):
    logits = layers.Dense(1)(features["x"])

    def metrics(labels, probability):
        found = {"auc": tf.keras.metrics.AUC(), "precision": tf.keras.metrics.Precision()}
        found["mean"] = tf.keras.metrics.Mean()
        found["auc"].update_state(labels, probability)
        found["precision"].update_state(labels, probability)
        found["mean"].update_state(probability)
        return found

    def train(loss):
        return tf.compat.v1.train.AdamOptimizer(0.05).minimize(
            loss, tf.compat.v1.train.get_global_step()
        )

    return spec_of(mode, logits, labels, train, metrics)


def columns_fn(features, labels, mode):
    dense = tf.keras.layers.DenseFeatures(feature_columns()[1])
    hidden, output = layers.Dense(4, activation="relu"), layers.Dense(1)
    logits = output(hidden(dense(features)))
    variables = [one for layer in (dense, hidden, output) for one in layer.trainable_variables]

    def train(loss):
        return tf.group(*step_of(optimizers().Adagrad(0.1)).get_updates(loss, variables))

    return spec_of(mode, logits, labels, train)


def preprocessing_fn(features, labels, mode):
    found = tf.keras.layers.experimental.preprocessing
    ids = found.StringLookup(vocabulary=WORDS[:3])(features["word"])
    table = layers.Embedding(6, 2)
    buckets = found.Discretization([0.0, 0.5])(features["x"])
    parts = [layers.Flatten()(table(ids)), tf.cast(buckets, tf.float32), features["x"]]
    output = layers.Dense(1)
    logits = output(tf.concat(parts, 1))

    def train(loss):
        variables = table.trainable_variables + output.trainable_variables
        return tf.group(*step_of(optimizers().Nadam(0.01)).get_updates(loss, variables))

    return spec_of(mode, logits, labels, train)


def head_fn(features, labels, mode):
    model = tf.keras.Sequential([layers.Dense(4, activation="relu"), layers.Dense(1)])
    logits = model(features["x"])
    return tf.estimator.BinaryClassHead().create_estimator_spec(
        features,
        mode,
        logits,
        labels=labels,
        optimizer=step_of(optimizers().Adam(0.02)),
        trainable_variables=model.trainable_variables,
        update_ops=model.updates,
    )


def own(model_fn):
    return lambda folder: tf.estimator.Estimator(model_fn, config=config(folder))


class Subclassed(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(3, activation="relu")
        self.output_layer = layers.Dense(1, activation="sigmoid")

    def call(self, inputs):
        return self.output_layer(self.hidden(inputs))

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def from_keras(kind, checkpoint_format):
    def build(folder):
        given = layers.Input((3,), name="x")
        if kind == "sequential":
            model = tf.keras.Sequential(
                [layers.Dense(4, activation="relu", input_shape=(3,)), layers.BatchNormalization()]
            )
            model.add(layers.Dense(1, activation="sigmoid"))
        elif kind == "functional":
            hidden = layers.Dense(4, activation="elu")(given)
            model = tf.keras.Model(given, layers.Dense(1, activation="sigmoid")(hidden))
        else:
            model = Subclassed()
        optimizer = optimizers().Adam(0.01) if kind != "functional" else optimizers().RMSprop(0.01)
        model.compile(optimizer, "binary_crossentropy", metrics=["accuracy"])
        return tf.keras.estimator.model_to_estimator(
            model,
            model_dir=folder,
            config=config(folder),
            checkpoint_format=checkpoint_format,
        )

    return build


def with_metrics(folder):
    def more(labels, predictions, features):
        mean = tf.keras.metrics.Mean()
        mean.update_state(predictions["logistic"] - labels)
        return {"bias": mean}

    return tf.estimator.add_metrics(linear(folder), more)


def warm_started(folder):
    source = folder + "_source"
    if not os.path.exists(source):
        deep_adam(source).train(input_fn, max_steps=10)
    return tf.estimator.DNNRegressor(
        [4],
        feature_columns()[1],
        optimizer=optimizers().Ftrl(0.05),
        batch_norm=True,
        config=config(folder),
        warm_start_from=tf.estimator.WarmStartSettings(
            source, vars_to_warm_start=".*hiddenlayer.*"
        ),
    )


def mirrored(folder):
    # Today, a strategy of two CPU devices that was made eagerly waits for ever in a session.
    with tf.Graph().as_default():
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    two = tf.compat.v1.ConfigProto(device_count={"CPU": 2})
    return tf.estimator.DNNClassifier(
        [4],
        feature_columns()[1],
        optimizer=lambda: optimizers().Adam(0.01),
        config=config(folder, train_distribute=strategy, session_config=two),
    )


def on_tpu(folder):
    kinds = tf.compat.v1.estimator.tpu

    def model_fn(features, labels, mode, params):
        del params
        logits = tf.compat.v1.layers.dense(features["x"], 1, name="dense")
        predictions = {"probability": tf.sigmoid(logits)}
        if mode == tf.estimator.ModeKeys.PREDICT:
            return kinds.TPUEstimatorSpec(mode, predictions=predictions)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
        optimizer = tf.compat.v1.train.MomentumOptimizer(0.1, 0.9)
        update = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
        return kinds.TPUEstimatorSpec(mode, loss=loss, train_op=update)

    return kinds.TPUEstimator(
        model_fn,
        config=kinds.RunConfig(model_dir=folder, tf_random_seed=1),
        use_tpu=False,
        export_to_tpu=False,
        train_batch_size=BATCH,
        eval_batch_size=BATCH,
        predict_batch_size=BATCH,
    )


def scaled(build):
    return lambda: tf.keras.mixed_precision.LossScaleOptimizer(
        build(), dynamic=False, initial_scale=64.0
    )


def decaying(rate=0.1):
    return tf.keras.optimizers.schedules.PolynomialDecay(rate, 200, 0.01)


CANNED, V1, OWN = "canned", "canned, compat.v1", "own model_fn, Keras optimizer"
STATE, KERAS, MORE = "own model_fn, layers and metrics", "model_to_estimator", "heads and extenders"
PROGRAMS = {
    "linear": Program(CANNED, linear, receive=receive_examples),
    "wide_and_deep": Program(CANNED, wide_and_deep, receive=receive_examples),
    "deep_adam": Program(CANNED, deep_adam, receive=receive_examples),
    "deep_schedule": Program(CANNED, deep_schedule, receive=receive_examples),
    "deep_v1": Program(V1, deep_v1, receive=receive_examples),
    "wide_and_deep_v1": Program(
        V1, functools.partial(wide_and_deep, v1=True), receive=receive_examples
    ),
    "adam": Program(
        OWN, with_optimizer(lambda: optimizers().Adam(0.02, clipnorm=0.5), "get_updates")
    ),
    "amsgrad": Program(
        OWN,
        with_optimizer(lambda: optimizers().Adam(lr=0.02, amsgrad=True, decay=0.01), "minimize"),
    ),
    "rmsprop": Program(
        OWN,
        with_optimizer(
            lambda: optimizers().RMSprop(0.01, momentum=0.5, centered=True), "get_updates"
        ),
    ),
    "nadam": Program(OWN, with_optimizer(lambda: optimizers().Nadam(0.02), "apply_gradients")),
    "adagrad": Program(
        OWN, with_optimizer(lambda: optimizers().Adagrad(0.1, clipvalue=0.1), "minimize")
    ),
    "adadelta": Program(OWN, with_optimizer(lambda: optimizers().Adadelta(0.5), "get_updates")),
    "adamax": Program(OWN, with_optimizer(lambda: optimizers().Adamax(0.02), "apply_gradients")),
    "ftrl": Program(
        OWN,
        with_optimizer(
            lambda: optimizers().Ftrl(0.1, l1_regularization_strength=0.001), "minimize"
        ),
    ),
    "nesterov": Program(
        OWN,
        with_optimizer(
            lambda: optimizers().SGD(decaying(), momentum=0.9, nesterov=True), "apply_gradients"
        ),
    ),
    "loss_scale": Program(OWN, with_optimizer(scaled(lambda: optimizers().SGD(0.1)), "scaled")),
    "tape": Program(OWN, own(tape_fn)),
    "layers": Program(STATE, own(layers_fn)),
    "metrics": Program(STATE, own(metrics_fn)),
    "columns": Program(STATE, own(columns_fn)),
    "preprocessing": Program(STATE, own(preprocessing_fn)),
    "sequential": Program(KERAS, from_keras("sequential", "saver"), pair_input_fn, receive_x),
    "functional": Program(KERAS, from_keras("functional", "checkpoint"), whole_input_fn),
    "subclassed": Program(KERAS, from_keras("subclassed", "saver"), pair_input_fn, receive_x),
    "head": Program(MORE, own(head_fn)),
    "with_metrics": Program(MORE, with_metrics),
    "warm_started": Program(MORE, warm_started),
    "mirrored": Program("MirroredStrategy, two CPU devices", mirrored),
    "tpu": Program("TPUEstimator on the CPU", on_tpu, tpu_input_fn),
}
