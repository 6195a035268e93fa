"""Numbers of NumPy are computed with as in NumPy 1: the values decide, not only the types.

Since NumPy 2, `np.uint8(200) + 100` is 44 and `np.float32(1) + 1e-9` is 1, because a number of
Python takes the type of the other one. NumPy 2.0 and 2.1 can still compute as before. Later
versions cannot, so the operators of its numbers are set here. Those of its arrays cannot be set,
because NumPy itself computes by them: an array of float32 times a float64 of NumPy is float64.
"""

import functools
import operator
from collections.abc import Callable
from typing import Any, Optional

import numpy as np

from estimator_bridge.old_packages.special_methods import can_set, set_method

__all__ = ["install"]

# Operator -> how NumPy computes it, and how Python does with the same result, if it always does.
_ARITHMETIC = {
    "add": (np.add, operator.add),
    "sub": (np.subtract, operator.sub),
    "mul": (np.multiply, operator.mul),
    "truediv": (np.true_divide, operator.truediv),
    "floordiv": (np.floor_divide, operator.floordiv),
    "mod": (np.remainder, operator.mod),
    "pow": (np.power, None),
    "and": (np.bitwise_and, operator.and_),
    "or": (np.bitwise_or, operator.or_),
    "xor": (np.bitwise_xor, operator.xor),
}
_COMPARISONS = {
    "eq": (np.equal, operator.eq),
    "ne": (np.not_equal, operator.ne),
    "lt": (np.less, operator.lt),
    "le": (np.less_equal, operator.le),
    "gt": (np.greater, operator.gt),
    "ge": (np.greater_equal, operator.ge),
}
_TYPES = "bhilqBHILQefdFD"
# A number whose kind is not above that of an array does not change the type of the array.
_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
_STRONG: dict[type, Callable[[Any], Any]] = {
    int: np.int64,
    float: np.float64,
    complex: np.complex128,
}
_RESULTS: dict[type, Callable[[Any], Any]] = {int: np.int64, float: np.float64, bool: np.bool_}
# Those that Python can compute with: an integer of 64 bits without a sign becomes a float64.
_SHORT = (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32, np.float16, np.float32)
# Those that are not changed by a number of Python anyway.
_WIDE = (np.int64, np.float64)


def install() -> None:
    """Restores the rules, if NumPy has others."""
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        return
    if hasattr(np, "_set_promotion_state"):
        np._set_promotion_state("legacy")
        return
    kinds = list(dict.fromkeys(np.dtype(code).type for code in _TYPES))
    if not all(map(can_set, kinds)):
        return
    operators: dict[str, Any] = {
        f"__{name}__": pair for name, pair in {**_ARITHMETIC, **_COMPARISONS}.items()
    }
    for name, (function, plain) in _ARITHMETIC.items():
        operators[f"__r{name}__"] = (_swap(function), plain and _swap(plain))
    for kind in kinds:
        for name, pair in operators.items():
            if hasattr(kind, name):
                set_method(kind, name, _of_number(kind, getattr(kind, name), *pair))


def _swap(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda one, other: function(other, one)


def _weaken(number: Any, array: np.ndarray) -> Any:
    """Returns a number that does not change the type of an array, unless it must.

    It must if it is of a larger kind, or if the type cannot express it.
    """
    kind = array.dtype.kind
    if _RANKS[number.dtype.kind] > _RANKS[kind]:
        return number
    least = np.min_scalar_type(number)
    value = number.item()
    if kind in "fc":
        is_kept = np.promote_types(least, array.dtype) == array.dtype
    else:
        limits = np.iinfo(array.dtype)
        is_kept = limits.min <= value <= limits.max
    return value if is_kept else least.type(number)


def _of_number(
    kind: type,
    original: Callable[..., Any],
    function: Callable[..., Any],
    plain: Optional[Callable[..., Any]],
) -> Callable[..., Any]:
    """Returns an operator of numbers of NumPy.

    Args:
      kind: their type.
      original: the method that computes the operator today.
      function: computes it of two arrays or numbers.
      plain: computes it of two numbers of Python, about five times as fast.
    """
    is_short, is_wide = kind in _SHORT and plain is not None, kind in _WIDE

    @functools.wraps(original)
    def compute(self: Any, other: Any, *args: Any) -> Any:
        of_other = type(other)
        if of_other is kind:
            return original(self, other, *args)
        if of_other in _STRONG:
            if is_wide:
                return original(self, other, *args)
            try:
                if is_short and of_other is not complex:
                    result = plain(self.item(), other)  # type: ignore[misc]
                    return _RESULTS[type(result)](result)
                return function(self, _STRONG[of_other](other))
            except (ZeroDivisionError, OverflowError, TypeError):
                # NumPy has infinities, and objects for large integers.
                if abs(other) >= 1 << 63:
                    return original(self, other, *args)
                return function(self, _STRONG[of_other](other))
        elif isinstance(other, np.generic):
            if other.dtype.kind in _RANKS:
                return function(self, other)
        elif isinstance(other, np.ndarray) and other.ndim and other.dtype.kind in _RANKS:
            return function(_weaken(self, other), other)
        return original(self, other, *args)

    return compute
