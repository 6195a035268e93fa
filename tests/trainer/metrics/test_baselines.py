"""trainer.metrics.baselines, compared with scikit-learn."""

import numpy as np
import pytest
from sklearn import linear_model, metrics

from trainer.metrics import baselines
from trainer.metrics.baselines import Rows, compare, measure_baselines
from trainer.training import baseline_rows


def _binary_rows(seed, num_rows=4000):
    rng = np.random.default_rng(seed)
    column = np.round(rng.gamma(2.0, 20.0, num_rows) - 20)
    labels = (rng.random(num_rows) < 1 / (1 + np.exp(-(column - 25) / 10))).astype(np.int64)
    return Rows(labels, column, rng.uniform(0.5, 2.0, num_rows))


@pytest.mark.parametrize("weighted", [False, True])
def test_one_column_logistic_regression_is_that_of_scikit_learn(weighted):
    train, evaluation = _binary_rows(1), _binary_rows(2)
    if not weighted:
        train, evaluation = train._replace(weights=None), evaluation._replace(weights=None)
    ours = measure_baselines("binary", train, evaluation, "delay")["delay alone"]

    model = linear_model.LogisticRegression(C=1e9, tol=1e-10, max_iter=1000)
    model.fit(train.column[:, None] / 30, train.labels, sample_weight=train.weights)
    scores = model.predict_proba(evaluation.column[:, None] / 30)[:, 1]
    weights = evaluation.weights
    assert ours["auc"] == pytest.approx(
        metrics.roc_auc_score(evaluation.labels, scores, sample_weight=weights), abs=1e-9
    )
    assert ours["auc_precision_recall"] == pytest.approx(
        metrics.average_precision_score(evaluation.labels, scores, sample_weight=weights), abs=1e-9
    )
    assert ours["log_loss"] == pytest.approx(
        metrics.log_loss(evaluation.labels, scores, sample_weight=weights), abs=1e-6
    )
    assert ours["accuracy"] == pytest.approx(
        metrics.accuracy_score(evaluation.labels, scores >= 0.5, sample_weight=weights), abs=1e-9
    )


def test_majority_class_predicts_the_training_share():
    train, evaluation = _binary_rows(3), _binary_rows(4)
    share = np.average(train.labels, weights=train.weights)
    ours = measure_baselines("binary", train, evaluation)["majority class"]
    assert ours["auc"] == 0.5
    positives = np.average(evaluation.labels, weights=evaluation.weights)
    assert ours["auc_precision_recall"] == pytest.approx(positives)
    assert ours["accuracy"] == pytest.approx(max(positives, 1 - positives))
    assert ours["calibration_error"] == pytest.approx(abs(share - positives))
    assert ours["log_loss"] == pytest.approx(
        metrics.log_loss(
            evaluation.labels,
            np.full(len(evaluation.labels), share),
            sample_weight=evaluation.weights,
        )
    )


def test_calibration_error_by_hand():
    # Bin 0 holds 0.01 and 0.05, bin 14 holds 0.95 and 1.0: gaps 0.03 and 0.475.
    labels = np.array([0.0, 0.0, 1.0, 0.0])
    scores = np.array([0.01, 0.05, 0.95, 1.0])
    measured = baselines.measure_binary(labels, scores)
    assert measured["calibration_error"] == pytest.approx((0.06 + 0.95) / 4)


def test_equal_labels_have_no_ranking():
    rows = Rows(np.zeros(10), np.arange(10.0))
    measured = measure_baselines("binary", rows, rows, "x")
    assert all(np.isnan(metrics_["auc"]) for metrics_ in measured.values())
    assert measured["x alone"]["accuracy"] == 1.0


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_a_column_that_only_rows_of_weight_0_have(task):
    column = np.array([1.0, 2.0, np.nan, np.nan])
    rows = Rows(np.array([0, 1, 0, 1]), column, np.array([0.0, 0.0, 1.0, 1.0]))
    measured = measure_baselines(task, rows, rows, "x")
    mean, alone = measured.values()
    assert alone == pytest.approx(mean)


def test_a_column_that_separates_the_classes_stays_finite():
    rows = Rows(np.repeat([0, 1], 50), np.arange(100.0))
    measured = measure_baselines("binary", rows, rows, "x")["x alone"]
    assert measured["auc"] == 1.0 and measured["accuracy"] == 1.0
    assert 0 <= measured["log_loss"] < 1e-3


def test_missing_values_count_as_the_mean():
    train, evaluation = _binary_rows(5), _binary_rows(6)
    mean = np.average(train.column, weights=train.weights)
    filled = evaluation.column.copy()
    filled[::7] = mean
    holes = evaluation.column.copy()
    holes[::7] = np.nan
    ours = measure_baselines("binary", train, evaluation._replace(column=holes), "x")
    theirs = measure_baselines("binary", train, evaluation._replace(column=filled), "x")
    assert ours == theirs


@pytest.mark.parametrize("weighted", [False, True])
def test_one_column_least_squares_is_that_of_scikit_learn(weighted):
    rng = np.random.default_rng(7)
    column = rng.normal(39, 2.5, 3000)
    weights = rng.uniform(0.1, 3, 3000) if weighted else None
    rows = Rows(0.3 * column - 4 + rng.normal(0, 1, 3000), column, weights)
    measured = measure_baselines("regression", rows, rows, "weeks")

    model = linear_model.LinearRegression().fit(column[:, None], rows.labels, weights)
    guess = model.predict(column[:, None])
    for name, predictions in (
        ("weeks alone", guess),
        ("mean", np.full(3000, np.average(rows.labels, weights=weights))),
    ):
        ours = measured[name]
        assert ours["rmse"] ** 2 == pytest.approx(
            metrics.mean_squared_error(rows.labels, predictions, sample_weight=weights)
        )
        assert ours["mae"] == pytest.approx(
            metrics.mean_absolute_error(rows.labels, predictions, sample_weight=weights)
        )
        assert ours["r2"] == pytest.approx(
            metrics.r2_score(rows.labels, predictions, sample_weight=weights), abs=1e-9
        )


def test_multiclass_prior():
    rng = np.random.default_rng(8)
    train = Rows(rng.choice(4, 1000, p=[0.1, 0.2, 0.3, 0.4]))
    evaluation = Rows(rng.choice(4, 500, p=[0.1, 0.2, 0.3, 0.4]))
    shares = np.bincount(train.labels, minlength=4) / 1000
    ours = measure_baselines("multiclass", train, evaluation)["majority class"]
    assert ours["accuracy"] == np.mean(evaluation.labels == np.argmax(shares))
    assert ours["log_loss"] == pytest.approx(
        metrics.log_loss(evaluation.labels, np.tile(shares, (500, 1)), labels=range(4))
    )


def test_a_class_missing_from_training_has_the_largest_loss():
    measured = measure_baselines("multiclass", Rows(np.array([0, 1])), Rows(np.array([3])))
    assert measured["majority class"]["log_loss"] == pytest.approx(-np.log(baselines.EPSILON))


def test_compare_computes_the_gain_of_the_model():
    rows = compare(
        {"auc": 0.92, "log_loss": 0.26, "loss": 1.0},
        {"majority class": {"auc": 0.5, "log_loss": 0.56}, "x alone": {"accuracy": 0.9}},
    )
    assert [(row.baseline, row.metric) for row in rows] == [
        ("majority class", "auc"),
        ("majority class", "log_loss"),
    ]
    assert [row.gain for row in rows] == pytest.approx([0.42, 0.30])


def test_calibration_has_the_bins_of_the_models_metric():
    from trainer.models.metrics import CALIBRATION_BINS

    assert baselines.CALIBRATION_BINS == CALIBRATION_BINS


@pytest.mark.parametrize("label", ["bought", "flag", "grade", "size", "colour"])
def test_counts_of_the_scan_replace_a_second_pass(make, tmp_path, monkeypatch, label):
    path = make.csv(tmp_path / "rows.csv", make.rows(200, seed=3))
    prepared = make.prepare(make.config(tmp_path / "job", path), make.schema(label))
    recalled = []
    recall = baseline_rows._count_labels
    with monkeypatch.context() as patched:
        patched.setattr(
            baseline_rows, "_count_labels", lambda *given: recalled.append(recall(*given))
        )
        read = baseline_rows.measure_baselines(prepared)
    assert len(recalled) == 2 and None not in recalled
    assert sum(recalled[0].weights) == 200
    monkeypatch.setattr(baseline_rows, "build_source", None)
    counted = baseline_rows.measure_baselines(prepared)
    assert counted == {name: pytest.approx(metrics) for name, metrics in read.items()}
