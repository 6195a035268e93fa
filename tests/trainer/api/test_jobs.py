"""What a process of a cluster tells the others before it has loaded TensorFlow."""

import json
import subprocess
import sys

import pytest

from trainer import task
from trainer.cluster.heartbeat import FAILED, HeartbeatFile
from trainer.job_layout import LOCK

pytestmark = pytest.mark.quick
CLUSTER = {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"], "ps": ["127.0.0.1:3"]}
# Holds the lock of a job until its input ends.
HOLDER = """
import sys
from pathlib import Path
from trainer.storage.claim import locked

with locked(Path(sys.argv[1]), "job", print):
    print("locked", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def start(tmp_path, monkeypatch, capsys):
    """Starts a process with a role; returns its exit status, error and published status."""

    def run(role, *flags):
        config = {"cluster": CLUSTER, "task": {"type": role, "index": 0}, "run": "a"}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        status = task.main([f"--job_dir={tmp_path}/job", *flags])
        other = HeartbeatFile(f"{tmp_path}/job", "ps-0", run_id="a")
        return status, capsys.readouterr().err, other.read(f"{role}-0")

    return run


@pytest.mark.parametrize(
    "flags, error",
    [
        (["--secret.key=NO_SUCH_VARIABLE"], "secret.key: "),
        (["--data.schema_file=no.yaml"], "schema "),
        ([], "data.schema_file: not given"),
        (["--no_such_flag=1"], "no_such_flag"),
        (["--batch_size=many"], "--train.batch_size: got 'many'"),
        (["--hparams=no_such_preset"], "no_such_preset"),
        (["--data.schema_file={schema}", "--train_data=no.csv"], "no file matches 'no.csv'"),
    ],
)
def test_an_error_before_anything_is_loaded_reaches_the_others(make, tmp_path, start, flags, error):
    make.yaml(tmp_path / "schema.yaml", make.schema_values())
    flags = [flag.format(schema=tmp_path / "schema.yaml") for flag in flags]
    status, said, published = start("worker", *flags)
    assert status == 2 and error in said
    assert published["state"] == FAILED and published["awaited_secs"] == 0
    assert error in published["message"]


@pytest.mark.parametrize("flags", [["--dry_run"], ["--print_config"]])
def test_a_command_that_runs_no_job_tells_no_one(start, flags):
    status, said, published = start("worker", "--no_such_flag=1", *flags)
    assert status == 2 and "no_such_flag" in said
    assert published == {}


def test_a_wrong_flag_of_a_single_process_makes_no_folder(tmp_path, capsys):
    assert task.main([f"--job_dir={tmp_path}/job", "--no_such_flag=1"]) == 2
    assert "no_such_flag" in capsys.readouterr().err
    assert not (tmp_path / "job").exists()


def test_a_chief_that_another_job_keeps_out_leaves_that_job_alone(tmp_path, start):
    (tmp_path / "job").mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "job" / LOCK)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout.readline() == b"locked\n"
        status, said, published = start("chief")
        holder.communicate()
    assert status == 2 and f"process {holder.pid} on host" in said
    assert published == {}
