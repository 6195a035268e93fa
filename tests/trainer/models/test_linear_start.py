"""trainer.models.linear_start: the linear model with which training begins."""

import numpy as np
import pytest

from trainer.models import linear_start
from trainer.models.build import build_preparation
from trainer.schema import Label, Schema

RNG = np.random.default_rng(5)
MATRIX = np.hstack([RNG.normal(size=(200, 3)), np.ones((200, 1))])
WEIGHTS = RNG.uniform(0.5, 2, size=200)


def test_a_regression_is_that_of_least_squares_with_a_penalty():
    targets = MATRIX @ np.array([[1.0], [-2.0], [0.5], [3.0]]) + RNG.normal(size=(200, 1))
    fitted = linear_start.fit(MATRIX, targets, WEIGHTS, "regression")
    # The penalty is that of further rows: sqrt(10) in one column, with the target 0.
    rows = np.vstack([MATRIX * WEIGHTS[:, None] ** 0.5, np.diag([10**0.5] * 3 + [1e-3])])
    wanted = np.linalg.lstsq(rows, np.r_[targets[:, 0] * WEIGHTS**0.5, np.zeros(4)], rcond=None)[0]
    assert fitted.shape == (4, 1) and fitted.dtype == np.float32
    np.testing.assert_allclose(fitted[:, 0], wanted, rtol=1e-5)


@pytest.mark.parametrize("task, columns", [("binary", 1), ("multiclass", 3)])
def test_no_other_weights_of_classes_have_a_smaller_loss(task, columns):
    targets = (RNG.random((200, columns)) < 0.3).astype(float)
    # Rows that can be told apart without an error must not let the weights grow without limit.
    targets[:, 0] = MATRIX[:, 0] > 0
    fitted = linear_start.fit(MATRIX, targets, WEIGHTS, task).astype(float)
    predicted = 1 / (1 + np.exp(-MATRIX @ fitted))
    slope = MATRIX.T @ (WEIGHTS[:, None] * (predicted - targets))
    penalty = np.array([10, 10, 10, 1e-6])[:, None] * fitted
    np.testing.assert_allclose(slope + penalty, 0, atol=2e-3)


def test_targets_are_those_of_the_heads():
    number = Label(column="y", normalize={"mean": 4.0, "std": 2.0})
    np.testing.assert_allclose(
        linear_start.build_targets(number, np.array([4, 8], np.float32), False), [[0], [2]]
    )
    words = Label(column="y", vocabulary=["no", "yes"])
    assert linear_start.build_targets(words, np.array([1, 0]), True).tolist() == [[1], [0]]
    values = Label(column="y", vocabulary=[7, 3, 5])
    assert linear_start.build_targets(values, np.array([5, 7]), False).argmax(1).tolist() == [2, 0]


def test_the_matrix_has_a_column_for_each_weight(make, tmp_path):
    path = make.csv(tmp_path / "rows.csv", make.rows(100, missing=True))
    config = make.config(tmp_path / "job", path, model={"hidden_units": [4]})
    job = make.prepare(config, make.schema())
    preparation = build_preparation(job.config, job.schema, job.statistics)
    blocks = linear_start.list_blocks(preparation.layout)
    ids = np.zeros([2, len(preparation.encoding.fields)], np.int32)
    ids[1] = -1
    numbers = np.full([2, len(preparation.encoding.numbers)], 0.5, np.float32)
    matrix = linear_start.build_matrix(preparation.layout, {"ids": ids, "numbers": numbers})
    assert matrix.shape == (2, sum(block.size for block in blocks))
    fields = sum(len(table.fields) for table in preparation.layout.wide)
    ones = 0.5 * len(preparation.layout.wide_numbers) + 1
    # A missing value has no weight.
    assert matrix.sum(axis=1).tolist() == [fields + ones, ones]
    assert blocks[-1].name == "linear/linear_model/bias_weights"


def test_the_work_is_bounded():
    assert linear_start.count_rows(20_000, 100, 1) == 20_000
    assert linear_start.count_rows(1_000_000, 100, 2) == 10_000
    # Ten rows for each weight.
    assert linear_start.count_rows(300, 30, 1) == 300
    assert linear_start.count_rows(299, 30, 1) == 0
    assert linear_start.count_rows(20_000, 1_000, 1) == 0


@pytest.mark.parametrize(
    ("sections", "schema", "reason"),
    [
        ({}, {}, None),
        ({"model": {"type": "dnn"}}, {}, "model.type dnn"),
        ({"cluster": {"strategy": "mirrored"}}, {}, "cluster.strategy mirrored"),
        ({"train": {"warm_start": "other"}}, {}, "train.warm_start"),
        ({"train": {"linear_optimizer": "adam"}}, {}, "linear_optimizer adam"),
        ({"train": {"l2": 0.1}}, {}, "l1 and l2"),
        ({"train": {"warmup_steps": 5}}, {}, "a learning rate that changes"),
        ({}, {"label": {"column": "price", "loss": "poisson"}}, "loss poisson"),
    ],
)
def test_what_prevents_it(make, sections, schema, reason):
    values = {**make.schema().model_dump(exclude_none=True, exclude_defaults=True), **schema}
    found = linear_start.find_obstacle(make.config(**sections), Schema.model_validate(values))
    assert found == reason
