"""Connects operations with other tensors."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.graph_editor.lists import make_list_of_op, make_list_of_t

__all__ = ["add_control_inputs", "remove_control_inputs", "reroute_ts", "swap_ts"]


def _readers(tensors, can_modify, cannot_modify):
    """Returns, for each tensor, the pairs (operation, place) at which it may be exchanged."""
    can = None if can_modify is None else set(make_list_of_op(can_modify))
    cannot = set() if cannot_modify is None else set(make_list_of_op(cannot_modify))
    return [
        [
            (op, place)
            for op in dict.fromkeys(tensor.consumers())
            if (can is None or op in can) and op not in cannot
            for place, read in enumerate(op.inputs)
            if read is tensor
        ]
        for tensor in tensors
    ]


def _pairs(ts0, ts1):
    firsts, seconds = make_list_of_t(ts0), make_list_of_t(ts1)
    if len(firsts) != len(seconds):
        raise ValueError(f"ts0 and ts1 differ in size: {len(firsts)} and {len(seconds)} tensors")
    for first, second in zip(firsts, seconds):
        if first.dtype != second.dtype:
            raise ValueError(f"{first.name} is {first.dtype}, but {second.name} {second.dtype}")
        if not first.shape.is_compatible_with(second.shape):
            raise ValueError(f"{first.name} has the shape {first.shape}, {second.name} another")
    return firsts, seconds


def _connect(new_tensors, readers):
    """Connects operations with new tensors; returns the number of inputs that have changed."""
    changes = [
        (op, place, tensor)
        for tensor, places in zip(new_tensors, readers)
        for op, place in places
        if op.inputs[place] is not tensor
    ]
    for op, place, tensor in changes:
        op._update_input(place, tensor)
    return len(changes)


def reroute_ts(ts0, ts1, can_modify=None, cannot_modify=None):
    """Lets what reads the tensors ts1 read the tensors ts0.

    Args:
      ts0: tensors, as for make_list_of_t.
      ts1: as many tensors.
      can_modify: operations that may be changed; None for all.
      cannot_modify: operations that may not be changed, or None.

    Returns:
      The number of inputs that have changed.

    Raises:
      ValueError: the tensors differ in number, in type or in shape.
    """
    firsts, seconds = _pairs(ts0, ts1)
    return _connect(firsts, _readers(seconds, can_modify, cannot_modify))


def swap_ts(ts0, ts1, can_modify=None, cannot_modify=None):
    """Lets what reads the tensors ts1 read the tensors ts0, and the other way round.

    Args:
      ts0: tensors, as for make_list_of_t.
      ts1: as many tensors.
      can_modify: operations that may be changed; None for all.
      cannot_modify: operations that may not be changed, or None.

    Returns:
      The number of inputs that have changed.

    Raises:
      ValueError: the tensors differ in number, in type or in shape.
    """
    firsts, seconds = _pairs(ts0, ts1)
    of_firsts, of_seconds = (
        _readers(tensors, can_modify, cannot_modify) for tensors in (firsts, seconds)
    )
    return _connect(firsts, of_seconds) + _connect(seconds, of_firsts)


def _require_op(op):
    if not isinstance(op, tf.Operation):
        raise TypeError(f"expected a tf.Operation, got {op!r}")


def add_control_inputs(op, cops):
    """Lets an operation wait for others.

    Args:
      op: operation.
      cops: operations, as for make_list_of_op.

    Raises:
      TypeError: op is no operation.
      ValueError: it waits for one of them already.
    """
    _require_op(op)
    cops = make_list_of_op(cops, allow_graph=False)
    for before in cops:
        if before in op.control_inputs:
            raise ValueError(f"{op.name} waits for {before.name} already")
    op._add_control_inputs(cops)


def remove_control_inputs(op, cops):
    """Lets an operation no longer wait for others.

    Args:
      op: operation.
      cops: operations, as for make_list_of_op.

    Raises:
      TypeError: op is no operation.
      ValueError: it does not wait for one of them.
    """
    _require_op(op)
    cops = make_list_of_op(cops, allow_graph=False)
    for before in cops:
        if before not in op.control_inputs:
            raise ValueError(f"{op.name} does not wait for {before.name}")
    kept = [before for before in op.control_inputs if before not in cops]
    op._remove_all_control_inputs()
    op._add_control_inputs(kept)
