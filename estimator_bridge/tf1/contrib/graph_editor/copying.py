"""Copies of a part of a graph, with other inputs."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.graph_editor.views import SubGraphView, make_view
from estimator_bridge.tf1.contrib.graph_editor.walking import get_walks_intersection_ops

__all__ = [
    "TransformerInfo",
    "copy",
    "copy_with_input_replacements",
    "graph_replace",
    "make_placeholder_from_dtype_and_shape",
    "make_placeholder_from_tensor",
    "ph",
    "placeholder_name",
]


def placeholder_name(t=None, scope=None, prefix="geph"):
    """Returns the name of a placeholder.

    Args:
      t: tensor that it replaces, or None.
      scope: name scope; None for that of the tensor, "" for none.
      prefix: what the name begins with.

    Raises:
      TypeError: t is no tensor.
    """
    if t is None:
        return f"{scope}/{prefix}" if scope else prefix
    if not isinstance(t, tf.Tensor):
        raise TypeError(f"expected a tf.Tensor, got {t!r}")
    own_scope, _, name = t.op.name.rpartition("/")
    scope = own_scope if scope is None else scope
    name = f"{prefix}__{name}_{t.value_index}"
    return f"{scope}/{name}" if scope else name


def make_placeholder_from_tensor(t, scope=None, prefix="geph"):
    """Returns a placeholder with the type and the shape of a tensor.

    Args:
      t: tensor.
      scope: name scope; None for that of the tensor, "" for none.
      prefix: what the name begins with.
    """
    return tf.placeholder(t.dtype, t.shape, placeholder_name(t, scope, prefix))


def make_placeholder_from_dtype_and_shape(dtype, shape=None, scope=None, prefix="geph"):
    """Returns a placeholder.

    Args:
      dtype: its type.
      shape: its shape, or None.
      scope: name scope, or None.
      prefix: what the name begins with.
    """
    return tf.placeholder(dtype, shape, placeholder_name(None, scope, prefix))


ph = make_placeholder_from_dtype_and_shape


class TransformerInfo:
    """Which copy belongs to which operation and tensor.

    Args:
      ops: {operation: its copy}.
      tensors: {tensor: its copy}.
    """

    def __init__(self, ops, tensors):
        # Programs read these two as well.
        self._transformed_ops, self._transformed_ts = ops, tensors

    def transformed(self, original, missing_fn=None):
        """Returns the copy of an operation or tensor.

        Args:
          original: operation or tensor, or a structure of these.
          missing_fn: function of one that was not copied; None for None.
        """
        found = {**self._transformed_ops, **self._transformed_ts}
        return _looked_up(original, found, missing_fn)

    def original(self, transformed, missing_fn=None):
        """Returns the original of an operation or tensor.

        Args:
          transformed: operation or tensor, or a structure of these.
          missing_fn: function of one that is no copy; None for None.
        """
        found = {**self._transformed_ops, **self._transformed_ts}
        return _looked_up(transformed, {copy: one for one, copy in found.items()}, missing_fn)


def _looked_up(structure, found, missing_fn):
    def look_up(item):
        if item in found:
            return found[item]
        return None if missing_fn is None else missing_fn(item)

    return tf.nest.map_structure(look_up, structure)


class _Copier:
    """Copies the operations of a view, one after the other.

    Args:
      view: SubGraphView.
      graph: tf.Graph of the copies.
      replaced: function from a tensor that the view reads to what the copy reads.
      scopes: (name scope of the originals, which is left out; that of the copies).
    """

    def __init__(self, view, graph, replaced, scopes):
        self._view, self._graph, self._replaced = view, graph, replaced
        self._old_scope, self._new_scope = scopes
        self.ops, self.tensors = {}, {}

    def run(self):
        """Copies all; returns (view of the copies, TransformerInfo)."""
        inside = set(self._view.ops)
        ordered = [op for op in self._view.graph.get_operations() if op in inside]
        for op in ordered:
            self._copy(op, inside)
        self._collect(ordered)
        view = SubGraphView([self.ops[op] for op in ordered])
        # As in 1.15, the view has no inputs, and those outputs that nothing inside reads.
        given = [self.tensors[one] for one in self._view.outputs if one in self.tensors]
        outputs = [one for one in given if any(one is other for other in view.outputs)]
        return view._with([], outputs), TransformerInfo(self.ops, self.tensors)

    def _renamed(self, name):
        """Returns the name of a copy.

        Raises:
          ValueError: the original is not in the scope that is left out.
        """
        if self._old_scope:
            if not name.startswith(self._old_scope + "/"):
                raise ValueError(f"src_scope: {name} is not in {self._old_scope}")
            name = name[len(self._old_scope) + 1 :]
        return f"{self._new_scope}/{name}" if self._new_scope else name

    def _copy(self, op, inside):
        inputs = []
        for tensor in op.inputs:
            if tensor.op not in inside:
                inputs.append(self._replaced(tensor))
            elif tensor in self.tensors:
                inputs.append(self.tensors[tensor])
            else:
                raise ValueError(f"{op.name}: a part with a loop cannot be copied")
        self.ops[op] = self._create(op, inputs)
        self.tensors.update(zip(op.outputs, self.ops[op].outputs))

    def _create(self, op, inputs):
        graph = self._graph
        attributes = dict(op.node_def.attr)
        if graph is not op.graph:
            # The names of operations that share its device.
            attributes.pop("_class", None)
        before = [self.ops.get(one, one) for one in op.control_inputs]
        before = [one for one in before if one.graph is graph]
        with (
            graph.as_default(),
            tf.name_scope(None),
            tf.device(None),
            graph.colocate_with(None, True),
            tf.control_dependencies(None),
            tf.control_dependencies(before),
        ):
            copied = graph.create_op(
                op.type,
                inputs,
                [tensor.dtype for tensor in op.outputs],
                [tensor.dtype for tensor in op.inputs],
                name=graph.unique_name(self._renamed(op.name)) + "/",
                attrs=attributes,
                op_def=op.op_def,
            )
        copied._set_device(op.device)
        return copied

    def _collect(self, ordered):
        """Adds the copies to the collections of their originals."""
        places = {}
        for key in self._view.graph.get_all_collection_keys():
            for item in self._view.graph.get_collection(key):
                if isinstance(item, (tf.Tensor, tf.Operation)):
                    places.setdefault(item, []).append(key)
        known = {value for value in vars(tf.GraphKeys).values() if isinstance(value, str)}
        copies = {**self.ops, **self.tensors}
        for op in ordered:
            for item in [op, *op.outputs]:
                for key in places.get(item, ()):
                    new_key = key if key in known else self._renamed(key)
                    self._graph.add_to_collection(new_key, copies[item])


def _copied(view, replaced, graph, scopes, reuse):
    """Copies a view; see `copy` for the arguments."""
    view = make_view(view)
    graph = view.graph if graph is None else graph
    if not isinstance(graph, tf.Graph):
        raise TypeError(f"dst_graph: expected a tf.Graph, got {graph!r}")
    new_scope, old_scope = (scope.removesuffix("/") for scope in scopes)
    if new_scope and not reuse:
        new_scope = graph.unique_name(new_scope)

    def from_outside(tensor):
        found = replaced.get(tensor) if replaced is not None else None
        if found is None and replaced is not None and graph is tensor.graph:
            found = tensor
        if found is None:
            with graph.as_default(), tf.name_scope(None):
                found = make_placeholder_from_tensor(tensor, new_scope)
        return found

    return _Copier(view, graph, from_outside, (old_scope, new_scope)).run()


def copy(sgv, dst_graph=None, dst_scope="", src_scope="", reuse_dst_scope=False):
    """Copies a part of a graph; the copy reads placeholders.

    Args:
      sgv: what make_view takes.
      dst_graph: tf.Graph of the copy; None for the same.
      dst_scope: name scope of the copies.
      src_scope: name scope that is left out of the names.
      reuse_dst_scope: whether the scope may be in use; otherwise it gets a new name.

    Returns:
      (SubGraphView of the copies, TransformerInfo).
    """
    return _copied(sgv, None, dst_graph, (dst_scope, src_scope), reuse_dst_scope)


def copy_with_input_replacements(
    sgv, replacement_ts, dst_graph=None, dst_scope="", src_scope="", reuse_dst_scope=False
):
    """Copies a part of a graph; the copy reads other tensors.

    Args:
      sgv: what make_view takes.
      replacement_ts: {tensor that the part reads: tensor that the copy reads}. It reads the other
        ones itself, or placeholders in another graph.
      dst_graph: tf.Graph of the copy; None for the same.
      dst_scope: name scope of the copies.
      src_scope: name scope that is left out of the names.
      reuse_dst_scope: whether the scope may be in use; otherwise it gets a new name.

    Returns:
      (SubGraphView of the copies, TransformerInfo).
    """
    scopes = (dst_scope, src_scope)
    return _copied(sgv, dict(replacement_ts), dst_graph, scopes, reuse_dst_scope)


def graph_replace(target_ts, replacement_ts, dst_scope="", src_scope="", reuse_dst_scope=False):
    """Returns tensors that are computed from other tensors.

    Args:
      target_ts: tensor, or a structure of tensors.
      replacement_ts: {tensor that they depend on: tensor that takes its place}.
      dst_scope: name scope of the copies.
      src_scope: name scope that is left out of the names.
      reuse_dst_scope: whether the scope may be in use; otherwise it gets a new name.

    Returns:
      The same structure.

    Raises:
      ValueError: the targets do not depend on the tensors.
    """
    targets = tf.nest.flatten(target_ts)
    if not targets:
        raise ValueError("target_ts: there is no tensor")
    replaced = list(replacement_ts)
    ops = get_walks_intersection_ops(replaced, targets) if replaced else []
    if not ops:
        raise ValueError("the targets do not depend on the tensors that are replaced")
    scopes = {"dst_scope": dst_scope, "src_scope": src_scope, "reuse_dst_scope": reuse_dst_scope}
    _, info = copy_with_input_replacements(ops, replacement_ts, **scopes)
    return info.transformed(target_ts, lambda tensor: tensor)
