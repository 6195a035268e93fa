"""A function of the user's as Keras code: traced as a TensorFlow graph and written op by op.

That is a numeric column's normalizer_fn, or the activation_fn of a deep part.
"""

from typing import Any, Callable

import numpy as np

from estimator_bridge.errors import BridgeError

from ..plan.columns import Normalizer

__all__ = ["trace_activation", "trace_normalizer"]

_SAME = {
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
_PASSED_ON = ("Identity", "StopGradient", "CheckNumerics", "EnsureShape")


def trace_normalizer(
    function: Callable, key: str, shape: tuple[int, ...], dtype: str, sparse: bool = False
) -> Normalizer:
    """Writes a normalizer_fn as Keras code.

    Args:
      function: from a tensor [batch, *shape] to one of the same shape.
      key: the column, for messages.
      shape: of a row.
      dtype: of the raw feature.
      sparse: whether it takes and gives a SparseTensor, as those of sequence columns do.

    Raises:
      BridgeError: it uses an operation that has no counterpart, or fails; names the column.
    """
    what = f"column {key!r}: its normalizer_fn"
    code = _trace(function, what, shape, dtype, sparse)
    # The column itself casts the result.
    return Normalizer(f'ops.cast({code}, "float32")', function)


def trace_activation(function: Callable, units: int) -> str:
    """Writes an activation_fn of a layer of `units` as Keras code of one variable `x`.

    Raises:
      BridgeError: it uses an operation that has no counterpart, or fails.
    """
    name = getattr(function, "__name__", type(function).__name__)
    return _trace(function, f"activation_fn {name}", (units,), "float32", False)


def _trace(function, what, shape, dtype, sparse) -> str:
    from estimator_bridge import tf

    graph = tf.Graph()
    try:
        with graph.as_default():
            raw = tf.compat.v1.placeholder(dtype, [None] if sparse else [None, *shape])
            given = raw
            if sparse:
                where = tf.compat.v1.placeholder(tf.int64, [None, 2])
                given = tf.SparseTensor(where, raw, tf.constant([1, 1], tf.int64))
            result = function(given)
            result = result.values if sparse else tf.convert_to_tensor(result)
    except Exception as error:  # Code of the user's: whatever it raises is about this place.
        raise BridgeError(
            f"{what} fails when called on a {dtype} tensor: {str(error).splitlines()[0]}"
        ) from error
    return _write(result, raw, what)


def _write(tensor: Any, raw: Any, what: str) -> str:
    if tensor is raw:
        return "x"
    op = tensor.op
    if op.type == "Const":
        return _constant(op)
    inputs = [_write(source, raw, what) for source in op.inputs]
    if op.type == "IdentityN":
        return inputs[tensor.value_index]
    if op.type in _PASSED_ON:
        return inputs[0]
    if op.type == "Cast":
        return f'ops.cast({inputs[0]}, "{tensor.dtype.name}")'
    if op.type == "SquaredDifference":
        return f"ops.square(ops.subtract({inputs[0]}, {inputs[1]}))"
    if op.type in ("DivNoNan", "Xlogy"):
        return _write_safe(op.type, inputs)
    if op.type == "ClipByValue":
        return f"ops.clip({', '.join(inputs)})"
    if op.type == "LeakyRelu":
        return f"ops.leaky_relu({inputs[0]}, {round(op.get_attr('alpha'), 7)!r})"
    if op.type == "ConcatV2":
        return f"ops.concatenate([{', '.join(inputs[:-1])}], axis={inputs[-1]})"
    if op.type not in _SAME:
        raise BridgeError(
            f"{what} uses the TensorFlow operation {op.type}, which has no counterpart here; "
            "compute that in the input function, or rewrite the function with arithmetic, log, "
            "exp, clip, where and comparisons"
        )
    return f"ops.{_SAME[op.type]}({', '.join(inputs)})"


def _write_safe(kind, inputs) -> str:
    first, second = inputs
    if kind == "DivNoNan":
        safe = f"ops.where(ops.equal({second}, 0), 1, {second})"
        return f"ops.where(ops.equal({second}, 0), 0, ops.divide({first}, {safe}))"
    safe = f"ops.where(ops.equal({first}, 0), 1, {second})"
    return f"ops.multiply({first}, ops.log({safe}))"


def _constant(op) -> str:
    from tensorflow import make_ndarray

    value = make_ndarray(op.get_attr("value"))
    if value.size == 1:
        number = value.reshape(-1)[0].item()
        if isinstance(number, float) and not np.isfinite(number):
            return f'float("{number}")'
        return repr(number)
    return f'np.array({value.tolist()!r}, "{value.dtype.name}")'
