"""Columns that share an embedding: one table, trained, saved and exported."""

import numpy as np
import pytest

from trainer.errors import UserError
from trainer.prediction import predictor
from trainer.schema import Schema

CITY = {"type": "string", "vocabulary": ["a", "b", "c", "d"]}
SHARED = [{"columns": ["origin", "dest"], "dimension": 3}]
COLUMNS = {"origin": CITY, "dest": {**CITY, "separator": "|"}, "y": {"type": "float"}}
SCHEMA = {"columns": COLUMNS, "label": {"column": "y"}, "shared_embeddings": SHARED}


def test_both_columns_are_looked_up_in_one_table():
    from estimator_bridge import tf
    from trainer.features.columns import build_feature_columns
    from trainer.features.parts import derive_features
    from trainer.schema import Statistics

    schema = Schema.model_validate(SCHEMA)
    columns = build_feature_columns(schema, Statistics(1, {}))
    assert [column.name for column in columns.wide] == ["origin", "dest"]
    (deep,) = columns.deep
    again = type(deep).from_config(deep.get_config())
    assert again == deep and again.name == "origin_dest_shared_embedding"
    features = {"origin": tf.constant(["a", "b", "x"]), "dest": tf.constant(["a|b", "b", ""])}
    layer = tf.keras.layers.DenseFeatures([deep])
    got = layer(derive_features(features, schema, Statistics(1, {}))).numpy()
    (table,) = (variable.numpy() for variable in layer.trainable_variables)
    assert table.shape == (4, 3)
    mean, none = (table[0] + table[1]) / 2, np.zeros(3)
    wanted = [[*table[0], *mean], [*table[1], *table[1]], [*none, *none]]
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("kind", ["wide_deep", "residual"])
def test_the_table_is_trained_saved_and_exported(make, tmp_path, kind):
    from estimator_bridge import tf
    from trainer.export.checker import check_exports
    from trainer.job_dir.metrics_log import MetricsLog

    rng = np.random.default_rng(3)
    pairs = rng.choice(list("abcd"), (400, 2))
    rows = [{"origin": o, "dest": d, "y": 2.0 * (o == "a") - (d == "b")} for o, d in pairs]
    config = make.config(
        tmp_path / "job",
        make.csv(tmp_path / "a.csv", rows),
        model={"type": kind, "hidden_units": [8], "batch_norm_momentum": 0.9},
        train={"max_steps": 60, "batch_size": 50, "learning_rate": 0.1},
        export={"exporters": ["final"]},
    )
    schema = Schema.model_validate(SCHEMA)
    _, result = make.run(config, schema)
    assert MetricsLog(config.job_dir).read("eval")[-1]["rmse"] < 0.35
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(config.job_dir))
    names = [name for name in reader.get_variable_to_shape_map() if "embedding_weights" in name]
    tables = [name for name in names if reader.get_tensor(name).shape == (4, 3)]
    # The others are slot variables of the optimizer, which only a trained variable has.
    assert len(tables) > 1
    rows = [{"origin": "a", "dest": "c|d"}, {"origin": "d", "dest": "b"}]
    export = result.exports["final"][-1]
    check_exports([export], rows, schema, ",")
    got = [row["predictions"][0] for row in predictor.Predictor(export).predict(rows)]
    assert got[0] == pytest.approx(2, abs=0.9) and got[1] == pytest.approx(-1, abs=0.9)


@pytest.mark.newest
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shared_embeddings": [{"columns": ["origin"]}]}, "at least 2"),
        ({"shared_embeddings": [{"columns": ["origin", "destt"]}]}, "no column 'destt'"),
        ({"shared_embeddings": [{"columns": ["origin", "y"]}]}, "'y' is the label"),
        ({"shared_embeddings": [{"columns": ["origin", "origin"]}]}, "'origin' appears twice"),
        ({"shared_embeddings": SHARED * 2}, "'origin' appears twice"),
        ({"shared_embeddings": [{"columns": ["origin", "dest"], "size": 3}]}, "no such field"),
        (
            {"dest": {"type": "string", "hash_buckets": 4}},
            "'dest' differs from 'origin' in vocabulary",
        ),
        ({"dest": {**CITY, "oov_buckets": 1}}, "'dest' differs from 'origin' in oov_buckets"),
        ({"dest": {**CITY, "embedding": 4}}, "embedding of its own"),
        ({"dest": {**CITY, "use": ["wide"]}}, "not used in the deep part"),
        ({"dest": {"type": "float"}}, "'dest' needs a vocabulary"),
    ],
)
def test_contradictory_schemas_are_rejected(make, tmp_path, change, words):
    from trainer.schema import load_schema

    columns = {**COLUMNS, **{name: value for name, value in change.items() if name in COLUMNS}}
    more = {name: value for name, value in change.items() if name not in COLUMNS}
    path = make.yaml(tmp_path / "s.yaml", {**SCHEMA, **more, "columns": columns})
    with pytest.raises(UserError, match=words) as caught:
        load_schema(path)
    assert "\n" not in str(caught.value)
