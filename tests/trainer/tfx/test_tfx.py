"""run_fn and tuner_fn with the arguments that TFX's components give; TFX itself is not needed."""

import json
import types

import pytest

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.tfx import run_fn, running, tuner_fn
from trainer.tfx.arguments import flatten, read_arguments
from trainer.tfx.metadata import describe

pytestmark = pytest.mark.newest

# The fields of tfx.components.FnArgs in TFX 1.21; test_executors.py compares them with the package.
FN_ARGS = [
    "working_dir",
    "train_files",
    "eval_files",
    "train_steps",
    "eval_steps",
    "schema_path",
    "schema_file",
    "transform_graph_path",
    "transform_output",
    "data_accessor",
    "serving_model_dir",
    "eval_model_dir",
    "model_run_dir",
    "base_model",
    "hyperparameters",
    "custom_config",
]
COLUMNS = ("age", "hours", "city", "job", "level", "bought")
OPTIONS = {
    "model.type": "wide_deep", "hidden_units": "4", "train.batch_size": 50, "export.verify": False,
    "run.report": False, "linear_optimizer": "adagrad",
}  # fmt: skip
SCHEMA = """
feature { name: "age" type: FLOAT }
feature { name: "hours" type: INT lifecycle_stage: DEPRECATED }
feature { name: "city" type: BYTES domain: "cities" }
feature { name: "level" type: INT int_domain { min: -1 max: 6 is_categorical: true } }
feature { name: "job" type: BYTES }
feature { name: "bought" type: BYTES string_domain { value: "no" value: "yes" } }
string_domain { name: "cities" value: "Ulm" value: "Bonn" value: "Oslo" }
"""


@pytest.fixture(scope="module")
def examples(make, tmp_path_factory):
    """The folders that ExampleGen writes, and a schema."""
    folder = tmp_path_factory.mktemp("examples")
    rows = [{name: row[name] for name in COLUMNS} for row in make.rows(450, seed=1)]
    for split, part in (("train", rows[:300]), ("eval", rows[300:])):
        (folder / f"Split-{split}").mkdir()
        path = folder / f"Split-{split}" / "data_tfrecord-00000-of-00001.gz"
        make.tfrecord(path, part, compress=True)
    (folder / "schema.pbtxt").write_text(SCHEMA)
    return folder


@pytest.fixture
def fn_args(examples, tmp_path):
    """build(custom_config, **fields) → arguments as a component fills them in."""

    def build(custom, **fields):
        given = dict.fromkeys(FN_ARGS)
        given.update(
            train_files=[f"{examples}/Split-train/*"],
            eval_files=[f"{examples}/Split-eval/*"],
            serving_model_dir=str(tmp_path / "model" / "Format-Serving"),
            model_run_dir=str(tmp_path / "run"),
            train_steps=4,
            custom_config=custom,
        )
        return types.SimpleNamespace(**{**given, **fields})

    return build


def test_run_fn_trains_exports_and_starts_from_the_last_model(fn_args, examples, make, tmp_path):
    custom = {"label": "bought", "options": OPTIONS, "vertex_job_spec": {"of": "a runner"}}
    values = {"space": [], "values": {"train.learning_rate": 0.02}}
    run_fn(fn_args(custom, schema_path=f"{examples}/schema.pbtxt", hyperparameters=values))
    served, job = tmp_path / "model" / "Format-Serving", tmp_path / "run"
    assert "learning_rate: 0.02" in (job / "config.yaml").read_text()
    assert json.loads((job / "metrics.json").read_text())["end_step"] == 4
    assert list(job.glob("events.out.tfevents.*"))
    rows = make.rows(3, seed=9)
    signature = tf.saved_model.load(str(served)).signatures["predict"]
    first = signature(examples=tf.constant([make.example(row) for row in rows]))
    # One step at a rate of nothing: the weights are those of the base model.
    again = fn_args(
        {"label": "bought", "options": {**OPTIONS, "train.learning_rate": 1e-30,
                                        "linear_learning_rate": 1e-30}},
        schema_path=f"{examples}/schema.pbtxt",
        base_model=str(served),
        train_steps=1,
        model_run_dir=str(tmp_path / "next"),
        serving_model_dir=str(tmp_path / "newer"),
    )  # fmt: skip
    running.run(flatten(again))
    assert f"warm_start: {tmp_path}/model/checkpoint" in (tmp_path / "next/config.yaml").read_text()
    signature = tf.saved_model.load(str(tmp_path / "newer")).signatures["predict"]
    second = signature(examples=tf.constant([make.example(row) for row in rows]))
    assert first["logits"].numpy() == pytest.approx(second["logits"].numpy(), abs=1e-3)


def test_the_schema_of_the_pipeline_completes_the_inferred_one(fn_args, examples):
    custom = {"label": "bought", "columns": {"job": {"type": "string", "hash_buckets": 9}}}
    schema = read_arguments(flatten(fn_args(custom, schema_path=f"{examples}/schema.pbtxt"))).schema
    assert schema.label.vocabulary == ("no", "yes")
    assert schema.columns["city"].vocabulary == ("Ulm", "Bonn", "Oslo")
    assert schema.columns["city"].oov_buckets == 1 and schema.columns["age"].type == "float"
    assert schema.used_features == ["age", "city", "job", "level"]
    assert schema.columns["level"].identities == 7 and schema.columns["level"].default == -1
    assert schema.columns["job"].hash_buckets == 9


def test_ids_of_a_transformed_column_are_categories():
    from google.protobuf import text_format
    from tensorflow_metadata.proto.v0 import schema_pb2

    found = describe(text_format.Parse(SCHEMA, schema_pb2.Schema()))
    assert found.identities == {"level": 7} and found.unused == ["hours"]


@pytest.mark.parametrize(
    "custom, fields, told",
    [
        ({}, {}, "custom_config: neither label nor schema is given"),
        ({"lable": "bought"}, {}, "(it has 'lable')"),
        ({"label": "bougt"}, {}, "bougt"),
        ({"label": "bought", "columns": {"citi": {}}}, {}, "no column 'citi'; did you mean"),
        ({"label": "bought", "options": ["a"]}, {}, "custom_config['options']: got ['a']"),
        ({"label": "bought"}, {"eval_files": []}, "eval_files: empty"),
        ({"label": "bought"}, {"schema_path": "no.pbtxt"}, "schema no.pbtxt: "),
        ({"label": "bought"}, {"model_run_dir": None}, "model_run_dir: not given"),
        ({"label": "bought", "options": {"traim.epochs": 2}}, {}, "traim: no such option"),
        (
            {"label": "bought"},
            {"data_accessor": types.SimpleNamespace(data_view_decode_fn=len)},
            "examples: a data view decodes these records",
        ),
    ],
)
def test_errors_name_what_was_given(fn_args, custom, fields, told, tmp_path):
    with pytest.raises(UserError) as caught:
        running.run(flatten(fn_args(custom, **fields)))
    assert told in str(caught.value) and "\n" not in str(caught.value)
    assert not (tmp_path / "model").exists()


def test_a_transform_graph_needs_tensorflow_transform(fn_args, tmp_path):
    custom = {"schema": {"columns": {"age": {"type": "float", "default": 0},
                                     "bought": {"type": "string"}},
                         "label": {"column": "bought", "vocabulary": ["no", "yes"]}}}  # fmt: skip
    with pytest.raises(UserError, match=r"needs tensorflow_transform .*pip install"):
        running.run(
            flatten(fn_args({**custom, "options": OPTIONS}, transform_graph_path=str(tmp_path)))
        )


def test_a_trial_of_the_tuner_is_a_job(fn_args, tmp_path):
    pytest.importorskip("keras_tuner")
    custom = {
        "label": "bought",
        "options": OPTIONS,
        "search": ["train.learning_rate=log:1e-3..1", "hidden_units=4|8,4"],
        "objective": "auc",
        "max_trials": 1,
    }
    tuner, fit_kwargs = tuner_fn(fn_args(custom, model_run_dir=None, working_dir=str(tmp_path)))
    tuner.search(**fit_kwargs)
    (trial,) = tuner.oracle.get_best_trials(1)
    best = tuner.get_best_hyperparameters()[0].get_config()["values"]
    assert set(best) == {"train.learning_rate", "hidden_units"}
    job = tmp_path / "jobs" / trial.trial_id
    assert f"learning_rate: {best['train.learning_rate']}" in (job / "config.yaml").read_text()
    assert json.loads((job / "metrics.json").read_text())["best"]["auc"] == trial.score
    assert not (job / "export").exists()


def test_a_search_is_checked_before_the_first_trial(fn_args, tmp_path):
    pytest.importorskip("keras_tuner")
    for custom, told in (
        ({}, "neither search nor tuning"),
        ({"search": ["learning_rat=0..1"]}, "learning_rat"),
        ({"search": ["dropout=0..0.5"], "max_trials": 0}, "max_trials"),
        ({"search": ["dropout=0..0.5"], "objective": "aux"}, "aux"),
    ):
        with pytest.raises(UserError) as caught:
            tuner_fn(fn_args({"label": "bought", "options": OPTIONS, **custom}))
        assert told in str(caught.value)
