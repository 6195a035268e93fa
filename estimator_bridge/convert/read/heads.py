"""Reads the head of a canned Estimator: its predictions and its loss."""

from typing import Any

from estimator_bridge.errors import BridgeError

from ..plan.model import BY_USED_ROWS, Head

__all__ = ["has_changed_weights", "read_head"]

_REDUCTIONS = {
    "sum": "sum",
    "weighted_sum": "sum",
    "sum_over_batch_size": "sum_over_batch_size",
    "weighted_sum_over_batch_size": "sum_over_batch_size",
    "weighted_sum_by_nonzero_weights": BY_USED_ROWS,
    "weighted_mean": "mean_with_sample_weight",
}
_HEADS = {
    "BinaryClassHead": "binary",
    "BinaryLogisticHeadWithSigmoidCrossEntropyLoss": "binary",
    "MultiClassHead": "multiclass",
    "MultiClassHeadWithSoftmaxCrossEntropyLoss": "multiclass",
    "RegressionHead": "regression",
    "RegressionHeadWithMeanSquaredErrorLoss": "regression",
    "PoissonRegressionHead": "poisson",
    "LogisticRegressionHead": "logistic",
    "MultiLabelHead": "multilabel",
}


def read_head(head: Any) -> Head:
    """Returns the plan of a head.

    Args:
      head: the head, which must not have a loss or predictions of its own.
    """
    kind = type(head).__name__.lstrip("_")
    if kind == "MultiHead":
        weights = head._head_weights or [1.0] * len(head._heads)
        parts = tuple(
            read_head(one)._replace(name=one.name, importance=float(weight))
            for one, weight in zip(head._heads, weights)
        )
        units = sum(part.units for part in parts)
        return Head("multihead", units, None, "sum_over_batch_size", None, parts=parts)
    if kind not in _HEADS:
        raise BridgeError(
            f"head {kind}: only heads of TensorFlow can be converted; --model_fn wraps any other"
        )
    task = _HEADS[kind]
    _refuse_own_functions(head, kind, task)
    vocabulary = getattr(head, "_label_vocabulary", None)
    weight = getattr(head, "_weight_column", None)
    reduction = _REDUCTIONS[head._loss_reduction]
    if weight is None and reduction == BY_USED_ROWS:
        reduction = "sum_over_batch_size"
    return Head(
        task,
        head.logits_dimension,
        None if vocabulary is None else tuple(map(str, vocabulary)),
        reduction,
        getattr(weight, "key", weight),
    )


def has_changed_weights(head: Any) -> bool:
    """Returns whether the row weights of a single head are those of its feature, changed.

    Args:
      head: the head.
    """
    column = getattr(head, "_weight_column", None)
    return getattr(column, "normalizer_fn", None) is not None


def _refuse_own_functions(head: Any, kind: str, task: str) -> None:
    """Refuses a head with a loss or predictions other than those of its class."""
    if task in ("poisson", "logistic"):
        # These two classes set both functions themselves.
        return
    for argument in ("loss_fn", "inverse_link_fn"):
        own = getattr(head, f"_{argument}", None)
        # Boosted trees write the loss of the class so that it has a second derivative.
        if own is not None and own.__module__ != "estimator_bridge.boosted_trees.heads":
            name = getattr(own, "__name__", type(own).__name__)
            raise BridgeError(
                f"head {kind}: its {argument} {name} cannot be converted; use "
                "PoissonRegressionHead or LogisticRegressionHead if that is what it computes, or "
                "wrap the model with --model_fn"
            )
