"""House prices by tf.contrib.learn, as it was done with TensorFlow 1.2."""

from __future__ import print_function

import argparse
import random

import tensorflow as tf
from tensorflow.contrib.learn.python.learn import learn_runner
from tensorflow.contrib.learn.python.learn.estimators import run_config as run_config_lib
from tensorflow.contrib.learn.python.learn.utils import input_fn_utils, saved_model_export_utils

layers = tf.contrib.layers
DISTRICTS = ["north", "south", "east", "west"]


def columns():
    district = layers.sparse_column_with_keys(column_name="district", keys=DISTRICTS)
    street = layers.sparse_column_with_hash_bucket("street", hash_bucket_size=50)
    area = layers.real_valued_column("area")
    rooms = layers.real_valued_column("rooms")
    area_buckets = layers.bucketized_column(area, boundaries=[40.0, 80.0, 120.0, 160.0])
    wide = [
        district,
        street,
        area_buckets,
        layers.crossed_column([district, street], hash_bucket_size=500),
        layers.crossed_column([area_buckets, district], hash_bucket_size=500),
    ]
    deep = [
        layers.embedding_column(street, dimension=4),
        layers.one_hot_column(district),
        area,
        rooms,
    ]
    return wide, deep


def make_input_fn(rows, seed, batch_size):
    rng = random.Random(seed)
    data = {"district": [], "street": [], "area": [], "rooms": []}
    labels = []
    for _ in range(rows):
        district, area = rng.choice(DISTRICTS), rng.uniform(30.0, 180.0)
        data["district"].append(district)
        data["street"].append("street %d" % rng.randrange(20))
        data["area"].append(area / 100.0)
        data["rooms"].append(float(int(area // 30)))
        labels.append(1 if area / 50.0 + (1.5 if district == "north" else 0.0) > 2.5 else 0)

    def input_fn():
        features = {k: tf.constant(v) for k, v in data.items()}
        batch = tf.train.batch(
            dict(features, label=tf.constant(labels)), batch_size, enqueue_many=True
        )
        label = batch.pop("label")
        for key in ("district", "street"):
            batch[key] = (
                tf.contrib.layers.dense_to_sparse(batch[key], eos_token="")
                if batch[key].shape.ndims == 2
                else batch[key]
            )
        return batch, label

    return input_fn


def make_experiment_fn(args):
    def experiment_fn(output_dir):
        wide, deep = columns()
        estimator = tf.contrib.learn.DNNLinearCombinedClassifier(
            model_dir=output_dir,
            linear_feature_columns=wide,
            dnn_feature_columns=deep,
            dnn_hidden_units=[16, 8],
            dnn_optimizer=tf.train.AdagradOptimizer(0.1),
            fix_global_step_increment_bug=True,
            config=run_config_lib.RunConfig(save_checkpoints_secs=60, model_dir=output_dir),
        )
        feature_spec = layers.create_feature_spec_for_parsing(wide + deep)
        export = saved_model_export_utils.make_export_strategy(
            input_fn_utils.build_parsing_serving_input_fn(feature_spec), exports_to_keep=2
        )
        return tf.contrib.learn.Experiment(
            estimator,
            train_input_fn=make_input_fn(2000, 1, 64),
            eval_input_fn=make_input_fn(400, 2, 100),
            train_steps=args.train_steps,
            eval_steps=4,
            eval_metrics={
                "share": tf.contrib.learn.MetricSpec(
                    metric_fn=tf.contrib.metrics.streaming_accuracy, prediction_key="classes"
                ),
            },
            export_strategies=[export],
        )

    return experiment_fn


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--job-dir", required=True)
    parser.add_argument("--train_steps", type=int, default=300)
    arguments = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.INFO)
    learn_runner.run(make_experiment_fn(arguments), arguments.job_dir)
