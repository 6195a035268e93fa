"""Trains, evaluates and exports: python -m trainer.task --model_dir=job --max_steps=200"""

import argparse

import tensorflow as tf

from trainer import model

NUMBERS = {"miles": tf.float32, "minutes": tf.float32, "hour": tf.float32}


def input_fn(path, shuffles):
    def read():
        return tf.data.experimental.make_csv_dataset(
            path, 64, label_name="large_tip", shuffle=shuffles, num_epochs=None if shuffles else 1
        ).map(to_rows)

    return read


def to_rows(features, labels):
    rows = {name: tf.cast(features[name], NUMBERS[name])[:, None] for name in NUMBERS}
    return dict(rows, payment=features["payment"][:, None]), labels


def receive():
    given = {name: tf.compat.v1.placeholder(kind, [None, 1]) for name, kind in NUMBERS.items()}
    given["payment"] = tf.compat.v1.placeholder(tf.string, [None, 1])
    return tf.estimator.export.ServingInputReceiver(given, given)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", default="trips.csv")
    parser.add_argument("--eval", default="later_trips.csv")
    parser.add_argument("--model_dir", required=True)
    parser.add_argument("--max_steps", type=int, default=200)
    flags = parser.parse_args()
    estimator = model.build(flags.model_dir)
    train = tf.estimator.TrainSpec(input_fn(flags.train, True), max_steps=flags.max_steps)
    exporter = tf.estimator.FinalExporter("served", receive)
    evaluate = tf.estimator.EvalSpec(
        input_fn(flags.eval, False), steps=None, exporters=exporter, throttle_secs=0
    )
    tf.estimator.train_and_evaluate(estimator, train, evaluate)
    print(
        {name: round(float(one), 5) for name, one in estimator.evaluate(evaluate.input_fn).items()}
    )


if __name__ == "__main__":
    main()
