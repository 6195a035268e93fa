"""Operations and tensors that have certain names, or fulfil a condition."""

import re

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.graph_editor.lists import (
    is_sequence,
    make_list_of_op,
    unique_tensors,
)

__all__ = [
    "can_be_regex",
    "filter_ops",
    "filter_ops_from_regex",
    "filter_ts",
    "filter_ts_from_regex",
    "get_name_scope_ops",
    "make_regex",
    "select_ops",
    "select_ops_and_ts",
    "select_ts",
]

# How an expression says that it means tensors, or operations.
_TENSORS, _OPERATIONS = "(?#ts)", "(?#ops)"


def can_be_regex(obj):
    """Returns whether an object is a regular expression, or text that can be one.

    Args:
      obj: anything.
    """
    return isinstance(obj, (str, re.Pattern))


def make_regex(obj):
    """Returns a compiled regular expression.

    Args:
      obj: text or regular expression.

    Raises:
      ValueError: it is something else.
    """
    if not can_be_regex(obj):
        raise ValueError(f"expected a regular expression, got {obj!r}")
    return re.compile(obj)


def filter_ops(ops, positive_filter):
    """Returns the operations for which a function is true.

    Args:
      ops: operations, as for make_list_of_op.
      positive_filter: function of an operation, or True for all.
    """
    ops = make_list_of_op(ops)
    return ops if positive_filter is True else [op for op in ops if positive_filter(op)]


def filter_ops_from_regex(ops, regex):
    """Returns the operations whose names contain a regular expression.

    Args:
      ops: operations, as for make_list_of_op.
      regex: text or regular expression.
    """
    pattern = make_regex(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name))


def get_name_scope_ops(ops, scope):
    """Returns the operations in a name scope; none for an empty name.

    Args:
      ops: operations, as for make_list_of_op.
      scope: name of the scope, with a slash at its end or without.
    """
    scope = scope.removesuffix("/")
    return filter_ops_from_regex(ops, f"^{re.escape(scope)}(/.*)?$") if scope else []


def filter_ts(ops, positive_filter):
    """Returns the tensors that operations read or compute, for which a function is true.

    Args:
      ops: operations, as for make_list_of_op.
      positive_filter: function of a tensor, or True for all.
    """
    ops = make_list_of_op(ops)
    tensors = unique_tensors(
        tensor for kind in ("inputs", "outputs") for op in ops for tensor in getattr(op, kind)
    )
    return tensors if positive_filter is True else [one for one in tensors if positive_filter(one)]


def filter_ts_from_regex(ops, regex):
    """Returns the tensors that operations read or compute, whose names contain an expression.

    Args:
      ops: operations, as for make_list_of_op.
      regex: text or regular expression.
    """
    pattern = make_regex(regex)
    return filter_ts(ops, lambda tensor: pattern.search(tensor.name))


def _options(given, *restrictions):
    """Returns (graph, filter, restrictions ...) of keyword arguments."""
    known = ["graph", "positive_filter", *restrictions]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"unknown argument {unknown[0]!r}; use {', '.join(known)}")
    graph = given.get("graph")
    if graph is not None and not isinstance(graph, tf.Graph):
        raise TypeError(f"graph: expected a tf.Graph, got {graph!r}")
    return [given.get(name) for name in known]


def _selected(arguments, wanted, graph, from_regex):
    """Returns the elements of one kind among arguments.

    Args:
      arguments: regular expressions, operations, tensors, and sequences of these two.
      wanted: tf.Operation or tf.Tensor.
      graph: tf.Graph of the regular expressions, or None.
      from_regex: function from a regular expression to the elements that it means.

    Raises:
      TypeError: an argument is something else.
      ValueError: there is a regular expression, but no graph.
    """
    found = []
    for argument in arguments:
        if can_be_regex(argument):
            if graph is None:
                raise ValueError("graph: name the graph in which the regular expression is sought")
            found += from_regex(make_regex(argument))
            continue
        for item in argument if is_sequence(argument) else [argument]:
            if not isinstance(item, (tf.Operation, tf.Tensor)):
                raise TypeError(f"expected operations, tensors or expressions, got {item!r}")
            found += [item] if isinstance(item, wanted) else []
    return found


def select_ops(*args, **kwargs):
    """Returns operations.

    Args:
      *args: regular expressions and operations; tensors are passed over.
      **kwargs: `graph`, which regular expressions need; `positive_filter`, a function of an
        operation; `restrict_ops_regex`, whether to pass over expressions that do not begin with
        "(?#ops)".

    Raises:
      TypeError: an argument is something else.
      ValueError: an argument is unknown, or the graph is missing.
    """
    graph, condition, is_restricted = _options(kwargs, "restrict_ops_regex")

    def meant(pattern):
        text = pattern.pattern
        if text.startswith(_TENSORS) or (is_restricted and not text.startswith(_OPERATIONS)):
            return []
        return filter_ops_from_regex(graph, pattern)

    found = list(dict.fromkeys(_selected(args, tf.Operation, graph, meant)))
    return found if condition is None else filter_ops(found, condition)


def select_ts(*args, **kwargs):
    """Returns tensors.

    Args:
      *args: regular expressions and tensors; operations are passed over.
      **kwargs: `graph`, which regular expressions need; `positive_filter`, a function of a tensor;
        `restrict_ts_regex`, whether to pass over expressions that do not begin with "(?#ts)".

    Raises:
      TypeError: an argument is something else.
      ValueError: an argument is unknown, or the graph is missing.
    """
    graph, condition, is_restricted = _options(kwargs, "restrict_ts_regex")

    def meant(pattern):
        text = pattern.pattern
        if text.startswith(_OPERATIONS) or (is_restricted and not text.startswith(_TENSORS)):
            return []
        return filter_ts_from_regex(graph, pattern)

    found = unique_tensors(_selected(args, tf.Tensor, graph, meant))
    return found if condition is None else [tensor for tensor in found if condition(tensor)]


def select_ops_and_ts(*args, **kwargs):
    """Returns (operations, tensors).

    Args:
      *args: regular expressions, operations and tensors. An expression that begins with "(?#ts)"
        means tensors, any other operations.
      **kwargs: `graph`, which regular expressions need, and `positive_filter`.

    Raises:
      TypeError: an argument is something else.
      ValueError: an argument is unknown, or the graph is missing.
    """
    return select_ops(*args, **kwargs), select_ts(*args, restrict_ts_regex=True, **kwargs)
