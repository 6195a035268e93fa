"""The feature columns."""

import tensorflow as tf


def build():
    age = tf.feature_column.numeric_column("age")
    work = tf.feature_column.categorical_column_with_hash_bucket("occupation", 100)
    wide = [work, tf.feature_column.crossed_column([work, "education"], 1000)]
    return wide, [age, tf.feature_column.embedding_column(work, 8)]
