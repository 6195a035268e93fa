"""Permutation importance: how much worse the model is if a column's values are shuffled."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from estimator_bridge import tf
from trainer.inputs.dataset import DTYPES, to_input_fn
from trainer.inputs.shuffle import Chunk
from trainer.metrics.catalogue import LOWER_IS_BETTER
from trainer.metrics.slices import Predictions, measure
from trainer.schema import Schema

REPEATS = 5
# The 97.5 % quantile of Student's t distribution with REPEATS - 1 degrees of freedom.
STUDENT_975 = 2.776


class Importance(NamedTuple):
    """The importance of one column.

    Attributes:
        column: its name.
        mean: mean loss of the metric over the shuffles; positive if the model needs the column.
        half_width: half the width of the 95 % interval of the mean.
    """

    column: str
    mean: float
    half_width: float


def make_shuffled_input_fn(
    rows: Chunk, columns: Sequence[str], schema: Schema, batch_size: int, seed: int
) -> Callable[[], Any]:
    """Makes an input_fn of the rows as they are, and then with one column shuffled at a time.

    One pass of predictions measures everything, so the graph is built once.

    Args:
        rows: all input columns, [rows].
        columns: those that are shuffled, each REPEATS times.
        schema: types of the columns.
        batch_size: number of rows in a batch.
        seed: of the shuffles.

    Returns:
        a function without arguments that returns a tf.data.Dataset of features: name → tensor
        [rows of the batch].
    """
    names = [name for name in rows if name != schema.label.column]
    count = len(rows[names[0]])

    def generate() -> Iterator[dict[str, np.ndarray]]:
        random = np.random.default_rng(seed)
        for shuffled in (None, *(name for name in columns for _ in range(REPEATS))):
            order = random.permutation(count)
            values = {name: rows[name][order] if name == shuffled else rows[name] for name in names}
            for start in range(0, count, batch_size):
                yield {name: array[start : start + batch_size] for name, array in values.items()}

    specs = {name: tf.TensorSpec([None], DTYPES[schema.columns[name].raw_type]) for name in names}
    return to_input_fn(lambda: tf.data.Dataset.from_generator(generate, output_signature=specs))


def measure_importance(
    task: str, predictions: Predictions, columns: Sequence[str], metric: str
) -> list[Importance]:
    """Returns the importance of each column, the most important first.

    Args:
        task: binary, multiclass or regression.
        predictions: labels and weights [rows]; scores of the input_fn of make_shuffled_input_fn,
            in its order.
        columns: those that were shuffled.
        metric: whose loss is measured.
    """
    count = len(predictions.labels)
    parts = np.split(predictions.scores, np.arange(count, len(predictions.scores), count))
    values = [
        measure(task, predictions._replace(scores=scores), 0.5).get(metric, math.nan)
        for scores in parts
    ]
    sign = 1 if metric in LOWER_IS_BETTER else -1
    losses = sign * (np.asarray(values[1:]) - values[0]).reshape(len(columns), REPEATS)
    widths = STUDENT_975 * losses.std(axis=1, ddof=1) / math.sqrt(REPEATS)
    found = [
        Importance(name, float(mean), float(width))
        for name, mean, width in zip(columns, losses.mean(axis=1), widths)
    ]
    return sorted(found, key=lambda one: -one.mean)
