"""Names of the metrics of included models, and the check of the options that name one."""

from typing import Optional

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.schema import Label, Schema

# Metrics of the heads, by task.
_HEAD_METRICS = {
    "regression": ("average_loss", "label/mean", "loss", "prediction/mean"),
    "multiclass": ("accuracy", "average_loss", "loss"),
    "multilabel": ("auc", "auc_precision_recall", "average_loss", "loss"),
    "binary": (
        "accuracy",
        "accuracy_baseline",
        "auc",
        "auc_precision_recall",
        "average_loss",
        "label/mean",
        "loss",
        "precision",
        "prediction/mean",
        "recall",
    ),
}


def check_metrics(config: config_lib.Config, schema: Schema) -> None:
    """Checks the options that name a metric or the column of a baseline.

    Args:
        config: of a job.
        schema: of its data.

    Raises:
        UserError: no evaluation will have a metric, or there is no such column.
    """
    _check_baseline_column(config.eval.baseline_column, schema)
    metric = config.export.best_metric or "loss"
    check_metric("export.best_metric", metric, config, schema)
    check_metric("stop.metric", config.stop.metric or metric, config, schema)


def list_metrics(schema: Schema, threshold: float) -> list[str]:
    """Returns the names of all metrics of an included model, including those of the heads.

    With several labels, a metric is named metric/column.

    Args:
        schema: labels.
        threshold: score from which a row is classified as positive.
    """
    if not schema.more_labels:
        return sorted(_list_label_metrics(schema.label, threshold))
    names = [
        f"{name}/{label.column}"
        for label in schema.labels
        for name in _list_label_metrics(label, threshold)
    ]
    return sorted([*names, "loss"])


def _list_label_metrics(label: Label, threshold: float) -> list[str]:
    ours = {
        "regression": ["rmse", "mae", "r2", *(["deviance"] if label.loss == "poisson" else [])],
        "multiclass": ["log_loss"],
        "multilabel": [],
        "binary": [
            "log_loss",
            "calibration_error",
            f"precision_at_{threshold:g}",
            f"recall_at_{threshold:g}",
        ],
    }
    return [*_HEAD_METRICS[label.task], *ours[label.task]]


def check_metric(option: str, metric: str, config: config_lib.Config, schema: Schema) -> None:
    """Checks that evaluations will have a metric; metrics of the user's own code are unknown.

    Args:
        option: the option that names it, for messages.
        metric: its name.
        config: the resolved configuration.
        schema: its task determines the metrics.

    Raises:
        UserError: no evaluation will have it.
    """
    if config.model.type not in config_lib.MODEL_TYPES or config.eval.metric_fn:
        return
    known = list_metrics(schema, config.eval.threshold)
    if metric not in known:
        raise UserError(
            f"{option}: no metric {metric!r}{config_lib.nearest(metric, known)} "
            f"(a {schema.task} model has {', '.join(known)})"
        )


def _check_baseline_column(name: Optional[str], schema: Schema) -> None:
    if name is None:
        return
    known = [each for each in schema.input_columns if schema.columns[each].raw_type != "string"]
    if name not in known or name == schema.label.column:
        raise UserError(
            f"eval.baseline_column: {name!r} is no numeric column in use"
            f"{config_lib.nearest(name, known)}"
        )
