"""`tf.contrib.framework`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import confusion_matrix as _confusion_matrix
from estimator_bridge.private_tf import data_flow_ops as _data_flow_ops
from estimator_bridge.private_tf import deprecation as _deprecation
from estimator_bridge.private_tf import init_ops as _init_ops
from estimator_bridge.private_tf import nest as _nest
from estimator_bridge.private_tf import ops as _ops
from estimator_bridge.private_tf import smart_cond as _smart_cond
from estimator_bridge.private_tf import sparse_tensor as _sparse_tensor
from estimator_bridge.private_tf import tensor_spec as _tensor_spec
from estimator_bridge.tf1.contrib.framework.arg_scope import (
    add_arg_scope,
    arg_scope,
    arg_scope_func_key,
    arg_scoped_arguments,
    current_arg_scope,
    has_arg_scope,
)
from estimator_bridge.tf1.contrib.framework.graphs import (
    VariableDeviceChooser,
    assert_scalar_int,
    fuse_op,
    get_placeholders,
    py_func,
    zero_initializer,
)
from estimator_bridge.tf1.contrib.framework.remapping import (
    load_and_remap_matrix_initializer,
    load_embedding_initializer,
    load_linear_multiclass_bias_initializer,
    load_variable_slot_initializer,
)
from estimator_bridge.tf1.contrib.framework.restoring import (
    init_from_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
)
from estimator_bridge.tf1.contrib.framework.variables import (
    add_model_variable,
    assign_from_checkpoint,
    assign_from_checkpoint_fn,
    assign_from_values,
    assign_from_values_fn,
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
    global_variable,
    local_variable,
    model_variable,
    variable,
)
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = [
    "VariableDeviceChooser",
    "add_arg_scope",
    "add_model_variable",
    "arg_scope",
    "arg_scope_func_key",
    "arg_scoped_arguments",
    "assert_scalar_int",
    "assign_from_checkpoint",
    "assign_from_checkpoint_fn",
    "assign_from_values",
    "assign_from_values_fn",
    "current_arg_scope",
    "filter_variables",
    "fuse_op",
    "get_local_variables",
    "get_model_variables",
    "get_placeholders",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "global_variable",
    "has_arg_scope",
    "init_from_checkpoint",
    "list_variables",
    "load_and_remap_matrix_initializer",
    "load_checkpoint",
    "load_embedding_initializer",
    "load_linear_multiclass_bias_initializer",
    "load_variable",
    "load_variable_slot_initializer",
    "local_variable",
    "model_variable",
    "py_func",
    "variable",
    "zero_initializer",
]

__getattr__, _advice_for = _unsupported_names(globals())

nest = _nest
BoundedTensorSpec = _tensor_spec.BoundedTensorSpec
CriticalSection = tf.CriticalSection
RecordInput = _data_flow_ops.RecordInput
TensorSpec = tf.TensorSpec
argsort = tf.argsort
assert_global_step = tf.train.assert_global_step
assert_same_float_dtype = tf.debugging.assert_same_float_dtype
assert_scalar = tf.debugging.assert_scalar
broadcast_to = tf.broadcast_to
convert_to_tensor_or_sparse_tensor = _sparse_tensor.convert_to_tensor_or_sparse_tensor
convolutional_delta_orthogonal = _init_ops.ConvolutionDeltaOrthogonal
convolutional_orthogonal_1d = _init_ops.ConvolutionOrthogonal1D
convolutional_orthogonal_2d = _init_ops.ConvolutionOrthogonal2D
convolutional_orthogonal_3d = _init_ops.ConvolutionOrthogonal3D
create_global_step = tf.train.create_global_step
deprecated = _deprecation.deprecated
deprecated_arg_values = _deprecation.deprecated_arg_values
deprecated_args = _deprecation.deprecated_args
get_global_step = tf.train.get_global_step
get_or_create_global_step = tf.train.get_or_create_global_step
is_tensor = tf.is_tensor
prepend_name_scope = _ops.prepend_name_scope
smart_case = _smart_cond.smart_case
smart_cond = _smart_cond.smart_cond
smart_constant_value = _smart_cond.smart_constant_value
sort = tf.sort
strip_name_scope = _ops.strip_name_scope


def remove_squeezable_dimensions(predictions, labels, name=None):
    """Squeezes the last dimension of predictions or labels if their ranks differ by one.

    Args:
      predictions: tensor.
      labels: tensor.
      name: name of the operations.

    Returns:
      Predictions and labels.

    Raises:
      ValueError: the last dimension of the one with the higher rank is not 1.
    """
    predictions, labels = tf.convert_to_tensor(predictions), tf.convert_to_tensor(labels)
    if predictions.shape.ndims is not None and labels.shape.ndims is not None:
        more = predictions.shape.ndims - labels.shape.ndims
        with tf.name_scope(name, "remove_squeezable_dimensions", [predictions, labels]):
            if more == 1:
                predictions = tf.squeeze(predictions, [-1])
            elif more == -1:
                labels = tf.squeeze(labels, [-1])
        return predictions, labels
    labels, predictions = _confusion_matrix.remove_squeezable_dimensions(
        labels, predictions, name=name
    )
    return predictions, labels


def assert_or_get_global_step(graph=None, global_step_tensor=None):
    """Returns the given global step after a check, or the graph's global step.

    Args:
      graph: tf.Graph, or None for the default graph.
      global_step_tensor: scalar integer variable, or None for the graph's.

    Returns:
      The global step.

    Raises:
      ValueError: the graph has no global step.
    """
    if global_step_tensor is None:
        return tf.train.get_global_step(graph)
    tf.train.assert_global_step(global_step_tensor)
    return global_step_tensor


def get_name_scope():
    """Returns the current name scope, "" at the top level.

    Returns:
      str.
    """
    return tf.get_default_graph().get_name_scope()


def get_graph_from_inputs(op_input_list, graph=None):
    """Returns the graph of the first input that has one, else `graph`, else the default graph.

    Args:
      op_input_list: list of tensors or other values.
      graph: tf.Graph, or None.

    Returns:
      tf.Graph.
    """
    for value in op_input_list:
        found = getattr(value, "graph", None)
        if found is not None:
            return found
    return graph or tf.get_default_graph()


def with_shape(expected_shape, tensor):
    """Returns a tensor with a checked shape.

    Args:
      expected_shape: static shape, or int32 shape tensor.
      tensor: tensor; its shape is checked when the graph runs if it is not static.

    Returns:
      Tensor with the expected static shape.
    """
    tensor = tf.convert_to_tensor(tensor)
    if isinstance(expected_shape, tf.Tensor):
        checks = [tf.assert_equal(tf.shape(tensor), expected_shape)]
    elif tensor.shape.is_fully_defined():
        tf.TensorShape(expected_shape).assert_is_compatible_with(tensor.shape)
        checks = []
    else:
        checks = [tf.assert_equal(tf.shape(tensor), expected_shape)]
    with tf.control_dependencies(checks):
        tensor = tf.identity(tensor)
    if not isinstance(expected_shape, tf.Tensor):
        tensor.set_shape(expected_shape)
    return tensor


def with_same_shape(expected_tensor, tensor):
    """Returns a tensor, checked to have the shape of another one.

    Args:
      expected_tensor: tensor with the expected shape.
      tensor: tensor to check.

    Returns:
      `tensor` with the static shape of `expected_tensor`.
    """
    expected = tf.convert_to_tensor(expected_tensor)
    known = expected.shape.is_fully_defined()
    return with_shape(expected.shape.as_list() if known else tf.shape(expected), tensor)


def reduce_sum_n(tensors, name=None):
    """Returns the sum of all elements of all tensors.

    Args:
      tensors: list of tensors of one dtype.
      name: name of the operations.

    Returns:
      Scalar tensor.

    Raises:
      ValueError: the list is empty.
    """
    if not tensors:
        raise ValueError("reduce_sum_n: the list of tensors is empty")
    return tf.add_n([tf.reduce_sum(tensor) for tensor in tensors], name=name)
