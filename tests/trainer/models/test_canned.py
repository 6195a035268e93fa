"""Every canned model for every task: training, evaluation, export, prediction, resuming."""

import math
import shutil

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.prediction.predictor import Predictor

MODELS = ["baseline", "linear", "dnn", "wide_deep"]
METRICS = {
    "price": {"rmse", "mae", "r2", "average_loss", "loss"},
    "bought": {"auc", "accuracy", "log_loss", "calibration_error", "precision_at_0.5"},
    "flag": {"auc", "accuracy", "log_loss", "calibration_error", "recall_at_0.5"},
    "grade": {"accuracy", "log_loss", "loss"},
    "size": {"accuracy", "log_loss", "loss"},
    "colour": {"accuracy", "log_loss", "loss"},
}
# The label decides the task: regression, binary and multi-class with classes given in three ways.
CASES = [(model, label) for model in MODELS for label in ("price", "bought", "grade")]
CASES += [("wide_deep", "flag"), ("wide_deep", "size"), ("linear", "colour")]


def _beats_the_prior(label, metrics):
    if label == "price":
        return metrics["r2"] > 0.5
    if label in ("bought", "flag"):
        return metrics["auc"] > 0.85 and metrics["log_loss"] < 0.55
    return metrics["accuracy"] > 0.6 and metrics["log_loss"] < 0.95


@pytest.mark.parametrize(("model", "label"), CASES)
def test_trains_and_evaluates(trained, model, label):
    done = trained(model, label)
    losses = [record["loss"] for record in done.read("train")]
    # A baseline classifier starts near the prior, which is its optimum.
    assert np.mean(losses[-3:]) < losses[0] or (model == "baseline" and label != "price")
    evaluations = done.read("eval")
    assert [record["step"] for record in evaluations] == [60]
    assert METRICS[label] <= set(evaluations[-1])
    assert all(math.isfinite(value) for value in evaluations[-1].values())
    if model != "baseline":
        assert _beats_the_prior(label, evaluations[-1])


@pytest.mark.parametrize(("model", "label"), CASES)
def test_predictions_contain_the_key(trained, make, model, label):
    done = trained(model, label)
    rows = [{**row, "age": row["age"] or 50.0} for row in make.rows(5, seed=4, missing=False)]
    answers = Predictor(done.export).predict(rows)
    assert [answer["id"] for answer in answers] == [row["id"] for row in rows]
    for answer in answers:
        if label == "price":
            assert math.isfinite(answer["predictions"][0])
        else:
            assert sum(answer["probabilities"]) == pytest.approx(1, abs=1e-5)
            names = {
                "bought": ["no", "yes"],
                "flag": ["0", "1"],
                "grade": ["0", "1", "2"],
                "size": ["10", "20", "30"],
                "colour": ["red", "green", "blue"],
            }[label]
            best = int(np.argmax(answer["probabilities"]))
            assert answer["class_ids"] == [best]
            assert answer["classes"] == [names[best]]


@pytest.mark.parametrize("model", MODELS)
def test_resumes_training(trained, make, tmp_path, model):
    done = trained(model, "bought")
    folder = tmp_path / "job"
    shutil.copytree(done.folder, folder)
    train = done.config.train.model_copy(update={"max_steps": 75})
    config = done.config.model_copy(update={"job_dir": str(folder), "train": train})
    _, result = make.run(config, done.schema)
    assert (result.start_step, result.end_step) == (60, 75)


@pytest.mark.parametrize(
    ("deep", "wide", "rate"),
    [("adam", "sgd", 0.03), ("momentum", "rmsprop", 0.03), ("ftrl", "adagrad", 0.2)],
)
def test_every_optimizer_lowers_the_loss(trained, deep, wide, rate):
    # The defaults, adagrad and ftrl, are in every other test.
    train = {"optimizer": deep, "linear_optimizer": wide, "learning_rate": rate}
    done = trained("wide_deep", "bought", train=train, export={"exporters": []})
    losses = [record["loss"] for record in done.read("train")]
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.newest
@pytest.mark.parametrize(
    "options",
    [
        {"dropout": 0.3, "activation": "tanh"},
        {"dropout": 0.1, "batch_norm": True, "activation": "swish", "hidden_units": [8, 4]},
    ],
    ids=["dropout", "batch_norm"],
)
def test_dropout_and_batch_norm(trained, make, options):
    done = trained("dnn", "bought", model=options, train={"max_steps": 120})
    assert done.read("eval")[-1]["auc"] > 0.8
    names = [name for name, _ in tf.train.list_variables(str(done.folder))]
    assert any("batchnorm" in name.lower() for name in names) == ("batch_norm" in options)
    # Dropout applies in training only.
    predictor, rows = Predictor(done.export), make.rows(3, seed=4, missing=False)
    assert predictor.predict(rows) == predictor.predict(rows)


def _train_constant(make, tmp_path, labels, weights=None, **train):
    """Trains a single bias on a label; returns (Trained parts, losses by step)."""
    from trainer.job_dir.metrics_log import MetricsLog
    from trainer.schema import Schema

    weights = np.ones(len(labels)) if weights is None else weights
    rows = [
        {"x": 0.0, "w": float(weight), "y": float(label)} for weight, label in zip(weights, labels)
    ]
    path = make.csv(tmp_path / "rows.csv", rows)
    schema = Schema.model_validate(
        {
            "columns": {name: {"type": "float"} for name in ("x", "w", "y")},
            "label": {"column": "y"},
            "weight": "w",
        }
    )
    config = make.config(
        tmp_path / "job",
        path,
        model={"type": "baseline"},
        train={"batch_size": len(rows), "linear_optimizer": "sgd", **train},
        run={"log_step_count_steps": 1},
        export={"exporters": []},
    )
    make.run(config, schema)
    losses = [record["loss"] for record in MetricsLog(config.job_dir).read("train")]
    (bias,) = [
        tf.train.load_variable(config.job_dir, name)
        for name, shape in tf.train.list_variables(config.job_dir)
        if name == "baseline/bias"
    ]
    return losses, float(bias[0])


@pytest.mark.newest
@pytest.mark.parametrize(
    ("options", "rate"),
    [
        ({}, lambda step: 0.1),
        ({"decay": "exponential", "decay_rate": 0.25}, lambda step: 0.1 * 0.25 ** (step / 12)),
        (
            {"decay": "exponential", "decay_rate": 0.25, "decay_steps": 4},
            lambda step: 0.1 * 0.25 ** (step / 4),
        ),
        (
            {"decay": "cosine", "decay_rate": 0.1},
            lambda step: 0.1 * (0.1 + 0.9 * (1 + math.cos(math.pi * step / 12)) / 2),
        ),
        ({"linear_learning_rate": 0.03}, lambda step: 0.03),
    ],
    ids=["constant", "exponential", "exponential in 4 steps", "cosine", "linear rate"],
)
def test_learning_rate_schedule(make, tmp_path, options, rate):
    # One bias b, label 1, plain gradient descent: the loss is (b - 1)², its gradient 2 (b - 1), so
    # each step multiplies the root of the loss by 1 - 2 · rate.
    options = {"max_steps": 12, "learning_rate": 0.1, **options}
    losses, _ = _train_constant(make, tmp_path, np.ones(8), **options)
    assert len(losses) == 12
    roots = np.sqrt(losses)
    used = (1 - roots[1:] / roots[:-1]) / 2
    np.testing.assert_allclose(used, [rate(step) for step in range(11)], rtol=1e-3)


@pytest.mark.newest
def test_weight_column_weights_the_loss(make, tmp_path):
    # The best constant under squared loss is the weighted mean.
    labels, weights = np.array([1.0, 5.0]), np.array([3.0, 1.0])
    _, bias = _train_constant(make, tmp_path, labels, weights, max_steps=200, learning_rate=0.1)
    assert bias == pytest.approx(np.average(labels, weights=weights), abs=1e-3)


@pytest.mark.newest
def test_model_part_without_columns_is_refused(make, shop, tmp_path):
    from trainer.schema import Schema

    values = make.schema_values("bought")
    for column in values["columns"].values():
        column["use"] = []
    values["columns"]["age"]["use"] = ["wide"]
    del values["crosses"]
    schema = Schema.model_validate(values)
    for model, part in (("dnn", "deep"), ("wide_deep", "deep")):
        config = make.config(tmp_path / model, shop / "train.csv", model={"type": model})
        with pytest.raises(UserError, match=f"model.type {model}: .*{part}.*use: "):
            make.run(config, schema)
        assert not list((tmp_path / model).iterdir())


@pytest.mark.newest
def test_regularisation_without_ftrl_is_refused(make, shop, tmp_path):
    config = make.config(
        tmp_path / "job", shop / "train.csv", model={"type": "dnn"}, train={"l1": 0.1}
    )
    with pytest.raises(
        UserError, match="train.l1, train.l2: set, but adagrad applies neither; choose ftrl"
    ):
        make.run(config, make.schema("bought"))


@pytest.mark.newest
def test_l1_makes_weights_zero(trained):
    def count_weights(done):
        folder = str(done.folder)
        names = [
            name for name, _ in tf.train.list_variables(folder) if name.endswith("job/weights")
        ]
        return np.count_nonzero(tf.train.load_variable(folder, names[0]))

    sparse = trained("linear", "bought", train={"l1": 5.0}, export={"exporters": []})
    assert count_weights(trained("linear", "bought")) > count_weights(sparse)
