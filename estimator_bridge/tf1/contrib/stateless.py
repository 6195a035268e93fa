"""`tf.contrib.stateless`, which moved to tf.random.stateless_*."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

stateless_multinomial = tf.random.stateless_multinomial
stateless_random_normal = tf.random.stateless_normal
stateless_random_uniform = tf.random.stateless_uniform
stateless_truncated_normal = tf.random.stateless_truncated_normal
