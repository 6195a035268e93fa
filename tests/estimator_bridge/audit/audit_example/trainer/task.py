"""Trains and evaluates."""

import argparse

import tensorflow as tf

from trainer import inputs, model


def main(args):
    config = tf.estimator.RunConfig(model_dir=args.job_dir, save_checkpoints_steps=500)
    tf.estimator.train_and_evaluate(
        model.build(config),
        tf.estimator.TrainSpec(lambda: inputs.read("train.csv"), max_steps=10000),
        tf.estimator.EvalSpec(lambda: inputs.read("eval.csv"), throttle_secs=60),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--job_dir", required=True)
    main(parser.parse_args())
