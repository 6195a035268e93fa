"""Lists of operations and tensors, and what is next to them."""

import tensorflow.compat.v1 as tf

__all__ = [
    "ControlOutputs",
    "check_cios",
    "compute_boundary_ts",
    "get_consuming_ops",
    "get_generating_ops",
    "get_ops_ios",
    "get_tensors",
    "make_list_of_op",
    "make_list_of_t",
]


def unique(items):
    """Returns items as a list, each once, in their order.

    Args:
      items: iterable of values with a hash.
    """
    return list(dict.fromkeys(items))


def unique_tensors(tensors):
    """Returns tensors as a list, each once, in their order; tensors have no plain hash.

    Args:
      tensors: iterable of tensors.
    """
    return list({tensor.ref(): tensor for tensor in tensors}.values())


def make_list_of_op(ops, check_graph=True, allow_graph=True, ignore_ts=False):
    """Returns operations as a new list.

    Args:
      ops: an operation, a sequence of operations, or a tf.Graph for all of its operations.
      check_graph: whether they must be of one graph.
      allow_graph: whether a tf.Graph is allowed.
      ignore_ts: whether tensors are passed over.

    Raises:
      TypeError: it is something else.
    """
    if _is_graph(ops, allow_graph):
        return ops.get_operations()
    return _listed(ops, tf.Operation, tf.Tensor if ignore_ts else (), check_graph)


def make_list_of_t(ts, check_graph=True, allow_graph=True, ignore_ops=False):
    """Returns tensors as a new list.

    Args:
      ts: a tensor, a sequence of tensors, or a tf.Graph for all of its tensors.
      check_graph: whether they must be of one graph.
      allow_graph: whether a tf.Graph is allowed.
      ignore_ops: whether operations are passed over.

    Raises:
      TypeError: it is something else.
    """
    if _is_graph(ts, allow_graph):
        return get_tensors(ts)
    return _listed(ts, tf.Tensor, tf.Operation if ignore_ops else (), check_graph)


def _is_graph(items, allow_graph):
    if isinstance(items, tf.Graph) and not allow_graph:
        raise TypeError("a tf.Graph is not allowed here (allow_graph=False)")
    return isinstance(items, tf.Graph)


def _listed(items, kind, ignored, check_graph):
    items = list(items) if is_sequence(items) else [items]
    kept = [item for item in items if not isinstance(item, ignored)]
    for item in kept:
        if not isinstance(item, kind):
            raise TypeError(f"expected a {kind.__name__}, got {item!r}")
    if check_graph:
        require_one_graph(kept)
    return kept


def is_sequence(items):
    """Returns whether items are several; a tensor can be iterated over, but is one.

    Args:
      items: anything.
    """
    return hasattr(items, "__iter__") and not isinstance(items, (tf.Tensor, str, bytes))


def require_one_graph(items):
    """Returns the graph of operations and tensors, or None if there are none.

    Args:
      items: operations and tensors.

    Raises:
      TypeError: they are of several graphs.
    """
    graphs = unique(item.graph for item in items)
    if len(graphs) > 1:
        raise TypeError(f"operations and tensors must be of one graph, got {len(graphs)} graphs")
    return graphs[0] if graphs else None


def get_tensors(graph):
    """Returns all tensors of a graph.

    Args:
      graph: tf.Graph.

    Raises:
      TypeError: it is something else.
    """
    if not isinstance(graph, tf.Graph):
        raise TypeError(f"expected a tf.Graph, got {graph!r}")
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


def get_generating_ops(ts):
    """Returns the operations that compute tensors.

    Args:
      ts: tensors, as for make_list_of_t.
    """
    return [tensor.op for tensor in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts):
    """Returns the operations that read tensors, each once.

    Args:
      ts: tensors, as for make_list_of_t.
    """
    tensors = make_list_of_t(ts, allow_graph=False)
    return unique(op for tensor in tensors for op in tensor.consumers())


class ControlOutputs:
    """Which operations wait for an operation.

    Args:
      graph: tf.Graph.
    """

    def __init__(self, graph):
        if not isinstance(graph, tf.Graph):
            raise TypeError(f"expected a tf.Graph, got {graph!r}")
        self.graph = graph
        self.update()

    def update(self):
        """Reads the graph again; returns this object."""
        self._waiting = {}
        for op in self.graph.get_operations():
            for before in op.control_inputs:
                self._waiting.setdefault(before, []).append(op)
        return self

    def get_all(self):
        """Returns {operation: list of the operations that wait for it}."""
        return self._waiting

    def get(self, op):
        """Returns the operations that wait for an operation.

        Args:
          op: operation.
        """
        return self._waiting.get(op, ())


def check_cios(control_inputs=False, control_outputs=None, control_ios=None):
    """Returns (whether to follow control inputs, ControlOutputs or None).

    Args:
      control_inputs: whether to follow control inputs.
      control_outputs: ControlOutputs for following control outputs, or None.
      control_ios: ControlOutputs for following both, or None.

    Raises:
      ValueError: control_ios is given beside control_outputs.
      TypeError: what is given is no ControlOutputs.
    """
    if control_ios is not None:
        if control_outputs is not None:
            raise ValueError("control_outputs: give it or control_ios, not both")
        control_inputs, control_outputs = True, control_ios
    if control_outputs is not None and not isinstance(control_outputs, ControlOutputs):
        raise TypeError(f"control_outputs: expected a ControlOutputs, got {control_outputs!r}")
    return control_inputs, control_outputs


def neighbours(op, control_inputs, control_outputs):
    """Returns the operations next to one: before it, after it, and by control.

    Args:
      op: operation.
      control_inputs: whether to include those that it waits for.
      control_outputs: ControlOutputs, or None.
    """
    found = [tensor.op for tensor in op.inputs]
    found += [after for tensor in op.outputs for after in tensor.consumers()]
    if control_inputs:
        found += op.control_inputs
    if control_outputs is not None:
        found += control_outputs.get(op)
    return unique(found)


def get_ops_ios(ops, control_inputs=False, control_outputs=None, control_ios=None):
    """Returns the operations next to any of the given ones.

    Args:
      ops: operations, as for make_list_of_op.
      control_inputs: see check_cios.
      control_outputs: see check_cios.
      control_ios: see check_cios.
    """
    controls = check_cios(control_inputs, control_outputs, control_ios)
    return unique(one for op in make_list_of_op(ops) for one in neighbours(op, *controls))


def compute_boundary_ts(ops):
    """Returns lists of tensors: those read from outside, those read outside, and those read inside.

    A tensor that nothing reads is among the second.

    Args:
      ops: operations, as for make_list_of_op.
    """
    ops = make_list_of_op(ops)
    inside = set(ops)
    inputs = unique_tensors(one for op in ops for one in op.inputs if one.op not in inside)
    outputs, between = [], []
    for tensor in (tensor for op in ops for tensor in op.outputs):
        readers = set(tensor.consumers())
        if readers & inside:
            between.append(tensor)
        if not readers or readers - inside:
            outputs.append(tensor)
    return inputs, outputs, between
