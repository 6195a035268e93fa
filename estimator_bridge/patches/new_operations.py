"""Adds operations to graphs with less Python. Slow in all TensorFlow versions.

For each operation, TensorFlow reads the definition of its type again, compares each input and each
attribute with it in Python, and copies the attributes into a message, which it takes apart at once.
Here the definition of a type is read once. An operation whose inputs are tensors of the graph or a
few numbers, and whose attributes have values that the definition allows, is added directly. All
others, and those with an error, take TensorFlow's own way.

docs/speed_measured.md has the figures.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

import tensorflow as tf
from google.protobuf.message import EncodeError

from ..private_tf import (
    op_callbacks,
    op_def_library,
    ops,
    pywrap_tf_session,
    tf_stack,
    traceback_utils,
)
from . import operation_kinds

__all__ = ["apply"]

# Attributes of at least this size, bytes, are refused by TensorFlow.
_TOO_LARGE = 1 << 31
# Name of a file whose frames TensorFlow counts as its own, and leaves out where it tells where an
# operation was added: its runtime looks for the folder, its Python for the first word.
_OWN_FILE = f"<embedded in tensorflow/python: {__name__}>"


def apply() -> None:
    """Has operations of graphs added directly where nothing about them must be checked."""
    graph = ops.Graph
    if getattr(graph._create_op_internal, "_bridged", False):
        return
    create = _create_quickly(graph._create_op_internal)
    call = _call_quickly(op_def_library._apply_op_helper, create)
    for function in (create, call, _add):
        function.__code__ = function.__code__.replace(co_filename=_OWN_FILE)
    vars(create)["_bridged"] = True
    graph._create_op_internal = create
    op_def_library._apply_op_helper = call
    traceback_utils._EXCLUDED_PATHS = (*traceback_utils._EXCLUDED_PATHS, _OWN_FILE)


def _call_quickly(original: Callable[..., Any], create: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function that the functions of TensorFlow's operations call.

    Args:
      original: TensorFlow's own.
      create: the method of graphs that this module has replaced.
    """

    @functools.wraps(original)
    def call(op_type_name: str, name: Optional[str] = None, **keywords: Any) -> Any:
        kind = operation_kinds.describe(op_type_name)
        graph = ops.get_default_graph()
        if (
            kind is None
            or len(keywords) != kind.num_arguments
            # Graphs of functions capture tensors of others.
            or type(graph)._create_op_internal is not create
            or op_callbacks.should_invoke_op_callbacks()
            or tf.executing_eagerly()
        ):
            return original(op_type_name, name, **keywords)
        arguments = operation_kinds.read(kind, graph, keywords)
        before, name = graph._name_stack, name or op_type_name
        if arguments is None or not _is_valid(name, before):
            return original(op_type_name, name, **keywords)
        messages = _serialize(arguments.attributes)
        if messages is None:
            return original(op_type_name, name, **keywords)
        # The operation has the name of a scope, because a loop adds more operations in it.
        inner = name[:-1] if name[-1] == "/" else graph.unique_name(name)
        graph._name_stack = inner
        try:
            for place, (argument, dtype) in arguments.numbers.items():
                value = arguments.groups[place]
                arguments.groups[place] = ops.convert_to_tensor(value, dtype, argument)
            op = _add(graph, op_type_name, inner, arguments.groups, messages)
        finally:
            graph._name_stack = before
        return list(kind.outputs), kind.definition.is_stateful, op, op.outputs

    return call


def _create_quickly(original: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the method of graphs that adds an operation.

    Args:
      original: TensorFlow's own.
    """

    @functools.wraps(original)
    def create(  # noqa: PLR0913 - TensorFlow's arguments
        self: Any,
        op_type: str,
        inputs: Any,
        dtypes: Any = None,
        input_types: Any = None,
        name: Any = None,
        attrs: Any = None,
        op_def: Any = None,
        compute_device: bool = True,
    ) -> Any:
        messages = None
        if compute_device and _is_valid(name, self._name_stack) and _fit(inputs, input_types):
            messages = _serialize(attrs or {})
        if messages is None:
            return original(
                self, op_type, inputs, dtypes, input_types, name, attrs, op_def, compute_device
            )
        definition = self.op_def_for_type(op_type) if op_def is None else op_def
        groups = []
        if definition.input_arg:
            groups = ops._reconstruct_sequence_inputs(definition, inputs, attrs)
        unique = name[:-1] if name[-1] == "/" else self.unique_name(name)
        return _add(self, op_type, unique, groups, messages)

    return create


def _is_valid(name: Any, scope: str) -> bool:
    """Returns whether an operation may have a name in a scope."""
    if type(name) is not str or not name:
        return False
    is_inner = scope and name[-1] != "/"
    pattern = ops._VALID_SCOPE_NAME_REGEX if is_inner else ops._VALID_OP_NAME_REGEX
    return pattern.match(name) is not None


def _fit(tensors: Any, dtypes: Any) -> bool:
    """Returns whether the inputs of an operation are tensors of a graph with these types."""
    if type(tensors) is not list or any(type(each) is not ops.SymbolicTensor for each in tensors):
        return False
    if dtypes is None:
        return True
    return len(dtypes) == len(tensors) and all(
        dtype in (each.dtype, each.dtype.base_dtype) for each, dtype in zip(tensors, dtypes)
    )


def _serialize(attributes: Mapping[str, Any]) -> Optional[list[tuple[str, bytes]]]:
    """Returns the messages of attributes; None if they are too large for an operation."""
    try:
        messages = [(name, value.SerializeToString()) for name, value in attributes.items()]
    except EncodeError:
        return None
    return messages if sum(len(message) for _, message in messages) < _TOO_LARGE else None


def _add(
    graph: Any,
    kind: str,
    name: str,
    groups: Sequence[Any],
    messages: Sequence[tuple[str, bytes]],
) -> Any:
    """Adds an operation; returns it.

    Args:
      graph: of the operation.
      kind: name of its type.
      name: of the operation, which no other has.
      groups: its inputs; a list for an input that is a list.
      messages: its attributes.

    Raises:
      ValueError: the types or shapes of the inputs do not fit.
    """
    graph._check_not_finalized()
    tensors: list[Any] = []
    for group in groups:
        if type(group) is list:
            tensors += group
        else:
            tensors.append(group)
    before = graph._control_dependencies_for_inputs({each.op for each in tensors})
    with graph._mutation_lock():
        with graph._c_graph.get() as c_graph:
            begun = pywrap_tf_session.TF_NewOperation(c_graph, kind, name)
        for group in groups:
            if type(group) is list:
                outputs = [each._as_tf_output() for each in group]
                pywrap_tf_session.TF_AddInputList(begun, outputs)
            else:
                pywrap_tf_session.TF_AddInput(begun, group._as_tf_output())
        for op in before:
            pywrap_tf_session.TF_AddControlInput(begun, op._c_op)
        for key, message in messages:
            pywrap_tf_session.TF_SetAttrValueProto(begun, key, message)
        try:
            added = pywrap_tf_session.TF_FinishOperation(begun)
        except tf.errors.InvalidArgumentError as error:
            raise ValueError(error.message) from None
        # Without three frames: of extract_stack, of this function, and of the one that calls it.
        pywrap_tf_session.TF_SetOpStackTrace(added, tf_stack.extract_stack(stacklevel=3))
        op = tf.Operation(added, ops.SymbolicTensor)
        op._init(graph)
        op._original_op = graph._default_original_op
        op._control_flow_post_processing(input_tensors=tensors)
        graph._create_op_helper(op)
    return op
