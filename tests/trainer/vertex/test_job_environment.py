import json

import pytest

from trainer.environment.cluster_spec import Cluster, parse_cluster
from trainer.environment.services import Service, parse_service
from trainer.errors import UserError
from trainer.storage.data import Settings
from trainer.vertex.job_environment import place, publish

pytestmark = [pytest.mark.newest, pytest.mark.quick]

ENVIRONMENT = {
    "AIP_MODEL_DIR": "gs://bucket/x/model/",
    "AIP_CHECKPOINT_DIR": "gs://bucket/x/checkpoints/",
    "AIP_TENSORBOARD_LOG_DIR": "gs://bucket/x/logs/",
    "AIP_DATA_FORMAT": "csv",
    "AIP_TRAINING_DATA_URI": "gs://bucket/train-*",
    "AIP_VALIDATION_DATA_URI": "gs://bucket/validation-*",
    "AIP_TEST_DATA_URI": "gs://bucket/test-*",
    "CLOUD_ML_HP_METRIC_FILE": "/tmp/x",
}


def test_the_variables_of_the_service_are_read():
    service = parse_service(ENVIRONMENT)
    assert service == Service(
        "gs://bucket/x/model/",
        "gs://bucket/x/checkpoints/",
        "gs://bucket/x/logs/",
        ("gs://bucket/train-*",),
        ("gs://bucket/validation-*",),
        "/tmp/x",
    )
    assert parse_service({}) == Service()
    no_validation = {**ENVIRONMENT, "AIP_VALIDATION_DATA_URI": ""}
    assert parse_service(no_validation).eval_data == ("gs://bucket/test-*",)
    with pytest.raises(UserError, match="BigQuery table; export it"):
        parse_service({"AIP_TRAINING_DATA_URI": "bq://project.set.table"})


def test_flags_override_the_service(make):
    service = parse_service(ENVIRONMENT)
    placed = place(make.config(job_dir=""), Cluster({}), service)
    assert placed.job_dir == "gs://bucket/x/checkpoints"
    assert placed.data.train == ("gs://bucket/train-*",)
    said = make.config(job_dir="mine", rows=["a.csv"])
    assert place(said, Cluster({}), service) == said
    # A trial whose job_dir is said has a folder in it.
    assert place(said, Cluster({}, trial="4"), Service()).job_dir == "mine/4"
    assert place(said, Cluster({}, trial="4"), service).job_dir == "mine/4"


def test_the_folder_of_the_model_is_checked_first(make):
    service = parse_service({**ENVIRONMENT, "AIP_MODEL_DIR": "gs://"})
    with pytest.raises(UserError, match="AIP_MODEL_DIR: .* is not written gs://BUCKET/NAME"):
        place(make.config(), Cluster({}), service)


def test_a_single_replica_has_no_cluster():
    def spec(**pools):
        task = {"type": "workerpool0", "index": 0, "trial": "7"}
        return {"CLUSTER_SPEC": json.dumps({"cluster": pools, "task": task})}

    alone = parse_cluster(spec(workerpool0=["a:2222"]))
    assert not alone.has_others and alone.trial == "7"
    assert parse_cluster(spec(workerpool0=["a:2222"], workerpool3=["b:2222"])).has_others


def test_a_model_is_published_flat(tmp_path):
    for name in ("saved_model.pb", "variables/variables.index"):
        (tmp_path / "export" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "export" / name).write_text(name)
    publish(str(tmp_path / "export"), str(tmp_path / "model"), Settings())
    publish(str(tmp_path / "export"), str(tmp_path / "model"), Settings())
    assert (tmp_path / "model" / "saved_model.pb").read_text() == "saved_model.pb"
    assert (tmp_path / "model" / "variables" / "variables.index").exists()
    (tmp_path / "file").write_text("kept")
    with pytest.raises(UserError, match=r"AIP_MODEL_DIR=.*/file: .*; the model is in .*/export;"):
        publish(str(tmp_path / "export"), str(tmp_path / "file"), Settings())
    assert (tmp_path / "file").read_text() == "kept"


def test_a_trial_keeps_its_last_metrics(tmp_path, monkeypatch):
    from trainer.errors import UserError
    from trainer.vertex.trial_metrics import KEPT_LINES, report_trial

    path = tmp_path / "deep" / "output.metrics"
    monkeypatch.setenv("CLOUD_ML_HP_METRIC_FILE", str(path))
    report_trial(1, {"auc": 0.5})
    assert not path.exists()
    monkeypatch.setenv("CLOUD_ML_TRIAL_ID", "2")
    for step in range(KEPT_LINES + 5):
        report_trial(step, {"auc": step / 1000})
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == KEPT_LINES
    last = lines[-1]
    assert last.pop("timestamp") > 1e9
    assert last == {"trial": "2", "auc": "0.104", "global_step": "104"}
    # In /tmp, another user may have made a link of this name.
    (tmp_path / "private").write_text("kept")
    path.unlink()
    path.symlink_to(tmp_path / "private")
    with pytest.raises(UserError, match=f"{path} is a symbolic link, .*; remove it"):
        report_trial(1, {"auc": 0.5})
    path.parent.rename(tmp_path / "moved")
    path.parent.symlink_to(tmp_path / "moved")
    path.unlink()
    with pytest.raises(UserError, match=f"{path.parent} is a symbolic link"):
        report_trial(1, {"auc": 0.5})
    assert (tmp_path / "private").read_text() == "kept"
