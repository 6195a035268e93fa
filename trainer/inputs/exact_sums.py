"""Exact sums of float64 numbers, which depend neither on their order nor on how they are grouped.

A sum is kept as a whole number of units of 2**-UNIT_BITS. Of a batch, the leading bits of all
numbers are added first, so few of them that no addition rounds, then the next bits of the rest
(Rump, Ogita and Oishi, "Accurate floating-point summation", 2008).
"""

import math
from collections.abc import Iterator

import numpy as np

# The square of the smallest float64 is 2**-2148.
UNIT_BITS = 2148
# Squares of numbers between these neither overflow nor lose bits; others are added one by one.
_LARGEST, _SMALLEST = 2.0**480, 2.0**-400
# A float64 times this number splits into two halves of 26 bits (Veltkamp, 1968).
_SPLITTER = 134217729.0
_BLOCK = 8192


def sum_exactly(values: np.ndarray) -> int:
    """Returns the sum of some numbers in units of 2**-UNIT_BITS.

    Args:
        values: finite, float32, float64 or int64 [n]; the latter are rounded to float64.
    """
    return sum(_sum(block.astype(np.float64)) for block in _split(values))


def sum_squares_exactly(values: np.ndarray) -> int:
    """Returns the sum of the squares of some numbers in units of 2**-UNIT_BITS.

    Args:
        values: finite, float32, float64 or int64 [n]; the latter are rounded to float64.
    """
    if values.dtype == np.float32:
        # A float64 holds the square of any float32.
        return sum(_sum(np.square(block, dtype=np.float64)) for block in _split(values))
    return sum(_sum_squares(block.astype(np.float64)) for block in _split(values))


def _split(values: np.ndarray) -> Iterator[np.ndarray]:
    """Yields blocks that fit into the processor's cache."""
    for start in range(0, len(values), _BLOCK):
        yield values[start : start + _BLOCK]


def _sum(values: np.ndarray) -> int:
    top = _find_top(values)
    if top > _LARGEST:
        odd = np.abs(values) > _LARGEST
        return sum(_to_units(x) for x in values[odd].tolist()) + _sum(values[~odd])
    units = 0
    # All numbers are below the step times 2**-room, so that no sum reaches the step.
    room = len(values).bit_length() + 1
    while top:
        step = math.ldexp(1.0, room + math.frexp(top)[1])
        leading = values + step
        leading -= step
        units += _to_units(float(leading.sum()))
        values = values - leading
        top = _find_top(values)
    return units


def _find_top(values: np.ndarray) -> float:
    return max(float(values.max()), -float(values.min())) if len(values) else 0.0


def _sum_squares(values: np.ndarray) -> int:
    sizes = np.abs(values)
    odd = (sizes > _LARGEST) | ((sizes < _SMALLEST) & (sizes > 0))
    if odd.any():
        ratios = (x.as_integer_ratio() for x in values[odd].tolist())
        odd_units: int = sum((n * n) << (UNIT_BITS - 2 * (d.bit_length() - 1)) for n, d in ratios)
        return odd_units + _sum_squares(values[~odd])
    scaled = values * _SPLITTER
    high = scaled - (scaled - values)
    low = values - high
    units = _sum(high * high)
    # Whole numbers of 26 bits have no lower half.
    if low.any():
        units += _sum(2 * high * low) + _sum(low * low)
    return units


def divide(units: int, divisor: int) -> float:
    """Returns a sum divided by a whole number, rounded once.

    Args:
        units: the sum, in units of 2**-UNIT_BITS.
        divisor: at least 1.
    """
    return units / (divisor << UNIT_BITS)


def find_deviation(total: int, squares: int, count: int) -> float:
    """Returns the standard deviation of some numbers; infinite if its square is no float64.

    Args:
        total: sum of the numbers, in units of 2**-UNIT_BITS.
        squares: sum of their squares, in the same units.
        count: how many they are, at least 1.
    """
    spread = (count * squares << UNIT_BITS) - total * total
    try:
        return math.sqrt(spread / (count * count << 2 * UNIT_BITS))
    except OverflowError:
        return math.inf


def _to_units(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return numerator << (UNIT_BITS - (denominator.bit_length() - 1))
