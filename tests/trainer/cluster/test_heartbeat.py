"""What the processes of a cluster know of each other, by a clock that the tests move."""

import os

import pytest

from trainer import storage
from trainer.cluster.heartbeat import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    RUNNING,
    SILENT_SECS,
    HeartbeatFile,
)

pytestmark = pytest.mark.quick


@pytest.fixture
def clock():
    now = [100.0]

    def tell():
        return now[0]

    tell.move = lambda secs: now.__setitem__(0, now[0] + secs)
    return tell


def test_status_of_another_process_is_read(tmp_path, clock):
    chief, worker = (HeartbeatFile(str(tmp_path), name, clock) for name in ("chief-0", "worker-0"))
    assert worker.read("chief-0") == {}
    chief.publish(RUNNING, target=7)
    worker.refresh()
    assert worker.read("chief-0")["target"] == 7
    assert worker.is_alive("chief-0")


def test_a_silent_process_is_dead(tmp_path, clock):
    chief, worker = (HeartbeatFile(str(tmp_path), name, clock) for name in ("chief-0", "worker-0"))
    chief.publish(RUNNING)
    worker.refresh()
    clock.move(SILENT_SECS - 1)
    assert worker.is_alive("chief-0")
    clock.move(2)
    worker.refresh()
    assert not worker.is_alive("chief-0") and worker.silent_secs("chief-0") == SILENT_SECS + 1
    chief.publish(RUNNING)
    worker.refresh()
    assert worker.is_alive("chief-0")


def test_status_of_an_earlier_run_is_ignored(tmp_path, clock):
    HeartbeatFile(str(tmp_path), "chief-0", clock).publish(FINISHED, step=3)
    worker = HeartbeatFile(str(tmp_path), "worker-0", clock)
    worker.refresh()
    assert worker.read("chief-0") == {} and not worker.is_alive("chief-0")
    clock.move(5)
    assert worker.silent_secs("chief-0") == 5
    HeartbeatFile(str(tmp_path), "chief-0", clock).publish(RUNNING)
    worker.refresh()
    assert worker.read("chief-0")["state"] == RUNNING


def test_a_process_that_has_ended_is_not_alive(tmp_path, clock):
    chief, worker = (HeartbeatFile(str(tmp_path), name, clock) for name in ("chief-0", "worker-0"))
    chief.start(lambda: None)
    chief.end(FINISHED, step=9)
    worker_sees = HeartbeatFile(str(tmp_path), "worker-1", clock)
    worker.refresh()
    assert worker.read("chief-0")["step"] == 9 and not worker.is_alive("chief-0")
    # It was there already when this one began.
    assert worker_sees.read("chief-0") == {}


def test_a_corrupt_file_is_ignored(tmp_path, clock):
    worker = HeartbeatFile(str(tmp_path), "worker-0", clock)
    (tmp_path / "cluster" / "chief-0.1.json").write_text('{"state": "run')
    worker.refresh()
    assert worker.read("chief-0") == {}


def test_the_last_status_of_an_earlier_incarnation_is_ignored(tmp_path, clock):
    HeartbeatFile(str(tmp_path), "chief-0", clock).publish(FAILED)
    server = HeartbeatFile(str(tmp_path), "ps-0", clock)
    server.refresh()
    assert server.read("chief-0") == {}
    HeartbeatFile(str(tmp_path), "chief-0", clock).publish(RUNNING)
    server.refresh()
    assert server.read("chief-0")["state"] == RUNNING


def test_a_failure_is_read_by_processes_that_are_starting(tmp_path, clock):
    failed = HeartbeatFile(str(tmp_path), "chief-0", clock)
    failed.publish(FAILED)
    server = HeartbeatFile(str(tmp_path), "ps-0", clock)
    # It goes on saying so until all have heard it.
    failed.publish(FAILED)
    server.refresh()
    assert server.read("chief-0")["state"] == FAILED


def test_a_failure_is_read_by_processes_that_saw_it_run(tmp_path, clock):
    chief, server = (HeartbeatFile(str(tmp_path), name, clock) for name in ("chief-0", "ps-0"))
    chief.publish(RUNNING)
    server.refresh()
    chief.publish(FAILED)
    server.refresh()
    assert server.read("chief-0")["state"] == FAILED


@pytest.mark.parametrize(
    "theirs, ours, heard",
    [("a", "a", True), ("a", "b", False), (None, "a", False), (None, None, False)],
)
def test_a_late_process_reads_that_its_own_run_has_finished(tmp_path, clock, theirs, ours, heard):
    HeartbeatFile(str(tmp_path), "chief-0", clock, theirs).publish(FINISHED)
    late = HeartbeatFile(str(tmp_path), "ps-0", clock, ours)
    assert (late.read("chief-0").get("state") == FINISHED) == heard
    assert late.last_status("chief-0")["state"] == FINISHED


def test_status_of_another_run_in_the_same_folder_is_ignored(tmp_path, clock):
    ours = HeartbeatFile(str(tmp_path), "ps-0", clock, "ours")
    HeartbeatFile(str(tmp_path), "chief-0", clock, "theirs").publish(RUNNING)
    ours.refresh()
    assert ours.read("chief-0") == {}


def test_a_restarted_process_has_its_previous_status(tmp_path, clock):
    HeartbeatFile(str(tmp_path), "chief-0", clock, "a").publish(RUNNING, final_step=3)
    assert HeartbeatFile(str(tmp_path), "chief-0", clock, "a").previous_status["final_step"] == 3
    assert HeartbeatFile(str(tmp_path), "chief-0", clock, "b").previous_status == {}
    assert HeartbeatFile(str(tmp_path), "worker-0", clock, "a").previous_status == {}


@pytest.fixture
def full_disk(monkeypatch):
    """No new file can be written; one that is there can."""

    def fail(path, text):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(storage, "write_text", fail)
        yield patched


def test_a_full_disk_does_not_end_the_heartbeat(tmp_path, clock, full_disk):
    chief, worker = (HeartbeatFile(str(tmp_path), name, clock) for name in ("chief-0", "worker-0"))
    (tmp_path / "cluster" / "chief-0.1.json").unlink()
    chief.publish(RUNNING, target=3)
    worker.refresh()
    assert worker.read("chief-0") == {}
    full_disk.undo()
    chief.publish(RUNNING)
    worker.refresh()
    assert worker.read("chief-0")["target"] == 3


def test_the_others_read_what_a_process_says_on_a_full_disk(tmp_path, clock, full_disk):
    chief, worker = (HeartbeatFile(str(tmp_path), name, clock) for name in ("chief-0", "worker-0"))
    for message in ("its disk is full", "full"):
        chief.publish(FAILED, message=message)
        worker.refresh()
        assert worker.read("chief-0")["message"] == message


def test_a_process_that_was_replaced_while_it_was_paused_is_not_heard(tmp_path, clock):
    HeartbeatFile(str(tmp_path), "chief-0", clock).publish(FAILED)
    paused = HeartbeatFile(str(tmp_path), "chief-0", clock)
    paused.publish(RUNNING)
    worker = HeartbeatFile(str(tmp_path), "worker-0", clock)
    later = HeartbeatFile(str(tmp_path), "chief-0", clock)
    later.publish(RUNNING)
    later.end(FINISHED, step=3)
    paused.end(INTERRUPTED)
    worker.refresh()
    status = worker.read("chief-0")
    assert (status["state"], status["incarnation"]) == (FINISHED, later.incarnation)


def test_a_process_that_is_suspended_while_it_writes_replaces_no_status(
    tmp_path, clock, monkeypatch
):
    paused = HeartbeatFile(str(tmp_path), "chief-0", clock)
    paused.publish(RUNNING)
    later, replace = [], os.replace

    def suspended(source, target):
        """The process is suspended here, until its successor has finished."""
        if not later:
            later.append(HeartbeatFile(str(tmp_path), "chief-0", clock))
            later[0].publish(FINISHED)
        replace(source, target)

    monkeypatch.setattr("os.replace", suspended)
    paused.publish(FAILED)
    found = HeartbeatFile(str(tmp_path), "ps-0", clock).last_status("chief-0")
    assert (found["state"], found["incarnation"]) == (FINISHED, later[0].incarnation)


def test_processes_that_start_at_once_have_different_numbers(tmp_path, clock):
    first, second = (HeartbeatFile(str(tmp_path), "chief-0", clock) for _ in range(2))
    second.publish(FINISHED)
    first.publish(RUNNING)
    server = HeartbeatFile(str(tmp_path), "ps-0", clock)
    assert server.last_status("chief-0")["incarnation"] == second.incarnation


def test_a_new_process_removes_the_files_of_earlier_ones(tmp_path, clock):
    (tmp_path / "cluster").mkdir()
    # An earlier version of the trainer has written this one.
    (tmp_path / "cluster/chief-0.json").write_text('{"state": "failed", "final_step": 3}')
    killed = HeartbeatFile(str(tmp_path), "chief-0", clock)
    assert killed.previous_status["final_step"] == 3
    # It is killed here; what the one before it has said still counts.
    again, other = (HeartbeatFile(str(tmp_path), name, clock) for name in ("chief-0", "ps-0"))
    assert other.last_status("chief-0") == again.previous_status == killed.previous_status
    assert len(list((tmp_path / "cluster").glob("chief-0.*"))) == 3
    again.publish(RUNNING)
    assert [path.name for path in (tmp_path / "cluster").glob("chief-0.*")] == ["chief-0.2.json"]
    # A damaged file is not taken for none: an earlier process may wake up and write.
    (tmp_path / "cluster/chief-0.1.json").write_text('{"state": "lost"}')
    (tmp_path / "cluster/chief-0.2.json").write_text('{"state": "run')
    assert HeartbeatFile(str(tmp_path), "ps-0", clock).last_status("chief-0") == {}
    assert HeartbeatFile(str(tmp_path), "chief-0", clock).start_number == 3
