"""A trainer in the style of TensorFlow 2.4 to 2.10: Estimators with optimizers of tf.keras.

    python old_trainer.py STEPS FOLDER KIND...

trains each kind until STEPS in FOLDER/KIND and prints the predictions of all as JSON.

It runs on the original TensorFlow and under `python -m estimator_bridge run --as=2.8`.
"""

import json
import sys

import numpy as np
import tensorflow as tf

OPTIMIZERS = {
    "adam": lambda: tf.keras.optimizers.Adam(0.05, clipnorm=1.0),
    "amsgrad": lambda: tf.keras.optimizers.Adam(lr=0.05, decay=0.01, amsgrad=True),
    "rmsprop": lambda: tf.keras.optimizers.RMSprop(0.02, momentum=0.5, centered=True),
    "nadam": lambda: tf.keras.optimizers.Nadam(0.02),
    "adagrad": lambda: tf.optimizers.Adagrad(0.1),
    "schedule": lambda: tf.keras.optimizers.SGD(
        tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9), momentum=0.9, nesterov=True
    ),
    "by_name": lambda: tf.keras.optimizers.get("ftrl"),
    "by_config": lambda: tf.keras.optimizers.get(
        {"class_name": "Adamax", "config": {"learning_rate": 0.05}}
    ),
}


def read_rows():
    x = np.random.RandomState(0).uniform(-1, 1, (64, 3)).astype(np.float32)
    return x, (x.sum(axis=1, keepdims=True) > 0).astype(np.float32)


def input_fn():
    x, y = read_rows()
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).repeat().batch(32)


def predict_input_fn():
    return tf.data.Dataset.from_tensor_slices({"x": read_rows()[0][:8]}).batch(8)


def model_fn(features, labels, mode, params):
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    hidden = tf.keras.layers.Dense(
        4, activation="relu", kernel_initializer=tf.keras.initializers.GlorotUniform(1)
    )
    normalization = tf.keras.layers.BatchNormalization()
    output = tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.GlorotUniform(2))
    logits = output(normalization(hidden(features["x"]), training=is_training))
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"logits": logits})
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, logits))
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    optimizer = OPTIMIZERS[params["kind"]]()
    assert isinstance(optimizer, tf.keras.optimizers.Optimizer)
    optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
    variables = hidden.trainable_variables + normalization.trainable_variables
    variables += output.trainable_variables
    if params["kind"] == "adagrad":
        update = optimizer.apply_gradients(zip(tf.gradients(loss, variables), variables))
    else:
        update = tf.group(*optimizer.get_updates(loss, variables))
    updates = normalization.get_updates_for(None) or normalization.get_updates_for(features["x"])
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(update, *updates))


def build(kind, folder):
    config = tf.estimator.RunConfig(folder, tf_random_seed=1, save_summary_steps=1000)
    if kind != "canned":
        return tf.estimator.Estimator(model_fn, config=config, params={"kind": kind})
    return tf.estimator.DNNClassifier(
        [4],
        [tf.feature_column.numeric_column("x", shape=(3,))],
        optimizer=tf.keras.optimizers.Adam(0.05),
        config=config,
        batch_norm=True,
    )


def main():
    steps, folder, kinds = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    answers = {}
    for kind in kinds:
        estimator = build(kind, f"{folder}/{kind}")
        estimator.train(input_fn, max_steps=steps)
        rows = estimator.predict(predict_input_fn)
        answers[kind] = [float(row["logits"][0]) for row in rows]
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
