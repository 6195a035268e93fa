"""`tf.contrib.hooks`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

ProfilerHook = tf.train.ProfilerHook
