"""The local folder of a gs:// job, as the processes of one machine open it."""

import io
import json
from pathlib import Path

import pytest

from trainer import storage, task
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster
from trainer.errors import TemporaryError, UserError
from trainer.storage import workspace

pytestmark = pytest.mark.newest

SPEC = {"chief": ("127.0.0.1:4000",), "worker": ("127.0.0.1:4001",)}


def test_a_process_waits_for_the_chief_of_its_own_run(cloud, monkeypatch, tmp_path):
    settings = storage.Settings(cache_dir=str(tmp_path / "cache"))

    def open_as(role):
        cluster = Cluster(SPEC, role)
        return workspace.open_workspace(
            "gs://a-bucket/jobs/x", settings, cluster, Console(quiet=True), stores=True
        )

    with open_as("chief") as chief, open_as("worker") as worker:
        assert worker.folder == chief.folder
        worker.await_fetched()
    monkeypatch.setattr(workspace, "RESTORE_SECS", 0.3)
    # That chief has ended; the next one has not fetched the job yet.
    with open_as("worker") as worker:
        with pytest.raises(TemporaryError, match="the chief has not fetched it"):
            worker.await_fetched()
        assert not worker.await_fetched(lambda: True)
        with open_as("chief"):
            worker.await_fetched()


def test_an_error_that_the_user_must_correct_is_reported_before_one_of_storing(cloud, tmp_path):
    settings = storage.Settings(cache_dir=str(tmp_path / "cache"), patience_secs=0)
    said = io.StringIO()

    def fail(error):
        opened = workspace.open_workspace(
            "gs://a-bucket/jobs/x", settings, Cluster({}), Console(said), stores=True
        )
        with opened as space:
            (Path(space.folder) / "config.yaml").write_text("new")
            cloud.fail("status", method="POST", times=100)
            raise error

    with pytest.raises(UserError, match="data: row 7"):
        fail(UserError("data: row 7"))
    assert said.getvalue().count("\n") == 1
    assert "no answer from Cloud Storage" in said.getvalue()
    cloud.faults.clear()
    for error in (TemporaryError("data: no answer"), KeyboardInterrupt()):
        with pytest.raises(TemporaryError, match="what is not stored there is in"):
            fail(error)
        cloud.faults.clear()


@pytest.mark.quick
@pytest.mark.parametrize("role", ["worker", "chief"])
def test_a_wrong_flag_reaches_the_machines_that_share_only_a_bucket(
    cloud, monkeypatch, tmp_path, capsys, role
):
    spec = {"chief": ["10.0.0.1:1"], "worker": ["10.0.0.2:1"]}
    config = {"cluster": spec, "task": {"type": role, "index": 0}, "run": "a"}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    monkeypatch.setattr("trainer.cluster.joining.GRACE_SECS", 0.0)
    cloud.write("jobs/x/checkpoint", b'model_checkpoint_path: "model.ckpt-0"')
    other = "chief" if role == "worker" else "worker"
    status = {"state": "running", "run": "a", "target": 100, "step": 100}
    cloud.write(f"jobs/x/cluster/{other}-0.1.json", json.dumps(status).encode())
    assert task.main(["--job_dir=gs://a-bucket/jobs/x", "--no_such_flag=1"]) == 2
    assert "no_such_flag" in capsys.readouterr().err
    told = json.loads(cloud.read(f"jobs/x/cluster/{role}-0.1.json"))
    assert told["state"] == "failed" and "no_such_flag" in told["message"]
    assert told["awaited_secs"] == 0 and told["run"] == "a"
    # Nothing of the job is fetched, and nothing else is stored.
    assert not list(tmp_path.rglob("checkpoint"))
    names = {f"cluster/{role}-0.1.json", f"cluster/{other}-0.1.json", "checkpoint"}
    assert set(cloud.names("jobs/x/")) == {f"jobs/x/{name}" for name in names}


@pytest.mark.quick
def test_a_wrong_flag_is_reported_though_the_bucket_is_away(cloud, monkeypatch, capsys):
    spec = {"chief": ["10.0.0.1:1"], "worker": ["10.0.0.2:1"]}
    config = {"cluster": spec, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    monkeypatch.setattr("trainer.api.jobs.ANNOUNCING_SECS", 0.1)
    cloud.fail("status", times=100)
    assert task.main(["--job_dir=gs://a-bucket/jobs/x", "--no_such_flag=1"]) == 2
    assert "no_such_flag" in capsys.readouterr().err


@pytest.mark.quick
@pytest.mark.parametrize("wrong", ["flag", "bucket"])
def test_an_error_of_the_chief_reaches_those_who_wait_for_it(
    cloud, start_module, make, tmp_path, wrong
):
    make.yaml(tmp_path / "schema.yaml", make.schema_values())
    place = "gs://no-such-bucket/x" if wrong == "bucket" else "gs://a-bucket/jobs/x"
    chief, worker = (
        start_module(
            "trainer.task",
            *[f"--job_dir={place}", f"--data.schema_file={tmp_path}/schema.yaml", *flags],
            env={
                "TF_CONFIG": json.dumps({"cluster": SPEC, "task": {"type": role, "index": 0}}),
                "XDG_CACHE_HOME": str(tmp_path),
            },
        )
        for role, flags in (("chief", ["--no_such_flag=1"] * (wrong == "flag")), ("worker", []))
    )
    for process in (chief, worker):
        _, said = process.communicate(timeout=60)
        assert process.returncode == 2, said
        assert ("no_such_flag" if wrong == "flag" else "no-such-bucket") in said
    assert "the chief has failed, and this process ends with it: " in said
    assert "traceback" not in said.lower()
