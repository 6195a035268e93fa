from __future__ import absolute_import, division, print_function

import argparse
import os
import random

import tensorflow as tf
from tensorflow.contrib.training.python.training import hparam

import trainer.model as model


def write_data(path, rows, seed):
    rng = random.Random(seed)
    with tf.gfile.Open(path, "w") as f:
        for _ in range(rows):
            education, years = rng.choice(
                [(" HS-grad", 9), (" Bachelors", 13), (" Masters", 14), (" Doctorate", 16)]
            )
            occupation = rng.choice(
                [" Sales", " Craft-repair", " Exec-managerial", " Tech-support"]
            )
            age, hours = rng.randint(18, 70), rng.randint(15, 60)
            score = 0.35 * (years - 11) + 0.04 * (age - 40) + 0.08 * (hours - 38)
            score += 1.2 if occupation == " Exec-managerial" else -0.4
            label = " >50K" if score + rng.gauss(0, 0.6) > 0 else " <=50K"
            f.write(
                ",".join(
                    [
                        str(age),
                        rng.choice([" Private", " State-gov", " Self-emp"]),
                        education,
                        str(years),
                        occupation,
                        rng.choice([" Male", " Female"]),
                        str(hours),
                        " United-States",
                        label,
                    ]
                )
                + "\n"
            )


def run_experiment(hparams):
    train_input = lambda: model.input_fn(
        hparams.train_files, num_epochs=hparams.num_epochs, batch_size=hparams.train_batch_size
    )
    eval_input = lambda: model.input_fn(
        hparams.eval_files, batch_size=hparams.eval_batch_size, shuffle=False
    )

    train_spec = tf.estimator.TrainSpec(train_input, max_steps=hparams.train_steps)
    exporter = tf.estimator.FinalExporter("census", model.SERVING_FUNCTIONS[hparams.export_format])
    eval_spec = tf.estimator.EvalSpec(
        eval_input, steps=hparams.eval_steps, exporters=[exporter], name="census-eval"
    )
    run_config = tf.estimator.RunConfig(session_config=tf.ConfigProto(log_device_placement=False))
    run_config = run_config.replace(model_dir=hparams.job_dir)
    print("model dir {}".format(run_config.model_dir))
    estimator = model.build_estimator(
        embedding_size=hparams.embedding_size,
        hidden_units=[
            max(2, int(hparams.first_layer_size * hparams.scale_factor**i))
            for i in range(hparams.num_layers)
        ],
        config=run_config,
    )
    tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--train-files", nargs="+", required=True)
    parser.add_argument("--eval-files", nargs="+", required=True)
    parser.add_argument("--num-epochs", type=int)
    parser.add_argument("--train-batch-size", type=int, default=40)
    parser.add_argument("--eval-batch-size", type=int, default=40)
    parser.add_argument("--embedding-size", default=8, type=int)
    parser.add_argument("--first-layer-size", default=100, type=int)
    parser.add_argument("--num-layers", default=4, type=int)
    parser.add_argument("--scale-factor", default=0.7, type=float)
    parser.add_argument("--job-dir", required=True)
    parser.add_argument(
        "--verbosity", choices=["DEBUG", "ERROR", "FATAL", "INFO", "WARN"], default="INFO"
    )
    parser.add_argument("--train-steps", default=100, type=int)
    parser.add_argument("--eval-steps", default=100, type=int)
    parser.add_argument("--export-format", choices=["JSON", "EXAMPLE"], default="JSON")
    args, _ = parser.parse_known_args()

    tf.logging.set_verbosity(args.verbosity)
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = str(tf.logging.__dict__[args.verbosity] / 10)

    for name, rows in ((args.train_files[0], 2000), (args.eval_files[0], 400)):
        if not tf.gfile.Exists(name):
            write_data(name, rows, seed=rows)

    run_experiment(hparam.HParams(**args.__dict__))
