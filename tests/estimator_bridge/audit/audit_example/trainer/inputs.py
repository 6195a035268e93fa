"""Reads the data."""

import tensorflow as tf


def read(path):
    return tf.data.experimental.make_csv_dataset(path, batch_size=512, label_name="income")
