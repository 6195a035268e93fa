"""Views of a part of a graph."""

from estimator_bridge.tf1.contrib.graph_editor.lists import (
    compute_boundary_ts,
    get_consuming_ops,
    make_list_of_op,
    make_list_of_t,
    require_one_graph,
    unique_tensors,
)
from estimator_bridge.tf1.contrib.graph_editor.selecting import (
    get_name_scope_ops,
    select_ops_and_ts,
)
from estimator_bridge.tf1.contrib.graph_editor.walking import get_walks_union_ops

__all__ = ["SubGraphView", "make_view", "make_view_from_scope", "sgv", "sgv_scope"]


class SubGraphView:
    """A part of a graph: its operations, the tensors that it reads, and those that it gives.

    Args:
      inside_ops: the operations.
      passthrough_ts: tensors that are inputs and outputs at once; those that an operation inside
        reads or computes are passed over.
    """

    def __init__(self, inside_ops=(), passthrough_ts=()):
        self._ops = make_list_of_op(inside_ops)
        inputs, outputs, between = compute_boundary_ts(self._ops)
        linked = {tensor.ref() for tensor in [*inputs, *outputs, *between]}
        through = unique_tensors(make_list_of_t(passthrough_ts))
        self._through = [tensor for tensor in through if tensor.ref() not in linked]
        self._graph = require_one_graph([*self._ops, *self._through])
        self._inputs, self._outputs = inputs + self._through, outputs + self._through

    def _with(self, inputs=None, outputs=None):
        view = self.copy()
        view._inputs = view._inputs if inputs is None else inputs
        view._outputs = view._outputs if outputs is None else outputs
        return view

    def copy(self):
        """Returns another view of the same part."""
        view = SubGraphView.__new__(SubGraphView)
        view.__dict__.update({name: value for name, value in vars(self).items()})
        return view

    @property
    def graph(self):
        """The tf.Graph; None for an empty view."""
        return self._graph

    @property
    def ops(self):
        """The operations."""
        return list(self._ops)

    @property
    def inputs(self):
        """The tensors that the part reads."""
        return list(self._inputs)

    @property
    def outputs(self):
        """The tensors that the part gives."""
        return list(self._outputs)

    @property
    def passthroughs(self):
        """The tensors that no operation inside reads or computes."""
        return list(self._through)

    @property
    def connected_inputs(self):
        """The inputs that an operation inside reads."""
        return [tensor for tensor in self._inputs if not self.is_passthrough(tensor)]

    @property
    def connected_outputs(self):
        """The outputs that an operation inside computes."""
        return [tensor for tensor in self._outputs if not self.is_passthrough(tensor)]

    def is_passthrough(self, t):
        """Returns whether no operation inside reads or computes a tensor of the view.

        Args:
          t: tensor.
        """
        return any(tensor is t for tensor in self._through)

    def op(self, op_id):
        """Returns an operation by its place.

        Args:
          op_id: its place in `ops`.
        """
        return self._ops[op_id]

    def find_op_by_name(self, op_name):
        """Returns the operation of a name.

        Args:
          op_name: its name.

        Raises:
          ValueError: it is not inside.
        """
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"there is no operation {op_name} in the view")

    def input_index(self, t):
        """Returns the place of a tensor among the inputs; raises ValueError for no input.

        Args:
          t: tensor.
        """
        return _place(self._inputs, t)

    def output_index(self, t):
        """Returns the place of a tensor among the outputs; raises ValueError for no output.

        Args:
          t: tensor.
        """
        return _place(self._outputs, t)

    def consumers(self):
        """Returns the operations outside that read an output."""
        inside = set(self._ops)
        return [op for op in get_consuming_ops(self._outputs) if op not in inside]

    def remap_inputs(self, new_input_indices):
        """Returns a view with some of the inputs, in another order.

        Args:
          new_input_indices: places of inputs, or tensors.
        """
        return self._with(inputs=_chosen(self._inputs, new_input_indices))

    def remap_outputs(self, new_output_indices):
        """Returns a view with some of the outputs, in another order.

        Args:
          new_output_indices: places of outputs, or tensors.
        """
        return self._with(outputs=_chosen(self._outputs, new_output_indices))

    def remap(self, new_input_indices=None, new_output_indices=None):
        """Returns a view with some of the inputs and outputs.

        Args:
          new_input_indices: as for remap_inputs; None for all.
          new_output_indices: as for remap_outputs; None for all.
        """
        view = self if new_input_indices is None else self.remap_inputs(new_input_indices)
        return view if new_output_indices is None else view.remap_outputs(new_output_indices)

    def remap_outputs_make_unique(self):
        """Returns a view that has each output once."""
        return self._with(outputs=unique_tensors(self._outputs))

    def remap_outputs_to_consumers(self):
        """Returns a view that has each output as often as operations read it."""
        return self._with(
            outputs=[tensor for tensor in self._outputs for _ in tensor.consumers()],
        )

    def remap_default(self, remove_input_map=True, remove_output_map=True):
        """Returns a view that has all inputs and outputs again.

        Args:
          remove_input_map: whether it has all inputs.
          remove_output_map: whether it has all outputs.
        """
        whole = SubGraphView(self._ops, self._through)
        return self._with(
            whole._inputs if remove_input_map else None,
            whole._outputs if remove_output_map else None,
        )

    def remove_unused_ops(self, control_inputs=True):
        """Returns a view without the operations that neither an input leads to nor an output needs.

        Args:
          control_inputs: whether an output needs what its operation waits for.
        """
        used = set(
            get_walks_union_ops(
                self.connected_inputs,
                self.connected_outputs,
                within_ops=self._ops,
                control_inputs=control_inputs,
            )
        )
        view = self.copy()
        view._ops = [op for op in self._ops if op in used]
        return view

    def __bool__(self):
        """Returns whether the view is of a graph."""
        return self._graph is not None

    def __str__(self):
        """Returns the names of operations, inputs and outputs."""
        if not self:
            return "SubGraphView: empty"
        lines = [f"SubGraphView (graphid={id(self._graph)}):"]
        for kind in ("ops", "inputs", "outputs"):
            items = getattr(self, kind)
            lines += [f"** {kind}[{len(items)}]:", *(f"  {item.name}" for item in items)]
        return "\n".join([*lines, ""])


def _place(tensors, sought):
    for place, tensor in enumerate(tensors):
        if tensor is sought:
            return place
    raise ValueError(f"{getattr(sought, 'name', sought)} is not among the tensors of the view")


def _chosen(tensors, wanted):
    return [tensors[one if isinstance(one, int) else _place(tensors, one)] for one in wanted]


def make_view(*args, **kwargs):
    """Returns a view.

    Args:
      *args: a view, which is copied; or what select_ops_and_ts takes: the operations, and tensors
        that may pass through.
      **kwargs: `graph`, which regular expressions need.
    """
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        return args[0].copy()
    if len(args) == 1 and hasattr(args[0], "get_operations"):
        return SubGraphView(args[0])
    return SubGraphView(*select_ops_and_ts(*args, **kwargs))


def make_view_from_scope(scope, graph):
    """Returns a view of the operations in a name scope.

    Args:
      scope: name of the scope.
      graph: tf.Graph.
    """
    return SubGraphView(get_name_scope_ops(graph, scope))


sgv, sgv_scope = make_view, make_view_from_scope
