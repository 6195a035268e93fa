"""model.type rnn: order of sequences, lengths, export inputs, heads and resuming."""

import shutil

import numpy as np
import pytest

from trainer.errors import UserError
from trainer.prediction import predictor as predict
from trainer.schema import Schema

STEPS = {"type": "string", "vocabulary": ["a", "b", "c"], "separator": "|", "use": ["sequence"]}
COLUMNS = {
    "items": STEPS,
    "sizes": {"type": "float", "separator": " ", "use": ["sequence"]},
    "x": {"type": "float"},
    "y": {"type": "string"},
}
SCHEMA = {"columns": COLUMNS, "label": {"column": "y", "vocabulary": ["no", "yes"]}}


def _rows(number, seed=0):
    """Rows whose label is yes if the last item is a or its size is above 1, so order matters."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(number):
        length = int(rng.integers(0, 6))
        items = [str(item) for item in rng.choice(list("abcx"), length)]
        sizes = [round(float(size), 3) for size in rng.normal(5, 2, length)]
        yes = bool(length) and (items[-1] == "a" or sizes[-1] > 7)
        rows.append(
            {
                "items": "|".join(items) or None,
                "sizes": " ".join(map(str, sizes)) or None,
                "x": float(rng.normal()),
                "y": "yes" if yes else "no",
            }
        )
    return rows


@pytest.fixture(scope="module")
def learned(make, tmp_path_factory):
    """Returns (config, schema, result) of a finished job."""
    folder = tmp_path_factory.mktemp("recurrent")
    config = make.config(
        folder / "job",
        make.csv(folder / "a.csv", _rows(800)),
        model={"type": "rnn", "hidden_units": [8]},
        train={"max_steps": 200, "batch_size": 50, "learning_rate": 0.03, "optimizer": "adam"},
        export={"exporters": ["final"]},
    )
    schema = Schema.model_validate(SCHEMA)
    _, result = make.run(config, schema)
    return config, schema, result


def test_learns_what_depends_on_the_order(learned):
    from trainer.job_dir.metrics_log import MetricsLog

    assert MetricsLog(learned[0].job_dir).read("eval")[-1]["auc"] > 0.98


def test_every_export_input_and_length(learned):
    from trainer.export.checker import check_exports

    _, schema, result = learned
    export = result.exports["final"][-1]
    asked = [
        {"items": "b|c|a", "sizes": "5 5 5", "x": 0.0},
        {"items": "a|c|b", "sizes": "5 5 5", "x": 0.0},
        {"items": "", "sizes": "", "x": 0.0},
        {"items": "|unheard|", "sizes": "1 2 3", "x": 0.0},
    ]
    check_exports([export], asked, schema, ",")
    predictor = predict.Predictor(export)
    together = [row["logistic"][0] for row in predictor.predict(asked)]
    assert together[0] > 0.8 and together[1] < 0.2
    # A single row has no padding, and its batch may have no step at all.
    alone = [predictor.predict([row])[0]["logistic"][0] for row in asked]
    assert alone == pytest.approx(together, abs=1e-6)
    with pytest.raises(UserError):
        predictor.predict([{**asked[0], "sizes": "1 2"}])


def test_resumes_evaluates_and_refuses_other_cells(make, learned, tmp_path):
    from trainer.job_dir.compatibility import check_same_model
    from trainer.job_dir.metrics_log import MetricsLog

    config, schema, _ = learned
    folder = tmp_path / "job"
    shutil.copytree(config.job_dir, folder)
    options = {"max_steps": 210, "batch_size": 50, "learning_rate": 1e-9, "optimizer": "adam"}
    again = make.config(folder, config.data.train, model=dict(config.model), train=options)
    make.run(again, schema)
    evaluations = MetricsLog(str(folder)).read("eval")
    assert evaluations[-1]["step"] == 210
    assert evaluations[-1]["loss"] == pytest.approx(evaluations[-2]["loss"], rel=1e-3)
    other = again.model_copy(update={"model": again.model.model_copy(update={"cell": "gru"})})
    with pytest.raises(UserError, match="model.cell was 'lstm', now 'gru'"):
        check_same_model(other, schema)


@pytest.mark.newest
@pytest.mark.parametrize(
    ("model", "label"),
    [
        ({"cell": "gru", "hidden_units": [6, 4], "dropout": 0.2}, {"column": "score"}),
        ({"cell": "simple"}, {"column": "score", "loss": "poisson"}),
    ],
)
def test_cells_and_heads(bench, model, label):
    """Also covers id and word sequences, no deep columns, and dropout."""
    from estimator_bridge import tf

    kinds = {
        "ids": {"type": "int", "identities": 4, "separator": ",", "use": ["sequence"]},
        "score": {"type": "float"},
    }
    words = {"type": "string", "hash_buckets": 50, "text": {"max_words": 3}, "use": ["sequence"]}
    if label.get("loss"):
        kinds["ids"] = words
    label = {**label}
    schema = bench.build_schema(label, kinds)
    columns = {name: column.model_copy(update={"use": ()}) for name, column in
               schema.columns.items() if name in ("x", "color")}  # fmt: skip
    schema = schema.model_copy(update={"columns": {**schema.columns, **columns}})
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 4, (bench.num_rows, 3))
    texts = np.array([b", ".join(b"%d" % n for n in row) for row in ids], object)
    feed = bench.feed((ids[:, 2] == 1).astype(np.float32), ids=texts)
    config = bench.build_config(model={"type": "rnn", **model}, train={"learning_rate": 0.03})
    built = bench.build(config, schema)
    built.train(feed, max_steps=80)
    evaluated = built.evaluate(bench.feed((ids[:, 2] == 1).astype(np.float32), ids=texts, epochs=1))
    assert evaluated["rmse"] < 0.3
    names = [name for name, _ in tf.train.list_variables(built.model_dir)]
    assert any("cell_0" in name for name in names)
    assert any("cell_1" in name for name in names) == (len(config.model.hidden_units) == 2)


@pytest.mark.newest
@pytest.mark.parametrize(
    ("columns", "model", "words"),
    [
        ({"items": {**STEPS, "use": ["deep"]}, "sizes": {**COLUMNS["sizes"], "use": []}}, {},
         "no column of the schema is used in the sequence part"),
        ({}, {"batch_norm": True}, "model.batch_norm: model.type rnn has none"),
    ],
)  # fmt: skip
def test_unsupported_options_are_refused(make, columns, model, words):
    from trainer.cluster.run_config import build_run_config
    from trainer.models.build import build_estimator
    from trainer.schema import Statistics

    schema = Schema.model_validate({**SCHEMA, "columns": {**COLUMNS, **columns}})
    config = make.config(model={"type": "rnn", **model})
    moments = {"count": 1, "missing": 0, "mean": 0.0, "std": 1.0, "min": 0.0, "max": 1.0}
    from trainer.schema import Range

    statistics = Statistics(1, {name: Range(**moments) for name in ("x", "sizes")})
    with pytest.raises(UserError, match=words):
        build_estimator(config, schema, statistics, build_run_config(config), 10)
