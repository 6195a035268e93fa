"""Names of metrics: which metrics the reports show first, and whether lower or higher is better."""

from trainer.errors import UserError

# Metrics that the summary shows, by task; the main metric first.
SHOWN_METRICS = {
    "binary": ("auc", "auc_precision_recall", "accuracy", "log_loss", "calibration_error"),
    "multiclass": ("accuracy", "log_loss"),
    "regression": ("rmse", "mae", "r2"),
    "multilabel": ("auc", "auc_precision_recall"),
    # The metrics of each head are named metric/head.
    "multihead": ("loss",),
}
# Outputs of an export with the scores of a task, the first choice first. Of two classes, the last
# is taken.
SCORE_OUTPUTS = {
    "binary": ("logistic", "probabilities", "scores", "predictions"),
    "multiclass": ("probabilities", "scores"),
    "regression": ("predictions", "outputs"),
}

LOWER_IS_BETTER = (
    "loss",
    "average_loss",
    "log_loss",
    "rmse",
    "mae",
    "calibration_error",
    "deviance",
)
HIGHER_IS_BETTER = ("accuracy", "auc", "auc_precision_recall", "precision", "recall", "r2")


def choose_direction(metric: str, mode: str) -> str:
    """Returns min or max: whether a lower or a higher value of a metric is better.

    Args:
        metric: its name; with several heads, it ends with the name of a head: "auc/clicked".
        mode: min, max, or auto: by the metric's name.

    Raises:
        UserError: the mode is auto and the metric's direction is not known.
    """
    if mode != "auto":
        return mode
    kind = metric.partition("/")[0]
    if kind in LOWER_IS_BETTER:
        return "min"
    if kind in HIGHER_IS_BETTER or kind.startswith(("precision_at", "recall_at")):
        return "max"
    raise UserError(
        f"export.best_metric: {metric!r} has no known direction; set --export.best_mode=min or max"
    )
