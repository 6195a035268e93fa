"""model.type boosted_trees: learns, exports, grows more trees, and refuses other options."""

import numpy as np
import pytest

from trainer.config import load_config
from trainer.errors import UserError
from trainer.job_dir.metrics_log import MetricsLog
from trainer.prediction import predictor as predict
from trainer.schema import Schema

COLUMNS = {
    "x": {"type": "float", "normalize": "log", "default": "mean", "missing_indicator": True},
    "day": {"type": "string", "date": ["month"]},
    "many": {"type": "int", "identities": 50},
    "tags": {"type": "string", "vocabulary": ["a", "b"], "separator": "|"},
    "y": {"type": "string"},
}
SCHEMA = {"columns": COLUMNS, "label": {"column": "y", "vocabulary": ["no", "yes"]}}
MODEL = {"type": "boosted_trees", "n_trees": 8, "max_depth": 3, "max_buckets": 20}
YES = {"x": 2.0, "day": "2020-09-03", "many": 33, "tags": "b|a"}
NO = {"x": -2.0, "day": "2020-02-03", "many": 33, "tags": "b"}


def _rows(number):
    """Rows whose label each kind of column shifts."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(number):
        x, month, many = float(rng.normal()), int(rng.integers(1, 13)), int(rng.integers(50))
        tags = [tag for tag in "ab" if rng.random() < 0.5]
        score = x + (month > 6) + 2 * (many == 7) + ("a" in tags) - 1.1
        rows.append(
            {
                "x": round(x, 3),
                "day": f"2020-{month:02}-03",
                "many": many,
                "tags": "|".join(tags) or None,
                "y": "yes" if score > 0 else "no",
            }
        )
    return rows


def _configure(make, folder, **more):
    options = {
        "model": MODEL,
        "train": {"batch_size": 300, "learning_rate": 0.5},
        "export": {"exporters": ["final"]},
        **more,
    }
    return make.config(folder / "job", make.csv(folder / "a.csv", _rows(600)), **options)


def test_a_number_of_any_size_is_learned(make, tmp_path):
    """The labels are normalised; gradients and second derivatives have the same unit."""
    label = {"column": "y", "normalize": {"mean": 5000, "std": 800}}
    columns = {"x": {"type": "float"}, "y": {"type": "float"}}
    rows = [{"x": n / 300, "y": 5000 + 800 * (n > 300) + n % 7} for n in range(600)]
    config = make.config(
        tmp_path / "job",
        make.csv(tmp_path / "a.csv", rows),
        model=MODEL,
        train={"batch_size": 300, "learning_rate": 0.5},
        export={"exporters": []},
    )
    make.run(config, Schema.model_validate({"columns": columns, "label": label}))
    # The labels are 800 apart, and within each half 2 from their mean.
    assert MetricsLog(str(tmp_path / "job")).read("eval")[-1]["rmse"] < 100


@pytest.fixture(scope="module")
def learned(make, tmp_path_factory):
    """Returns (folder, schema, result) of a finished job."""
    folder = tmp_path_factory.mktemp("trees")
    schema = Schema.model_validate(SCHEMA)
    _, result = make.run(_configure(make, folder), schema)
    return folder, schema, result


def test_grows_all_trees_and_learns_from_each_kind_of_column(learned):
    folder, _, result = learned
    # 8 trees of 3 layers, each by two batches.
    assert result.end_step == 48
    assert MetricsLog(str(folder / "job")).read("eval")[-1]["auc"] > 0.97


def test_export_answers(learned):
    export = learned[2].exports["final"][-1]
    predictor = predict.Predictor(export)
    scores = [row["logistic"][0] for row in predictor.predict([YES, NO, {**NO, "x": float("nan")}])]
    assert scores[0] > 0.9 and scores[1] < 0.1 and 0 < scores[2] < 1


def test_grows_more_trees_and_refuses_others(make, learned):
    from trainer.job_dir.compatibility import check_same_model

    folder, schema, _ = learned
    config = _configure(make, folder, model={**MODEL, "n_trees": 9})
    check_same_model(config, schema)
    _, result = make.run(config, schema)
    assert (result.start_step, result.end_step) == (48, 54)
    with pytest.raises(UserError, match=r"model\.max_depth was 3"):
        check_same_model(_configure(make, folder, model={**MODEL, "max_depth": 4}), schema)


@pytest.mark.parametrize(
    "label",
    [
        {"column": "many", "num_classes": 3},
        {"column": "x", "loss": "poisson"},
    ],
)
def test_grows_for_other_labels(make, tmp_path, label):
    columns = {name: dict(COLUMNS[name]) for name in ("x", "day", "many")}
    columns[label["column"]] = {"type": COLUMNS[label["column"]]["type"]}
    rows = [{**row, "x": abs(row["x"]), "many": row["many"] % 3} for row in _rows(100)]
    config = make.config(
        tmp_path / "job",
        make.csv(tmp_path / "a.csv", rows),
        model={**MODEL, "n_trees": 1, "max_depth": 2},
        export={"exporters": []},
    )
    _, result = make.run(config, Schema.model_validate({"columns": columns, "label": label}))
    assert result.end_step == 2


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ({"loss_reduction": "sum"}, "takes the mean"),
        ({"l1": 0.1}, "two classes or one number"),
    ],
)
def test_refuses_what_trees_do_not_have(make, tmp_path, train, message):
    label = {"column": "y", "vocabulary": ["no", "yes", "perhaps"]}
    schema = Schema.model_validate({**SCHEMA, "label": label})
    with pytest.raises(UserError, match=message):
        make.run(_configure(make, tmp_path, train=train), schema)


def test_refuses_several_replicas():
    message = "^hparams census_trees: cluster.strategy mirrored: model.type boosted_trees grows"
    with pytest.raises(UserError, match=message):
        load_config("census_trees", {"cluster.strategy": "mirrored"})
