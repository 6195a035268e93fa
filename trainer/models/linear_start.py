"""Fits the linear part of a wide_deep model in closed form, as a start of its training.

An untrained deep part learns the noise of a small table sooner than an untrained linear part learns
its direction. So the linear part begins with its own best weights, and the deep part begins with
logits of zero: the first evaluation is that of a linear model, and training adds what that lacks.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Optional

import numpy as np

from trainer import config as config_lib
from trainer.features.encoding import IDS, NUMBERS, unsupported_reason
from trainer.models.fused.layout import Layout
from trainer.models.optimizers import INITIAL_ACCUMULATOR
from trainer.schema import Label, Schema

# The time of the fit is proportional to rows x weights of a logit squared x logits. At most so much
# is spent, by leaving out rows.
MAX_WORK = 200_000_000
# With fewer rows for each weight, the fit itself learns noise, and training goes on from there.
MIN_ROWS = 10
# Penalty of the sum of squared weights, beside the sum of the losses of all rows.
PENALTY = 10.0
NEWTON_STEPS = 12
LOGITS = "dnn/logits/kernel"


class Block(NamedTuple):
    """Weights of the linear part that are one variable of the canned model.

    Attributes:
        name: of the variable.
        size: number of weights for each logit.
        flat: whether the variable is [logits] instead of [size, logits].
    """

    name: str
    size: int
    flat: bool


def find_obstacle(config: config_lib.Config, schema: Schema) -> Optional[str]:
    """Returns why the linear part of a job cannot be fitted before training; None if it can.

    Args:
        config: model, train and cluster.
        schema: columns and labels.
    """
    train, label = config.train, schema.label
    found = {
        f"model.type {config.model.type}": config.model.type != "wide_deep",
        f"cluster.strategy {config.cluster.strategy}": config.cluster.strategy != "none",
        "train.warm_start": bool(train.warm_start),
        f"linear_optimizer {train.linear_optimizer}": train.linear_optimizer != "ftrl",
        "l1 and l2": bool(train.l1 or train.l2),
        "a learning rate that changes": train.decay != "constant" or train.warmup_steps > 0,
        "several labels": bool(schema.more_labels) or label.task == "multilabel",
        "loss poisson": label.loss == "poisson",
        "class_weights": bool(label.class_weights),
        "growing columns": bool(schema.growing),
    }
    return next((name for name, is_there in found.items() if is_there), unsupported_reason(schema))


def list_blocks(layout: Layout) -> list[Block]:
    """Returns the variables of the linear part, in the order of the weights; the bias is the last.

    Args:
        layout: of a model with a linear part.
    """
    blocks = [
        Block(block.name, block.size, block.flat) for table in layout.wide for block in table.blocks
    ]
    blocks += [Block(name, 1, False) for name in layout.wide_names]
    # Only the bias is flat.
    return sorted(blocks, key=lambda block: block.flat)


def count_rows(num_rows: int, width: int, units: int) -> int:
    """Returns how many rows the fit reads; 0 if they would be too few for the weights.

    Args:
        num_rows: number of training rows.
        width: number of weights of each logit.
        units: number of logits.
    """
    picked = min(num_rows, MAX_WORK // (width**2 * units))
    return picked if picked >= MIN_ROWS * width else 0


def build_matrix(layout: Layout, rows: Mapping[str, np.ndarray]) -> np.ndarray:
    """Returns the inputs of the linear part, float64 [rows, weights]; the last column is 1.

    Args:
        layout: of the model.
        rows: "ids", int32 [rows, fields], and "numbers", float32 [rows, numbers].
    """
    fields = [field for table in layout.wide for field in table.fields]
    sizes = [block.size for table in layout.wide for block in table.blocks if not block.flat]
    num_rows = len(rows[IDS])
    matrix = np.zeros([num_rows, sum(sizes) + len(layout.wide_numbers) + 1])
    start = 0
    for field, size in zip(fields, sizes):
        ids = rows[IDS][:, field]
        present = np.flatnonzero(ids >= 0)
        matrix[present, start + ids[present]] = 1
        start += size
    matrix[:, start:-1] = rows[NUMBERS][:, list(layout.wide_numbers)]
    matrix[:, -1] = 1
    return matrix


def build_targets(label: Label, values: np.ndarray, is_text: bool) -> np.ndarray:
    """Returns what each logit has to predict, float64 [rows, logits].

    Args:
        label: the label.
        values: of the label's column [rows]; of text, the indices of the classes.
        is_text: whether the column is text.
    """
    if label.task == "regression":
        moments = label.normalize
        normalized = values if moments is None else (values - moments.mean) / moments.std
        return np.asarray(normalized, np.float64)[:, None]
    ids = values.astype(np.int64)
    if not is_text and label.vocabulary is not None:
        places = {int(word): place for place, word in enumerate(label.vocabulary)}
        ids = np.array([places[value] for value in ids.tolist()])
    hot = np.eye(len(label.classes))[ids]
    return hot[:, 1:] if label.task == "binary" else hot


def fit(matrix: np.ndarray, targets: np.ndarray, weights: np.ndarray, task: str) -> np.ndarray:
    """Returns the weights with the least loss, float32 [weights, logits].

    The penalty is that of ridge regression. Each class of several is told apart from all others.

    Args:
        matrix: float64 [rows, weights]; the last column is that of the bias.
        targets: float64 [rows, logits].
        weights: of the rows, float64 [rows].
        task: of the label; a regression has squared errors, others have logistic losses.

    Raises:
        np.linalg.LinAlgError: the weights are not determined.
    """
    penalty = np.full(matrix.shape[1], PENALTY)
    # The bias is free. Its penalty only keeps the equations solvable.
    penalty[-1] = 1e-6
    if task == "regression":
        weighted = matrix * weights[:, None]
        left = matrix.T @ weighted + np.diag(penalty)
        return np.linalg.solve(left, weighted.T @ targets).astype(np.float32)
    fitted = [_fit_logistic(matrix, column, weights, penalty) for column in targets.T]
    return np.stack(fitted, axis=1).astype(np.float32)


def _fit_logistic(
    matrix: np.ndarray, target: np.ndarray, weights: np.ndarray, penalty: np.ndarray
) -> np.ndarray:
    """Newton's method, float64 [weights]."""
    fitted = np.zeros(matrix.shape[1])
    for _ in range(NEWTON_STEPS):
        predicted = 1 / (1 + np.exp(-np.clip(matrix @ fitted, -30, 30)))
        slope = np.maximum(predicted * (1 - predicted), 1e-6) * weights
        left = (matrix * slope[:, None]).T @ matrix + np.diag(penalty)
        right = matrix.T @ (weights * (target - predicted)) - penalty * fitted
        fitted += np.linalg.solve(left, right)
    return fitted


def replace_values(
    values: dict[str, np.ndarray], blocks: Sequence[Block], fitted: np.ndarray, rate: float
) -> None:
    """Puts the start into the values of a checkpoint of step 0.

    Args:
        values: name of a canned variable → its value; some are replaced.
        blocks: of the linear part.
        fitted: float32 [weights, logits].
        rate: learning rate of the linear part.
    """
    start = 0
    for block in blocks:
        part = fitted[start : start + block.size]
        start += block.size
        values[block.name] = part.reshape(values[block.name].shape)
        # Ftrl computes a weight from its slots at every step, so it would take others back to 0.
        slot = next(name for name in values if name.endswith(f"/{block.name}/linear"))
        values[slot] = values[block.name] * np.float32(-math.sqrt(INITIAL_ACCUMULATOR) / rate)
    values[LOGITS] = np.zeros_like(values[LOGITS])
