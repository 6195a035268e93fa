"""Walks through a graph, forward and backward."""

from estimator_bridge.tf1.contrib.graph_editor.lists import (
    check_cios,
    get_consuming_ops,
    get_generating_ops,
    is_sequence,
    make_list_of_op,
    make_list_of_t,
    neighbours,
    unique,
)

__all__ = [
    "get_backward_walk_ops",
    "get_forward_walk_ops",
    "get_walks_intersection_ops",
    "get_walks_union_ops",
    "get_within_boundary_ops",
]


def get_backward_walk_ops(
    seed_ops,
    inclusive=True,
    within_ops=None,
    within_ops_fn=None,
    stop_at_ts=(),
    control_inputs=False,
):
    """Returns the operations that others depend on.

    Args:
      seed_ops: operations where the walk begins, or tensors for those that compute them.
      inclusive: whether these are part of the result.
      within_ops: operations that the walk does not leave, or None.
      within_ops_fn: function from an operation to whether the walk enters it, or None.
      stop_at_ts: tensors that the walk does not pass.
      control_inputs: whether it follows control inputs.

    Raises:
      TypeError: an argument contains something else.
    """
    stop = {tensor.ref() for tensor in make_list_of_t(stop_at_ts)}

    def before(op):
        found = [tensor.op for tensor in op.inputs if tensor.ref() not in stop]
        return found + list(op.control_inputs) if control_inputs else found

    seeds = _seeds(seed_ops, get_generating_ops)
    return _walk(seeds, before, inclusive, within_ops, within_ops_fn)


def get_forward_walk_ops(
    seed_ops,
    inclusive=True,
    within_ops=None,
    within_ops_fn=None,
    stop_at_ts=(),
    control_outputs=None,
):
    """Returns the operations that depend on others.

    Args:
      seed_ops: operations where the walk begins, or tensors for those that read them.
      inclusive: whether these are part of the result.
      within_ops: operations that the walk does not leave, or None.
      within_ops_fn: function from an operation to whether the walk enters it, or None.
      stop_at_ts: tensors that the walk does not pass.
      control_outputs: ControlOutputs for following control outputs, or None.

    Raises:
      TypeError: an argument contains something else.
    """
    stop = {tensor.ref() for tensor in make_list_of_t(stop_at_ts)}
    _, control_outputs = check_cios(False, control_outputs)

    def after(op):
        passed = [tensor for tensor in op.outputs if tensor.ref() not in stop]
        found = get_consuming_ops(passed)
        return found if control_outputs is None else found + list(control_outputs.get(op))

    seeds = _seeds(seed_ops, get_consuming_ops)
    return _walk(seeds, after, inclusive, within_ops, within_ops_fn)


def _seeds(given, from_tensors):
    """Returns the operations where a walk begins."""
    items = list(given) if is_sequence(given) else [given]
    if items and all(hasattr(item, "value_index") for item in items):
        return from_tensors(items)
    return make_list_of_op(items, allow_graph=False)


def _walk(seeds, following, inclusive, within_ops, within_ops_fn):
    """Returns all operations that are reached from seeds.

    Args:
      seeds: list of operations.
      following: function from an operation to the next ones.
      inclusive: whether the seeds are part of the result.
      within_ops: operations that the walk does not leave, or None.
      within_ops_fn: function from an operation to whether the walk enters it, or None.
    """
    allowed = None if within_ops is None else set(make_list_of_op(within_ops))

    def is_within(op):
        return (allowed is None or op in allowed) and (within_ops_fn is None or within_ops_fn(op))

    waiting = [op for op in seeds if is_within(op)]
    reached = dict.fromkeys(waiting)
    while waiting:
        new = [op for op in unique(following(waiting.pop())) if op not in reached and is_within(op)]
        reached.update(dict.fromkeys(new))
        waiting += new
    if not inclusive:
        reached = dict.fromkeys(op for op in reached if op not in set(seeds))
    return list(reached)


def _both(forward_seed_ops, backward_seed_ops, options):
    """Returns the results of a forward and of a backward walk."""
    controls = (options.get(name) for name in ("control_outputs", "control_ios"))
    control_inputs, control_outputs = check_cios(options.get("control_inputs", False), *controls)
    within = {name: options.get(name) for name in ("within_ops", "within_ops_fn")}
    forward = get_forward_walk_ops(
        forward_seed_ops,
        options.get("forward_inclusive", True),
        control_outputs=control_outputs,
        **within,
    )
    backward = get_backward_walk_ops(
        backward_seed_ops,
        options.get("backward_inclusive", True),
        control_inputs=control_inputs,
        **within,
    )
    return forward, backward


def get_walks_intersection_ops(
    forward_seed_ops,
    backward_seed_ops,
    forward_inclusive=True,
    backward_inclusive=True,
    within_ops=None,
    within_ops_fn=None,
    control_inputs=False,
    control_outputs=None,
    control_ios=None,
):
    """Returns the operations that a forward and a backward walk both reach.

    Args:
      forward_seed_ops: as for get_forward_walk_ops.
      backward_seed_ops: as for get_backward_walk_ops.
      forward_inclusive: whether the first ones are part of the forward walk.
      backward_inclusive: whether the first ones are part of the backward walk.
      within_ops: operations that the walks do not leave, or None.
      within_ops_fn: function from an operation to whether the walks enter it, or None.
      control_inputs: see check_cios.
      control_outputs: see check_cios.
      control_ios: see check_cios.
    """
    options = {key: value for key, value in locals().items() if not key.endswith("seed_ops")}
    forward, backward = _both(forward_seed_ops, backward_seed_ops, options)
    reached = set(backward)
    return [op for op in forward if op in reached]


def get_walks_union_ops(
    forward_seed_ops,
    backward_seed_ops,
    forward_inclusive=True,
    backward_inclusive=True,
    within_ops=None,
    within_ops_fn=None,
    control_inputs=False,
    control_outputs=None,
    control_ios=None,
):
    """Returns the operations that a forward or a backward walk reaches.

    Args:
      forward_seed_ops: as for get_forward_walk_ops.
      backward_seed_ops: as for get_backward_walk_ops.
      forward_inclusive: whether the first ones are part of the forward walk.
      backward_inclusive: whether the first ones are part of the backward walk.
      within_ops: operations that the walks do not leave, or None.
      within_ops_fn: function from an operation to whether the walks enter it, or None.
      control_inputs: see check_cios.
      control_outputs: see check_cios.
      control_ios: see check_cios.
    """
    options = {key: value for key, value in locals().items() if not key.endswith("seed_ops")}
    forward, backward = _both(forward_seed_ops, backward_seed_ops, options)
    return unique([*forward, *backward])


def get_within_boundary_ops(
    ops,
    seed_ops,
    boundary_ops=(),
    inclusive=True,
    control_inputs=False,
    control_outputs=None,
    control_ios=None,
):
    """Returns the operations around some, as far as a boundary.

    Args:
      ops: operations that the walk does not leave, as for make_list_of_op.
      seed_ops: operations where it begins.
      boundary_ops: operations that it does not pass.
      inclusive: whether those of the boundary are part of the result.
      control_inputs: see check_cios.
      control_outputs: see check_cios.
      control_ios: see check_cios.

    Raises:
      ValueError: an operation is where the walk begins, and of the boundary.
    """
    controls = check_cios(control_inputs, control_outputs, control_ios)
    boundary, seeds = set(make_list_of_op(boundary_ops)), make_list_of_op(seed_ops)
    if boundary & set(seeds):
        raise ValueError("boundary_ops: an operation is among seed_ops too")

    def around(op):
        return [] if op in boundary else neighbours(op, *controls)

    found = set(_walk(seeds, around, True, ops, None))
    ordered = [op for op in make_list_of_op(ops) if op in found]
    return ordered if inclusive else [op for op in ordered if op not in boundary]
