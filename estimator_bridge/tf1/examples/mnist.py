"""`tensorflow.examples.tutorials.mnist.mnist`: a network of two hidden layers for digits.

Programs import its functions, or its sizes only. Scopes and variables have the names of 1.x.
"""

import math

import tensorflow.compat.v1 as tf

__all__ = [
    "IMAGE_PIXELS",
    "IMAGE_SIZE",
    "NUM_CLASSES",
    "evaluation",
    "inference",
    "loss",
    "training",
]

NUM_CLASSES = 10
IMAGE_SIZE = 28
IMAGE_PIXELS = IMAGE_SIZE * IMAGE_SIZE


def inference(images, hidden1_units, hidden2_units):
    """Returns the logits of a network of two hidden layers of rectified linear units.

    Args:
      images: [rows, IMAGE_PIXELS], float32.
      hidden1_units: int, units of the first layer.
      hidden2_units: int, units of the second layer.

    Returns:
      [rows, NUM_CLASSES], float32.
    """
    hidden = images
    inputs = IMAGE_PIXELS
    for scope, units in (("hidden1", hidden1_units), ("hidden2", hidden2_units)):
        with tf.name_scope(scope):
            hidden = tf.nn.relu(_affine(hidden, inputs, units))
        inputs = units
    with tf.name_scope("softmax_linear"):
        return _affine(hidden, inputs, NUM_CLASSES)


def _affine(values, inputs, units):
    weights = tf.Variable(
        tf.truncated_normal([inputs, units], stddev=1.0 / math.sqrt(float(inputs))), name="weights"
    )
    biases = tf.Variable(tf.zeros([units]), name="biases")
    return tf.matmul(values, weights) + biases


def loss(logits, labels):
    """Returns the mean cross-entropy, a scalar.

    Args:
      logits: [rows, NUM_CLASSES], float32.
      labels: [rows], int32 or int64.
    """
    return tf.losses.sparse_softmax_cross_entropy(labels=tf.to_int64(labels), logits=logits)


def training(loss, learning_rate):
    """Returns the operation of a step of gradient descent, and writes the loss as a summary.

    Args:
      loss: scalar tensor.
      learning_rate: float.
    """
    tf.summary.scalar("loss", loss)
    global_step = tf.Variable(0, name="global_step", trainable=False)
    return tf.train.GradientDescentOptimizer(learning_rate).minimize(loss, global_step=global_step)


def evaluation(logits, labels):
    """Returns the number of rows whose class has the largest logit, an int32 scalar.

    Args:
      logits: [rows, NUM_CLASSES], float32.
      labels: [rows], int32 or int64.
    """
    return tf.reduce_sum(tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.int32))
