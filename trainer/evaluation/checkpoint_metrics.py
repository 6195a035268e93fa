"""Measures checkpoints of a trained model on given files: metrics, and predictions by slice."""

import contextlib
import functools
import math
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from estimator_bridge import estimator, tf
from trainer.cluster.run_config import build_run_config
from trainer.console import Console, Progress
from trainer.errors import UserError
from trainer.evaluation.progress_hook import ProgressHook, start_progress
from trainer.inputs.dataset import ReadOptions, RowSource, make_eval_input_fn
from trainer.inputs.files import DataFile
from trainer.inputs.row_estimate import estimate_rows
from trainer.inputs.shuffle import Chunk
from trainer.job_dir.checkpoints import find_corruption
from trainer.job_dir.trained_job import Model
from trainer.metrics import slices
from trainer.metrics.grouping import Grouper, Grouping
from trainer.metrics.rows_or_sums import RowsOrSums
from trainer.metrics.tally import Detail, Tally
from trainer.models.build import build_estimator
from trainer.schema import resolve_defaults

# Task → the output of the Estimator from which the metrics of slices are computed.
OUTPUTS = {"binary": "logistic", "multiclass": "probabilities", "regression": "predictions"}
# Most bins of the scores of all rows, and of a slice, and values of a slicing, of very many rows.
SUM_LIMITS = (65_536, 2_048, 5_000)


class SlicedPredictions(NamedTuple):
    """The predictions of a checkpoint for all rows.

    Attributes:
        predictions: labels, scores and weights.
        groupings: slicing → the slice of each row.
    """

    predictions: slices.Predictions
    groupings: dict[str, Grouping]


class CheckpointMeter:
    """Measures checkpoints of one model on the same rows.

    Args:
        model: the description of the trained model.
        files: the data.
        by: names of the columns of each slicing.
        folder: a temporary folder, so that nothing is written to the job's own event files.
    """

    def __init__(
        self, model: Model, files: Sequence[DataFile], by: Sequence[Sequence[str]], folder: str
    ):
        self._model = model
        self._by = by
        self._source = _build_source(model, files, by)
        self._total = functools.cache(functools.partial(estimate_rows, files))
        self._batch_size = model.config.eval.batch_size
        config = model.config.model_copy(update={"job_dir": folder})
        self._estimator = build_estimator(
            config,
            model.schema,
            model.statistics,
            build_run_config(config),
            config.train.max_steps or 1,
        )

    def _make_input_fn(self, by_chunk: bool = False) -> Callable[[], Any]:
        return make_eval_input_fn(self._source, self._model.schema, self._batch_size, by_chunk)

    def measure(self, checkpoint: str, console: Console) -> dict[str, Any]:
        """Returns the Estimator's metrics of a checkpoint, with its path and step.

        Args:
            checkpoint: its path.
            console: logs the loss, and shows progress.

        Raises:
            UserError: the data are wrong, or the checkpoint is of another model.
        """
        input_fn = self._make_input_fn()
        hooks = [_ShapeCheck(checkpoint), ProgressHook(console, self._batch_size, self._total)]
        with self._translated_errors(checkpoint):
            metrics = self._estimator.evaluate(input_fn, hooks=hooks, checkpoint_path=checkpoint)
        step = int(metrics.pop("global_step"))
        result = {name: float(value) for name, value in metrics.items()}
        if not result.get("loss", math.nan):
            self._require_weights()
        console.log(f"step {step:,}: loss {result.get('loss', math.nan):.4f}")
        return {"checkpoint": checkpoint, "step": step, **result}

    def _require_weights(self) -> None:
        """Raises if the weights of all rows are 0; the loss is 0 then."""
        weight = self._model.schema.weight
        if weight and not any(chunk[weight].any() for chunk in self._source.read(names=[weight])):
            raise describe_zero_weights(weight)

    def predict(self, checkpoint: str, console: Console) -> SlicedPredictions:
        """Returns the predictions of a checkpoint for all rows, and the slice of each row.

        Args:
            checkpoint: its path.
            console: shows progress.

        Raises:
            UserError: the data are wrong, or the checkpoint is of another model.
        """
        grouper, parts = self._open_grouper(), []
        with contextlib.closing(self._score(checkpoint, console)) as scored:
            for predictions, chunk in scored:
                parts.append(predictions)
                grouper.add(chunk)
        return SlicedPredictions(slices.join_predictions(parts), grouper.finish())

    def measure_rows(
        self, checkpoint: str, order: int, draws: bool, console: Console
    ) -> RowsOrSums[Grouper, Tally]:
        """Returns all rows with the scores of a checkpoint if there are few, and their sums.

        Those of a share of a file depend on it alone.

        Args:
            checkpoint: its path.
            order: higher for later rows of the data.
            draws: whether a plot of all rows is needed.
            console: shows progress.

        Raises:
            UserError: the data are wrong, or the checkpoint is of another model.
        """
        model = self._model
        detail = Detail(model.schema.task, model.config.eval.threshold, *SUM_LIMITS, is_drawn=draws)
        columns, is_weighted = model.statistics.columns, bool(model.schema.weight)
        tally = Tally(detail, self._by, model.schema, columns, is_weighted)
        found = RowsOrSums(order, self._open_grouper(), tally)
        with contextlib.closing(self._score(checkpoint, console)) as scored:
            for predictions, chunk in scored:
                found.add(predictions, np.zeros(len(predictions.labels), np.int64), chunk)
        found.drop(self._source.dropped)
        return found

    def _open_grouper(self) -> Grouper:
        return Grouper(self._by, self._model.schema, self._model.statistics.columns)

    def _score(
        self, checkpoint: str, console: Console
    ) -> Generator[tuple[slices.Predictions, Chunk], None, None]:
        """Yields rows with the scores of a checkpoint, and the columns of the slicings."""
        schema = self._model.schema
        progress = start_progress(console, self._total)
        batches = self._predict_batches(checkpoint, self._make_input_fn(by_chunk=True), progress)
        names = dict.fromkeys(
            [schema.label.column, *(name for names in self._by for name in names)]
        )
        if schema.weight:
            names[schema.weight] = None
        with contextlib.closing(batches):
            # Labels, weights and slices come from a second reading of the rows, in the same order.
            for chunk in self._source.read(names=list(names)):
                labels = slices.read_labels(chunk, schema)
                parts: list[np.ndarray] = []
                # No batch has rows of two chunks.
                while sum(len(part) for part in parts) < len(labels):
                    parts.append(next(batches))
                weights = chunk[schema.weight] if schema.weight else None
                yield slices.Predictions(labels, np.concatenate(parts), weights), chunk
            next(batches, None)

    def predict_inputs(
        self, checkpoint: str, input_fn: Callable[[], Any], progress: Progress
    ) -> np.ndarray:
        """Returns the scores of a checkpoint, [rows], or [rows, classes] for more than two classes.

        Args:
            checkpoint: its path.
            input_fn: returns a tf.data.Dataset of features.
            progress: counts the rows.

        Raises:
            UserError: the data are wrong, or the checkpoint is of another model.
        """
        return np.concatenate(list(self._predict_batches(checkpoint, input_fn, progress)))

    def _predict_batches(
        self, checkpoint: str, input_fn: Callable[[], Any], progress: Progress
    ) -> Generator[np.ndarray, None, None]:
        """Yields the scores of each batch; see `predict_inputs`."""
        output, task = OUTPUTS[self._model.schema.task], self._model.schema.task
        with progress, self._translated_errors(checkpoint):
            for batch in self._estimator.predict(
                input_fn,
                predict_keys=[output],
                checkpoint_path=checkpoint,
                yield_single_examples=False,
            ):
                scores = batch[output]
                progress.add(len(scores))
                yield scores if task == "multiclass" else scores.reshape(-1)

    def read_rows(self, indices: np.ndarray) -> Chunk:
        """Returns some rows: input column → float32, int64, or bytes as objects, [indices].

        Args:
            indices: numbers of rows in the order of the files, from 0.
        """
        names = self._model.schema.input_columns
        order = np.argsort(indices, kind="stable")
        parts, first = [], 0
        for chunk in self._source.read(names=names):
            rows = len(chunk[names[0]])
            inside = indices[order][(indices[order] >= first) & (indices[order] < first + rows)]
            parts.append({name: chunk[name][inside - first] for name in names})
            first += rows
        back = np.argsort(order, kind="stable")
        return {name: np.concatenate([part[name] for part in parts])[back] for name in names}

    @contextlib.contextmanager
    def _translated_errors(self, checkpoint: str) -> Iterator[None]:
        """Translates TensorFlow's errors into a UserError."""
        try:
            yield
        except (tf.errors.OpError, ValueError) as error:
            if self._source.error is not None:
                raise self._source.error from error
            if isinstance(error, UserError):
                raise
            fault = find_corruption(checkpoint, allow_nan=True)
            if fault is not None:
                raise UserError(
                    f"checkpoint {checkpoint}: its files are damaged ({fault}); copy them again, "
                    "or evaluate another checkpoint"
                ) from error
            message = " ".join(str(error).split())
            raise UserError(
                f"checkpoint {checkpoint}: cannot be evaluated as the model that job_dir "
                f"describes: {message[:200]}; was it written by this job?"
            ) from error


def describe_zero_weights(weight: Optional[str]) -> UserError:
    """Returns the error for data of which no row counts.

    Args:
        weight: the column of the weights.
    """
    return UserError(
        f"schema.weight: {weight} is 0 in every row of the data, so no row counts; correct the "
        "column, or name other files"
    )


def _build_source(
    model: Model, files: Sequence[DataFile], by: Sequence[Sequence[str]]
) -> RowSource:
    """The rows with the columns of the model and of the slicings."""
    schema, config = model.schema, model.config
    inputs = schema.input_columns
    sliced = {name for names in by for name in names}
    names = [name for name in schema.columns if name in {*inputs, *sliced}]
    defaults = resolve_defaults(schema, model.statistics)
    for name in sliced - set(inputs):
        # In a column that the model does not read, a missing value is a slice, not an error.
        if defaults[name] is None and schema.columns[name].raw_type == "float":
            defaults[name] = float("nan")
    options = ReadOptions(names, checked=inputs)
    return RowSource(files, schema, config.data, defaults, 0, options)


class _ShapeCheck(estimator.SessionRunHook):
    """Refuses a checkpoint of another model.

    Without this check, TensorFlow restores a variable of a different shape without an error.
    """

    def __init__(self, checkpoint: str):
        self._checkpoint = checkpoint

    def begin(self) -> None:
        stored = dict(tf.train.list_variables(self._checkpoint))
        for variable in tf.compat.v1.global_variables():
            name, shape = variable.op.name, variable.shape.as_list()
            if list(stored.get(name, shape)) != shape:
                raise UserError(
                    f"checkpoint {self._checkpoint}: {name} has the shape {stored[name]}, and "
                    f"{shape} in the model that job_dir describes; was it written by this job?"
                )
