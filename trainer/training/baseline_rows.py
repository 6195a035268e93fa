"""Measures the baselines of a job: simple predictors that its model should outperform."""

from typing import Any, Optional

import numpy as np

from trainer.inputs.scan import Scan
from trainer.inputs.weighted_counts import WeightedCounts
from trainer.metrics import baselines
from trainer.schema import Label
from trainer.training.job import Job, build_source


def measure_baselines(job: Job) -> dict[str, dict[str, float]]:
    """Returns the baselines' metrics on the evaluation data: name → metric → value.

    The result is empty for models with several labels.

    Args:
        job: names the data files.
    """
    if job.schema.task not in baselines.TASKS:
        return {}
    return baselines.measure_baselines(
        job.schema.task,
        _read_rows(job, training=True),
        _read_rows(job, training=False),
        job.config.eval.baseline_column,
    )


def _read_rows(job: Job, training: bool) -> baselines.Rows:
    """Returns the columns that baselines need; merges equal rows and adds up their weights."""
    schema, label = job.schema, job.schema.label
    column = job.config.eval.baseline_column
    if column is None and schema.weight is None:
        counted = _count_labels(job.train_scan if training else job.eval_scan, label)
        if counted is not None:
            return counted
    names = [name for name in (label.column, column, schema.weight) if name]
    # If bad rows are dropped, read all columns, because any column may make a row bad.
    read = None if job.config.data.max_bad_rows else list(dict.fromkeys(names))
    counts = WeightedCounts()
    for chunk, words in build_source(job, training, names=read).read_split(names=names):
        labels = chunk[label.column]
        if label.vocabulary is not None:
            seen = words.get(label.column)
            values = np.unique(labels) if seen is None else seen
            ids = {_to_raw(value): number for number, value in enumerate(label.vocabulary)}
            # The last entry of `seen` stands for a missing value and has no class.
            numbers = np.array([ids.get(value, -1) for value in values.tolist()])
            labels = numbers[labels if seen is not None else np.searchsorted(values, labels)]
        ones = np.ones(len(labels))
        weights = chunk[schema.weight].astype(np.float64) if schema.weight else ones
        counts.add(labels, chunk[column] if column else ones, weights)
    labels, values, weights = counts.get()
    return baselines.Rows(labels, values if column else None, weights)


def _count_labels(scan: Scan, label: Label) -> Optional[baselines.Rows]:
    """Returns the class counts of a scan; None if the scan has not counted all rows."""
    known = scan.statistics.categories.get(label.column)
    if known is None or not known.complete:
        return None
    counts = np.array([known.counts.get(str(value), 0) for value in label.classes])
    if counts.sum() != scan.statistics.num_rows:
        return None
    (present,) = counts.nonzero()
    return baselines.Rows(present, None, counts[present])


def _to_raw(value: Any) -> Any:
    """Returns a class as it is read from the data files."""
    return value.encode() if isinstance(value, str) else value
