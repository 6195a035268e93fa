"""`tf.contrib.slim.data_decoder`."""

from estimator_bridge.tf1.contrib.slim.tfexample_decoder import DataDecoder

__all__ = ["DataDecoder"]
