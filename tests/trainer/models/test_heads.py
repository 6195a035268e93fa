"""Heads: Poisson, multilabel, multihead, class weights and loss reduction, each trained."""

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.console import Console
from trainer.export.receivers import make_serving_receiver_fn
from trainer.metrics.catalogue import choose_direction
from trainer.metrics.included import list_metrics
from trainer.models.heads import prepare_labels
from trainer.schema import Statistics

BINARY = {"column": "label", "num_classes": 2}


def train(bench, schema, labels, name="job", kind="dnn", steps=60, train=None, **more):
    config = bench.build_config(model={"type": kind}, train=train or {})
    built = bench.build(config, schema, name)
    built.train(bench.feed(labels, **more), steps=steps)
    metrics = built.evaluate(bench.feed(labels, epochs=1, **more))
    # list_metrics lists exactly the metrics of an evaluation.
    assert set(metrics) == {*list_metrics(schema, 0.5), "global_step"}
    return built, metrics


def serve(bench, built, schema):
    receiver_fn = make_serving_receiver_fn(schema, Statistics(0, {}), "json", ",")
    path = built.export_saved_model(str(bench.folder / "export"), receiver_fn).decode()
    rows = {name: tf.constant(values[:5].tolist()) for name, values in bench.rows.items()}
    answer = tf.saved_model.load(path).signatures["predict"](**rows)
    return {name: tensor.numpy() for name, tensor in answer.items()}


@pytest.mark.newest
@pytest.mark.parametrize("kind", ["linear", "dnn", "wide_deep", "residual", "baseline"])
def test_poisson_regression(bench, kind):
    counts = np.random.default_rng(1).poisson(np.exp(bench.score)).astype(np.float32)
    label = {"column": "label", "loss": "poisson"}
    schema = bench.build_schema(label, {"label": {"type": "float"}})
    built, metrics = train(bench, schema, counts, kind=kind, steps=100)
    mean = np.full_like(counts, counts.mean())
    of_mean = 2 * np.mean(
        np.where(counts > 0, counts * np.log(np.maximum(counts, 1) / mean), 0) - counts + mean
    )
    if kind == "baseline":
        assert metrics["deviance"] == pytest.approx(of_mean, rel=0.05)
    else:
        assert metrics["deviance"] < 0.75 * of_mean
    assert metrics["prediction/mean"] == pytest.approx(counts.mean(), rel=0.35)
    if kind == "dnn":
        answer = serve(bench, built, schema)
        assert (answer["predictions"] > 0).all()
        assert np.allclose(answer["predictions"], np.exp(answer["logits"]), rtol=1e-5)


@pytest.mark.parametrize("kind", ["wide_deep", "residual"])
def test_multilabel(bench, kind):
    label = {"columns": ["positive", "red"]}
    kinds = {"positive": {"type": "int"}, "red": {"type": "int"}}
    schema = bench.build_schema(label, kinds)
    assert (schema.task, schema.label.column) == ("multilabel", "positive")
    red = (bench.rows["color"] == b"red").astype(np.int64)
    # The first label column is the labels, the others are among the features.
    positive = bench.positive.astype(np.float32)
    built, metrics = train(bench, schema, positive, kind=kind, red=red)
    assert metrics["auc"] > 0.97
    answer = serve(bench, built, schema)
    assert answer["probabilities"].shape == (5, 2)
    assert np.array_equal(answer["probabilities"][:, 1] > 0.5, red[:5] == 1)


def test_multihead(bench):
    kinds = {
        "score": {"type": "float"},
        "label": {"type": "int"},
        "tone": {"type": "string"},
        "code": {"type": "int"},
    }
    more = (
        {**BINARY, "importance": 2.0},
        {"column": "tone", "vocabulary": ["red", "green", "blue"]},
        {"column": "code", "vocabulary": [10, 20]},
    )
    schema = bench.build_schema({"column": "score"}, kinds, more_labels=more)
    assert schema.task == "multihead" and schema.features == ["x", "color"]
    rows = {
        "label": bench.positive,
        "tone": bench.rows["color"],
        "code": 10 * bench.positive + 10,
    }
    score = bench.score.astype(np.float32)
    built, metrics = train(bench, schema, score, steps=150, **rows)
    assert metrics["rmse/score"] < 0.4 and metrics["auc/label"] > 0.97
    assert metrics["accuracy/tone"] > 0.95 and metrics["auc/code"] > 0.97
    heads = ("score", "label", "tone", "code")
    parts = [metrics[f"loss/{head}"] for head in heads]
    assert metrics["loss"] == pytest.approx(np.dot([1, 2, 1, 1], parts), rel=1e-3)
    assert choose_direction("auc/label", "auto") == "max"
    answer = serve(bench, built, schema)
    assert answer["tone/classes"][:, 0].tolist() == bench.rows["color"][:5].tolist()
    assert set(answer) >= {"score/predictions", "label/logistic", "code/classes"}


@pytest.mark.newest
def test_class_weights_apply_only_in_training(bench):
    label = {**BINARY, "class_weights": {1: 9.0}}
    kinds = {"label": {"type": "int"}, "w": {"type": "float"}}
    plain = bench.build_schema(BINARY, kinds, weight="w")
    weighted = bench.build_schema(label, kinds, weight="w")
    w = np.linspace(0.5, 1.5, bench.num_rows).astype(np.float32)
    share = np.average(bench.positive, weights=w)
    means = []
    for name, schema in (("plain", plain), ("weighted", weighted)):
        options = {"linear_optimizer": "adam", "learning_rate": 0.05}
        _, metrics = train(bench, schema, bench.positive, name, "baseline", 300, options, w=w)
        means.append(metrics["prediction/mean"])
        # In evaluation every row has the same weight.
        assert metrics["label/mean"] == pytest.approx(share, abs=1e-4)
    odds = [mean / (1 - mean) for mean in means]
    assert means[0] == pytest.approx(share, abs=0.02)
    assert odds[1] / odds[0] == pytest.approx(9, rel=0.15)


@pytest.mark.newest
def test_class_weights_of_a_vocabulary(bench):
    label = {"column": "label", "vocabulary": [10, 20], "class_weights": {20: 3}}
    # job_dir stores the schema as JSON, in which keys are strings.
    schema = bench.build_schema({**label, "class_weights": {"20": 3}}, weight=None)
    for mode, expected in ((True, [1, 3, 1]), (False, [1, 1, 1])):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            labels = tf.constant(["10", "20", "10"])
            features, prepared = prepare_labels({"x": labels}, labels, schema, training=mode)
            assert session.run(features["label/weight"]).tolist() == expected
            assert session.run(prepared).tolist() == [b"10", b"20", b"10"]


# A shift rounds the labels, which batch normalisation amplifies.
@pytest.mark.newest
@pytest.mark.parametrize(
    ("kind", "shift"), [("linear", 2.0**17), ("wide_deep", 2.0**17), ("residual", 0.0)]
)
def test_a_normalised_label_makes_training_independent_of_the_unit(bench, kind, shift):
    answers, found = {}, {}
    for name, factor, offset in (("normal", 1.0, 0.0), ("large", 2.0**16, shift)):
        labels = (bench.score * factor + offset).astype(np.float32)
        moments = {"mean": float(labels.mean()), "std": float(labels.std())}
        label = {"column": "label", "normalize": moments}
        schema = bench.build_schema(label, {"label": {"type": "float"}})
        built, found[name] = train(bench, schema, labels, name, kind)
        answers[name] = (serve(bench, built, schema)["predictions"] - offset) / factor
    assert np.allclose(answers["large"], answers["normal"], atol=1e-3)
    assert found["normal"]["r2"] > 0.5
    # Metrics and loss are in the label's unit.
    for metric, power in (("rmse", 1), ("mae", 1), ("loss", 2)):
        scaled = found["large"][metric] / 2.0 ** (16 * power)
        assert scaled == pytest.approx(found["normal"][metric], rel=1e-3)
    assert found["large"]["label/mean"] == pytest.approx(
        shift + 2.0**16 * bench.score.mean(), rel=1e-4
    )


@pytest.mark.newest
def test_loss_reduction(bench):
    schema, losses = bench.build_schema(BINARY), {}
    for reduction in ("mean", "sum"):
        config = bench.build_config(
            model={"type": "residual"}, train={"loss_reduction": reduction, "optimizer": "sgd"}
        )
        built = bench.build(config, schema, reduction)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            tf.compat.v1.set_random_seed(1)
            tf.compat.v1.train.create_global_step()
            data = bench.feed(bench.positive)()
            batch = tf.compat.v1.data.make_one_shot_iterator(data).get_next()
            spec = built.model_fn(*batch, "train", built.config)
            session.run(tf.compat.v1.global_variables_initializer())
            session.run(tf.compat.v1.tables_initializer())
            losses[reduction] = session.run(spec.loss)
    assert losses["sum"] == pytest.approx(60 * losses["mean"], rel=1e-5)


@pytest.mark.newest
@pytest.mark.parametrize(
    "label, told",
    [
        (
            {"column": "label", "loss": "poisson", "num_classes": 2},
            "loss poisson needs a numeric label",
        ),
        ({**BINARY, "normalize": {"mean": 1, "std": 2}}, "normalize needs a numeric label"),
        (
            {"column": "label", "loss": "poisson", "normalize": {"mean": 1, "std": 2}},
            "normalize needs a numeric label",
        ),
        ({**BINARY, "class_weights": {2: 3.0}}, "class_weights: 2 is not a class of the label"),
        ({"column": "label", "class_weights": {1: 3.0}}, "class_weights: 1 is not a class"),
        ({"columns": ["label"]}, "give at least two different columns"),
        ({"columns": ["label", "label"]}, "give at least two different columns"),
        ({"columns": ["label", "x"]}, "column 'x' must be of type int, with values 0 and 1"),
        ({"columns": ["label", "y"], "num_classes": 2}, "take neither vocabulary nor num_classes"),
        ({"columns": ["label", "y"], "column": "x"}, "column and columns are both given"),
        (
            {"columns": ["label", "y"], "class_weights": {1: 2}},
            "columns of 0 and 1 take none; use weight",
        ),
        ({"columns": ["label", "z"]}, "label: no column 'z'"),
    ],
)
def test_contradictory_labels_are_refused(bench, label, told):
    kinds = {"label": {"type": "int"}, "y": {"type": "int"}}
    with pytest.raises(ValueError, match=told):
        bench.build_schema(label, kinds)
    with pytest.raises(ValueError, match="more_labels: a column appears twice"):
        bench.build_schema(BINARY, more_labels=[{"column": "label"}])


@pytest.mark.newest
def test_labels_are_read_and_checked_but_are_no_features(make, tmp_path):
    from trainer.config import DataConfig
    from trainer.errors import UserError
    from trainer.features.raw_inputs import list_csv_inputs, list_inputs
    from trainer.inputs.dataset import RowSource, make_eval_input_fn
    from trainer.inputs.files import find_files
    from trainer.inputs.scan import scan_files
    from trainer.schema import Schema, resolve_defaults

    rows = [{"x": float(i), "a": i % 2, "b": 1 - i % 2, "n": i, "c": "uv"[i % 2]} for i in range(6)]

    def read(schema, **changes):
        files = find_files(
            [make.csv(tmp_path / "d.csv", [*rows, {**rows[0], **changes}])], "csv", "x"
        )
        scan = scan_files(files, schema, DataConfig(), Console())
        defaults = resolve_defaults(schema, scan.statistics)
        source = RowSource(files, schema, DataConfig(), defaults, 7)
        return next(iter(make_eval_input_fn(source, schema, 7)()))

    columns = {"x": {"type": "float"}, "a": {"type": "int"}, "b": {"type": "int"}}
    columns.update({"n": {"type": "int"}, "c": {"type": "string"}})
    schema = Schema.model_validate(
        {
            "columns": columns,
            "label": {"columns": ["a", "b"]},
            "more_labels": [
                {"column": "n", "loss": "poisson"},
                {"column": "c", "vocabulary": ["u", "v"]},
            ],
        }
    )
    assert list_inputs(schema) == list_csv_inputs(schema) == ["x"]
    features, labels = prepare_labels(*read(schema), schema, training=True)
    assert set(features) == {"x"} and set(labels) == {"a", "n", "c"}
    assert labels["a"].numpy()[:2].tolist() == [[0, 1], [1, 0]]
    assert labels["n"].numpy().tolist()[:2] == [0.0, 1.0] and labels["n"].dtype == tf.float32
    for changes, told in (
        ({"b": 2}, "column b: 2 is none of the label's classes"),
        ({"n": -1}, "column n: -1 is below 0, which a count cannot be"),
        ({"c": "w"}, "column c: 'w' is none of the label's classes"),
        ({"c": None}, "column c: the label is missing"),
    ):
        with pytest.raises(UserError, match=told):
            read(schema, **changes)
