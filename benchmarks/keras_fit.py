"""Keras `fit` with the same model, tuned: the usual target of a migration.

It is handed ids and numbers ready made (nothing is parsed while it trains), takes several steps at
a time (`steps_per_execution`), looks the wide part up in one table, and multiplies no one-hot
matrices. The wide part has Ftrl, the deep part Adagrad, as in the Estimator.
"""

import argparse
import json
import os
import time

import numpy as np

import estimator_bridge


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keras", choices=("2", "3"), required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--train", required=True)
    parser.add_argument("--header", type=int, default=0)
    parser.add_argument("--batch_size", type=int, default=512)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--steps_per_execution", type=int, default=32)
    parser.add_argument("--started", type=float, required=True, help="time.time() at process start")
    parser.add_argument("--result", required=True)
    options = parser.parse_args()

    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    # The kernels that the trainer uses.
    estimator_bridge.prefer_onednn()
    import tensorflow as tf

    if options.keras == "2":
        import tf_keras as keras
    else:
        import keras
    import ids

    rows = ids.encode(options.model, options.train, bool(options.header))
    with open(options.model) as file:
        description = json.load(file)
    keras.utils.set_random_seed(1)
    model = build(tf, keras, rows, description)
    model.compile(
        optimizer=keras.optimizers.Adagrad(description["learning_rate"]),
        steps_per_execution=options.steps_per_execution,
        jit_compile=False,
    )
    per_run = options.steps_per_execution
    steps = -(-options.steps // per_run) * per_run
    clock = make_clock(keras)
    # The first executions trace and warm up; they run before the measurement.
    model.fit(read(tf, rows, options.batch_size), epochs=1, steps_per_epoch=per_run, verbose=0)
    first = time.time()
    model.fit(
        read(tf, rows, options.batch_size),
        epochs=1,
        steps_per_epoch=steps,
        verbose=0,
        callbacks=[clock],
    )
    # From the end of the first execution to the end of the last.
    rate = options.batch_size * (steps - per_run) / (clock.times[-1] - clock.times[0])
    with open(options.result, "w") as file:
        json.dump({"examples_per_sec": rate, "first_step_secs": first - options.started}, file)


def make_clock(keras):
    class Clock(keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.times = []

        def on_train_batch_end(self, batch, logs=None):
            self.times.append(time.time())

    return Clock()


def read(tf, rows, batch_size):
    """Returns batches of ids, shuffled within a window of rows and repeated."""
    parts = (rows.wide, rows.one_hot, rows.embedded, rows.numbers)
    count = len(rows.labels)

    def pick(index):
        return tuple(tf.gather(part, index) for part in held), tf.gather(labels, index)

    held = [tf.constant(part) for part in parts]
    labels = tf.constant(rows.labels[:, None])
    order = tf.data.Dataset.from_generator(
        lambda: shuffled(count, batch_size), output_signature=tf.TensorSpec([batch_size], tf.int64)
    )
    return order.map(pick, num_parallel_calls=2).prefetch(8)


def shuffled(count, batch_size):
    rng = np.random.default_rng(1)
    while True:
        order = rng.permutation(count)
        for start in range(0, count - batch_size + 1, batch_size):
            yield order[start : start + batch_size]


def build(tf, keras, rows, description):
    layers = keras.layers
    wide = keras.Input([rows.wide.shape[1]], dtype="int32")
    one_hot = keras.Input([rows.one_hot.shape[1]], dtype="int32")
    embedded = keras.Input([rows.embedded.shape[1]], dtype="int32")
    numbers = keras.Input([rows.numbers.shape[1]])
    total = Sum(keras)
    hidden = description["hidden_units"]
    dense = [numbers]
    for place, (size, dimension) in enumerate(rows.embeddings):
        dense.append(layers.Embedding(size, dimension)(embedded[:, place]))
    deep = layers.Dense(hidden[0])(layers.concatenate(dense) if len(dense) > 1 else dense[0])
    if rows.one_hot.shape[1]:
        # A one-hot column times the kernel equals a row of the kernel.
        table = layers.Embedding(
            rows.one_hot_size, hidden[0], embeddings_initializer="glorot_uniform"
        )
        deep = layers.add([deep, total(table(one_hot))])
    deep = layers.Activation("relu")(deep)
    for units in hidden[1:]:
        deep = layers.Dense(units, activation="relu")(deep)
    linear = layers.Embedding(rows.wide_size, 1, embeddings_initializer="zeros", name="linear")
    logits = layers.add([layers.Dense(1)(deep), total(linear(wide))])
    return make_model_class(tf, keras, description)(
        inputs=[wide, one_hot, embedded, numbers], outputs=logits
    )


def Sum(keras):
    class SumFields(keras.layers.Layer):
        def call(self, inputs):
            import tensorflow as tf

            return tf.reduce_sum(inputs, axis=1)

    return SumFields()


def make_model_class(tf, keras, description):
    is_regression = description["label"]["classes"] is None

    class WideDeep(keras.Model):
        linear_optimizer = None

        def train_step(self, data):
            inputs, labels = data
            with tf.GradientTape() as tape:
                logits = self(inputs, training=True)
                if is_regression:
                    loss = tf.reduce_mean(tf.square(logits - labels))
                else:
                    loss = tf.reduce_mean(
                        tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
                    )
            wide = self.get_layer("linear").trainable_variables
            deep = [v for v in self.trainable_variables if all(v is not w for w in wide)]
            gradients = tape.gradient(loss, deep + wide)
            self.optimizer.apply_gradients(zip(gradients[: len(deep)], deep))
            self.linear_optimizer.apply_gradients(zip(gradients[len(deep) :], wide))
            return {"loss": loss}

        def compile(self, *arguments, **options):
            super().compile(*arguments, **options)
            self.linear_optimizer = keras.optimizers.Ftrl(description["linear_learning_rate"])
            self.linear_optimizer.build(self.get_layer("linear").trainable_variables)

    return WideDeep


if __name__ == "__main__":
    main()
