"""`trainer.evaluate` and `trainer.explain`: how good a trained model is, and why."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from trainer import config as config_lib
from trainer import storage
from trainer.api import tables
from trainer.api.options import open_copies, select
from trainer.console import Console
from trainer.errors import UserError, nearest
from trainer.evaluation.opening import Replaced, Slicing, open_model, require_sliced_task
from trainer.job_dir.trained_job import Model, fetch_checkpoints

Data = Union[tables.Table, tables.Files]
Checkpoint = Optional[Union[int, str, Path]]


class Evaluation(NamedTuple):
    """The metrics of one checkpoint.

    Attributes:
        step: global step of the checkpoint.
        rows: number of rows.
        metrics: exact metrics of all rows; empty for a task without slices.
        estimator_metrics: the Estimator's own metrics.
        slices: one dict per slice with "by", "value", "rows", "few" (whether there are too few
            rows for metrics to be trusted) and the exact metrics: a list that pandas.DataFrame and
            polars.DataFrame accept.
    """

    step: int
    rows: int
    metrics: dict[str, float]
    estimator_metrics: dict[str, float]
    slices: list[dict[str, Any]]


class ColumnImportance(NamedTuple):
    """How much worse the model is if the values of a column are shuffled.

    Attributes:
        column: its name.
        loss: how much worse the metric becomes, on average; positive if the model needs the column.
        low: lower end of the 95 % interval of the mean.
        high: upper end of that interval.
        metric: the metric.
    """

    column: str
    loss: float
    low: float
    high: float
    metric: str


def evaluate(
    job_dir: Union[str, Path],
    data: Optional[Data] = None,
    *,
    by: Sequence[str] = (),
    checkpoint: Checkpoint = None,
    threshold: Optional[float] = None,
    options: Optional[Mapping[str, Any]] = None,
) -> Evaluation:
    """Evaluates a checkpoint of a job, as `python -m trainer.evaluate` does; writes nothing.

    Args:
        job_dir: folder of a trained job, on this machine or gs://.
        data: a table with the columns and the label, or files; None: the job's evaluation data.
        by: columns to slice by; "a*b": by both at once.
        checkpoint: step or path of a checkpoint; None: the last.
        threshold: score from which a row is called positive; None: the job's.
        options: "allow_code", and options of the sections data and storage.

    Returns:
        The metrics of all rows and of each slice.

    Raises:
        UserError: the data are invalid, or a column of `by` is unknown or private.
    """
    with _opened(job_dir, data, threshold, options) as opened:
        slicing = Slicing(by)
        slicing.check(opened.model.schema)
        from trainer.evaluation import measuring

        paths = opened.fetch_checkpoint(checkpoint)
        report = measuring.evaluate(opened.model, paths, slicing, Console())
    values = report.evaluations[0]
    own = {name: value for name, value in values.items() if name not in ("checkpoint", "step")}
    if report.sliced is None:
        return Evaluation(values["step"], 0, {}, own, [])
    parts = [
        {"by": part.by, "value": part.value, "rows": part.rows, "few": part.few, **part.metrics}
        for part in report.sliced.parts
    ]
    rows = len(report.sliced.predictions.labels)
    return Evaluation(values["step"], rows, report.sliced.overall, own, parts)


def explain(
    job_dir: Union[str, Path],
    data: Optional[Data] = None,
    *,
    rows: int = 2000,
    checkpoint: Checkpoint = None,
    options: Optional[Mapping[str, Any]] = None,
) -> list[ColumnImportance]:
    """Measures how much the model needs each column, as the page of a job does.

    Args:
        job_dir: folder of a trained job, on this machine or gs://.
        data: a table with the columns and the label, or files; None: the job's evaluation data.
        rows: size of the random sample of rows on which it is measured.
        checkpoint: step or path of a checkpoint; None: the last.
        options: "allow_code", and options of the sections data and storage.

    Returns:
        The columns, the most important first; without private columns.

    Raises:
        UserError: the data are invalid, or the model is neither a classifier nor a regressor.
    """
    if rows < 1:
        raise UserError(f"rows: got {rows}; give at least 1")
    with _opened(job_dir, data, None, options) as opened:
        require_sliced_task(str(job_dir), opened.model.schema)
        from trainer.evaluation import page
        from trainer.metrics.catalogue import SHOWN_METRICS

        paths = opened.fetch_checkpoint(checkpoint)
        found = page.explain(opened.model, paths[0], rows)
        metric = SHOWN_METRICS[opened.model.schema.task][0]
    return [
        ColumnImportance(
            one.column, one.mean, one.mean - one.half_width, one.mean + one.half_width, metric
        )
        for one in found
    ]


class _Opened(NamedTuple):
    """A job that is opened for an evaluation."""

    model: Model
    job_dir: str
    copies: storage.Copies

    def fetch_checkpoint(self, wanted: Checkpoint) -> list[str]:
        """Returns the path of a checkpoint on this machine, as a list of one."""
        name = None if wanted is None else str(wanted)
        return fetch_checkpoints(self.job_dir, name, False, self.copies)


@contextmanager
def _opened(
    job_dir: Union[str, Path],
    data: Optional[Data],
    threshold: Optional[float],
    options: Optional[Mapping[str, Any]],
) -> Iterator[_Opened]:
    """Opens a job with other data while a `with` statement runs."""
    _check_options(options or {})
    replaced = select(options, "data")
    with ExitStack() as stack:
        copies = stack.enter_context(open_copies(options))
        if data is not None and tables.is_files(data):
            replaced["data.eval"] = tables.list_files(data)
        elif data is not None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="evaluate-"))
            path = tables.write_table(tables.to_arrow(data, "data"), Path(folder), "data")
            replaced.update({"data.eval": [str(path)], "data.format": "parquet"})
            stack.enter_context(tables.named_as("data", path))
        allowed = Replaced(replaced, threshold, bool((options or {}).get("allow_code")))
        yield _Opened(open_model(str(job_dir), allowed, copies, Console()), str(job_dir), copies)


def _check_options(options: Mapping[str, Any]) -> None:
    known = [
        option.name for option in config_lib.list_options() if option.section in ("data", "storage")
    ]
    for name in options:
        if name not in (*known, "allow_code"):
            raise UserError(f"options: no option {name!r} here{nearest(name, known)}")
