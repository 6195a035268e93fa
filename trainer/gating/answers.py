"""Predicts rows with an export, and measures its latency and size."""

import functools
import itertools
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from trainer import config as config_lib
from trainer import storage
from trainer.console import Console, Progress
from trainer.engines.dividing import divide_files
from trainer.engines.options import LOCALLY, Engine
from trainer.engines.running import group_files, run_tasks
from trainer.errors import UserError
from trainer.export.checker import to_example
from trainer.export.choose import fetch_export
from trainer.export.fingerprint import EXTRA
from trainer.export.serving_session import ServingSession, Signature, describe_error
from trainer.gating.measured import OTHER_ROWS, Settings
from trainer.gating.places import Places
from trainer.gating.tally import Tally, group_rows
from trainer.inputs.dataset import ReadOptions, RowSource
from trainer.inputs.files import DataFile
from trainer.inputs.row_estimate import estimate_rows
from trainer.inputs.row_sample import place_rows
from trainer.inputs.shuffle import FILE, ROW, Chunk, count_rows
from trainer.inputs.stretches import describe_dialect
from trainer.metrics import slices
from trainer.metrics.catalogue import SCORE_OUTPUTS
from trainer.metrics.rows_or_sums import RowsOrSums
from trainer.passes.contract import Piece, number_files
from trainer.prediction.description import ExportDescription
from trainer.schema import Schema, resolve_defaults

Answered = RowsOrSums[Places, Tally]

BATCH_ROWS = 8_192
NUM_TIMED = 100
_MB = 1e6


class Answers(NamedTuple):
    """The predictions of an export, its latency and its size.

    Attributes:
        predictions: predictions of all rows; with too many rows, one for each bin of the score.
        places: slices and group of each row; None if there are too many rows.
        latencies: milliseconds of requests with one row, [NUM_TIMED].
        size_mb: size of the files of the export, in units of 1,000,000 bytes.
        tally: the sums over all rows.
    """

    predictions: slices.Predictions
    places: Optional[Places]
    latencies: np.ndarray
    size_mb: float
    tally: Tally

    def require_rows_of(self, other: "Answers") -> None:
        """Checks that these predictions are for the same rows and labels as others.

        Args:
            other: predictions of another export.

        Raises:
            UserError: the rows or the labels differ.
        """
        if self.places is None or other.places is None:
            self.tally.require_rows_of(other.tally)
        elif not np.array_equal(self.predictions.labels, other.predictions.labels):
            raise UserError(OTHER_ROWS)


class Question(NamedTuple):
    """The prediction of files with an export, as work that any machine can do.

    Attributes:
        export: folder of the export.
        description: schema and statistics of the export.
        data: format, delimiter and header of the files.
        settings: how the predictions are measured.
        by: names of the columns of each slicing.
        group: column whose rows with the same value form a group; None: each row is a group.
        candidate: the Question of the candidate, whose slices and groups the baseline uses too;
            None for the candidate itself.
    """

    export: str
    description: ExportDescription
    data: config_lib.DataConfig
    settings: Settings
    by: Sequence[Sequence[str]] = ()
    group: Optional[str] = None
    candidate: Optional["Question"] = None

    def run(self, task: Sequence[Piece]) -> Answered:
        """Predicts the rows of some files.

        Args:
            task: the files.

        Raises:
            UserError: the export cannot be loaded or fails, or the data do not fit it.
        """
        with storage.open_copies(storage.current_settings()) as copies:
            local = fetch_export(self.export, "--candidate", copies)
            with ServingSession(local) as session:
                asker = Asker(session, self.description.schema)
                return self.ask(asker, task, self.read(task, Console(quiet=True)))

    def merge(self, first: Answered, second: Answered) -> Answered:
        """Returns the merged results of two groups of files.

        Args:
            first: result of one group; is modified.
            second: result of the other group.
        """
        first.merge(second)
        return first

    def _open_source(self, pieces: Sequence[Piece], names: set[str], is_checked: bool) -> RowSource:
        """Returns a source of some columns of the files."""
        schema = self.description.schema
        defaults = resolve_defaults(schema, self.description.statistics)
        for name in names - set(schema.input_columns):
            # If the model does not read a column, its missing values form a slice and are no error.
            if defaults[name] is None and schema.columns[name].raw_type == "float":
                defaults[name] = float("nan")
        ordered = [name for name in schema.columns if name in names]
        checked = schema.input_columns if is_checked else ()
        options = ReadOptions(ordered, checked=checked, is_numbered=True)
        files = [piece.file for piece in pieces]
        return RowSource(files, schema, self.data, defaults, 0, options)

    def _open_places(self) -> Places:
        """Returns a Places object without rows."""
        return Places(self.by, self.group, self.description)

    def read(
        self, pieces: Sequence[Piece], console: Console
    ) -> Generator[tuple[Chunk, Chunk], None, None]:
        """Yields chunks of at most BATCH_ROWS rows: columns for the model, and for the slices.

        Args:
            pieces: the files.
            console: shows progress.

        Raises:
            UserError: the data do not fit the export.
        """
        files = [piece.file for piece in pieces]
        what, total = (
            f"predicting with {Path(self.export).name}",
            functools.partial(estimate_rows, files),
        )
        with Progress(console, what, "rows", total, is_estimate=True) as progress:
            for chunk, placed in self._read_pairs(pieces):
                for start in range(0, count_rows(chunk), BATCH_ROWS):
                    rows = slice(start, start + BATCH_ROWS)
                    part = {name: array[rows] for name, array in chunk.items()}
                    yield part, {name: array[rows] for name, array in placed.items()}
                    progress.add(count_rows(part))

    def _read_pairs(self, pieces: Sequence[Piece]) -> Iterator[tuple[Chunk, Chunk]]:
        own = set(self.description.schema.input_columns)
        if self.candidate is None:
            names = own | set(self._open_places().names)
            yield from ((chunk, chunk) for chunk in self._open_source(pieces, names, True).read())
            return
        chunks = self._open_source(pieces, own, True).read()
        names = set(self.candidate._open_places().names)
        if not names:
            yield from ((chunk, chunk) for chunk in chunks)
            return
        # The candidate's schema may have other defaults for missing values.
        others = self.candidate._open_source(pieces, names, False).read()
        for chunk, other in itertools.zip_longest(chunks, others):
            if chunk is None or other is None or count_rows(chunk) != count_rows(other):
                raise UserError(OTHER_ROWS)
            yield chunk, other

    def ask(
        self, asker: "Asker", pieces: Sequence[Piece], pairs: Iterable[tuple[Chunk, Chunk]]
    ) -> Answered:
        """Predicts rows with the export.

        Args:
            asker: sends rows to the export.
            pieces: the files.
            pairs: chunks that `read` yielded.

        Raises:
            UserError: the export fails, or the data do not fit it.
        """
        schema, first = self.description.schema, self.candidate or self
        places = first._open_places()
        tally = Tally(self.settings, first.by, first.description, bool(schema.weight))
        answered = RowsOrSums(pieces[0].order, self._open_places(), tally)
        for chunk, placed in pairs:
            predictions = slices.Predictions(
                slices.read_labels(chunk, schema),
                asker.ask(chunk),
                chunk[schema.weight] if schema.weight else None,
            )
            numbers = places.find_groups(placed)
            if numbers is None:
                numbers = place_rows(pieces[int(chunk[FILE][0])].number, chunk[ROW])
            answered.add(predictions, group_rows(numbers), placed)
        return answered


def answer(
    export: str, question: Question, files: Sequence[DataFile], engine: Engine = LOCALLY
) -> Answers:
    """Predicts all rows of some files with an export; measures the latency on this machine.

    Args:
        export: folder of the export on this machine.
        question: the work.
        files: the data.
        engine: the engine that reads the files.

    Raises:
        UserError: the export cannot be loaded or fails, or the data do not fit it.
        TemporaryError: the engine cannot be reached.
    """
    with ServingSession(export) as session:
        asker = Asker(session, question.description.schema)
        is_local = engine.name == LOCALLY.name
        pieces = number_files(divide_files(files, describe_dialect(question.data), engine))
        pairs = question.read(pieces, Console(quiet=not is_local))
        first = next(pairs, None)
        if first is None:
            raise UserError("--data: the files contain no rows; name other files")
        latencies = asker.measure_latencies(first[0])
        if is_local:
            answered = question.ask(asker, pieces, itertools.chain([first], pairs))
        else:
            pairs.close()
            answered = run_tasks(question, group_files(pieces), "predicting the rows", engine)
    scored, tally = answered.finish(), answered.tally
    predictions = tally.sketch() if scored is None else scored.predictions
    places = None if scored is None else scored.places
    return Answers(predictions, places, latencies, _measure_size(Path(export)), tally)


def _measure_size(export: Path) -> float:
    files = [path for path in export.rglob("*") if path.is_file()]
    own = [path for path in files if path.relative_to(export).parts[0] != EXTRA]
    return sum(path.stat().st_size for path in own) / _MB


class Asker:
    """Sends rows to the signature of an export that returns the scores of the task.

    Args:
        session: session of the export.
        schema: schema of the rows.

    Raises:
        UserError: the export has no such signature.
    """

    def __init__(self, session: ServingSession, schema: Schema):
        self._session = session
        self._schema = schema
        self._name, self._output = _choose_signature(session, schema)
        self._signature = session.signatures[self._name]

    def ask(self, chunk: Chunk, finite: bool = True) -> np.ndarray:
        """Returns the scores: [rows], or [rows, classes] for more than two classes.

        Args:
            chunk: columns [rows] without missing values, text as bytes.
            finite: whether a score that is not a finite number is an error.

        Raises:
            UserError: the export fails on these rows, or its outputs are not scores.
        """
        import estimator_bridge as bridge

        num_rows = len(next(iter(chunk.values())))
        try:
            outputs = self._session.run(self._name, self._make_inputs(chunk))
        except (bridge.tf.errors.OpError, ValueError) as error:
            message = describe_error(error) if hasattr(error, "message") else str(error)
            raise UserError(
                f"export {self._session.path}: fails on these rows: {message[:200]}"
            ) from error
        scores = np.asarray(outputs[self._output])
        if scores.ndim == 0 or len(scores) != num_rows or scores.dtype.kind != "f":
            raise UserError(
                f"export {self._session.path}: output {self._output!r} has the shape "
                f"{list(scores.shape)} for {num_rows} rows"
            )
        scores = scores.reshape(num_rows, -1)
        if self._schema.task != "multiclass":
            # A copy, because a view would keep all columns.
            scores = scores[:, -1].copy()
        if finite and not np.isfinite(scores).all():
            raise UserError(f"export {self._session.path}: a score is not a finite number")
        return scores

    def _make_inputs(self, chunk: Chunk) -> dict[str, np.ndarray]:
        inputs = self._signature.inputs
        if not set(inputs) <= set(chunk):
            names = [name for name in self._schema.used_features if name in chunk]
            rows = zip(*(chunk[name].tolist() for name in names))
            texts = [to_example(_decode(dict(zip(names, row))), self._schema) for row in rows]
            return {next(iter(inputs)): np.array(texts, object)}
        return {
            name: chunk[name]
            .astype(dtype.as_numpy_dtype, copy=False)
            .reshape([-1] + [1] * (max(1, self._signature.ranks[name] or 1) - 1))
            for name, dtype in inputs.items()
        }

    def measure_latencies(self, chunk: Chunk) -> np.ndarray:
        """Returns the milliseconds of NUM_TIMED requests with the first row.

        Args:
            chunk: at least one row.
        """
        row = {name: array[:1] for name, array in chunk.items()}
        self.ask(row)
        inputs = self._make_inputs(row)
        millis = []
        for _ in range(NUM_TIMED):
            started = time.perf_counter()
            self._session.run(self._name, inputs)
            millis.append(1e3 * (time.perf_counter() - started))
        return np.array(millis)


def _decode(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.decode(errors="surrogateescape") if isinstance(value, bytes) else value
        for name, value in row.items()
    }


def _choose_signature(session: ServingSession, schema: Schema) -> tuple[str, str]:
    """Returns the signature and its output; raw tensors are preferred to tf.Example."""
    for is_raw in (True, False):
        for output in SCORE_OUTPUTS[schema.task]:
            for name, signature in session.signatures.items():
                if output in signature.outputs and _takes(name, signature, schema, is_raw):
                    return name, output
    raise UserError(
        f"export {session.path}: no signature has columns of the schema or tf.Example as inputs, "
        f"and an output {' or '.join(SCORE_OUTPUTS[schema.task])} "
        f"(its signatures: {', '.join(sorted(session.signatures)) or 'none'})"
    )


def _takes(name: str, signature: Signature, schema: Schema, is_raw: bool) -> bool:
    inputs = signature.inputs
    if is_raw:
        return bool(inputs) and set(inputs) <= set(schema.columns)
    return not name.startswith("csv:") and [dtype.name for dtype in inputs.values()] == ["string"]
