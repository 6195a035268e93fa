"""`tf.contrib.util`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

constant_value = tf.get_static_value
make_ndarray = tf.make_ndarray
make_tensor_proto = tf.make_tensor_proto
load_op_library = tf.load_op_library
