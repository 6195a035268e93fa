"""Digits with tf.layers and batch normalization, from TFRecords."""

from __future__ import absolute_import, division, print_function

import os
import sys

import numpy as np
import six
import tensorflow as tf

tf.app.flags.DEFINE_string("data_dir", "/tmp/digits", "Records.")
tf.app.flags.DEFINE_string("model_dir", "/tmp/digits_model", "Checkpoints.")
tf.app.flags.DEFINE_integer("batch_size", 32, "Batch size.")
tf.app.flags.DEFINE_integer("train_steps", 200, "Steps.")
tf.app.flags.DEFINE_float("weight_decay", 1e-4, "Weight decay.")
FLAGS = tf.app.flags.FLAGS

_SIZE = 12
_NUM_CLASSES = 4


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def write_records(path, rows, seed):
    rng = np.random.RandomState(seed)
    writer = tf.python_io.TFRecordWriter(path)
    for _ in six.moves.range(rows):
        label = rng.randint(_NUM_CLASSES)
        image = rng.randint(0, 60, size=(_SIZE, _SIZE)).astype(np.int)
        at = rng.randint(2, _SIZE - 2)
        if label == 0:
            image[at, :] = 250
        elif label == 1:
            image[:, at] = 250
        elif label == 2:
            np.fill_diagonal(image, 250)
        else:
            image[at - 1 : at + 2, at - 1 : at + 2] = 250
        example = tf.train.Example(
            features=tf.train.Features(
                feature={
                    "image_raw": _bytes_feature(
                        image.astype(np.uint8).tostring()
                        if six.PY2
                        else image.astype(np.uint8).tobytes()
                    ),
                    "label": _int64_feature(label),
                }
            )
        )
        writer.write(example.SerializeToString())
    writer.close()


def parse_record(serialized):
    features = tf.parse_single_example(
        serialized,
        features={
            "image_raw": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape([_SIZE * _SIZE])
    image = tf.reshape(tf.cast(image, tf.float32), [_SIZE, _SIZE, 1]) * (1.0 / 255) - 0.5
    return image, tf.cast(features["label"], tf.int32)


def input_fn(is_training, filename, batch_size):
    dataset = tf.data.TFRecordDataset([filename])
    if is_training:
        dataset = dataset.apply(tf.contrib.data.shuffle_and_repeat(buffer_size=500))
    dataset = dataset.apply(
        tf.contrib.data.map_and_batch(
            map_func=parse_record, batch_size=batch_size, num_parallel_batches=1
        )
    )
    dataset = dataset.prefetch(buffer_size=tf.contrib.data.AUTOTUNE)
    return dataset


def model_fn(features, labels, mode, params):
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    if isinstance(features, dict):
        features = features["image"]
    tf.summary.image("images", features, max_outputs=3)

    net = features
    for i, filters in enumerate([8, 16]):
        with tf.variable_scope("block%d" % i, reuse=tf.AUTO_REUSE):
            net = tf.layers.conv2d(
                net,
                filters,
                3,
                padding="same",
                use_bias=False,
                kernel_initializer=tf.contrib.layers.variance_scaling_initializer(),
                kernel_regularizer=tf.contrib.layers.l2_regularizer(params["weight_decay"]),
            )
            net = tf.layers.batch_normalization(
                net, momentum=0.9, epsilon=1e-5, training=is_training, fused=True
            )
            net = tf.nn.relu(net)
            net = tf.layers.max_pooling2d(net, 2, 2)
    assert net.shape[1].value == _SIZE // 4
    net = tf.layers.flatten(net)
    net = tf.layers.dropout(net, 0.2, training=is_training)
    logits = tf.layers.dense(net, _NUM_CLASSES, name="logits")

    predictions = {
        "classes": tf.argmax(logits, axis=1),
        "probabilities": tf.nn.softmax(logits, name="softmax_tensor"),
    }
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(
            mode=mode,
            predictions=predictions,
            export_outputs={
                tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: tf.estimator.export.PredictOutput(
                    predictions
                )
            },
        )

    cross_entropy = tf.losses.sparse_softmax_cross_entropy(logits=logits, labels=labels)
    tf.identity(cross_entropy, name="cross_entropy")
    loss = cross_entropy + tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
    accuracy = tf.metrics.accuracy(labels, predictions["classes"])
    tf.identity(accuracy[1], name="train_accuracy")
    tf.summary.scalar("train_accuracy", accuracy[1])

    if is_training:
        global_step = tf.train.get_or_create_global_step()
        learning_rate = tf.train.piecewise_constant(
            tf.cast(global_step, tf.int32), [120, 170], [0.05, 0.02, 0.005]
        )
        tf.identity(learning_rate, name="learning_rate")
        tf.summary.scalar("learning_rate", learning_rate)
        optimizer = tf.train.MomentumOptimizer(learning_rate=learning_rate, momentum=0.9)
        update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(update_ops):
            train_op = optimizer.minimize(loss, global_step)
    else:
        train_op = None
    return tf.estimator.EstimatorSpec(
        mode=mode,
        predictions=predictions,
        loss=loss,
        train_op=train_op,
        eval_metric_ops={"accuracy": accuracy},
    )


def main(unused_argv):
    os.environ["TF_ENABLE_WINOGRAD_NONFUSED"] = "1"
    if not tf.gfile.IsDirectory(FLAGS.data_dir):
        tf.gfile.MakeDirs(FLAGS.data_dir)
    train_file = os.path.join(FLAGS.data_dir, "train.tfrecords")
    test_file = os.path.join(FLAGS.data_dir, "test.tfrecords")
    write_records(train_file, 1000, 1)
    write_records(test_file, 200, 2)
    count = sum(1 for _ in tf.python_io.tf_record_iterator(train_file))
    tf.logging.info("%d records", count)

    run_config = tf.estimator.RunConfig(tf_random_seed=7).replace(save_checkpoints_secs=1e9)
    classifier = tf.estimator.Estimator(
        model_fn=model_fn,
        model_dir=FLAGS.model_dir,
        config=run_config,
        params={"weight_decay": FLAGS.weight_decay},
    )
    tensors_to_log = {
        "learning_rate": "learning_rate",
        "cross_entropy": "cross_entropy",
        "train_accuracy": "train_accuracy",
    }
    logging_hook = tf.train.LoggingTensorHook(tensors=tensors_to_log, every_n_iter=100)
    for _ in range(2):
        classifier.train(
            input_fn=lambda: input_fn(True, train_file, FLAGS.batch_size),
            steps=FLAGS.train_steps // 2,
            hooks=[logging_hook],
        )
        eval_results = classifier.evaluate(
            input_fn=lambda: input_fn(False, test_file, FLAGS.batch_size)
        )
        print(eval_results)

    def serving_input_fn():
        image = tf.placeholder(tf.float32, [None, _SIZE, _SIZE, 1], name="image")
        return tf.estimator.export.TensorServingInputReceiver(image, image)

    classifier.export_savedmodel(os.path.join(FLAGS.model_dir, "export"), serving_input_fn)


if __name__ == "__main__":
    tf.logging.set_verbosity(tf.logging.INFO)
    tf.app.run(argv=[sys.argv[0]] + sys.argv[1:])
