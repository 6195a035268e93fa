"""Scores rows with an export, as it was done in 2017."""

import tensorflow as tf
from tensorflow.contrib import lookup

layers = tf.contrib.layers


def logits(rows):
    table = lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=1)
    rows = tf.one_hot(table.lookup(rows), 3)
    total = tf.reduce_sum(rows, 1, keep_dims=True)
    return layers.fully_connected(tf.concat([rows, total], 1), 1)


def main(_):
    rows = tf.placeholder(tf.string, [None])
    scores = logits(rows)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        print(session.run(scores, {rows: ["a", "c"]}).shape)


if __name__ == "__main__":
    tf.app.run()
