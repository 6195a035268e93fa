"""The local folder of a gs:// job, as the processes of one machine open it."""

import pytest

from trainer import storage
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError
from trainer.storage import workspace

pytestmark = pytest.mark.newest

SPEC = {"chief": ("127.0.0.1:4000",), "worker": ("127.0.0.1:4001",)}


def test_a_process_waits_for_the_chief_of_its_own_run(cloud, monkeypatch, tmp_path):
    settings = storage.Settings(cache_dir=str(tmp_path / "cache"))

    def open_as(role):
        cluster = Cluster(SPEC, role)
        return workspace.open_workspace(
            "gs://a-bucket/jobs/x", settings, cluster, lambda line: None, stores=True
        )

    with open_as("chief") as chief, open_as("worker") as worker:
        assert worker.folder == chief.folder
    monkeypatch.setattr(workspace, "RESTORE_SECS", 0.3)
    # That chief has ended; the next one has not fetched the job yet.
    with pytest.raises(UserError, match="the chief has not fetched it"), open_as("worker"):
        pass
    with open_as("chief") as chief, open_as("worker") as worker:
        assert worker.folder == chief.folder
