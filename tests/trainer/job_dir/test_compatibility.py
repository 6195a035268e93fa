"""An existing job_dir: resuming, starting over, warm start, dry run."""

import re
import shutil

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.config import Config
from trainer.console import Console
from trainer.errors import UserError
from trainer.signals import SignalWatch

OPTIONS = {
    "model": {"type": "wide_deep", "hidden_units": [4]},
    "train": {"max_steps": 5, "batch_size": 20},
    "export": {"exporters": []},
}


def build_config(job_dir, rows, **sections):
    """A configuration that trains and evaluates on one file."""
    data = {"train": [str(rows)], "eval": [str(rows)]}
    return Config.model_validate({"job_dir": str(job_dir), "data": data, **sections})


# One step that changes next to nothing. Ftrl would recompute the weights from its slots.
STAND_STILL = {
    "max_steps": 1,
    "batch_size": 20,
    "learning_rate": 1e-12,
    "optimizer": "sgd",
    "linear_optimizer": "sgd",
}


KERAS = """
import tensorflow as tf

def build(hparams):
    age = tf.keras.Input((), name="age")
    constant = tf.keras.initializers.Constant(hparams.value)
    net = tf.keras.layers.Reshape((1,))(age)
    net = tf.keras.layers.Dense(3, name="first", kernel_initializer=constant)(net)
    net = tf.keras.layers.BatchNormalization(name="norm", momentum=hparams.momentum)(net)
    price = tf.keras.layers.Dense(1, name="last")(net)
    model = tf.keras.Model({"age": age}, price)
    model.compile(tf.keras.optimizers.legacy.SGD(1e-6), "mse")
    return model
"""


@pytest.fixture(scope="module")
def trained(make, tmp_path_factory):
    """A folder with rows.csv and a finished job."""
    folder = tmp_path_factory.mktemp("trained")
    make.csv(folder / "rows.csv", make.rows(200))
    make.run(build_config(folder / "job", folder / "rows.csv", **OPTIONS), make.schema())
    return folder


def _read(checkpoint, name):
    from estimator_bridge import tf

    return tf.train.load_variable(str(checkpoint), name)


@pytest.mark.newest
@pytest.mark.parametrize(
    "model, said",
    [
        ({"hidden_units": [5]}, r"model.hidden_units was \[4\], now \[5\]"),
        ({"hidden_units": [4], "type": "dnn"}, "model.type was 'wide_deep', now 'dnn'"),
    ],
)
def test_another_model_is_refused(make, trained, model, said):
    from trainer.job_dir.compatibility import check_same_model

    config = build_config(trained / "job", trained / "rows.csv", **{**OPTIONS, "model": model})
    with pytest.raises(UserError, match=said):
        check_same_model(config, make.schema())


@pytest.mark.newest
def test_another_schema_is_refused_by_the_column(make, trained):
    from trainer.job_dir.compatibility import check_same_model
    from trainer.schema import Schema

    values = make.schema_values()
    values["columns"]["job"]["hash_buckets"] = 21
    config = build_config(trained / "job", trained / "rows.csv", **OPTIONS)
    with pytest.raises(UserError, match="schema.columns.job.hash_buckets was 20, now 21"):
        check_same_model(config, Schema.model_validate(values))


def _check(make, trained, model=None, change=None):
    """Calls check_same_model for a job whose old or new schema is changed."""
    from trainer.job_dir.compatibility import check_same_model
    from trainer.schema import Schema

    values = make.schema_values()
    if change:
        change(values)
    options = {**OPTIONS, "model": {**OPTIONS["model"], **(model or {})}}
    config = build_config(trained / "job", trained / "rows.csv", **options)
    check_same_model(config, Schema.model_validate(values))


FREE = {
    "dropout": ({"dropout": 0.5}, None),
    "moving averages": ({"batch_norm_momentum": 0.5}, None),
    "first weights": ({"base_weights": "elsewhere.h5"}, None),
    "class weights": ({}, lambda values: values["label"].update(class_weights={"yes": 3})),
    "importance": ({}, lambda values: values["label"].update(importance=0.5)),
    "key": ({}, lambda values: values.pop("key")),
    "missing values": ({}, lambda values: values.update(missing_values=["", "?"])),
    "a column that is not used": (
        {},
        lambda values: values["columns"].update(note={"type": "string", "use": []}),
    ),
}


@pytest.mark.newest
@pytest.mark.parametrize("case", FREE)
def test_settings_that_shape_no_variable_may_change(make, trained, case):
    model, change = FREE[case]
    _check(make, trained, model, change)


@pytest.mark.newest
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda values: values["columns"].update(more={"type": "int", "identities": 3}),
            "schema.columns.more was not set, now {",
        ),
        (
            lambda values: values["columns"].pop("level"),
            "schema.columns.level was {.*, now it is not set",
        ),
        (
            lambda values: values["crosses"][0].update(hash_buckets=31),
            "schema.crosses.0.hash_buckets was 30, now 31",
        ),
        (lambda values: values.update(weight="w"), "schema.weight was None, now 'w'"),
        (
            lambda values: values["columns"]["city"].update(vocabulary=["Bonn", "Köln", "x" * 60]),
            r"city.vocabulary has 1 new value\(s\) \('x+\.\.\.\) and lacks 1 \('Ulm'\); set",
        ),
    ],
)
def test_added_and_removed_settings_are_named(make, trained, change, words):
    with pytest.raises(UserError, match=words):
        _check(make, trained, change=change)


@pytest.mark.newest
def test_a_setting_missing_in_an_older_version_has_its_default(make, trained, tmp_path):
    import json

    import yaml

    from trainer.job_dir.compatibility import check_same_model

    job = tmp_path / "job"
    shutil.copytree(trained / "job", job)
    schema = json.loads((job / "schema.json").read_text())
    del schema["shared_embeddings"], schema["columns"]["city"]["separator"]
    (job / "schema.json").write_text(json.dumps(schema))
    stored = yaml.safe_load((job / "config.yaml").read_text())
    del stored["model"]["cell"], stored["train"]["linear_optimizer"]
    (job / "config.yaml").write_text(yaml.safe_dump(stored))
    config = build_config(job, trained / "rows.csv", **OPTIONS)
    check_same_model(config, make.schema())
    other = {**OPTIONS, "train": {**OPTIONS["train"], "linear_optimizer": "sgd"}}
    with pytest.raises(UserError, match="train.linear_optimizer was 'ftrl', now 'sgd'"):
        check_same_model(build_config(job, trained / "rows.csv", **other), make.schema())


@pytest.mark.newest
@pytest.mark.parametrize("name", ["config.yaml", "schema.json", "statistics.json"])
def test_a_model_is_not_resumed_without_its_description(make, trained, tmp_path, name):
    from trainer.job_dir.compatibility import check_same_model
    from trainer.job_dir.trained_job import load_model

    job = tmp_path / "job"
    shutil.copytree(trained / "job", job)
    (job / name).unlink()
    config = build_config(job, trained / "rows.csv", **OPTIONS)
    exported = "" if name == "config.yaml" else f"; exports of the job have {name} in assets.extra"
    message = f"job_dir {job}: no {name} there; restore from a copy what is missing{exported}"
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        check_same_model(config, make.schema())
    with pytest.raises(UserError, match=f"^{re.escape(message)}$"):
        load_model(str(job), False, print)


@pytest.mark.newest
def test_fresh_must_name_the_job_dir(trained, tmp_path):
    from trainer.job_dir.compatibility import delete_job

    with pytest.raises(UserError, match="must be the job_dir"):
        delete_job(str(trained / "job"), str(tmp_path))
    assert (trained / "job" / "checkpoint").exists()


@pytest.mark.newest
def test_fresh_refuses_a_folder_that_is_no_job(tmp_path):
    from trainer.job_dir.compatibility import delete_job

    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(UserError, match="not a job's folder"):
        delete_job(str(tmp_path), str(tmp_path))
    assert (tmp_path / "thesis.txt").read_text() == "precious"


@pytest.mark.newest
@pytest.mark.parametrize("kept", ["push.json", "study.json", "served/push.json"])
def test_fresh_refuses_a_folder_with_more_than_a_job(tmp_path, kept):
    from trainer.job_dir.compatibility import delete_job

    (tmp_path / "config.yaml").write_text("job_dir: x\n")
    (tmp_path / kept).parent.mkdir(exist_ok=True)
    (tmp_path / kept).write_text("{}")
    with pytest.raises(UserError, match=f"would delete {tmp_path / kept}, .*; move its folder"):
        delete_job(str(tmp_path), str(tmp_path))
    assert (tmp_path / kept).exists() and (tmp_path / "config.yaml").exists()


@pytest.mark.newest
def test_fresh_deletes_a_job(make, tmp_path):
    from trainer.job_dir.compatibility import delete_job

    (tmp_path / "config.yaml").write_text("job_dir: x\n")
    (tmp_path / "export" / "best").mkdir(parents=True)
    delete_job(str(tmp_path), f"{tmp_path}/")
    assert tmp_path.exists() and not any(tmp_path.iterdir())


def test_warm_start_copies_values(make, trained, tmp_path):
    lines = []
    options = {**OPTIONS, "train": {**STAND_STILL}}
    options["train"]["warm_start"] = str(trained / "job")
    console = Console(quiet=True)
    console.log = lines.append
    config = build_config(tmp_path / "warm", trained / "rows.csv", **options)
    make.run(config, make.schema(), console)
    assert any("0 word by word, 0 new" in line for line in lines)
    for name in ("dnn/hiddenlayer_0/kernel", "linear/linear_model/city/weights"):
        np.testing.assert_allclose(
            _read(tmp_path / "warm", name), _read(trained / "job", name), atol=1e-6
        )


def test_warm_start_copies_the_slot_variables_of_ftrl(make, trained, tmp_path):
    options = {**OPTIONS, "train": {"max_steps": 1, "batch_size": 20}}
    options["train"]["warm_start"] = str(trained / "job")
    make.run(build_config(tmp_path / "warm", trained / "rows.csv", **options), make.schema())
    name = "linear/linear_model/city/weights"
    before, after = _read(trained / "job", name), _read(tmp_path / "warm", name)
    assert np.abs(after - before).max() < 0.3 * np.abs(before).max()


@pytest.mark.parametrize("restored", [".*", "^linear"])
def test_both_engines_start_warm_alike(make, trained, tmp_path, restored):
    train = {"max_steps": 2, "batch_size": 20, "warm_start": str(trained / "job")}
    for engine in ("canned", "fused"):
        options = {
            **OPTIONS,
            "train": {**train, "warm_start_vars": restored},
            "model": {**OPTIONS["model"], "engine": engine},
            "run": {"seed": 7},
        }
        make.run(build_config(tmp_path / engine, trained / "rows.csv", **options), make.schema())
    names = [name for name, _ in tf.train.list_variables(str(tmp_path / "canned"))]
    assert "dnn/hiddenlayer_0/kernel" in names
    for name in names:
        canned, fused = _read(tmp_path / "canned", name), _read(tmp_path / "fused", name)
        np.testing.assert_allclose(canned, fused, atol=1e-6, err_msg=name)
    name = "dnn/hiddenlayer_0/kernel"
    change = np.abs(_read(tmp_path / "fused", name) - _read(trained / "job", name)).max()
    assert (change < 0.1) == (restored == ".*")


@pytest.mark.newest
def test_a_resumed_job_uses_the_new_learning_rate(make, trained, tmp_path):
    shutil.copytree(trained / "job", tmp_path / "job")
    options = {**OPTIONS, "train": {"max_steps": 6, "batch_size": 20, "learning_rate": 1e-12}}
    make.run(build_config(tmp_path / "job", trained / "rows.csv", **options), make.schema())
    name = "dnn/hiddenlayer_0/kernel"
    np.testing.assert_allclose(
        _read(tmp_path / "job", name), _read(trained / "job", name), atol=1e-7
    )


@pytest.mark.newest
def test_warm_start_copies_rows_by_word(make, trained, tmp_path):
    from trainer.schema import Schema

    values = make.schema_values()
    values["columns"]["city"]["vocabulary"] = ["Wien", *reversed(make.cities)]
    options = {**OPTIONS, "train": {**STAND_STILL}}
    options["train"]["warm_start"] = str(trained / "job" / "model.ckpt-5")
    lines = []
    console = Console(quiet=True)
    console.log = lines.append
    config = build_config(tmp_path / "warm", trained / "rows.csv", **options)
    make.run(config, Schema.model_validate(values), console)
    assert any("1 word by word" in line for line in lines)
    # Without an embedding, a word more is an input more.
    assert any("column city has changed" in line and "starts anew" in line for line in lines)
    name = "linear/linear_model/city/weights"
    before, after = _read(trained / "job", name), _read(tmp_path / "warm", name)
    count = len(make.cities)
    np.testing.assert_allclose(after[1 : count + 1], before[:count][::-1], atol=1e-6)


def test_warm_start_keeps_values_that_a_keras_model_loads(make, trained, tmp_path, monkeypatch):
    (tmp_path / "keras_of_mine.py").write_text(KERAS)
    monkeypatch.syspath_prepend(tmp_path)
    start = {"model": {"type": "keras_of_mine:build"}, "export": {"exporters": []}}
    rows = trained / "rows.csv"
    one = {"max_steps": 3, "batch_size": 20}
    user = {"value": 5.0, "momentum": 0.5}
    first = build_config(tmp_path / "first", rows, train=one, user=user, **start)
    make.run(first, make.schema("price"))
    warm = {**one, "max_steps": 1, "warm_start": str(tmp_path / "first")}
    options = {"train": {**warm, "warm_start_vars": "^(last|norm)"}, "user": {"value": 7.0}}
    options["user"]["momentum"] = 0.999999
    make.run(build_config(tmp_path / "warm", rows, **options, **start), make.schema("price"))

    def change(name):
        before, after = (_read(tmp_path / job, name) for job in ("first", "warm"))
        return np.abs(after / before - 1).max()

    # Moving averages come along, too; what is left out begins as the Keras model has it.
    assert _read(tmp_path / "first", "norm/moving_variance").min() > 2
    assert change("norm/moving_variance") < 0.01 and change("last/kernel") < 0.01
    np.testing.assert_allclose(_read(tmp_path / "warm", "first/kernel"), 7, atol=0.01)


@pytest.mark.newest
def test_warm_start_copies_rows_of_a_shared_embedding_by_word(make, tmp_path):
    from trainer.schema import Schema

    city = {"type": "string", "vocabulary": ["a", "b", "c"]}
    shared = [{"columns": ["origin", "dest"], "dimension": 2}]
    values = {"columns": {"origin": city, "dest": city, "y": {"type": "float"}},
              "label": {"column": "y"}, "shared_embeddings": shared}  # fmt: skip
    rows = make.csv(tmp_path / "r.csv", [{"origin": "a", "dest": "b", "y": 1.0}] * 40)
    options = {**OPTIONS, "model": {"type": "residual", "hidden_units": [4]}}
    make.run(build_config(tmp_path / "old", rows, **options), Schema.model_validate(values))
    other = {**city, "vocabulary": ["d", "c", "b", "a"]}
    columns = {**values["columns"], "origin": other, "dest": other}
    options["train"] = {**STAND_STILL, "warm_start": str(tmp_path / "old")}
    config = build_config(tmp_path / "new", rows, **options)
    make.run(config, Schema.model_validate({**values, "columns": columns}))
    name = "residual/inputs/origin_dest_shared_embedding/embedding_weights"
    before, after = _read(tmp_path / "old", name), _read(tmp_path / "new", name)
    np.testing.assert_allclose(after[1:], before[::-1], atol=1e-6)


@pytest.mark.newest
def test_warm_start_that_a_checkpoint_would_override_is_refused(make, trained):
    from trainer.job_dir.compatibility import check_warm_start

    options = {**OPTIONS, "train": {**OPTIONS["train"], "warm_start": "elsewhere"}}
    with pytest.raises(UserError, match="already holds model.ckpt-5"):
        config = build_config(trained / "job", trained / "rows.csv", **options)
        check_warm_start(config.job_dir, config.train.warm_start)


@pytest.mark.newest
def test_warm_start_from_a_folder_without_checkpoint_is_refused(make, trained, tmp_path):
    options = {**OPTIONS, "train": {**OPTIONS["train"], "warm_start": str(tmp_path)}}
    config = build_config(tmp_path / "job", trained / "rows.csv", **options)
    with pytest.raises(UserError, match="no checkpoint at"):
        make.run(config, make.schema())


@pytest.mark.newest
def test_dry_run_writes_nothing(make, trained, tmp_path):
    from trainer.training.dry_run import rehearse

    lines = []
    console = Console(quiet=True)
    console.log = lines.append
    config = build_config(tmp_path / "job", trained / "rows.csv", **OPTIONS)
    rehearse(config, make.schema(), console, SignalWatch())
    assert "all is well; the job would train to step 5" in lines[-1]
    assert not (tmp_path / "job").exists()


def test_dry_run_finds_a_checkpoint_of_another_shape(make, trained, tmp_path):
    from trainer.training.dry_run import rehearse

    # As a job of an older version would be: a checkpoint without its configuration.
    job = tmp_path / "job"
    job.mkdir()
    for path in (trained / "job").glob("model.ckpt-5.*"):
        (job / path.name).write_bytes(path.read_bytes())
    (job / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-5"\n')
    options = {**OPTIONS, "model": {"type": "wide_deep", "hidden_units": [7]}}
    config = build_config(job, trained / "rows.csv", **options)
    with pytest.raises(UserError, match=r"model.ckpt-5 has .* and the model needs"):
        rehearse(config, make.schema(), Console(quiet=True), SignalWatch())
    (job / "model.ckpt-5.index").write_bytes(b"damaged")
    with pytest.raises(UserError, match=r"none of its 1 checkpoint\(s\) can be read; use another"):
        rehearse(config, make.schema(), Console(quiet=True), SignalWatch())


def test_a_damaged_checkpoint_is_passed_over_or_named(make, trained, tmp_path):
    from trainer.job_dir import checkpoints

    job = tmp_path / "job"
    job.mkdir()
    for step in (4, 5):
        for path in (trained / "job").glob("model.ckpt-5.*"):
            (job / path.name.replace("-5.", f"-{step}.")).write_bytes(path.read_bytes())
    assert checkpoints.find_newest_intact(str(job)) == str(job / "model.ckpt-5")
    (shard,) = job.glob("model.ckpt-5.data-*")
    shard.write_bytes(bytes(shard.stat().st_size))
    assert checkpoints.find_newest_intact(str(job)) == str(job / "model.ckpt-4")
    assert checkpoints.find_newest_intact(str(tmp_path / "none")) is None
    train = {**STAND_STILL, "warm_start": str(job / "model.ckpt-5")}
    config = build_config(tmp_path / "warm", trained / "rows.csv", **{**OPTIONS, "train": train})
    message = r"train.warm_start: the files of checkpoint \S+ are damaged \(the checksum of "
    with pytest.raises(UserError, match=message):
        make.run(config, make.schema())
