"""The lock and the claim that keep two jobs out of one local job_dir, held by real processes."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
from unittest import mock

import pytest

from estimator_bridge.model_files import durable
from trainer.errors import UserError
from trainer.storage.claim import FolderClaim, locked
from trainer.storage.disk import is_full_disk

pytestmark = pytest.mark.quick

HOLD = """
import os, sys
from pathlib import Path
from trainer.storage import claim
if sys.argv[2]:
    claim.BOOT_ID = Path(sys.argv[2])
with claim.locked(Path(sys.argv[1]), "jobs/x", print):
    if sys.argv[3] and not os.fork():
        sys.stdin.read()
        os._exit(0)
    print("locked", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def hold(tmp_path, make):
    """Starts a process that holds the lock until it is told to end or killed."""
    started = []

    def start(boot="", forks=""):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path / ".lock"), str(boot), forks],
            env={**os.environ, "PYTHONPATH": str(make.root)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "locked\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _take(tmp_path, log=print, **options):
    with locked(tmp_path / ".lock", "jobs/x", log, **options):
        return json.loads((tmp_path / ".lock").read_text())["pid"]


def test_a_second_process_is_refused_at_once_and_told_of_the_first(hold, tmp_path):
    first = hold()
    with pytest.raises(UserError, match=f"job_dir jobs/x: process {first.pid} on host .* started"):
        _take(tmp_path, lease_secs=1000)


def test_a_killed_process_leaves_no_lock(hold, tmp_path):
    # The processes that user code forks live on, and hold nothing.
    first = hold(forks="yes")
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert _take(tmp_path) == os.getpid()


def test_a_lock_of_a_machine_that_crashed_is_waited_for(hold, tmp_path):
    (tmp_path / "boot").write_text("of another machine")
    first = hold(boot=tmp_path / "boot")
    lines = []
    with pytest.raises(UserError, match="is at work on it"):
        _take(tmp_path, lines.append, lease_secs=0.2)
    threading.Timer(0.2, lambda: first.communicate("\n")).start()
    assert _take(tmp_path, lines.append) == os.getpid()
    assert f"process {first.pid} on host" in lines[0] and "waiting up to" in lines[0]


def test_the_later_of_two_claims_ends_the_earlier(tmp_path):
    stopped = threading.Event()
    early = FolderClaim(tmp_path, stopped.set)
    late = FolderClaim(tmp_path, lambda: pytest.fail("the later claim holds"))
    raises = pytest.raises(UserError, match="another writer has begun to work there")
    with raises, early.held(), late.held():
        assert stopped.wait(30)
    # The claim stays: a job that was paused meanwhile ends too, and a new one may claim the folder.
    assert json.loads((tmp_path / "writer.json").read_text())["pid"] == os.getpid()
    with FolderClaim(tmp_path, stopped.set).held():
        pass


def test_a_checkpoint_is_not_named_over_that_of_a_later_job(tmp_path):
    """The first job was suspended while it wrote the checkpoint, and goes on."""
    prefix = str(tmp_path / "model.ckpt-10")
    claim = FolderClaim(tmp_path, lambda: None)
    with pytest.raises(UserError, match="another writer has begun") as raised, claim.held():
        durable.sync_checkpoint(prefix)
        (tmp_path / "writer.json").write_text("{}")
        durable.sync_checkpoint(str(tmp_path / "elsewhere" / "model.ckpt-10"))
        durable.sync_checkpoint(prefix)
        pytest.fail("the state file would be written")
    assert raised.value.__cause__ is None
    durable.sync_checkpoint(prefix)


def test_an_error_that_is_among_its_own_causes_is_no_full_disk():
    first, last = OSError("first"), UserError("last")
    first.__context__, last.__cause__ = last, first
    assert not is_full_disk(last)
    first.errno = errno.ENOSPC
    assert is_full_disk(last)


@pytest.mark.parametrize("when", ["written", "checked"])
def test_a_suspended_job_does_not_rename_its_state_file_over_that_of_a_later_job(
    tmp_path, monkeypatch, when
):
    """The first job was suspended after it had written the file, or after its last check."""
    path, temporary = tmp_path / "checkpoint", tmp_path / "checkpoint.tmp1"
    replace, late = os.replace, FolderClaim(tmp_path, lambda: None)

    def go_on(source, target):
        if str(source) == str(temporary):
            # Each process has guards of its own.
            with mock.patch.object(durable, "_guards", {}), late.held():
                path.write_text("of the later job")
        replace(source, target)

    early = FolderClaim(tmp_path, lambda: None)
    with pytest.raises(UserError, match="another writer has begun"), early.held():
        temporary.write_text("of the early job")
        if when == "written":
            (tmp_path / "writer.json").write_text("{}")
        else:
            monkeypatch.setattr("estimator_bridge.model_files.durable.os.replace", go_on)
        durable.rename_state(str(temporary), str(path))
    assert not path.exists() or path.read_text() == "of the later job"


def test_a_state_file_is_renamed_where_no_claim_is_held(tmp_path):
    (tmp_path / "checkpoint.tmp1").write_text("x")
    durable.rename_state(str(tmp_path / "checkpoint.tmp1"), str(tmp_path / "checkpoint"))
    assert [one.name for one in tmp_path.iterdir()] == ["checkpoint"]


def test_a_claim_that_was_removed_by_hand_ends_no_job(tmp_path):
    with FolderClaim(tmp_path, lambda: pytest.fail("no other job")).held():
        (tmp_path / "writer.json").unlink()
