"""What the processes of a cluster know of each other, by a clock that the tests move."""

import pytest

from trainer import storage
from trainer.cluster.heartbeat import FAILED, FINISHED, RUNNING, SILENT_SECS, HeartbeatFile

pytestmark = pytest.mark.quick


@pytest.fixture
def clock():
    now = [100.0]

    def tell():
        return now[0]

    tell.move = lambda secs: now.__setitem__(0, now[0] + secs)
    return tell


def test_the_others_are_read(tmp_path, clock):
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


def test_what_an_earlier_run_said_is_not_heard(tmp_path, clock):
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


def test_a_torn_file_is_passed_over(tmp_path, clock):
    worker = HeartbeatFile(str(tmp_path), "worker-0", clock)
    (tmp_path / "cluster" / "chief-0.json").write_text('{"state": "run')
    worker.refresh()
    assert worker.read("chief-0") == {}


def test_the_last_word_of_an_incarnation_that_is_gone_is_not_heard(tmp_path, clock):
    HeartbeatFile(str(tmp_path), "chief-0", clock).publish(FAILED)
    server = HeartbeatFile(str(tmp_path), "ps-0", clock)
    server.refresh()
    assert server.read("chief-0") == {}
    HeartbeatFile(str(tmp_path), "chief-0", clock).publish(RUNNING)
    server.refresh()
    assert server.read("chief-0")["state"] == RUNNING


def test_who_fails_is_heard_by_those_that_only_begin(tmp_path, clock):
    failed = HeartbeatFile(str(tmp_path), "chief-0", clock)
    failed.publish(FAILED)
    server = HeartbeatFile(str(tmp_path), "ps-0", clock)
    # It goes on saying so until all have heard it.
    failed.publish(FAILED)
    server.refresh()
    assert server.read("chief-0")["state"] == FAILED


def test_who_saw_it_run_hears_it_fail(tmp_path, clock):
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
def test_who_comes_late_hears_of_the_end_of_its_own_run(tmp_path, clock, theirs, ours, heard):
    HeartbeatFile(str(tmp_path), "chief-0", clock, theirs).publish(FINISHED)
    late = HeartbeatFile(str(tmp_path), "ps-0", clock, ours)
    assert (late.read("chief-0").get("state") == FINISHED) == heard
    assert late.last_status("chief-0")["state"] == FINISHED


def test_another_run_in_the_same_folder_is_not_heard(tmp_path, clock):
    ours = HeartbeatFile(str(tmp_path), "ps-0", clock, "ours")
    HeartbeatFile(str(tmp_path), "chief-0", clock, "theirs").publish(RUNNING)
    ours.refresh()
    assert ours.read("chief-0") == {}


def test_a_process_knows_what_it_said_before_it_was_killed(tmp_path, clock):
    HeartbeatFile(str(tmp_path), "chief-0", clock, "a").publish(RUNNING, final_step=3)
    assert HeartbeatFile(str(tmp_path), "chief-0", clock, "a").previous_status["final_step"] == 3
    assert HeartbeatFile(str(tmp_path), "chief-0", clock, "b").previous_status == {}
    assert HeartbeatFile(str(tmp_path), "worker-0", clock, "a").previous_status == {}


def test_a_full_disk_does_not_end_it(tmp_path, clock, monkeypatch):
    chief, worker = (HeartbeatFile(str(tmp_path), name, clock) for name in ("chief-0", "worker-0"))

    def fail(path, text):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(storage, "write_text", fail)
        chief.publish(RUNNING, target=3)
    worker.refresh()
    assert worker.read("chief-0") == {}
    chief.publish(RUNNING)
    worker.refresh()
    assert worker.read("chief-0")["target"] == 3
