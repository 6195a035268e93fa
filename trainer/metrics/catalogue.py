"""The metrics that reports show, and which direction of a metric is better."""

# Metrics that the summary shows, by task; the main metric first.
SHOWN_METRICS = {
    "binary": ("auc", "auc_precision_recall", "accuracy", "log_loss", "calibration_error"),
    "multiclass": ("accuracy", "log_loss"),
    "regression": ("rmse", "mae", "r2"),
    "multilabel": ("auc", "auc_precision_recall"),
    # The metrics of each head are named metric/head.
    "multihead": ("loss",),
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
