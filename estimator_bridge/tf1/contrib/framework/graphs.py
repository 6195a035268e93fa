"""Parts of `tf.contrib.framework` that place variables, read and rewrite graphs, and so on."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import nest as _nest

__all__ = [
    "VariableDeviceChooser",
    "assert_scalar_int",
    "fuse_op",
    "get_placeholders",
    "py_func",
    "zero_initializer",
]


class VariableDeviceChooser:
    """A device function that spreads variables over parameter servers, in turn.

    Args:
      num_tasks: int, number of parameter servers; 0 for none, and the device of this process.
      job_name: str, name of their job.
      device_type: str, type of the device, such as `CPU`.
      device_index: int, number of the device; None for any.
      replica: int, number of the replica, or None.
    """

    def __init__(self, num_tasks=0, job_name="ps", device_type="CPU", device_index=0, replica=None):
        self._num_tasks, self._job_name = num_tasks, job_name
        self._device_type, self._device_index = device_type, device_index
        self._replica = replica
        self._next_task = 0

    def __call__(self, op):
        """Returns the device of the next variable, a str; `op` is ignored."""
        device = tf.DeviceSpec(
            device_type=self._device_type, device_index=self._device_index, replica=self._replica
        )
        if self._num_tasks > 0:
            device = device.replace(job=self._job_name, task=self._next_task)
            self._next_task = (self._next_task + 1) % self._num_tasks
        return device.to_string()


def assert_scalar_int(tensor, name=None):
    """Returns a tensor, which must be an int32 or int64 scalar.

    Args:
      tensor: tensor, or value of one.
      name: name of the name scope.

    Raises:
      ValueError: it is no scalar, or has another dtype.
    """
    with tf.name_scope(name, "assert_scalar_int", [tensor]):
        tensor = tf.convert_to_tensor(tensor)
        if tensor.dtype.base_dtype not in (tf.int32, tf.int64):
            raise ValueError(
                f"Expected integer type for {tensor.name}, received type: {tensor.dtype}."
            )
        if tensor.shape.ndims != 0:
            raise ValueError(f"Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.")
        return tensor


def get_placeholders(graph):
    """Returns the placeholders of a graph, without those with a default.

    Args:
      graph: tf.Graph.

    Returns:
      List of tensors.

    Raises:
      TypeError: it is no graph.
    """
    if not isinstance(graph, tf.Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    return [one.outputs[0] for one in graph.get_operations() if one.type == "Placeholder"]


def _ancestors(nodes, names, ends=()):
    """Returns the names of nodes from which given ones are computed, with these.

    Args:
      nodes: {name: NodeDef}.
      names: where to begin.
      ends: names whose inputs are not followed.
    """
    found, left = set(), list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            if name not in ends:
                left += [one.removeprefix("^").split(":")[0] for one in nodes[name].input]
    return found


def fuse_op(
    graph_def, input_nodes, output_nodes, output_dtypes, output_quantized, op_name, op_type
):
    """Replaces the nodes between inputs and outputs by one node.

    The output nodes stay: each is an operation of one input, which becomes the output of the new
    node of the same number.

    Args:
      graph_def: GraphDef.
      input_nodes: list of names; the inputs of the new node.
      output_nodes: list of names.
      output_dtypes: list of numbers of dtypes, the attribute `_output_types` of the new node.
      output_quantized: bool, its attribute `_output_quantized`.
      op_name: str, name of the new node.
      op_type: str, type of its operation.

    Returns:
      GraphDef.

    Raises:
      TypeError: graph_def is no GraphDef.
      AssertionError: a node is not in the graph, or an output does not have one input.
    """
    if not isinstance(graph_def, tf.GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    nodes = {node.name: node for node in graph_def.node}
    for name in (*input_nodes, *output_nodes):
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    for name in output_nodes:
        if len(nodes[name].input) != 1:
            raise AssertionError(f"{name}: an output needs one input, has {nodes[name].input}")
    before = _ancestors(nodes, input_nodes)
    fused = _ancestors(nodes, output_nodes, input_nodes) - set(output_nodes)
    result = tf.GraphDef()
    result.CopyFrom(graph_def)
    del result.node[:]
    result.node.extend(node for node in graph_def.node if node.name in before)
    new = result.node.add(name=op_name, op=op_type, input=input_nodes)
    new.attr["_output_types"].list.type.extend(output_dtypes)
    new.attr["_output_quantized"].b = output_quantized
    ends = list(output_nodes)
    for number, name in enumerate(ends):
        kept = result.node.add()
        kept.CopyFrom(nodes[name])
        kept.input[:] = [f"{op_name}:{number}" if number else op_name]
    left = before | fused | set(ends)
    result.node.extend(node for node in graph_def.node if node.name not in left)
    return result


def py_func(
    func,
    args=(),
    kwargs=None,
    output_types=None,
    output_shapes=None,
    stateful=True,
    name=None,
):
    """Calls a Python function of arrays when the graph runs.

    Args:
      func: function of arrays.
      args: list of its arguments: tensors, or structures of tensors.
      kwargs: {name: argument} of further arguments.
      output_types: dtype of its result, or structure of dtypes.
      output_shapes: static shape of its result, or structure of shapes; None if unknown.
      stateful: whether calls with the same arguments may have different results.
      name: name of the operation.

    Returns:
      Tensor, or structure of tensors like `output_types`.

    Raises:
      TypeError: output_types is no dtype.
    """
    given = (tuple(args), kwargs or {})
    types = _nest.flatten(output_types)
    single = not _nest.is_nested(output_types)

    def call(*arrays):
        arguments, named = _nest.pack_sequence_as(given, arrays)
        result = func(*arguments, **named)
        return result if single else _nest.flatten(result)

    outputs = tf.py_func(
        call, _nest.flatten(given), types[0] if single else types, stateful=stateful, name=name
    )
    flat = [outputs] if single else outputs
    if output_shapes is not None:
        shapes = _nest.flatten_up_to(output_types, output_shapes)
        for output, shape in zip(flat, shapes):
            output.set_shape(shape)
    return _nest.pack_sequence_as(output_types, flat)


def zero_initializer(ref, use_locking=True, name="zero_initializer"):
    """Returns an operation that sets a variable to zeros, which is an error if it has a value.

    Args:
      ref: variable.
      use_locking: ignored.
      name: name of the operation.

    Returns:
      The variable's tensor, or the handle of a resource variable.
    """
    del use_locking
    with tf.name_scope(name) as scope:
        new = tf.logical_not(tf.is_variable_initialized(ref))
        with tf.control_dependencies([tf.Assert(new, ["input is already initialized"])]):
            zeros = tf.zeros(ref.shape, ref.dtype.base_dtype)
            if not hasattr(ref, "handle"):
                return tf.assign(ref, zeros, name=scope)
            assigned = ref.assign(zeros, read_value=False)
        with tf.control_dependencies([assigned]):
            return tf.identity(ref.handle, name=scope)
