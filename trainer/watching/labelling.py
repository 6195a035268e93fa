"""Chooses the served rows whose labels would be most informative, and writes them to a file.

Rows are drawn without replacement, each with a known probability (systematic sampling with unequal
probabilities; Madow, 1949). A part of the probability is the same for every row. The rest is higher
if the model is uncertain, or if the row belongs to slices or values that changed. The weight of a
row is the inverse of its probability, so weighted metrics of the labelled rows are unbiased
estimates for all rows.
"""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from trainer import storage
from trainer.errors import UserError
from trainer.inputs.floats import to_floats
from trainer.watching.batches import Batch, decode
from trainer.watching.findings import Finding
from trainer.watching.intake import Plans, find_slices
from trainer.watching.judging import find_current
from trainer.watching.sketches import Plan
from trainer.watching.state import State, hash_key

FILE = "label_next.csv"
# Columns of the file in addition to those of the schema.
SCORE, REASON, WEIGHT = "label_score", "label_reason", "label_weight"
# Size of the uniform sample of new rows from which rows are drawn.
POOL_ROWS = 20_000
# Share of the chosen rows that are drawn with the same probability.
RANDOM_SHARE = 0.2
# A row is unsure from here on, for the reason that is written.
UNSURE = 0.5


class Pool:
    """A uniform sample of the new rows that have a key and a prediction.

    Args:
        key: column of the key.

    Attributes:
        rows: number of rows from which the sample was drawn.
    """

    def __init__(self, key: str):
        self._key = key
        self._rng = np.random.default_rng(0)
        self._parts: list[tuple[pa.RecordBatch, np.ndarray, np.ndarray]] = []
        self._held = 0
        self.rows = 0

    @property
    def is_full(self) -> bool:
        """False: the sample is of all rows."""
        return False

    def can_use(self, batch: Batch) -> bool:
        """Returns whether a batch contains rows with a key and a prediction.

        Args:
            batch: rows of any file.
        """
        return len(self._choose(batch)) > 0

    def _choose(self, batch: Batch) -> np.ndarray:
        keyed = np.asarray(batch.columns.column(self._key).is_valid())
        return np.flatnonzero(keyed & batch.answered)

    def add(self, path: str, batch: Batch) -> None:
        """Adds rows.

        Args:
            path: path of the file; not used.
            batch: rows of any file.
        """
        chosen = self._choose(batch)
        if not len(chosen):
            return
        # Each row gets a random number; the rows with the smallest numbers are a uniform sample.
        numbers = self._rng.random(len(chosen))
        part = decode(batch.columns.take(pa.array(chosen)))
        self._parts.append((part, batch.scores[chosen], numbers))
        self.rows += len(chosen)
        self._held += len(chosen)
        if self._held > 2 * POOL_ROWS:
            self._thin()

    def _thin(self) -> None:
        columns, scores, numbers = self._join()
        kept = np.argsort(numbers, kind="stable")[:POOL_ROWS]
        self._parts = [(columns.take(pa.array(kept)), scores[kept], numbers[kept])]
        self._held = len(kept)

    def _join(self) -> tuple[pa.RecordBatch, np.ndarray, np.ndarray]:
        table = pa.Table.from_batches([part for part, _, _ in self._parts]).combine_chunks()
        scores, numbers = (np.concatenate([one[place] for one in self._parts]) for place in (1, 2))
        return table.to_batches()[0], scores, numbers

    def get(self, state: State) -> tuple[pa.RecordBatch, np.ndarray]:
        """Returns columns and scores of the sample, without rows whose label is known.

        Args:
            state: the labels.
        """
        self._thin()
        columns, scores, _ = self._parts[0]
        keys = columns.column(self._key).to_pylist()
        open_rows = np.flatnonzero([not state.has_label(hash_key(key)) for key in keys])
        return columns.take(pa.array(open_rows, pa.int64())), scores[open_rows]


class Choice(NamedTuple):
    """The chosen rows.

    Attributes:
        rows: indices into the pool.
        weights: number of served rows that each row represents, float64 [rows].
    """

    rows: np.ndarray
    weights: np.ndarray


def choose(interest: np.ndarray, count: int, total: int, seed: int) -> Choice:
    """Draws rows with probabilities that increase with their interest.

    Args:
        interest: float64 [rows], at least 0.
        count: number of rows to draw.
        total: number of rows that the pool represents.
        seed: seed of the random numbers.
    """
    rng, size = np.random.default_rng(seed), len(interest)
    count = min(count, size)
    share = np.full(size, 1 / size)
    if interest.sum() > 0:
        share = RANDOM_SHARE * share + (1 - RANDOM_SHARE) * interest / interest.sum()
    chances = _scale(share, count)
    # The order is random, because neighbouring rows of a log are similar.
    order = rng.permutation(size)
    ends = np.cumsum(chances[order])
    points = rng.random() + np.arange(round(ends[-1]))
    rows = order[np.minimum(np.searchsorted(ends, points, side="right"), size - 1)]
    return Choice(rows, total / size / chances[rows])


def _scale(share: np.ndarray, count: int) -> np.ndarray:
    """Returns probabilities proportional to shares, at most 1, whose sum is the count."""
    chances = np.minimum(1.0, share * count / share.sum())
    while chances.sum() < count - 1e-9:
        free = chances < 1
        left = count - (~free).sum()
        chances[free] = np.minimum(1.0, share[free] * left / share[free].sum())
    return chances


def write_next(
    pool: Pool, count: int, plans: Plans, state: State, findings: Sequence[Finding], folder: Path
) -> list[Path]:
    """Writes the rows to label next; returns the path, or None if there are no new rows.

    Args:
        pool: the new rows.
        count: number of rows to write.
        plans: schema, and the columns.
        state: the labels.
        findings: the findings; changed slices and values get higher probabilities.
        folder: where the file is written.

    Raises:
        UserError: the folder cannot be written.
    """
    if not pool.rows:
        return []
    columns, scores = pool.get(state)
    if not columns.num_rows:
        return []
    interest, reasons = _rate(columns, scores, plans, findings)
    chosen = choose(interest, count, pool.rows, pool.rows)
    names = [name for name in plans.columns if may_show(plans, name)]
    key = plans.key or ""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    header = [key, *(name for name in names if name != key), SCORE, REASON, WEIGHT]
    writer.writerow([*header, plans.schema.label.column])
    shown = columns.take(pa.array(chosen.rows)).to_pydict()
    for place, (row, weight) in enumerate(zip(chosen.rows.tolist(), chosen.weights.tolist())):
        cells: list[Any] = [shown[name][place] for name in header[:-3]]
        score = np.round(scores[row], 6).tolist()
        why = ", ".join(reason for reason, mask in reasons.items() if mask[row]) or "random"
        cells = ["" if cell is None else cell for cell in cells]
        writer.writerow([*cells, score, why, f"{weight:.6g}", ""])
    path = folder / FILE
    try:
        storage.write_text(path, text.getvalue())
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    return [path]


def may_show(plans: Plans, name: str) -> bool:
    """Returns whether the values of a column may be written: if it is neither private nor hashed.

    Args:
        plans: the columns.
        name: name of a column.
    """
    return not plans.schema.hides(name) and plans.columns[name].kind in ("number", "category")


def _rate(
    columns: pa.RecordBatch, scores: np.ndarray, plans: Plans, findings: Sequence[Finding]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Returns the interest of each row, and reason → mask of the rows, bool [rows]."""
    interest, reasons = np.zeros(columns.num_rows), {}
    if plans.schema.task != "regression":
        doubt = _measure_doubt(scores)
        interest += doubt
        reasons["unsure"] = doubt >= UNSURE
    wrong = [one.finding for one in find_current(findings)]
    places = find_slices(columns, plans)
    for name in sorted({one.slice for one in wrong if one.slice} & set(places)):
        reasons[name] = places[name]
        interest += places[name]
    for name in sorted({one.name for one in wrong if not one.slice} & set(plans.columns)):
        if may_show(plans, name):
            mask = _find_strange(columns.column(name), plans.columns[name])
            reasons[f"unusual {name}"] = mask
            interest += mask
    return interest, reasons


def _measure_doubt(scores: np.ndarray) -> np.ndarray:
    """Returns the uncertainty, [rows]: 1 if two classes are equally likely, 0 if one is certain."""
    if scores.ndim == 1:
        scores = np.stack([1 - scores, scores], axis=1)
    ordered = np.sort(scores, axis=1)
    doubt: np.ndarray = 1 - (ordered[:, -1] - ordered[:, -2])
    return doubt


def _find_strange(values: pa.Array, plan: Plan) -> np.ndarray:
    """Returns which values are missing, unknown or outside the training range, bool [rows]."""
    found: np.ndarray = ~np.asarray(values.is_valid())
    if plan.kind == "category":
        known = set(plan.known)
        found |= np.array([str(value) not in known for value in values.to_pylist()], bool)
    elif plan.low is not None and plan.high is not None:
        numbers = to_floats(values)
        found |= (numbers < plan.low) | (numbers > plan.high)
    return found
