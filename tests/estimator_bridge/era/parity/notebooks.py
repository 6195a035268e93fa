"""Programs in the style of the notebooks about Estimators, each from its first cell to its last.

    python notebooks.py OUTPUT [NAME ...]

runs them in folders of their own and writes the figures that each ends with, as JSON. They run on
TensorFlow 2.12 and under `run --as=2.12`; NOTEBOOKS maps names to functions.
"""

import collections
import json
import os
import random
import sys
import tempfile
import warnings

import numpy as np
import tensorflow as tf

SPECIES = ["round", "pointed", "broad"]
PARTS = (slice(300), slice(300, None))
MEASURES = ["SepalLength", "SepalWidth", "PetalLength", "PetalWidth"]
# Since 2.11, Estimators take the optimizers of this package only.
optimizers = tf.keras.optimizers
if os.environ.get("PROGRAMS_USE_LEGACY") == "1":
    optimizers = tf.keras.optimizers.legacy


def read_leaves():
    """Returns measures of 120 leaves, and their species."""
    drawn = np.random.RandomState(0)
    species = np.arange(120) % 3
    values = drawn.normal(0, 0.4, (120, 4)) + np.array([5.0, 3.0, 2.0, 1.0])
    values += species[:, None] * np.array([0.8, -0.2, 1.5, 0.7])
    return dict(zip(MEASURES, values.astype(np.float32).T)), species


def leaves_input_fn(is_training):
    features, labels = read_leaves()
    dataset = tf.data.Dataset.from_tensor_slices((features, labels))
    if is_training:
        dataset = dataset.shuffle(1000, seed=1).repeat()
    return dataset.batch(32)


def configure(folder, **options):
    return tf.estimator.RunConfig(folder, tf_random_seed=1, **options)


def ready_made(folder):
    """A ready-made network: train, evaluate, ask for three leaves."""
    classifier = tf.estimator.DNNClassifier(
        hidden_units=[30, 10],
        feature_columns=[tf.feature_column.numeric_column(key=name) for name in MEASURES],
        n_classes=3,
        optimizer=optimizers.Adagrad(0.05),
        config=configure(folder),
    )
    classifier.train(input_fn=lambda: leaves_input_fn(True), steps=200)
    found = classifier.evaluate(input_fn=lambda: leaves_input_fn(False))
    asked = {name: [one, one + 1.0] for name, one in zip(MEASURES, (5.1, 3.3, 1.7, 0.5))}
    predictions = classifier.predict(lambda: tf.data.Dataset.from_tensor_slices(asked).batch(2))
    for place, one in enumerate(predictions):
        chosen = one["class_ids"][0]
        print(f"{SPECIES[chosen]}: {100 * one['probabilities'][chosen]:.1f}%")
        found[f"probabilities {place}"] = one["probabilities"]
    return found


def read_passengers():
    """Returns columns of 400 passengers, the last of which is their label."""
    drawn = np.random.RandomState(1)
    rows = {
        "sex": drawn.choice(["male", "female"], 400),
        "class": drawn.choice(["First", "Second", "Third"], 400),
        "age": drawn.uniform(1, 70, 400).astype(np.float32),
        "fare": drawn.gamma(2.0, 15.0, 400).astype(np.float32),
    }
    score = (rows["sex"] == "female") * 2.0 + (rows["class"] == "First") - rows["age"] / 40
    rows["survived"] = (score + drawn.normal(0, 0.5, 400) > 0.5).astype(np.int64)
    return tuple({key: one[part] for key, one in rows.items()} for part in PARTS)


def make_input_fn(rows, epochs=10, shuffle=True):
    features = dict(rows)
    labels = features.pop("survived")

    def input_function():
        dataset = tf.data.Dataset.from_tensor_slices((features, labels))
        if shuffle:
            dataset = dataset.shuffle(1000, seed=2)
        return dataset.batch(32).repeat(epochs)

    return input_function


def survival(folder):
    """A linear model: with a crossed column, its weights and its curve."""
    training, evaluation = read_passengers()
    columns = [
        tf.feature_column.categorical_column_with_vocabulary_list(name, np.unique(training[name]))
        for name in ("sex", "class")
    ]
    columns += [
        tf.feature_column.numeric_column(name, dtype=tf.float32) for name in ("age", "fare")
    ]
    buckets = tf.feature_column.bucketized_column(columns[2], [10.0, 30.0, 50.0])
    columns.append(tf.feature_column.crossed_column([buckets, "sex"], hash_bucket_size=100))
    model = tf.estimator.LinearClassifier(
        columns, optimizer=lambda: optimizers.Ftrl(0.1), config=configure(folder)
    )
    model.train(make_input_fn(training))
    found = model.evaluate(make_input_fn(evaluation, 1, shuffle=False))
    rows = model.predict(make_input_fn(evaluation, 1, shuffle=False))
    found["probabilities"] = np.array([one["probabilities"][1] for one in rows])
    names = [name for name in model.get_variable_names() if name.endswith("weights")]
    found.update({name: model.get_variable_value(name) for name in sorted(names)})
    return found


def build_network():
    return tf.keras.models.Sequential(
        [
            tf.keras.layers.Dense(16, activation="relu", input_shape=(4,)),
            tf.keras.layers.Dropout(0.0),
            tf.keras.layers.Dense(3),
        ]
    )


def from_keras(folder):
    """A network of Keras as an Estimator, then its weights in Keras again."""
    leaves, species = read_leaves()
    values = np.stack([leaves[key] for key in MEASURES], axis=1)
    model = build_network()
    model.compile(
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=optimizers.Adam(0.01),
        metrics=["accuracy"],
    )
    name = model.input_names[0]

    def input_fn():
        dataset = tf.data.Dataset.from_tensor_slices((values, species))
        return dataset.map(lambda x, y: ({name: x}, y)).batch(32).repeat()

    estimator = tf.keras.estimator.model_to_estimator(
        keras_model=model, model_dir=folder, config=configure(folder)
    )
    estimator.train(input_fn=input_fn, steps=150)
    found = estimator.evaluate(input_fn=input_fn, steps=10)
    tf.keras.backend.clear_session()
    network = build_network()
    checkpoint = tf.train.Checkpoint(model=network)
    checkpoint.restore(estimator.latest_checkpoint()).expect_partial()
    found["logits"] = network.predict(values[:4], verbose=0)
    return found


class Net(tf.keras.Model):
    """One layer, as in the guide to checkpoints."""

    def __init__(self):
        super().__init__()
        self.layer = tf.keras.layers.Dense(5)

    def call(self, x):
        return self.layer(x)


def by_objects(folder):
    """A model_fn that saves objects, which a Checkpoint outside restores."""

    def input_fn():
        inputs = tf.range(10.0)[:, None]
        labels = inputs * 5.0 + tf.range(5.0)[None, :]
        return tf.data.Dataset.from_tensor_slices({"x": inputs, "y": labels}).repeat().batch(2)

    def model_fn(features, labels, mode):
        net = Net()
        optimizer = optimizers.Adam(0.1)
        checkpoint = tf.train.Checkpoint(
            step=tf.compat.v1.train.get_global_step(), optimizer=optimizer, net=net
        )
        with tf.GradientTape() as tape:
            output = net(features["x"])
            loss = tf.reduce_mean(tf.abs(output - features["y"]))
        variables = net.trainable_variables
        gradients = tape.gradient(loss, variables)
        return tf.estimator.EstimatorSpec(
            mode,
            loss=loss,
            train_op=tf.group(
                optimizer.apply_gradients(zip(gradients, variables)),
                checkpoint.step.assign_add(1),
            ),
            scaffold=tf.compat.v1.train.Scaffold(saver=checkpoint),
        )

    tf.keras.backend.clear_session()
    estimator = tf.estimator.Estimator(model_fn, folder, configure(folder))
    estimator.train(input_fn, steps=20)
    net, optimizer, step = Net(), optimizers.Adam(0.1), tf.Variable(1, dtype=tf.dtypes.int64)
    checkpoint = tf.train.Checkpoint(step=step, optimizer=optimizer, net=net)
    checkpoint.restore(tf.train.latest_checkpoint(folder))
    return {
        "step": step.numpy(),
        "iterations": optimizer.iterations.numpy(),
        "output": net(tf.constant([[3.0]])).numpy(),
    }


class Watch(tf.estimator.SessionRunHook):
    """Keeps the losses of some steps."""

    def __init__(self):
        self.losses = []

    def before_run(self, run_context):
        graph = run_context.session.graph
        return tf.estimator.SessionRunArgs(graph.get_tensor_by_name("the_loss:0"))

    def after_run(self, run_context, run_values):
        self.losses.append(run_values.results)


def with_hooks(folder):
    """A model_fn with hooks, metrics of both kinds, checkpoints by a hook and an early stop."""

    def model_fn(features, labels, mode, params):
        inputs = tf.stack([features[name] for name in MEASURES], axis=1)
        network = tf.keras.Sequential()
        for units in params["hidden_units"]:
            network.add(tf.keras.layers.Dense(units, activation=tf.nn.relu))
        network.add(tf.keras.layers.Dense(3))
        logits = network(inputs, training=mode == tf.estimator.ModeKeys.TRAIN)
        classes = tf.argmax(logits, 1)
        if mode == tf.estimator.ModeKeys.PREDICT:
            predictions = {"class": classes, "logits": logits}
            return tf.estimator.EstimatorSpec(mode, predictions=predictions)
        losses = tf.keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction=tf.keras.losses.Reduction.NONE
        )
        loss = tf.reduce_mean(losses(labels, logits), name="the_loss")
        if mode == tf.estimator.ModeKeys.EVAL:
            accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="accuracy")
            accuracy.update_state(labels, logits)
            found = {"keras": accuracy, "v1": tf.compat.v1.metrics.accuracy(labels, classes)}
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=found)
        optimizer = optimizers.RMSprop(params["rate"])
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
        update = optimizer.get_updates(loss, network.trainable_variables)
        right = tf.cast(tf.equal(classes, labels), tf.float32)
        tf.compat.v1.summary.scalar("accuracy", tf.reduce_mean(right))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(*update))

    watch = Watch()
    estimator = tf.estimator.Estimator(
        model_fn, params={"hidden_units": [8, 4], "rate": 0.01}, config=configure(folder)
    )
    logged = tf.estimator.LoggingTensorHook({"loss": "the_loss"}, every_n_iter=50)
    saver = tf.estimator.CheckpointSaverHook(folder, save_steps=25, checkpoint_basename="own.ckpt")
    stop = tf.estimator.experimental.stop_if_lower_hook(
        estimator, "loss", 0.7, min_steps=50, run_every_secs=None, run_every_steps=25
    )
    train_spec = tf.estimator.TrainSpec(
        lambda: leaves_input_fn(True), max_steps=150, hooks=[watch, logged, saver, stop]
    )
    eval_spec = tf.estimator.EvalSpec(
        lambda: leaves_input_fn(False), steps=None, start_delay_secs=0, throttle_secs=0
    )
    found, _ = tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
    found["losses"] = watch.losses[::10]
    found["files"] = len(tf.io.gfile.glob(os.path.join(folder, "own.ckpt-*.index")))
    return found


def served(folder):
    """A deep and wide model of weighted rows, exported, and asked as a server is."""
    training, evaluation = read_passengers()
    sex = tf.feature_column.categorical_column_with_hash_bucket("sex", 5)
    kind = tf.feature_column.categorical_column_with_vocabulary_list(
        "class", ["First", "Second", "Third"], num_oov_buckets=1
    )
    numbers = [tf.feature_column.numeric_column("age", normalizer_fn=lambda x: x / 70.0)]
    rate = tf.keras.optimizers.schedules.InverseTimeDecay(0.05, 10, 0.1)
    model = tf.estimator.DNNLinearCombinedClassifier(
        linear_feature_columns=[sex, kind],
        linear_optimizer=optimizers.SGD(0.01, momentum=0.9, nesterov=True),
        dnn_feature_columns=[*numbers, tf.feature_column.embedding_column(kind, 3)],
        dnn_optimizer=lambda: optimizers.Adam(rate),
        dnn_hidden_units=[8],
        weight_column="fare",
        config=configure(folder),
    )
    model.train(make_input_fn(training, 3))
    found = model.evaluate(make_input_fn(evaluation, 1, shuffle=False))
    columns = [sex, kind, *numbers, tf.feature_column.numeric_column("fare")]
    spec = tf.feature_column.make_parse_example_spec(columns)
    receive = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = model.export_saved_model(os.path.join(folder, "exports"), receive)
    loaded = tf.saved_model.load(path.decode() if isinstance(path, bytes) else path)
    example = tf.train.Example()
    example.features.feature["sex"].bytes_list.value.append(b"female")
    example.features.feature["class"].bytes_list.value.append(b"Third")
    example.features.feature["age"].float_list.value.append(30.0)
    example.features.feature["fare"].float_list.value.append(20.0)
    asked = tf.constant([example.SerializeToString()])
    answer = loaded.signatures["predict"](examples=asked)
    found["served"] = answer["probabilities"].numpy()
    return found


def strategies(folder):
    """The notebook about several workers, on one machine: a strategy of one process."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    def model_fn(features, labels, mode):
        inputs = tf.stack([features[name] for name in MEASURES], axis=1)
        network = tf.keras.Sequential(
            [tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(3)]
        )
        logits = network(inputs, training=False)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"logits": logits})
        loss = tf.keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction=tf.keras.losses.Reduction.NONE
        )(labels, logits)
        loss = tf.reduce_sum(loss) * (1.0 / 32)
        if mode == tf.estimator.ModeKeys.EVAL:
            return tf.estimator.EstimatorSpec(mode, loss=loss)
        optimizer = optimizers.SGD(0.05)
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
        update = optimizer.get_updates(loss, network.trainable_variables)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(*update))

    estimator = tf.estimator.Estimator(
        model_fn, config=configure(folder, train_distribute=strategy)
    )
    tf.estimator.train_and_evaluate(
        estimator,
        train_spec=tf.estimator.TrainSpec(lambda: leaves_input_fn(True), max_steps=60),
        eval_spec=tf.estimator.EvalSpec(lambda: leaves_input_fn(False)),
    )
    return estimator.evaluate(lambda: leaves_input_fn(False))


NOTEBOOKS = {
    one.__name__: one
    for one in (
        ready_made, survival, from_keras, by_objects, with_hooks, served, strategies,
    )
}  # fmt: skip


def describe(value):
    return np.asarray(value, np.float64).reshape(-1).tolist()


def main(output, *names):
    tf.get_logger().setLevel("ERROR")
    warnings.simplefilter("ignore")
    found = collections.OrderedDict()
    for name in names or NOTEBOOKS:
        # Layers are numbered, and draw their first values, in each process.
        tf.keras.backend.clear_session()
        random.seed(1)
        with tempfile.TemporaryDirectory() as folder:
            figures = NOTEBOOKS[name](folder)
        found[name] = {key: describe(value) for key, value in figures.items()}
    with open(output, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
