"""`tf.contrib.hooks`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import lookup as _lookup

__getattr__, _advice_for = _lookup(globals())

ProfilerHook = tf.train.ProfilerHook
