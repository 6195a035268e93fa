"""The local folder of a gs:// job, as the processes of one machine open it."""

import io
from pathlib import Path

import pytest

from trainer import storage
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
    monkeypatch.setattr(workspace, "RESTORE_SECS", 0.3)
    # That chief has ended; the next one has not fetched the job yet.
    with pytest.raises(TemporaryError, match="the chief has not fetched it"), open_as("worker"):
        pass
    with open_as("chief") as chief, open_as("worker") as worker:
        assert worker.folder == chief.folder


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
