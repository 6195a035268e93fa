"""The messages of `tf.contrib.boosted_trees`, by the modules that protoc had made."""

from estimator_bridge.tf1.contrib.boosted_trees.proto import (
    learner_pb2,
    quantiles_pb2,
    tree_config_pb2,
)

__all__ = ["learner_pb2", "quantiles_pb2", "tree_config_pb2"]
