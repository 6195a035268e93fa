"""Convolutional sentence classifier (Kim, 2014) with tf.contrib.layers."""

from __future__ import absolute_import, division, print_function

import tensorflow as tf
from tensorflow.contrib import layers, lookup
from tensorflow.python.platform import gfile

MAX_LENGTH = 12
PADWORD = "#=UNK=#"
CLASSES = ["sport", "market", "weather"]


def init_vocab(path, sentences):
    vocab = tf.contrib.learn.preprocessing.VocabularyProcessor(MAX_LENGTH)
    vocab.fit(sentences)
    with gfile.Open(path, "wb") as f:
        f.write("{}\n".format(PADWORD))
        for word, index in sorted(vocab.vocabulary_._mapping.items(), key=lambda item: item[1]):
            f.write("{}\n".format(word))
    return len(vocab.vocabulary_) + 1


def cnn_model(features, labels, mode, params):
    table = lookup.index_table_from_file(
        vocabulary_file=params.vocab_file, num_oov_buckets=1, vocab_size=None, default_value=-1
    )
    words = tf.string_split(features["title"])
    densewords = tf.sparse_tensor_to_dense(words, default_value=PADWORD)
    numbers = table.lookup(densewords)
    padding = tf.constant([[0, 0], [0, MAX_LENGTH]])
    padded = tf.pad(numbers, padding)
    sliced = tf.slice(padded, [0, 0], [-1, MAX_LENGTH])

    embeds = layers.embed_sequence(
        sliced,
        vocab_size=params.n_words + 1,
        embed_dim=params.embedding_size,
        initializer=tf.contrib.layers.xavier_initializer(),
    )
    expanded = tf.expand_dims(embeds, dim=-1)

    pooled = []
    with tf.contrib.framework.arg_scope(
        [layers.conv2d],
        activation_fn=tf.nn.relu,
        weights_regularizer=layers.l2_regularizer(params.l2),
    ):
        for size in params.filter_sizes:
            conv = layers.conv2d(
                expanded,
                params.num_filters,
                [size, params.embedding_size],
                padding="VALID",
                scope="conv_%d" % size,
            )
            pooled.append(tf.reduce_max(conv, reduction_indices=[1, 2]))
    hidden = tf.concat(pooled, 1)
    hidden = layers.dropout(
        hidden, keep_prob=params.keep_prob, is_training=(mode == tf.contrib.learn.ModeKeys.TRAIN)
    )
    logits = layers.fully_connected(hidden, len(CLASSES), activation_fn=None, scope="logits")

    predictions = {
        "class": tf.gather(CLASSES, tf.argmax(logits, dimension=1)),
        "prob": tf.nn.softmax(logits, dim=-1),
    }
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(
            mode,
            predictions=predictions,
            export_outputs={"classes": tf.estimator.export.PredictOutput(predictions)},
        )

    target = lookup.index_table_from_tensor(tf.constant(CLASSES)).lookup(labels)
    tf.losses.sparse_softmax_cross_entropy(labels=target, logits=logits)
    loss = tf.losses.get_total_loss()
    metrics = {"acc": tf.metrics.accuracy(target, tf.argmax(logits, 1))}
    train_op = None
    if mode == tf.estimator.ModeKeys.TRAIN:
        train_op = layers.optimize_loss(
            loss=loss,
            global_step=tf.contrib.framework.get_global_step(),
            learning_rate=params.learning_rate,
            learning_rate_decay_fn=lambda lr, step: tf.train.exponential_decay(lr, step, 100, 0.9),
            clip_gradients=5.0,
            optimizer="Adam",
            summaries=["loss", "learning_rate", "gradient_norm"],
        )
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train_op, eval_metric_ops=metrics, predictions=predictions
    )


def serving_input_fn():
    title = tf.placeholder(tf.string, [None])
    return tf.estimator.export.ServingInputReceiver({"title": title}, {"title": title})
