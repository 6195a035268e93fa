"""Sums the gradients of several processes that train in step, each with variables of its own."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from estimator_bridge import estimator, tf
from trainer.errors import UserError
from trainer.models.fused.layout import Table
from trainer.models.fused.rows import BOUNDS, DISTINCT, PLACES, without_value
from trainer.models.fused.updates import Gradient
from trainer.models.fused.variables import Stored

# Prefixes of names in prepared rows.
MERGED, FIRST = "//merged/", "//first/"


class Exchange(Protocol):
    """The connections to the other processes; all call the same methods in the same order.

    Attributes:
        count: number of processes.
        number: of this process, from 0 on.
    """

    count: int
    number: int

    def gather(self, values: np.ndarray) -> list[np.ndarray]:
        """Returns the arrays of all processes, in the order of their numbers.

        Args:
            values: of this process, [numbers]; each process may have another number.
        """

    def add(self, values: np.ndarray) -> np.ndarray:
        """Returns the sum of the arrays of all processes.

        Args:
            values: of this process, [numbers]; all processes have the same number.
        """


def merge_rows(rows: dict[str, Any], tables: Sequence[Table], exchange: Exchange) -> dict[str, Any]:
    """Exchanges which rows of tables each process touches in the steps of a run.

    Args:
        rows: result of the function that Preparation.begin returns, with a dimension of steps.
        tables: those in Preparation.distinct.
        exchange: connections to the other processes.

    Returns:
        name → tensor. "//merged/<table>": int32 [rows], those that process 0 touches in the first
        step, then those of process 1 and so on, then those of the second step. A row that several
        processes touch is contained several times. "//bounds//merged/<table>": int32 [steps + 1],
        where those of a step begin and end. "//first/<table>": int32 [steps], where those of this
        process begin among those of a step.
    """
    if not tables:
        return {}
    names = [DISTINCT + table.name for table in tables]
    given = [rows[each] for name in names for each in (BOUNDS + name, name)]

    def merge(*arrays: np.ndarray) -> list[np.ndarray]:
        steps = len(arrays[0]) - 1
        gathered = exchange.gather(np.concatenate([np.array([steps], np.int32), *arrays]))
        return _merge(gathered, steps, len(tables), exchange.number)

    # A ConnectionError of the exchange ends the run of the session.
    merged = iter(tf.numpy_function(merge, given, [tf.int32] * 3 * len(tables)))
    results = {}
    for table in tables:
        for name in (MERGED, BOUNDS + MERGED, FIRST):
            results[name + table.name] = tf.ensure_shape(next(merged), [None])
    return results


def _merge(
    gathered: Sequence[np.ndarray], steps: int, num_tables: int, own: int
) -> list[np.ndarray]:
    """Returns merged rows, bounds and first places of each table; see merge_rows."""
    if any(part[0] != steps for part in gathered):
        raise ConnectionError("the processes do not run the same number of steps")
    starts = [1] * len(gathered)
    results: list[np.ndarray] = []
    for _ in range(num_tables):
        bounds, rows = [], []
        for number, part in enumerate(gathered):
            start = starts[number] + steps + 1
            bounds.append(part[starts[number] : start])
            starts[number] = start + int(bounds[-1][-1])
            rows.append(part[start : starts[number]])
        merged = [
            found[each[step] : each[step + 1]]
            for step in range(steps)
            for found, each in zip(rows, bounds)
        ]
        first = sum((np.diff(each) for each in bounds[:own]), np.zeros(steps, np.int32))
        results += [np.concatenate(merged), np.sum(bounds, axis=0, dtype=np.int32), first]
    return results


def join_rows(table: Table, rows: dict[str, Any]) -> tuple[Any, Any]:
    """Returns the distinct rows of a table that any process touches in a step, and places in them.

    Args:
        table: of the layout.
        rows: one batch, with the results of merge_rows.

    Returns:
        int32 [rows], the same in all processes; and for each value of this process's batch the
        place of its row among them, int32 [fields * batch], -1 for a missing value.
    """
    joined, places = tf.unique(rows[MERGED + table.name])
    first = rows[FIRST + table.name]
    own = places[first : first + tf.size(rows[DISTINCT + table.name])]
    found = rows[PLACES + table.name]
    if not table.may_lack:
        return joined, tf.gather(own, found)
    return joined, without_value(tf.gather(own, tf.maximum(found, 0)), found)


def add_gradients(
    gradients: Sequence[Gradient], loss: Any, exchange: Exchange
) -> tuple[list[Gradient], Any]:
    """Sums gradients and losses of all processes.

    Args:
        gradients: of the variables, in the same order in all processes; their rows are the same.
        loss: float32 scalar.
        exchange: connections to the other processes.

    Returns:
        The sums, in the form of the arguments.
    """
    tensors = [each.values for each in gradients]
    counts = [each.counts for each in gradients if each.counts is not None]
    flat = [tf.reshape(each, [-1]) for each in (*tensors, *counts, loss)]
    # A ConnectionError of the exchange ends the run of the session.
    total = tf.numpy_function(exchange.add, [tf.concat(flat, axis=0)], tf.float32)
    sums = iter(tf.split(tf.ensure_shape(total, [None]), list(map(tf.size, flat)), num=len(flat)))
    values = [_reshape(next(sums), each) for each in tensors]
    numbers = [next(sums) if each.counts is not None else None for each in gradients]
    summed = [
        each._replace(values=value, counts=number)
        for each, value, number in zip(gradients, values, numbers)
    ]
    # A sum is a copy: the memory of what is exchanged is used again.
    return summed, tf.reduce_sum(next(sums))


def _reshape(flat: Any, like: Any) -> Any:
    """Returns flat numbers in the shape of a tensor; only its first size may be unknown."""
    first, *others = like.shape.as_list()
    return tf.reshape(flat, [-1 if first is None else first, *others])


class SameStartHook(estimator.SessionRunHook):
    """Checks that all processes start with the same values of the variables.

    Args:
        stored: the variables.
        exchange: connections to the other processes.
    """

    def __init__(self, stored: Sequence[Stored], exchange: Exchange):
        self._exchange = exchange
        self._sums = tf.stack([_sum_bits(one.variable.read_value()) for one in stored])

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Compares.

        Args:
            session: the new session.
            coord: its coordinator.

        Raises:
            UserError: a process has other values.
        """
        sums = self._exchange.gather(session.run(self._sums))
        for number, found in enumerate(sums):
            if not np.array_equal(found, sums[0]):
                raise UserError(
                    f"job_dir: process {number} of the {len(sums)} that train together starts with "
                    "other values of the variables than process 0; give all of them the same "
                    "options, data files, job_dir and versions"
                )


def _sum_bits(values: Any) -> Any:
    bits = values if values.dtype == tf.int64 else tf.cast(tf.bitcast(values, tf.int32), tf.int64)
    return tf.reduce_sum(bits)
