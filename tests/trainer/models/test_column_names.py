"""Column names with blanks, umlauts and slashes."""

import pytest

from trainer.errors import UserError
from trainer.export.checker import check_exports, read_sample_rows
from trainer.features.columns import build_feature_columns
from trainer.job_dir.metrics_log import MetricsLog
from trainer.schema import Schema, Statistics
from trainer.training.job import build_source

pytestmark = pytest.mark.newest

NAMES = {
    "id": "Nr.",
    "age": "age in years",
    "hours": "hours/week",
    # They are equal once the characters that a graph's scope cannot have are removed.
    "city": "city?",
    "job": "city!",
    "level": "größe",
    "bought": "gekauft (ja/nein)",
    "grade": "Note: ganze",
    "price": "%",
}


def _rename(make, label, **more):
    values = make.schema_values(label)
    values["columns"] = {NAMES.get(name, name): kind for name, kind in values["columns"].items()}
    values["crosses"] = [{"columns": [NAMES["age"], NAMES["city"]], "hash_buckets": 30}]
    values["label"] = {**values["label"], "column": NAMES[label]}
    values["key"] = NAMES["id"]
    return Schema.model_validate({**values, **more})


def _rows(make, count, seed):
    return [{NAMES.get(name, name): value for name, value in row.items()}
            for row in make.rows(count, seed=seed)]  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [
        {"type": "wide_deep", "engine": "fused"},
        {"type": "wide_deep", "engine": "canned"},
        {"type": "residual"},
    ],
    ids=lambda model: "-".join(model.values()),
)
def test_any_column_name_trains_and_exports(make, tmp_path, model):
    schema = _rename(make, "bought")
    config = make.config(
        tmp_path / "job",
        make.csv(tmp_path / "train.csv", _rows(make, 600, 1)),
        make.csv(tmp_path / "eval.csv", _rows(make, 200, 2)),
        model={"hidden_units": [8], **model},
        train={"batch_size": 50, "max_steps": 60, "learning_rate": 0.2, "optimizer": "adagrad"},
        export={"exporters": ["final"]},
    )
    job, result = make.run(config, schema)
    assert MetricsLog(config.job_dir).read("eval")[-1]["auc"] > 0.85
    rows = read_sample_rows(build_source(job, training=False), schema)
    check_exports(result.exports["final"], rows, schema, ",")


def test_name_of_one_of_several_heads_is_restricted(make):
    with pytest.raises(ValueError, match="is also the name of a head.*rename it"):
        _rename(make, "bought", more_labels=[{"column": NAMES["grade"], "num_classes": 3}])


def test_two_inputs_of_the_same_name_are_refused():
    values = {
        "columns": {
            "x": {"type": "float", "buckets": [1]},
            "x_bucketized": {"type": "float"},
            "y": {"type": "float"},
        },
        "label": {"column": "y"},
    }
    seen = Statistics(1, {})
    with pytest.raises(UserError, match="two inputs called 'x_bucketized'; rename"):
        columns = {**values["columns"]}
        for name in ("x", "x_bucketized"):
            columns[name] = {**columns[name], "normalize": "none"}
        build_feature_columns(Schema.model_validate({**values, "columns": columns}), seen)
