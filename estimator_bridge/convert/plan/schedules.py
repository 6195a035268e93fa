"""Learning rates that are tensors, as schedules of Keras.

A trainer of TensorFlow 1 makes its rate with tf.train.exponential_decay and the like: what is left
of it is a tensor that depends on the global step. Which schedule it is shows in its values: each
schedule of Keras is tried with the constants that stand in the graph, and kept if it has the
tensor's value at every step that is looked at.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any, Callable, Optional, Union

import numpy as np

__all__ = ["read_rate"]

_CLOSE = 3e-6
_MAX_CONSTANTS = 9
_ALWAYS = (0, 1, 2, 7, 50, 1000)
_FAR = 10**9


def read_rate(tensor: Any, counter: Any, step: int, tf: Any) -> tuple[Union[float, str], bool]:
    """Reads a learning rate.

    Args:
      tensor: the rate, in the present graph.
      counter: the global step that it may depend on.
      step: that the checkpoint has reached.
      tf: TensorFlow.

    Returns:
      the rate, a number or Keras code of a schedule; and whether it is that at every step: where
      no schedule fits it is the rate at `step`.
    """
    constants = _constants(tensor.graph, tf)
    steps = {*_ALWAYS, step}
    for value in constants:
        if value == int(value) and 2 < value < _FAR:
            whole = int(value)
            near = (whole - 1, whole, whole + 1)
            steps.update((whole // 2, *near, 2 * whole + 1, 3 * whole + 1))
    known = dict(zip(sorted(steps), _values(tensor, counter, sorted(steps), tf)))
    rate = known[step]
    if all(math.isclose(value, rate, rel_tol=1e-7) for value in known.values()):
        return _plain(rate, constants), True
    found = _recognise(known, constants)
    return (rate, False) if found is None else (found, True)


def _values(tensor, counter, steps, tf) -> list[float]:
    wanted = tf.compat.v1.placeholder(counter.dtype.base_dtype, [])
    assign = counter.assign(wanted)
    found = []
    with tf.compat.v1.Session(graph=tensor.graph) as session:
        session.run(tf.compat.v1.global_variables_initializer())
        for step in steps:
            session.run(assign, {wanted: step})
            found.append(float(session.run(tensor)))
    return found


def _constants(graph, tf) -> list[float]:
    """The numbers that stand in a graph and its functions, each once, as they were written."""
    definition = graph.as_graph_def()
    functions = (node for one in definition.library.function for node in one.node_def)
    found: dict[float, None] = {}
    for node in itertools.chain(definition.node, functions):
        if node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
            if value.dtype.kind in "if" and value.size <= _MAX_CONSTANTS:
                # float32 0.1 was written as 0.1.
                found.update(dict.fromkeys(float(str(number)) for number in value.ravel()))
    return list(found)


def _plain(rate, constants) -> float:
    return next((c for c in constants if math.isclose(c, rate, rel_tol=1e-7)), rate)


def _recognise(known: dict[int, float], constants: list[float]) -> Optional[str]:
    steps = np.array(list(known), np.float64)
    values = np.array(list(known.values()))
    start = [c for c in constants if math.isclose(c, values[0], rel_tol=1e-6)]
    positive = [c for c in constants if c > 0]
    spans = [c for c in positive if c >= 1]
    # The usual extra numbers, where the code left them to their defaults.
    others = list(dict.fromkeys((*constants, 0.0, 0.5, 1.0, 0.0001)))[:12]
    for code, function in _candidates(start, spans, others):
        with np.errstate(all="ignore"):
            found = function(steps)
        if np.allclose(found, values, rtol=_CLOSE, atol=1e-7 * abs(values[0])):
            return code
    return _piecewise(known, spans)


def _candidates(starts, spans, others) -> Iterator[tuple[str, Callable]]:
    """Yields (Keras code, function of steps) of every schedule that these numbers make."""
    room = "keras.optimizers.schedules"
    for rate, span in itertools.product(starts, spans):
        length = int(span) if span == int(span) else span
        for more in others:
            for staircase in (False, True):
                given = f"({rate!r}, {length!r}, {more!r}, staircase={staircase})"
                part = _part(span, staircase)
                yield (
                    f"{room}.ExponentialDecay{given}",
                    lambda s, p=part, r=rate, m=more: r * np.power(m, p(s)),
                )
                yield (
                    f"{room}.InverseTimeDecay{given}",
                    lambda s, p=part, r=rate, m=more: r / (1 + m * p(s)),
                )
                natural = f"({rate!r}, {length!r}, {math.exp(-min(abs(more), 700.0))!r}, "
                yield (
                    f"{room}.ExponentialDecay{natural}staircase={staircase})",
                    lambda s, p=part, r=rate, m=more: r * np.exp(-m * p(s)),
                )
            yield (
                f"{room}.CosineDecay({rate!r}, {length!r}, alpha={more!r})",
                lambda s, r=rate, d=span, m=more: r * _cosine(s / d, m),
            )
        for end, power in itertools.product(others, repeat=2):
            for cycle in (False, True):
                more = (rate, span, end, power, cycle)
                yield (
                    f"{room}.PolynomialDecay({rate!r}, {length!r}, {end!r}, {power!r}, {cycle})",
                    lambda s, m=more: _polynomial(s, *m),
                )


def _part(span, staircase):
    return (lambda s: np.floor(s / span)) if staircase else (lambda s: s / span)


def _cosine(part, alpha):
    return (1 - alpha) * 0.5 * (1 + np.cos(np.pi * np.minimum(part, 1))) + alpha


def _polynomial(steps, rate, span, end, power, cycle):
    length = span * np.maximum(1, np.ceil(steps / span)) if cycle else span
    part = steps / length if cycle else np.minimum(steps, span) / span
    return (rate - end) * np.power(1 - part, power) + end


def _piecewise(known: dict[int, float], spans: list[float]) -> Optional[str]:
    """A rate that only changes right after some of the constants."""
    bounds = sorted(int(b) for b in spans if b == int(b) and {int(b), int(b) + 1} <= set(known))
    bounds = [b for b in bounds if not math.isclose(known[b], known[b + 1], rel_tol=1e-6)]
    values = [known[0], *(known[bound + 1] for bound in bounds)]
    for step, value in known.items():
        expected = values[sum(step > bound for bound in bounds)]
        if not math.isclose(expected, value, rel_tol=1e-6):
            return None
    rounded = [float(str(np.float32(value))) for value in values]
    return f"keras.optimizers.schedules.PiecewiseConstantDecay({bounds}, {rounded})"
