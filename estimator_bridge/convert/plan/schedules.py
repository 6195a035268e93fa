"""Finds the Keras schedule of a learning rate that is a tensor.

A program for TensorFlow 1 computes its learning rate with a function such as
tf.train.exponential_decay. The graph then contains only a tensor that depends on the global step.
Each Keras schedule is tried with the constants of the graph. A schedule is used if it has the same
value as the tensor at every tested step.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any, Callable, Optional, Union

import numpy as np

from .model import Schedule

__all__ = ["read_rate"]

_RELATIVE_TOLERANCE = 3e-6
_MAX_CONSTANTS = 9
_TESTED_STEPS = (0, 1, 2, 7, 50, 1000)
_LARGEST_STEP = 10**9

_Candidate = tuple[Schedule, Callable[[np.ndarray], np.ndarray]]


def read_rate(tensor: Any, counter: Any, step: int, tf: Any) -> tuple[Union[float, Schedule], bool]:
    """Reads a learning rate.

    Args:
      tensor: the rate, in the current graph.
      counter: the global step that the rate may depend on.
      step: global step of the checkpoint.
      tf: TensorFlow.

    Returns:
      The rate as a number or as a schedule, and whether this equals the tensor at every step. If
      no schedule matches, the rate is the value at `step`.
    """
    constants = _constants(tensor.graph, tf)
    steps = {*_TESTED_STEPS, step}
    for value in constants:
        if value == int(value) and 2 < value < _LARGEST_STEP:
            whole = int(value)
            near = (whole - 1, whole, whole + 1)
            steps.update((whole // 2, *near, 2 * whole + 1, 3 * whole + 1))
    known = dict(zip(sorted(steps), _values(tensor, counter, sorted(steps), tf)))
    rate = known[step]
    if all(math.isclose(value, rate, rel_tol=1e-7) for value in known.values()):
        return _as_written(rate, constants), True
    found = _match(known, constants)
    return (rate, False) if found is None else (found, True)


def _values(tensor: Any, counter: Any, steps: list[int], tf: Any) -> list[float]:
    placeholder = tf.compat.v1.placeholder(counter.dtype.base_dtype, [])
    assign = counter.assign(placeholder)
    found = []
    with tf.compat.v1.Session(graph=tensor.graph) as session:
        session.run(tf.compat.v1.global_variables_initializer())
        for step in steps:
            session.run(assign, {placeholder: step})
            found.append(float(session.run(tensor)))
    return found


def _constants(graph: Any, tf: Any) -> list[float]:
    """Returns the distinct constants of a graph and its functions, as written in the program."""
    definition = graph.as_graph_def()
    functions = (node for one in definition.library.function for node in one.node_def)
    found: dict[float, None] = {}
    for node in itertools.chain(definition.node, functions):
        if node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
            if value.dtype.kind in "if" and value.size <= _MAX_CONSTANTS:
                # The shortest text of a float32: 0.1, not 0.10000000149.
                found.update(dict.fromkeys(float(str(number)) for number in value.ravel()))
    return list(found)


def _as_written(rate: float, constants: list[float]) -> float:
    return next((c for c in constants if math.isclose(c, rate, rel_tol=1e-7)), rate)


def _match(known: dict[int, float], constants: list[float]) -> Optional[Schedule]:
    """Returns the schedule that has the known values at all steps, or None."""
    steps = np.array(list(known), np.float64)
    values = np.array(list(known.values()))
    starts = [c for c in constants if math.isclose(c, values[0], rel_tol=1e-6)]
    spans = [c for c in constants if c >= 1]
    # The last four are the defaults of TensorFlow's decay functions.
    others = list(dict.fromkeys((*constants, 0.0, 0.5, 1.0, 0.0001)))[:12]
    for schedule, function in _candidates(starts, spans, others):
        with np.errstate(all="ignore"):
            found = function(steps)
        if np.allclose(found, values, rtol=_RELATIVE_TOLERANCE, atol=1e-7 * abs(values[0])):
            return schedule
    return _match_piecewise(known, spans)


def _candidates(
    starts: list[float], spans: list[float], others: list[float]
) -> Iterator[_Candidate]:
    """Yields (schedule, function of steps) of every schedule with these constants."""
    for rate, span in itertools.product(starts, spans):
        for other in others:
            for staircase in (False, True):
                yield from _decays(rate, span, other, staircase)
            yield _cosine(rate, span, other)
        for end, power in itertools.product(others, repeat=2):
            for cycle in (False, True):
                yield _polynomial(rate, (span, end, power, cycle))


def _as_integer(span: float) -> float:
    return int(span) if span == int(span) else span


def _decays(rate: float, span: float, factor: float, staircase: bool) -> Iterator[_Candidate]:
    """Yields exponential, inverse-time and natural exponential decay."""

    def part(steps: np.ndarray) -> np.ndarray:
        return np.floor(steps / span) if staircase else steps / span

    length = _as_integer(span)
    options = {"staircase": staircase}
    arguments = (rate, length, factor)
    yield (
        Schedule("ExponentialDecay", arguments, options),
        lambda s: rate * np.power(factor, part(s)),
    )
    inverse = Schedule("InverseTimeDecay", arguments, options)
    yield inverse, lambda s: rate / (1 + factor * part(s))
    base = math.exp(-min(abs(factor), 700.0))
    natural = Schedule("ExponentialDecay", (rate, length, base), options)
    yield natural, lambda s: rate * np.exp(-factor * part(s))


def _cosine(rate: float, span: float, alpha: float) -> _Candidate:
    def function(steps: np.ndarray) -> np.ndarray:
        cosine = 0.5 * (1 + np.cos(np.pi * np.minimum(steps / span, 1)))
        return rate * ((1 - alpha) * cosine + alpha)

    return Schedule("CosineDecay", (rate, _as_integer(span)), {"alpha": alpha}), function


def _polynomial(rate: float, options: tuple[float, float, float, bool]) -> _Candidate:
    span, end, power, cycle = options

    def function(steps: np.ndarray) -> np.ndarray:
        length = span * np.maximum(1, np.ceil(steps / span)) if cycle else span
        part = steps / length if cycle else np.minimum(steps, span) / span
        return (rate - end) * np.power(1 - part, power) + end

    arguments = (rate, _as_integer(span), end, power, cycle)
    return Schedule("PolynomialDecay", arguments, {}), function


def _match_piecewise(known: dict[int, float], spans: list[float]) -> Optional[Schedule]:
    """Returns the schedule of a rate that changes only at some of the constants, or None."""
    bounds = sorted(int(b) for b in spans if b == int(b) and {int(b), int(b) + 1} <= set(known))
    bounds = [b for b in bounds if not math.isclose(known[b], known[b + 1], rel_tol=1e-6)]
    values = [known[0], *(known[bound + 1] for bound in bounds)]
    for step, value in known.items():
        expected = values[sum(step > bound for bound in bounds)]
        if not math.isclose(expected, value, rel_tol=1e-6):
            return None
    rounded = [float(str(np.float32(value))) for value in values]
    return Schedule("PiecewiseConstantDecay", (bounds, rounded), {})
