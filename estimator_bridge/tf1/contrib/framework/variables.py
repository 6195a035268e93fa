"""The variables of `tf.contrib.framework`: creating, finding and restoring them."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.framework.arg_scope import add_arg_scope
from estimator_bridge.tf1.contrib.framework.finding import (
    filter_variables,
    get_local_variables,
    get_model_variables,
    get_trainable_variables,
    get_unique_variable,
    get_variable_full_name,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    get_variables_to_restore,
)
from estimator_bridge.tf1.contrib.framework.restoring import (
    assign_from_checkpoint,
    assign_from_checkpoint_fn,
    assign_from_values,
    assign_from_values_fn,
)

__all__ = [
    "add_model_variable",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "filter_variables",
    "get_local_variables",
    "get_model_variables",
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
]

_MODEL = tf.GraphKeys.MODEL_VARIABLES
_GLOBAL = tf.GraphKeys.GLOBAL_VARIABLES


@add_arg_scope
def variable(
    name,
    shape=None,
    dtype=None,
    initializer=None,
    regularizer=None,
    trainable=True,
    collections=None,
    caching_device=None,
    device=None,
    partitioner=None,
    custom_getter=None,
    use_resource=None,
    synchronization=tf.VariableSynchronization.AUTO,
    aggregation=tf.VariableAggregation.NONE,
):
    """Creates or gets a variable like tf.get_variable.

    Args:
      name: str, name of the variable.
      shape: shape; None if the initializer is a tensor.
      dtype: dtype; None for float32.
      initializer: initializer, or None for the scope's.
      regularizer: regularizer, or None for the scope's.
      trainable: whether the variables are trainable.
      collections: collections of the variable; None for the global variables.
      caching_device: device on which reads are cached, or None.
      device: device name, or a function of the operation that returns one.
      partitioner: partitioner, or None for the scope's.
      custom_getter: custom getter of tf.get_variable, or None.
      use_resource: whether to create a resource variable; None for the scope's default.
      synchronization: tf.VariableSynchronization.
      aggregation: tf.VariableAggregation.

    Returns:
      The variable.
    """
    collections = set(collections or [_GLOBAL])
    getter = custom_getter or tf.get_variable
    with tf.device(device or ""):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=sorted(collections),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@add_arg_scope
def model_variable(
    name,
    shape=None,
    dtype=tf.float32,
    initializer=None,
    regularizer=None,
    trainable=True,
    collections=None,
    caching_device=None,
    device=None,
    partitioner=None,
    custom_getter=None,
    use_resource=None,
    synchronization=tf.VariableSynchronization.AUTO,
    aggregation=tf.VariableAggregation.NONE,
):
    """Creates or gets a variable that is also a model variable.

    Args:
      name: str, name of the variable.
      shape: shape; None if the initializer is a tensor.
      dtype: dtype; None for float32.
      initializer: initializer, or None for the scope's.
      regularizer: regularizer, or None for the scope's.
      trainable: whether the variables are trainable.
      collections: further collections of the variable.
      caching_device: device on which reads are cached, or None.
      device: device name, or a function of the operation that returns one.
      partitioner: partitioner, or None for the scope's.
      custom_getter: custom getter of tf.get_variable, or None.
      use_resource: whether to create a resource variable; None for the scope's default.
      synchronization: tf.VariableSynchronization.
      aggregation: tf.VariableAggregation.

    Returns:
      The variable.
    """
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=[*(collections or ()), _GLOBAL, _MODEL],
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def global_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """Creates a global variable that is not trainable.

    Args:
      initial_value: initial value, or a function that returns it.
      validate_shape: whether the initial value's shape must be known.
      name: name of the variable.
      use_resource: whether to create a resource variable; None for the scope's default.

    Returns:
      The variable.
    """
    return tf.Variable(
        initial_value,
        trainable=False,
        collections=[_GLOBAL],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


def local_variable(initial_value, validate_shape=True, name=None, use_resource=None):
    """Creates a local variable that is not trainable.

    Args:
      initial_value: initial value, or a function that returns it.
      validate_shape: whether the initial value's shape must be known.
      name: name of the variable.
      use_resource: whether to create a resource variable; None for the scope's default.

    Returns:
      The variable.
    """
    return tf.Variable(
        initial_value,
        trainable=False,
        collections=[tf.GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


def add_model_variable(var):
    """Adds a variable to the collection of model variables, once.

    Args:
      var: variable.
    """
    if not any(var is known for known in tf.get_collection(_MODEL)):
        tf.add_to_collection(_MODEL, var)
