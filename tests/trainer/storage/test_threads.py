"""The threads that store and fetch a job's files: they go on after every error, and report it."""

import json
import threading
import time

import pytest

from trainer import job_layout
from trainer.cluster.heartbeat import LOST, HeartbeatFile
from trainer.errors import TemporaryError, UserError
from trainer.storage.addresses import Address
from trainer.storage.bucket import Bucket
from trainer.storage.health import Health
from trainer.storage.keeper import Keeper
from trainer.storage.memory import MEMORY, Memory
from trainer.storage.mirror import Division, Mirror
from trainer.storage.relay import Relay

pytestmark = [pytest.mark.newest, pytest.mark.quick]
ADDRESS = Address("a-bucket", "jobs/x")
STATE = 'model_checkpoint_path: "model.ckpt-10"\n'


@pytest.fixture
def machine(cloud, tmp_path):
    """machine(name) → a Mirror with a disk of its own."""

    def start(name, **options):
        folder = tmp_path / name / "job"
        folder.mkdir(parents=True, exist_ok=True)
        memory = Memory(folder.parent / MEMORY, ADDRESS, print)
        return Mirror(
            Bucket("a-bucket", 5, 0.1), ADDRESS, folder, Division(**options), memory=memory
        )

    return start


def _checkpoint(folder):
    for name in ("data-00000-of-00001", "index", "meta"):
        (folder / f"model.ckpt-10.{name}").write_text(name)
    (folder / "checkpoint").write_text(STATE)


def _await(is_reached):
    for _ in range(1000):
        if is_reached():
            return
        time.sleep(0.01)
    raise AssertionError("not reached")


def _health(mirror):
    return json.loads((mirror.folder.parent / "health.json").read_text())


def test_an_evaluator_fetches_again_after_every_error(machine, cloud, monkeypatch):
    chief = machine("chief")
    _checkpoint(chief.folder)
    chief.push()
    evaluator = machine("evaluator", mine=job_layout.is_evaluated, is_shared=True)
    said, errors = [], [ValueError("odd"), OSError(28, "No space left on device")]
    download = Bucket.download

    def fail_first(self, found, path):
        if errors:
            raise errors.pop()
        return download(self, found, path)

    monkeypatch.setattr(Bucket, "download", fail_first)
    # An outage of the service at last.
    cloud.fail("status", path="alt=media", times=3)
    keeper = Keeper(evaluator, pushes=True, pulls=True, log=said.append, stop=None, secs=0.01)
    keeper.start()
    _await(lambda: len(said) == 2 and _health(evaluator)["step"] == 10)
    assert _health(evaluator) == {
        "time": pytest.approx(time.time(), abs=30), "step": 10, "behind_secs": 0, "error": None
    }  # fmt: skip
    keeper.end()
    assert "storing is tried again" in said[0] and "fetched again, after" in said[1]


def test_the_health_file_says_how_far_the_bucket_is_behind(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    said = []
    health = Health(tmp_path / "health.json", said.append)
    health.write()
    values = []
    for secs, error in ((2, None), (7, "no answer"), (30, "no answer still"), (31, None)):
        now[0] = 1000.0 + secs
        if error:
            health.note_failure(error)
        else:
            health.note_success(now[0], 10 * secs)
        values.append(json.loads((tmp_path / "health.json").read_text()))
    assert values == [
        {"time": 1002.0, "step": 20, "behind_secs": 0.0, "error": None},
        {"time": 1007.0, "step": 20, "behind_secs": 5.0, "error": "no answer"},
        {"time": 1030.0, "step": 20, "behind_secs": 28.0, "error": "no answer still"},
        {"time": 1031.0, "step": 310, "behind_secs": 0.0, "error": None},
    ]
    assert said == [
        "warning: no answer; the job goes on, and storing is tried again",
        "storage: files are stored and fetched again, after 29 s",
    ]


def test_what_could_not_be_stored_at_the_end_is_an_error(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder)
    cloud.fail("status", method="POST", times=1000)
    keeper = Keeper(one, pushes=True, pulls=False, log=print, stop=None)
    with pytest.raises(TemporaryError, match=f"what is not stored there is in {one.folder}"):
        keeper.end()
    assert "no answer from Cloud Storage" in _health(one)["error"]
    cloud.faults.clear()
    # All requests succeed, but the checkpoint cannot be stored.
    (one.folder / "model.ckpt-10.index").unlink()
    with pytest.raises(TemporaryError, match="the newest checkpoint is incomplete"):
        Keeper(one, pushes=True, pulls=False, log=print, stop=None).end()


def test_heartbeats_are_exchanged_again_after_every_error(machine, cloud):
    evaluator = machine("evaluator", mine=job_layout.is_evaluated, is_shared=True)
    keeper = Keeper(evaluator, pushes=True, pulls=True, log=print, stop=None)
    said = []
    relay = Relay(evaluator.bucket, keeper, "evaluator-0", said.append, secs=0.01)
    own = evaluator.folder / "cluster/evaluator-0.1.json"
    # Something that is neither the service's nor the user's fault.
    relay.start()
    own.mkdir()
    _await(lambda: said)
    own.rmdir()
    own.write_text("{}")
    _await(lambda: "jobs/x/cluster/evaluator-0.1.json" in cloud.names("jobs/x/cluster/"))
    _await(lambda: len(said) == 2)
    assert "heartbeats cannot be exchanged (IsADirectoryError" in said[0]
    own.unlink()
    own.mkdir()
    with pytest.raises(TemporaryError, match="the last status is not stored"):
        relay.end()
    assert all(thread.name != "relay" for thread in threading.enumerate())


def test_a_process_that_starts_on_another_machine_replaces_its_status(machine, cloud):
    def open_relay(name, process):
        one = machine(name, is_shared=True)
        keeper = Keeper(one, pushes=False, pulls=False, log=print, stop=None)
        relay = Relay(one.bucket, keeper, process, print, secs=1000)
        relay.start()
        return relay, HeartbeatFile(str(one.folder), process, relay=relay)

    reader, chief = open_relay("reader", "chief-0")
    for start, name in enumerate(["one", "two", "one"], 1):
        relay, heartbeat = open_relay(name, "worker-0")
        assert heartbeat.start_number == start
        heartbeat.publish(LOST, message=name)
        reader.carry()
        chief.refresh()
        assert chief.read("worker-0")["message"] == name
        files = {f"cluster/worker-0.{start}.json"}
        assert {one[len("jobs/x/") :] for one in cloud.names("jobs/x/cluster/worker")} == files
        assert len(list(chief.folder.glob("worker-*"))) == 1
        relay.end()
    reader.end()
    # Who empties the bucket begins anew, also on a machine that has kept its files.
    cloud.wipe()
    reader, chief = open_relay("reader", "chief-0")
    assert not chief.last_status("worker-0")
    reader.end()


def test_an_error_that_no_repetition_corrects_ends_the_job(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder)
    cloud.fail("status", status=403, method="POST", times=1000)
    stopped = threading.Event()
    keeper = Keeper(one, pushes=True, pulls=False, log=print, stop=stopped.set, secs=0.01)
    keeper.start()
    assert stopped.wait(20)
    with pytest.raises(UserError, match="no permission to write") as caught:
        keeper.end()
    assert caught.value.status == 2 and "no permission" in _health(one)["error"]
