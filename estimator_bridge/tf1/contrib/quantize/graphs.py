"""Reads and connects the operations of a graph."""

import tensorflow.compat.v1 as tf

ADDS = ("Add", "AddV2")
VARIABLES = ("Variable", "VariableV2")
STEP = "fake_quantization_step"
# Names of operations that 1.x does not connect with other tensors.
_UNTOUCHED = (
    *("gradients/", "RMSProp/", "Adagrad/", "Const_", "HistogramSummary", "ScalarSummary"),
)


def context_of(op):
    """Returns the scope of an operation: its name without the last part.

    Args:
      op: operation.
    """
    return op.name.rpartition("/")[0]


def join(scope, name):
    """Returns a name in a scope, which may be empty.

    Args:
      scope: name of the scope.
      name: the last part.
    """
    return f"{scope}/{name}" if scope else name


def consumers(tensor):
    """Returns the operations that read a tensor, each one once, without those of gradients.

    Args:
      tensor: tensor of a graph.
    """
    return [op for op in dict.fromkeys(tensor.consumers()) if not op.name.startswith(_UNTOUCHED)]


def reroute(old, new, ops):
    """Lets operations read another tensor.

    Args:
      old: tensor that they read.
      new: tensor of the same type and a compatible shape.
      ops: operations.

    Raises:
      ValueError: the shapes differ.
    """
    if not old.shape.is_compatible_with(new.shape):
        raise ValueError(f"{new.name} has the shape {new.shape}, but {old.name} {old.shape}")
    for op in ops:
        for place, read in enumerate(op.inputs):
            if read is old:
                op._update_input(place, new)


def copy_op(op, inputs, name):
    """Adds an operation with the type and attributes of another one.

    Args:
      op: operation with one output.
      inputs: tensors, the inputs of the new operation.
      name: its name.

    Returns:
      Its output.
    """
    attrs = {key: value for key, value in op.node_def.attr.items() if not key.startswith("_")}
    dtypes = [op.outputs[0].dtype.base_dtype]
    return op.graph.create_op(op.type, inputs, dtypes, name=name, attrs=attrs).outputs[0]


def add(first, second, name):
    """Adds two tensors with the operation `Add` of 1.x.

    Args:
      first: tensor.
      second: tensor that is broadcast.
      name: name of the operation.
    """
    return tf.raw_ops.Add(x=first, y=second, name=name)


def get_step(graph):
    """Returns the int64 scalar that counts the runs of a rewritten graph, from 1.

    The variable `fake_quantization_step` is created if the graph has none.

    Args:
      graph: the default graph.
    """
    name = join(tf.get_variable_scope().name, STEP)
    try:
        return graph.get_tensor_by_name(f"{name}/Identity:0")
    except KeyError:
        pass
    step = tf.get_variable(
        STEP,
        [],
        tf.int64,
        tf.zeros_initializer(),
        trainable=False,
        collections=[tf.GraphKeys.GLOBAL_VARIABLES],
    )
    with graph.name_scope(f"{name}/"):
        count = tf.assign_add(step, tf.ones([], tf.int64), name="AssignAdd")
        return tf.identity(count, name="Identity")
