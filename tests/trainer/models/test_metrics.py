"""trainer.models.metrics compared with scikit-learn and NumPy, with and without weights."""

import numpy as np
import pytest
from sklearn import metrics as reference

from estimator_bridge import tf
from trainer.metrics.baselines import measure_regression
from trainer.metrics.included import list_metrics
from trainer.metrics.sums import measure_sums, tabulate_regression
from trainer.models.metrics import CALIBRATION_BINS, make_metric_fn
from trainer.schema import Schema

ROWS, BATCH = 500, 64


def _schema(label, kind, weighted):
    columns = {"x": {"type": "float"}, "w": {"type": "float"}, "y": {"type": kind}}
    weight = {"weight": "w"} if weighted else {}
    return Schema.model_validate({"columns": columns, "label": {"column": "y", **label}, **weight})


def _measure(schema, labels, predictions, weights, threshold=0.5):
    """Returns name → value of an evaluation of several batches."""
    # An evaluation creates its metrics once, when its graph is built.
    with tf.Graph().as_default():
        data = tf.data.Dataset.from_tensor_slices(
            (labels, predictions, weights.astype(np.float32))
        ).batch(BATCH)
        y, scores, w = tf.compat.v1.data.make_one_shot_iterator(data).get_next()
        made = make_metric_fn(schema, threshold)({"w": w}, y, scores)
        updates = [update for metric in made.values() for update in metric.updates]
        results = {name: metric.result() for name, metric in made.items()}
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            session.run([variable.initializer for m in made.values() for variable in m.variables])
            for _ in range(-(-ROWS // BATCH)):
                session.run(updates)
            return session.run(results)


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(11)


@pytest.mark.newest
@pytest.mark.parametrize("weighted", [False, True])
def test_poisson_deviance(rng, weighted):
    guess = rng.gamma(2, 2, ROWS).astype(np.float32)
    labels = rng.poisson(guess).astype(np.float32)
    weights = rng.uniform(0.1, 3, ROWS)
    schema = _schema({"loss": "poisson"}, "float", weighted)
    got = _measure(schema, labels, {"predictions": guess[:, None]}, weights)
    wanted = reference.mean_poisson_deviance(
        labels, guess, sample_weight=weights if weighted else None
    )
    assert got["deviance"] == pytest.approx(wanted, rel=1e-4)


@pytest.mark.newest
@pytest.mark.parametrize("weighted", [False, True])
def test_regression_metrics(rng, weighted):
    labels = rng.normal(3, 2, ROWS).astype(np.float32)
    guess = (labels + rng.normal(0.5, 1, ROWS)).astype(np.float32)
    weights = rng.uniform(0.1, 3, ROWS)
    used = weights if weighted else None
    got = _measure(_schema({}, "float", weighted), labels, {"predictions": guess[:, None]}, weights)
    error = reference.mean_squared_error(labels, guess, sample_weight=used)
    wanted = {
        "rmse": np.sqrt(error),
        "mae": reference.mean_absolute_error(labels, guess, sample_weight=used),
        "r2": reference.r2_score(labels, guess, sample_weight=used),
    }
    assert set(got) == set(wanted)
    for name, value in wanted.items():
        assert got[name] == pytest.approx(value, rel=1e-4), name


@pytest.mark.newest
def test_r2_of_labels_far_from_zero(rng):
    # In float32, cancellation in the sums would leave only rounding errors.
    labels = (1e4 + rng.normal(0, 1, ROWS)).astype(np.float32)
    guess = (labels + rng.normal(0, 0.5, ROWS)).astype(np.float32)
    got = _measure(
        _schema({}, "float", False), labels, {"predictions": guess[:, None]}, np.ones(ROWS)
    )
    assert got["r2"] == pytest.approx(reference.r2_score(labels, guess), rel=1e-3)


@pytest.mark.newest
def test_r2_of_one_label_is_zero():
    labels = np.full(ROWS, 2.0, np.float32)
    got = _measure(
        _schema({}, "float", False), labels, {"predictions": labels[:, None]}, np.ones(ROWS)
    )
    assert (got["r2"], got["rmse"]) == (0, 0)
    # The sums of these numbers are rounded.
    labels, weights = np.full(ROWS, 0.1, np.float32), np.linspace(0.1, 3, ROWS)
    for weighted in (False, True):
        schema = _schema({}, "float", weighted)
        got = _measure(schema, labels, {"predictions": labels[:, None] + 1}, weights)
        assert (got["r2"], got["mae"]) == (0, pytest.approx(1))
    table = tabulate_regression(labels, labels + 1, 0.3) * weights[:, None]
    assert measure_sums("regression", 0.5, table.sum(axis=0)[None])["r2"] == 0
    assert measure_regression(labels.astype(float), labels + 1, weights)["r2"] == 0


def _calibration_error(labels, scores, weights):
    bins = np.minimum((scores * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    total = 0.0
    for number in range(CALIBRATION_BINS):
        inside = bins == number
        if inside.any():
            w = weights[inside]
            gap = np.average(scores[inside], weights=w) - np.average(labels[inside], weights=w)
            total += abs(gap) * w.sum()
    return total / weights.sum()


@pytest.mark.newest
@pytest.mark.parametrize("threshold", [0.5, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", ["number", "text", "int text"])
def test_binary_metrics(rng, weighted, classes, threshold):
    labels = rng.integers(0, 2, ROWS)
    scores = np.clip(0.5 * labels + rng.uniform(0, 0.6, ROWS), 0.01, 0.99).astype(np.float32)
    weights = rng.uniform(0.1, 3, ROWS)
    used = weights if weighted else np.ones(ROWS)
    given, label, kind = {
        "number": (labels, {"num_classes": 2}, "int"),
        "text": (np.where(labels, b"yes", b"no"), {"vocabulary": ["no", "yes"]}, "string"),
        "int text": (np.where(labels, b"7", b"5"), {"vocabulary": [5, 7]}, "int"),
    }[classes]
    # Heads return the scores as a column.
    got = _measure(
        _schema(label, kind, weighted),
        given[:, None],
        {"logistic": scores[:, None]},
        weights,
        threshold,
    )
    called = scores > threshold
    wanted = {
        "log_loss": reference.log_loss(labels, scores.astype(float), sample_weight=used),
        "calibration_error": _calibration_error(labels, scores, used),
        f"precision_at_{threshold:g}": reference.precision_score(
            labels, called, sample_weight=used
        ),
        f"recall_at_{threshold:g}": reference.recall_score(labels, called, sample_weight=used),
    }
    assert set(got) == set(wanted)
    for name, value in wanted.items():
        assert got[name] == pytest.approx(value, rel=1e-4), name


@pytest.mark.newest
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("text", [False, True])
def test_multiclass_metrics(rng, weighted, text):
    labels = rng.integers(0, 3, ROWS)
    logits = rng.normal(0, 1, (ROWS, 3)) + 2 * np.eye(3)[labels]
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    weights = rng.uniform(0.1, 3, ROWS)
    names = np.array([b"a", b"b", b"c"])
    schema = (
        _schema({"vocabulary": ["a", "b", "c"]}, "string", weighted)
        if text
        else _schema({"num_classes": 3}, "int", weighted)
    )
    given = names[labels] if text else labels
    got = _measure(
        schema, given[:, None], {"probabilities": probabilities.astype(np.float32)}, weights
    )
    wanted = reference.log_loss(labels, probabilities, sample_weight=weights if weighted else None)
    assert got == {"log_loss": pytest.approx(wanted, rel=1e-4)}


@pytest.mark.parametrize("label", ["price", "bought", "grade"])
def test_list_metrics_is_complete(trained, label):
    done = trained("wide_deep", label)
    measured = set(done.read("eval")[-1]) - {"step"}
    assert measured == set(list_metrics(done.schema, 0.5))


@pytest.mark.parametrize("label", ["price", "bought", "grade"])
def test_loss_and_metrics_use_the_same_weights(trained, make, shop, label):
    # End to end: the loss of the head and the trainer's metrics.
    done = trained("linear", label, weight=True, export={"exporters": []})
    record = done.read("eval")[-1]
    if label == "price":
        assert record["rmse"] ** 2 == pytest.approx(record["average_loss"], rel=1e-3)
    else:
        assert record["log_loss"] == pytest.approx(record["average_loss"], rel=1e-3)
    plain = trained("linear", label).read("eval")[-1]
    assert record["average_loss"] != pytest.approx(plain["average_loss"], rel=1e-6)
