"""A TensorFlow 1.x trainer whose checkpoints TensorFlow 1.15.5 wrote.

    python old_trainer.py  (on TensorFlow 1.15.5, in this folder)

trains each Estimator and stores in expected.json what it predicts and the losses of its next steps.
"""

import json
import os
import shutil

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)
ROWS, BATCH, STEPS, NEXT_STEPS = 48, 16, 12, 3
HERE = os.path.dirname(os.path.abspath(__file__))


def make_features():
    draw = np.random.RandomState(5)
    return {
        "age": draw.uniform(10, 60, (ROWS, 1)).astype(np.float32),
        "color": draw.choice(np.array(["red", "green", "mauve"], object), ROWS),
        "shade": draw.choice(np.array(["dark", "pale"], object), ROWS),
        "share": np.round(draw.uniform(0.5, 2, (ROWS, 1)), 2).astype(np.float32),
    }


def make_labels(kind):
    draw = np.random.RandomState(6)
    if kind == "number":
        return draw.uniform(0, 4, (ROWS, 1)).astype(np.float32)
    return draw.randint(2, size=(ROWS, 1))


def dataset(kind, batches=None):
    rows = tf.data.Dataset.from_tensor_slices((make_features(), make_labels(kind)))
    return rows.batch(BATCH) if batches is None else rows.repeat().batch(BATCH).take(batches)


def make_columns():
    fc = tf.feature_column
    age = fc.numeric_column("age", normalizer_fn=lambda x: tf.log1p(x) - 3.0)
    buckets = fc.bucketized_column(fc.numeric_column("age"), [20.0, 30.0, 45.0])
    color = fc.categorical_column_with_vocabulary_list("color", ["red", "green"], num_oov_buckets=1)
    shade = fc.categorical_column_with_hash_bucket("shade", 5)
    wide = [buckets, color, shade, fc.crossed_column([color, "shade"], 9)]
    return wide, [age, fc.embedding_column(shade, 2), fc.indicator_column(color)]


def config(name):
    return tf.estimator.RunConfig(os.path.join(HERE, name), tf_random_seed=3)


def build_wide_deep():
    wide, deep = make_columns()
    return tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_hidden_units=[5, 3],
        dnn_activation_fn=tf.nn.tanh,
        dnn_optimizer=lambda: tf.train.AdamOptimizer(
            tf.train.exponential_decay(0.02, tf.train.get_global_step(), 5, 0.7)
        ),
        weight_column="share",
        config=config("wide_deep"),
    )


def model_fn(features, labels, mode):
    columns = [tf.feature_column.numeric_column("age", normalizer_fn=lambda x: x / 60.0)]
    net = tf.feature_column.input_layer(features, columns)
    normal = {"is_training": mode == tf.estimator.ModeKeys.TRAIN, "updates_collections": None}
    hidden = tf.contrib.layers.fully_connected(
        net, 4, normalizer_fn=tf.contrib.layers.batch_norm, normalizer_params=normal
    )
    value = tf.contrib.layers.fully_connected(hidden, 1, activation_fn=None)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, {"value": value})
    loss = tf.losses.mean_squared_error(labels, value)
    train = tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def build_own():
    return tf.estimator.Estimator(model_fn, config=config("own"))


def rows_of_two():
    return dataset("two")


def rows_of_numbers():
    return dataset("number")


KINDS = {"wide_deep": "two", "own": "number"}


class Losses(tf.train.SessionRunHook):
    """Records the loss of every step."""

    def begin(self):
        self.found = []
        self._loss = tf.get_collection(tf.GraphKeys.LOSSES)[-1]

    def before_run(self, context):
        return tf.train.SessionRunArgs(self._loss)

    def after_run(self, context, values):
        self.found.append(float(f"{values.results:.9g}"))


def store(name):
    kind, folder = KINDS[name], os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    build = globals()["build_" + name]
    build().train(lambda: dataset(kind, STEPS))
    for file in os.listdir(folder):
        if not file.startswith((f"model.ckpt-{STEPS}.", "checkpoint")) or file.endswith(".meta"):
            os.remove(os.path.join(folder, file))
    with open(os.path.join(folder, "checkpoint"), "w") as file:
        file.write(f'model_checkpoint_path: "model.ckpt-{STEPS}"\n')
    predicted = list(build().predict(lambda: dataset(kind)))
    names = [key for key in predicted[0] if predicted[0][key].dtype.kind == "f"]
    found = {key: [[float(f"{one:.9g}") for one in row[key]] for row in predicted] for key in names}
    away = os.path.join(HERE, "away")
    shutil.copytree(folder, away)
    hook = Losses()
    built = build()
    tf.estimator.Estimator(built._model_fn, away, built.config.replace(model_dir=away)).train(
        lambda: dataset(kind, NEXT_STEPS), hooks=[hook]
    )
    shutil.rmtree(away)
    return {"predictions": found, "losses": hook.found}


if __name__ == "__main__":
    stored = {name: store(name) for name in sorted(KINDS)}
    with open(os.path.join(HERE, "expected.json"), "w") as out:
        json.dump(stored, out, sort_keys=True)
