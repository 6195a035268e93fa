"""`tf.contrib.proto`: operations on serialized messages."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = ["decode_proto", "encode_proto"]

decode_proto = tf.io.decode_proto
encode_proto = tf.io.encode_proto

__getattr__, _advice_for = _unsupported_names(globals())
