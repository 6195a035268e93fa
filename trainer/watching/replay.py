"""Predicts logged rows again with the export, and compares with the logged predictions.

The export contains the preprocessing of the training, so a row must get the same prediction. If it
does not, the server has another model or changes the row, or the log is not what was served.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from trainer.errors import UserError
from trainer.inputs.raw_batches import ARROW_TYPES
from trainer.inputs.shuffle import Chunk
from trainer.schema import Schema, Statistics, resolve_defaults
from trainer.watching.batches import Batch
from trainer.watching.findings import GREEN, RED

if TYPE_CHECKING:
    from trainer.gating.answers import Asker

# Number of rows that are predicted again in a run, and number per batch.
MAX_ROWS, ROWS_EACH = 1_000, 100
# float32 predictions of two machines differ by less than this.
TOLERANCE = 1e-4
SHOWN = 10


class Sample:
    """A sample of the logged rows of a version of the model.

    Args:
        version: version of the export. Rows of other versions are excluded; rows without a version
            are included.
    """

    def __init__(self, version: str):
        self._version = version
        self._parts: list[tuple[str, pa.RecordBatch, np.ndarray]] = []
        self._rows = 0

    @property
    def is_full(self) -> bool:
        """Whether no more rows are predicted again."""
        return self._rows >= MAX_ROWS

    def can_use(self, batch: Batch) -> bool:
        """Returns whether a batch contains rows of the version that have a prediction.

        Args:
            batch: rows of any file.
        """
        return len(self._choose(batch)) > 0

    def _choose(self, batch: Batch) -> np.ndarray:
        own = np.array([one in ("", self._version) for one in batch.versions], bool)
        return np.flatnonzero(batch.answered & own)[:ROWS_EACH]

    def add(self, path: str, batch: Batch) -> None:
        """Adds some rows of a batch that have a prediction.

        Args:
            path: path of the file, for messages.
            batch: the rows.
        """
        chosen = self._choose(batch)
        if len(chosen):
            self._parts.append((path, batch.columns.take(pa.array(chosen)), batch.scores[chosen]))
            self._rows += len(chosen)

    def replay(self, export: str, schema: Schema, statistics: Statistics) -> dict[str, Any]:
        """Predicts the rows with an export; returns the differences, empty without rows.

        Args:
            export: folder of the export.
            schema: schema of the export.
            statistics: statistics of the training data, for missing values.

        Raises:
            UserError: the export cannot be loaded, or has no scores.
        """
        from trainer.export.serving_session import ServingSession
        from trainer.gating.answers import Asker

        rows, differences = 0, []
        with ServingSession(export) as session:
            asker = Asker(session, schema)
            for path, columns, logged in self._parts:
                chunk, kept = _fill(columns, schema, statistics)
                if not len(kept):
                    continue
                logged = logged[kept]
                answers, errors = _ask(asker, chunk, logged)
                gaps = np.abs(answers - logged) / np.maximum(1, np.abs(logged))
                # NaN is another answer, too: logged answers are finite.
                same = (gaps.reshape(len(kept), -1) <= TOLERANCE).all(axis=1)
                for row in np.flatnonzero(~same).tolist():
                    both = [f"{np.round(one[row], 6).tolist()}" for one in (logged, answers)]
                    model = errors.get(row, both[1])
                    differences.append({"where": path, "logged": both[0], "model": model})
                rows += len(kept)
        if not rows:
            return {}
        reason = ""
        if differences:
            first = differences[0]
            reason = (
                f"of {rows:,} logged rows, {len(differences):,} get another answer from the export "
                f"than was logged, such as {first['model']} instead of {first['logged']}; compare "
                "the served version with the export, and what the server does to a row before it"
            )
        status = RED if differences else GREEN
        return {
            "status": status,
            "rows": rows,
            "different": len(differences),
            "reason": reason,
            "differences": differences[:SHOWN],
        }


def _ask(asker: "Asker", chunk: Chunk, logged: np.ndarray) -> tuple[np.ndarray, dict[int, str]]:
    """Returns the answers in the shape of the logged ones; row → why it has none, and NaN for it.

    The server has answered every row, so a row on which the export fails is a difference.
    """
    try:
        return asker.ask(chunk, finite=False), {}
    except UserError:
        answers, errors = np.full_like(logged, np.nan), {}
        for row in range(len(logged)):
            try:
                single = {name: array[row : row + 1] for name, array in chunk.items()}
                answers[row] = asker.ask(single, finite=False)[0]
            except UserError as error:
                errors[row] = str(error)
        return answers, errors


def _fill(
    columns: pa.RecordBatch, schema: Schema, statistics: Statistics
) -> tuple[Chunk, np.ndarray]:
    """Returns the features with defaults for missing values, and the rows that are complete."""
    defaults = resolve_defaults(schema, statistics)
    complete = np.ones(columns.num_rows, bool)
    filled = {}
    inputs = [*schema.used_features, *([schema.key] if schema.key else [])]
    for name in inputs:
        if name not in columns.schema.names:
            # The key is an input that the answer only repeats.
            columns = columns.append_column(name, pa.nulls(columns.num_rows, pa.string()))
        array, default = columns.column(name), defaults[name]
        if default is None and name != schema.key:
            complete &= np.asarray(array.is_valid())
        is_text = schema.columns[name].raw_type == "string"
        if is_text:
            words = array.cast(pa.string()).fill_null(default or "").to_pylist()
            filled[name] = np.array([word.encode() for word in words], object)
        else:
            filled[name] = (
                array.cast(ARROW_TYPES[schema.columns[name].raw_type])
                .fill_null(default or 0)
                .to_numpy(zero_copy_only=False)
            )
    kept = np.flatnonzero(complete)
    return {name: array[kept] for name, array in filled.items()}, kept
