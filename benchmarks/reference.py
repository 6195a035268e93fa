"""The baseline contender: a trainer in the style of the published samples.

CSV is read line by line: `TextLineDataset.map(decode_csv)`, shuffled, repeated, batched; the model
is the canned wide-and-deep Estimator; `train_and_evaluate` evaluates and exports. It knows nothing
of this project but the way to tf.estimator on TensorFlow 2.16 and later.
"""

import argparse
import importlib.metadata
import json
import os
import resource
import time

import numpy as np

SHUFFLED_ROWS = 10_000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--train", required=True)
    parser.add_argument("--eval", required=True)
    parser.add_argument("--header", type=int, default=0)
    parser.add_argument("--job_dir", required=True)
    parser.add_argument("--batch_size", type=int, default=512)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--evaluations", type=int, default=0, help="each with an export")
    parser.add_argument(
        "--evaluate_times", type=int, default=0, help="timed one by one, at the end"
    )
    parser.add_argument("--export_times", type=int, default=0, help="timed one by one, at the end")
    parser.add_argument("--started", type=float, required=True, help="time.time() at process start")
    parser.add_argument("--result", required=True)
    options = parser.parse_args()

    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    if not importlib.metadata.version("tensorflow").startswith("2.15."):
        import estimator_bridge

        estimator_bridge.install()
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    with open(options.model) as file:
        model = json.load(file)
    estimator = build_estimator(tf, model, options)
    clock = make_clock(tf, options.batch_size)
    if options.evaluations:
        train_spec = tf.estimator.TrainSpec(
            lambda: read_rows(tf, model, options.train, options, training=True),
            max_steps=options.steps,
            hooks=[clock],
        )
        exporter = tf.estimator.LatestExporter("latest", make_receiver_fn(tf, model))
        eval_spec = tf.estimator.EvalSpec(
            lambda: read_rows(tf, model, options.eval, options, training=False),
            steps=None,
            exporters=exporter,
            start_delay_secs=0,
            throttle_secs=0,
        )
        tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
    else:
        estimator.train(
            lambda: read_rows(tf, model, options.train, options, training=True),
            max_steps=options.steps,
            hooks=[clock],
        )
    result = {
        "examples_per_sec": clock.rate(),
        "first_step_secs": clock.first - options.started,
        "job_secs": time.time() - options.started,
        "job_peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "secs_each": {
            "evaluation": time_each(
                options.evaluate_times, evaluate, tf, estimator, model, options
            ),
            "export": time_each(options.export_times, export, tf, estimator, model, options),
        },
        "variables": {
            name: list(estimator.get_variable_value(name).shape)
            for name in sorted(estimator.get_variable_names())
        },
    }
    with open(options.result, "w") as file:
        json.dump(result, file)


def time_each(times, action, *arguments):
    secs = []
    for _ in range(times):
        started = time.perf_counter()
        action(*arguments)
        secs.append(time.perf_counter() - started)
    return secs


def evaluate(tf, estimator, model, options):
    estimator.evaluate(lambda: read_rows(tf, model, options.eval, options, training=False))


def export(tf, estimator, model, options):
    estimator.export_saved_model(
        os.path.join(options.job_dir, "timed"), make_receiver_fn(tf, model)
    )


def make_clock(tf, batch_size):
    """A hook that records when the first and the last step ended."""

    class Clock(tf.estimator.SessionRunHook):
        first = last = None
        steps = 0

        def after_run(self, run_context, run_values):
            self.last = time.time()
            self.first = self.first or self.last
            self.steps += 1

        def rate(self):
            return batch_size * (self.steps - 1) / (self.last - self.first)

    return Clock()


def read_rows(tf, model, path, options, training):
    columns = model["columns"]
    defaults = [[default_of(column)] for column in columns]
    label = model["label"]

    def parse(line):
        row = dict(zip([column["name"] for column in columns], tf.io.decode_csv(line, defaults)))
        target = row.pop(label["column"])
        return {name: row[name] for name in row if name in used}, target

    used = {column["name"] for column in columns if column["kind"] != "unused"}
    lines = tf.data.TextLineDataset(path).skip(options.header)
    rows = lines.map(parse, num_parallel_calls=os.cpu_count())
    if training:
        rows = rows.shuffle(SHUFFLED_ROWS).repeat()
    return rows.batch(options.batch_size).prefetch(1)


def default_of(column):
    default = column["default"]
    return {"string": str, "int": int, "float": float}[column["dtype"]](default or 0)


def build_columns(tf, model):
    fc = tf.feature_column
    wide, deep, crossable = [], [], {}
    for column in model["columns"]:
        name, kind = column["name"], column["kind"]
        if kind == "unused":
            continue
        if kind == "number":
            number = fc.numeric_column(name, normalizer_fn=make_normalizer(tf, column))
            raw = fc.numeric_column(name)
            buckets = fc.bucketized_column(raw, column["buckets"]) if column["buckets"] else number
            wide += [buckets] if column["wide"] else []
            deep += [number] if column["deep"] else []
            crossable[name] = buckets
            continue
        if kind == "words":
            dtype = tf.int64 if column["dtype"] == "int" else tf.string
            ids = fc.categorical_column_with_vocabulary_list(name, column["vocabulary"], dtype)
        elif kind == "identity":
            ids = fc.categorical_column_with_identity(name, column["size"], default_value=0)
        else:
            ids = fc.categorical_column_with_hash_bucket(name, column["size"])
        wide += [ids] if column["wide"] else []
        if column["deep"] == 1:
            deep.append(fc.indicator_column(ids))
        elif column["deep"]:
            deep.append(fc.embedding_column(ids, column["deep"]))
        crossable[name] = name
    for cross in model["crosses"]:
        wide.append(fc.crossed_column([crossable[c] for c in cross["columns"]], cross["size"]))
    return wide, deep


def make_normalizer(tf, column):
    if column["log"]:
        return lambda x: tf.sign(x) * tf.math.log1p(tf.abs(x))
    return lambda x: (x - column["shift"]) / column["scale"]


def build_estimator(tf, model, options):
    wide, deep = build_columns(tf, model)
    config = tf.estimator.RunConfig(
        options.job_dir,
        tf_random_seed=1,
        save_checkpoints_steps=max(1, options.steps // max(1, options.evaluations)),
    )
    # Keras 2's optimizers from before 2.11, which Estimators accept.
    legacy = tf.keras.optimizers.legacy
    arguments = {
        "linear_feature_columns": wide,
        "linear_optimizer": legacy.Ftrl(model["linear_learning_rate"]),
        "dnn_feature_columns": deep,
        "dnn_optimizer": legacy.Adagrad(model["learning_rate"]),
        "dnn_hidden_units": model["hidden_units"],
        "config": config,
    }
    classes = model["label"]["classes"]
    if classes is None:
        return tf.estimator.DNNLinearCombinedRegressor(**arguments)
    vocabulary = classes if isinstance(classes[0], str) else None
    return tf.estimator.DNNLinearCombinedClassifier(
        n_classes=len(classes), label_vocabulary=vocabulary, **arguments
    )


def make_receiver_fn(tf, model):
    types = {"string": tf.string, "int": tf.int64, "float": tf.float32}
    spec = {
        column["name"]: tf.io.FixedLenFeature(
            [],
            types[column["dtype"]],
            np.array(default_of(column), types[column["dtype"]].as_numpy_dtype),
        )
        for column in model["columns"]
        if column["kind"] != "unused"
    }
    return tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)


if __name__ == "__main__":
    main()
