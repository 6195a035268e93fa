"""Converts a user function to Keras code: traces it as a TensorFlow graph, operation by operation.

The functions are the normalizer_fn of a numeric column and the activation_fn of a deep part.
"""

from typing import Any, Callable, Optional

import numpy as np

from estimator_bridge.errors import BridgeError

from ..plan.columns import Normalizer

__all__ = ["trace_activation", "trace_normalizer"]

_SAME_ARGUMENTS = {
    "AddV2": "add",
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "RealDiv": "divide",
    "Div": "divide",
    "Maximum": "maximum",
    "Minimum": "minimum",
    "Pow": "power",
    "FloorMod": "mod",
    "FloorDiv": "floor_divide",
    "Log": "log",
    "Log1p": "log1p",
    "Exp": "exp",
    "Expm1": "expm1",
    "Sqrt": "sqrt",
    "Rsqrt": "rsqrt",
    "Square": "square",
    "Abs": "absolute",
    "Neg": "negative",
    "Sign": "sign",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
    "Relu": "relu",
    "Softplus": "softplus",
    "Softsign": "softsign",
    "Relu6": "relu6",
    "Elu": "elu",
    "Selu": "selu",
    "Softmax": "softmax",
    "Floor": "floor",
    "Ceil": "ceil",
    "Round": "round",
    "Rint": "round",
    "Sin": "sin",
    "Cos": "cos",
    "Reciprocal": "reciprocal",
    "Erf": "erf",
    "IsNan": "isnan",
    "IsFinite": "isfinite",
    "Greater": "greater",
    "GreaterEqual": "greater_equal",
    "Less": "less",
    "LessEqual": "less_equal",
    "Equal": "equal",
    "NotEqual": "not_equal",
    "LogicalAnd": "logical_and",
    "LogicalOr": "logical_or",
    "LogicalNot": "logical_not",
    "SelectV2": "where",
    "Select": "where",
    "ZerosLike": "zeros_like",
    "OnesLike": "ones_like",
}
_NO_OPERATION = ("Identity", "StopGradient", "CheckNumerics", "EnsureShape")


def trace_normalizer(
    function: Callable[[Any], Any],
    key: str,
    shape: tuple[int, ...],
    dtype: str,
    sparse: bool = False,
) -> Normalizer:
    """Converts a normalizer_fn to Keras code.

    Args:
      function: maps a tensor [batch, *shape] to one of the same shape.
      key: name of the column, for messages.
      shape: shape of one row.
      dtype: dtype of the raw feature.
      sparse: whether the function maps SparseTensors, as those of sequence columns do.

    Returns:
      The normalizer, whose result is float32.

    Raises:
      BridgeError: the function raises, or uses an operation without a counterpart.
    """
    code = _trace(function, f"column {key!r}: its normalizer_fn", shape, dtype, sparse)
    # The result is cast, because a feature column casts it.
    return Normalizer(f'ops.cast({code}, "float32")', function)


def trace_activation(function: Callable[[Any], Any], units: int) -> str:
    """Converts an activation_fn to Keras code of one variable `x`.

    Args:
      function: maps a float32 tensor [batch, units] to another tensor.
      units: size of the layer.

    Raises:
      BridgeError: the function raises, or uses an operation without a counterpart.
    """
    name = getattr(function, "__name__", type(function).__name__)
    return _trace(function, f"activation_fn {name}", (units,), "float32", False)


def _trace(
    function: Callable[[Any], Any], what: str, shape: tuple[int, ...], dtype: str, sparse: bool
) -> str:
    from estimator_bridge import tf

    graph = tf.Graph()
    try:
        with graph.as_default():
            raw = tf.compat.v1.placeholder(dtype, [None] if sparse else [None, *shape])
            argument = raw
            if sparse:
                where = tf.compat.v1.placeholder(tf.int64, [None, 2])
                argument = tf.SparseTensor(where, raw, tf.constant([1, 1], tf.int64))
            result = function(argument)
            result = result.values if sparse else tf.convert_to_tensor(result)
    except Exception as error:  # User code may raise anything.
        raise BridgeError(
            f"{what} raises when called with a {dtype} tensor: {str(error).splitlines()[0]}"
        ) from error
    return _write(result, raw, what)


def _write(tensor: Any, raw: Any, what: str) -> str:
    """Returns the Keras code of a tensor; `raw` is the variable x."""
    if tensor is raw:
        return "x"
    op = tensor.op
    if op.type == "Const":
        return _constant(op)
    inputs = [_write(source, raw, what) for source in op.inputs]
    if op.type == "IdentityN":
        return inputs[tensor.value_index]
    if op.type in _NO_OPERATION:
        return inputs[0]
    if op.type in _SAME_ARGUMENTS:
        return f"ops.{_SAME_ARGUMENTS[op.type]}({', '.join(inputs)})"
    code = _write_other(op, tensor, inputs)
    if code is None:
        raise BridgeError(
            f"{what} uses the TensorFlow operation {op.type}, which has no counterpart in Keras; "
            "move that computation to the input function, or rewrite the function with "
            "arithmetic, log, exp, clip, where and comparisons"
        )
    return code


def _write_other(op: Any, tensor: Any, inputs: list[str]) -> Optional[str]:
    """Returns the Keras code of an operation with other arguments in Keras, or None."""
    if op.type == "Cast":
        return f'ops.cast({inputs[0]}, "{tensor.dtype.name}")'
    if op.type == "SquaredDifference":
        return f"ops.square(ops.subtract({inputs[0]}, {inputs[1]}))"
    if op.type == "DivNoNan":
        first, second = inputs
        safe = f"ops.where(ops.equal({second}, 0), 1, {second})"
        return f"ops.where(ops.equal({second}, 0), 0, ops.divide({first}, {safe}))"
    if op.type == "Xlogy":
        first, second = inputs
        safe = f"ops.where(ops.equal({first}, 0), 1, {second})"
        return f"ops.multiply({first}, ops.log({safe}))"
    if op.type == "ClipByValue":
        return f"ops.clip({', '.join(inputs)})"
    if op.type == "LeakyRelu":
        return f"ops.leaky_relu({inputs[0]}, {round(op.get_attr('alpha'), 7)!r})"
    if op.type == "ConcatV2":
        return f"ops.concatenate([{', '.join(inputs[:-1])}], axis={inputs[-1]})"
    return None


def _constant(op: Any) -> str:
    from tensorflow import make_ndarray

    value = make_ndarray(op.get_attr("value"))
    if value.size == 1:
        number = value.reshape(-1)[0].item()
        if isinstance(number, float) and not np.isfinite(number):
            return f'float("{number}")'
        return repr(number)
    return f'np.array({value.tolist()!r}, "{value.dtype.name}")'
