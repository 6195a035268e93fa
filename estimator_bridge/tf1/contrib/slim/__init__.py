"""`tf.contrib.slim`: tf.contrib.layers under other names, a training loop, and networks."""

import types as _types

import tensorflow.compat.v1 as _tf

from estimator_bridge.private_tf import init_ops, variables  # noqa: F401 - names of slim
from estimator_bridge.tf1.contrib import framework as _framework
from estimator_bridge.tf1.contrib import layers as _layers
from estimator_bridge.tf1.contrib import losses, metrics
from estimator_bridge.tf1.contrib.layers import utils
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.slim import (
    data_decoder,
    data_provider,
    dataset,
    dataset_data_provider,
    evaluation,
    learning,
    model_analyzer,
    nets,
    parallel_reader,
    prefetch_queue,
    queues,
    summaries,
    tfexample_decoder,
)

__all__ = [
    "data_decoder",
    "data_provider",
    "dataset",
    "dataset_data_provider",
    "evaluation",
    "learning",
    "losses",
    "metrics",
    "model_analyzer",
    "nets",
    "parallel_reader",
    "prefetch_queue",
    "queues",
    "summaries",
    "tfexample_decoder",
    "utils",
]

__getattr__, _advice_for = _unsupported_names(globals())

add_arg_scope = _framework.add_arg_scope
arg_scope = _framework.arg_scope
arg_scoped_arguments = _framework.arg_scoped_arguments

for _name in [
    "add_model_variable",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "create_global_step",
    "filter_variables",
    "get_global_step",
    "get_local_variables",
    "get_model_variables",
    "get_or_create_global_step",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "global_variable",
    "local_variable",
    "model_variable",
    "variable",
]:
    globals()[_name] = getattr(_framework, _name)

# All functions of tf.contrib.layers.
for _name, _value in vars(_layers).items():
    if not _name.startswith("_") and not isinstance(_value, _types.ModuleType):
        globals()[_name] = _value

# The modules that slim had for the names above.
layers = initializers = regularizers = _layers
zeros_initializer = _tf.zeros_initializer
