import json
import os
import re
import shutil
import threading
import time
from pathlib import Path

import pytest

from trainer import job_layout
from trainer.config import Config
from trainer.errors import TemporaryError, UserError
from trainer.job_dir.leftovers import remove_leftovers
from trainer.storage.addresses import Address
from trainer.storage.bucket import Bucket, Conflict
from trainer.storage.claim import Claim
from trainer.storage.copies import Copies
from trainer.storage.data import Settings
from trainer.storage.keeper import Keeper
from trainer.storage.memory import MEMORY, Memory
from trainer.storage.mirror import Division, Mirror
from trainer.storage.requests import Unavailable

pytestmark = [pytest.mark.newest, pytest.mark.quick]

ADDRESS = Address("a-bucket", "jobs/x")


@pytest.fixture
def told():
    """The lines that mirrors have logged."""
    return []


@pytest.fixture
def machine(cloud, tmp_path, told):
    """machine(name) → a Mirror with a disk of its own."""

    def start(name, claims=False, **options):
        folder = tmp_path / name / "job"
        folder.mkdir(parents=True, exist_ok=True)
        bucket = Bucket("a-bucket", 5, 20, sleep=lambda secs: None)
        claim = Claim(bucket, ADDRESS) if claims else None
        memory = Memory(folder.parent / MEMORY, ADDRESS, told.append)
        return Mirror(bucket, ADDRESS, folder, Division(**options), claim=claim, memory=memory)

    return start


def _checkpoint(folder, step, kept=()):
    for suffix in ("data-00000-of-00001", "index", "meta"):
        (folder / f"model.ckpt-{step}.{suffix}").write_text(f"{step} {suffix}")
    for old in folder.glob("model.ckpt-*"):
        if int(re.search(r"-(\d+)\.", old.name).group(1)) not in (step, *kept):
            old.unlink()
    lines = [f'model_checkpoint_path: "model.ckpt-{step}"']
    lines += [f'all_model_checkpoint_paths: "model.ckpt-{one}"' for one in (*kept, step)]
    (folder / "checkpoint").write_text("\n".join(lines) + "\n")


def _write(folder, **files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def _export(folder, stamp=1700000000):
    for name in ("variables/variables.index", "saved_model.pb", "assets.extra/config.yaml"):
        _write(folder, **{f"export/best/{stamp}/{name}": "x"})
    _write(folder, **{"export/best/best.json": "{}"})


def _tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_incomplete_exports_in_the_bucket_are_removed_by_the_next_job(machine, cloud):
    for name in (
        "best/1700000000/variables/variables.index",
        "best/temp-1700000001/saved_model.pb",
        "lite/1700000002/model.tflite",
    ):
        cloud.write(f"jobs/x/export/{name}", b"x")
    young = f"jobs/x/export/best/{int(time.time())}/variables/variables.index"
    cloud.write(young, b"an evaluator on another machine stores it now")
    whole = "jobs/x/export/lite/1700000002/model.tflite"
    shared = machine("shared", claims=True, is_shared=True)
    assert shared.restore() == 1 and shared.push() == 0
    assert len(cloud.names("jobs/x/export/")) == 4, "a job that stores nothing removes nothing"
    _checkpoint(shared.folder, 10)
    assert shared.push() == 4 + 2
    assert cloud.names("jobs/x/export/") == sorted([young, whole])
    # On the same machine again, without others: the local folder is newer than the bucket.
    _checkpoint(shared.folder, 20)
    alone = machine("shared", claims=True)
    assert alone.restore() == 0
    alone.push()
    assert cloud.names("jobs/x/export/") == [whole]
    assert b"ckpt-20" in cloud.read("jobs/x/checkpoint")


def test_an_incomplete_export_that_is_removed_locally_is_removed_in_the_bucket(machine, cloud):
    one = machine("one", claims=True)
    _checkpoint(one.folder, 10)
    _export(one.folder)
    (one.folder / "export/best/1700000000/saved_model.pb").unlink()
    one.push()
    assert len(cloud.names("jobs/x/export/")) == 3
    shutil.rmtree(one.folder / "export/best/1700000000")
    _checkpoint(one.folder, 20)
    one.push()
    assert cloud.names("jobs/x/export/") == ["jobs/x/export/best/best.json"]


def test_checkpoints_in_the_bucket_that_no_state_file_names_are_removed_by_the_next_job(
    machine, cloud
):
    one = machine("one", claims=True)
    for step, kept in ((10, ()), (20, (10,)), (30, (20, 10))):
        _checkpoint(one.folder, step, kept)
    _checkpoint(one.folder, 20, (10, 30))
    one.push()
    assert len(cloud.names("jobs/x/model.ckpt-")) == 9
    # Killed jobs have left steps 10 and 30, which nothing names, and parts of step 15.
    state = 'model_checkpoint_path: "model.ckpt-20"\nall_model_checkpoint_paths: "model.ckpt-20"\n'
    cloud.write("jobs/x/checkpoint", state.encode())
    cloud.write("jobs/x/model.ckpt-15.data-00000-of-00001", b"x")
    cloud.write("jobs/x/config.yaml", b"run: {}\n")
    two = machine("two", claims=True)
    two.restore()
    assert not list(two.folder.glob("model.ckpt-15*"))
    config = Config.model_validate({"job_dir": str(two.folder)})
    remove_leftovers(config, False, print)
    assert {path.stem for path in two.folder.glob("model.ckpt-*")} == {"model.ckpt-20"}
    _checkpoint(two.folder, 40, kept=(20,))
    two.push()
    names = cloud.names("jobs/x/model.ckpt-")
    assert {job_layout.find_step(name.rpartition("/")[2]) for name in names} == {20, 40}


def _uploads(cloud):
    names = []
    for method, path in cloud.requests:
        if method == "DELETE":
            names.append("-" + path.partition("/o/jobs/x/")[2].partition("?")[0])
    return names


def test_a_job_is_stored_and_restored_on_an_empty_disk(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder, 10)
    _export(one.folder)
    text = f"job_dir: {one.folder}\n"
    _write(one.folder, **{"config.yaml": text, "eval/events.out.tfevents.1": "e"})
    assert one.push() == 10
    assert one.push() == 0
    assert cloud.read("jobs/x/config.yaml") == b"job_dir: gs://a-bucket/jobs/x\n"
    two = machine("two")
    assert two.restore() == 10
    assert (two.folder / "config.yaml").read_text() == f"job_dir: {two.folder}\n"
    mine, theirs = _tree(one.folder), _tree(two.folder)
    assert {**mine, "config.yaml": b""} == {**theirs, "config.yaml": b""}
    _checkpoint(two.folder, 20)
    assert two.push() == 7
    assert "jobs/x/model.ckpt-10.index" not in cloud.names("jobs/x/")


def test_the_checkpoint_is_stored_first_and_a_file_after_those_that_it_names(
    machine, cloud, monkeypatch
):
    one = machine("one")
    order = []
    upload, remove = Bucket.upload, Bucket.remove

    def noted_upload(self, stream, size, name, generation):
        order.append(name.partition("jobs/x/")[2])
        return upload(self, stream, size, name, generation)

    def noted_remove(self, found):
        order.append("-" + found.name.partition("jobs/x/")[2])
        return remove(self, found)

    monkeypatch.setattr(Bucket, "upload", noted_upload)
    monkeypatch.setattr(Bucket, "remove", noted_remove)
    _checkpoint(one.folder, 10)
    _export(one.folder)
    one.push()
    assert {name[:13] for name in order[:3]} == {"model.ckpt-10"} and order[3] == "checkpoint"
    assert order[-2:] == ["export/best/1700000000/saved_model.pb", "export/best/best.json"]
    order.clear()
    _checkpoint(one.folder, 20)
    one.push()
    assert order[3] == "checkpoint" and {name[:12] for name in order[4:]} == {"-model.ckpt-"}
    order.clear()
    for path in one.folder.rglob("*"):
        if path.is_file():
            path.unlink()
    _write(one.folder, **{"config.yaml": "new"})
    one.start_over()
    one.push()
    assert order[:2] == ["-checkpoint", "config.yaml"]
    assert cloud.names("jobs/x/") == ["jobs/x/config.yaml"]


def test_a_checkpoint_saved_while_exports_are_stored_does_not_wait(machine, cloud, monkeypatch):
    monkeypatch.setattr("trainer.storage.outgoing.BATCH", 2)
    one = machine("one")
    order, upload = [], Bucket.upload

    def noted_upload(self, stream, size, name, generation):
        if "export/" in name and "checkpoint-20" not in order:
            _checkpoint(one.folder, 20, kept=[10])
            order.append("checkpoint-20")
        order.append(name.partition("jobs/x/")[2])
        return upload(self, stream, size, name, generation)

    monkeypatch.setattr(Bucket, "upload", noted_upload)
    monkeypatch.setattr("trainer.storage.transfers.THREADS", 1)
    _checkpoint(one.folder, 10)
    for stamp in (1700000000, 1700000001):
        _export(one.folder, stamp)
    assert one.push() == 4 + 7 + 4
    first = order.index("checkpoint-20")
    assert order[first + 1].startswith("export/") and order[first + 2].startswith("export/")
    assert order[first + 6] == "checkpoint" and len(order) == 16


def test_the_newest_checkpoint_does_not_wait_for_older_ones(machine, cloud, monkeypatch):
    one = machine("one")
    order, upload = [], Bucket.upload

    def noted_upload(self, stream, size, name, generation):
        order.append(name.partition("jobs/x/")[2].partition(".data")[0])
        return upload(self, stream, size, name, generation)

    monkeypatch.setattr(Bucket, "upload", noted_upload)
    monkeypatch.setattr("trainer.storage.transfers.THREADS", 1)
    for step, kept in ((10, []), (20, [10]), (30, [10, 20])):
        _checkpoint(one.folder, step, kept=kept)
    _write(one.folder, **{"metrics.jsonl": "m", "config.yaml": "c"})
    one.push()
    steps = [name.partition("-")[2].partition(".")[0] or name for name in order]
    assert steps == ["config.yaml", *["30"] * 3, "checkpoint", "metrics.jsonl",
                     *["20"] * 3, *["10"] * 3, "checkpoint"]  # fmt: skip
    stored = cloud.read("jobs/x/checkpoint").decode()
    assert job_layout.read_state_steps(stored) == [30, 10, 20, 30]
    # Saved again as it is, as a job does when it resumes: nothing is sent.
    order.clear()
    _checkpoint(one.folder, 30, kept=[10, 20])
    one.push()
    assert order == [] and one.push() == 0


def test_a_stored_state_file_names_only_stored_checkpoints(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder, 20)
    # Training removed step 10 before it could be stored, and has not yet written that.
    state = "".join(f'all_model_checkpoint_paths: "model.ckpt-{step}"\n' for step in (10, 20))
    state += "".join(f"all_model_checkpoint_timestamps: {step}.5\n" for step in (10, 20))
    newest = 'model_checkpoint_path: "model.ckpt-20"\n'
    (one.folder / "checkpoint").write_text(newest + state)
    assert one.push() == 4 and one.push() == 0
    stored = cloud.read("jobs/x/checkpoint").decode()
    assert stored == newest + "".join(line + "\n" for line in state.splitlines()[1::2])
    # The newest checkpoint is incomplete: the bucket keeps the one before it, and its files.
    _checkpoint(one.folder, 30)
    (one.folder / "model.ckpt-30.data-00000-of-00001").unlink()
    _write(one.folder, **{"metrics.jsonl": "m"})
    one.push()
    assert cloud.read("jobs/x/checkpoint").decode() == stored
    assert "jobs/x/model.ckpt-20.index" in cloud.names("jobs/x/")
    assert cloud.read("jobs/x/metrics.jsonl") == b"m"
    _checkpoint(one.folder, 30)
    one.push()
    assert job_layout.read_state_steps(cloud.read("jobs/x/checkpoint").decode()) == [30, 30]
    assert "jobs/x/model.ckpt-20.index" not in cloud.names("jobs/x/")


def test_a_checkpoint_that_is_saved_again_is_stored_when_it_is_complete(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder, 10)
    one.push()
    later = os.stat(one.folder / "checkpoint").st_mtime_ns + 10**9
    (one.folder / "model.ckpt-10.index").write_text("half")
    os.utime(one.folder / "model.ckpt-10.index", ns=(later, later))
    assert one.push() == 0 and cloud.read("jobs/x/model.ckpt-10.index") == b"10 index"
    (one.folder / "model.ckpt-10.index").write_text("whole")
    os.utime(one.folder / "checkpoint", ns=(later + 10**9, later + 10**9))
    assert one.push() == 2 and cloud.read("jobs/x/model.ckpt-10.index") == b"whole"


def test_a_checkpoint_of_two_saves_is_not_named(machine, cloud):
    one = machine("one", claims=True)
    one.restore()
    _checkpoint(one.folder, 10)
    one.push()
    # It is saved again, and a program that cleans up removes a file before it can be stored.
    (one.folder / "model.ckpt-10.data-00000-of-00001").write_text("10 saved again")
    (one.folder / "model.ckpt-10.index").unlink()
    _checkpoint(one.folder, 20, kept=(10,))
    one.push()
    assert cloud.read("jobs/x/model.ckpt-10.data-00000-of-00001") == b"10 saved again"
    assert b"ckpt-10" not in cloud.read("jobs/x/checkpoint")
    # Once it is whole again, it is named.
    (one.folder / "model.ckpt-10.index").write_text("index saved again")
    _checkpoint(one.folder, 20, kept=(10,))
    one.push()
    assert b"ckpt-10" in cloud.read("jobs/x/checkpoint")


def test_a_checkpoint_beside_which_a_file_could_not_be_stored_is_named_later(
    machine, cloud, monkeypatch
):
    one = machine("one")
    _checkpoint(one.folder, 10)
    _write(one.folder, **{"config.yaml": "x"})
    upload, failed = Bucket.upload, []

    def fail(bucket, stream, size, name, generation):
        if name.endswith("config.yaml") and not failed:
            while len(cloud.names("jobs/x/model.ckpt-10")) < 3:
                time.sleep(0.01)
            # Those requests end, and their answers are noted.
            time.sleep(0.2)
            failed.append(name)
            raise Unavailable("no answer")
        return upload(bucket, stream, size, name, generation)

    monkeypatch.setattr(Bucket, "upload", fail)
    with pytest.raises(Unavailable):
        one.push()
    assert "jobs/x/checkpoint" not in cloud.names()
    one.push()
    assert b"model.ckpt-10" in cloud.read("jobs/x/checkpoint")
    one.check_stored()


def test_files_are_stored_and_fetched_several_at_once(machine, cloud, tmp_path, monkeypatch):
    one, two = machine("one", claims=True), machine("two")
    for number in range(8):
        _write(one.folder, **{f"eval/events.out.tfevents.{number}": "e"})
    upload, download = Bucket.upload, Bucket.download
    together = threading.Barrier(4, timeout=20)

    def wait(name):
        if "tfevents" in name:
            assert "jobs/x/writer.json" in cloud.names("jobs/x/")
            together.wait()

    def waiting_upload(self, stream, size, name, generation):
        wait(name)
        return upload(self, stream, size, name, generation)

    def waiting_download(self, found, path):
        wait(found.name)
        return download(self, found, path)

    monkeypatch.setattr(Bucket, "upload", waiting_upload)
    monkeypatch.setattr(Bucket, "download", waiting_download)
    assert one.push() == 8
    assert two.restore() == 8
    copies = Copies(Settings(patience_secs=5), tmp_path / "copies")
    assert len(_tree(Path(copies.fetch("gs://a-bucket/jobs/x", "job_dir")))) == 9


def test_a_failed_transfer_stops_the_others(machine, cloud):
    one = machine("one")
    one.bucket._patience = 0
    _checkpoint(one.folder, 10)
    _export(one.folder)
    cloud.fail("status", method="POST", skip=1, times=100)
    with pytest.raises(Unavailable):
        one.push()
    # One file of the checkpoint is stored, and nothing that comes after the checkpoint.
    (name,) = cloud.names("jobs/x/")
    assert "model.ckpt-10" in name
    cloud.faults.clear()
    one.push()
    assert len(cloud.names("jobs/x/")) == 8


def test_a_job_that_cannot_be_restored_does_not_begin_anew(machine, cloud, monkeypatch):
    one, two = machine("one"), machine("two")
    _checkpoint(one.folder, 10)
    one.push()
    download = Bucket.download

    def overtaken_download(self, found, path):
        if found.name.endswith("/checkpoint"):
            cloud.write(found.name, b"changed")
        return download(self, found, path)

    monkeypatch.setattr(Bucket, "download", overtaken_download)
    with pytest.raises(Unavailable, match="is changed again and again while it is fetched"):
        two.restore()


def test_unfinished_files_are_not_stored(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder, 10)
    making = {
        "model.ckpt-20.index": "not named yet",
        "model.ckpt-20_temp/part-0": "x",
        "model.ckpt-20.data-00000-of-00001.tempstate12": "x",
        "checkpoint.tmp12ab": "x",
        "export/final/temp-1700000000/saved_model.pb": "x",
        ".config.yaml.12.tmp": "x",
        "cluster/chief-0.1.json": "{}",
    }
    _write(one.folder, **making)
    one.push()
    assert len(cloud.names("jobs/x/")) == 4
    # An export without its last file is not fetched.
    cloud.write("jobs/x/export/final/1800000000/variables/variables.index", b"half")
    two = machine("two")
    two.restore()
    assert not (two.folder / "export").exists()


def test_a_newer_disk_is_kept_and_an_older_one_is_replaced(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder, 10)
    one.push()
    _checkpoint(one.folder, 20)
    again = machine("one")
    assert again.restore() == 0
    assert job_layout.read_state_steps((again.folder / "checkpoint").read_text())[0] == 20
    again.push()
    # Stored, and killed before it could be noted.
    memory = one.folder.parent / "mirror.json"
    kept = json.loads(memory.read_text())
    _checkpoint(one.folder, 30)
    again.push()
    _checkpoint(one.folder, 40)
    memory.write_text(json.dumps(kept))
    # What it noted is of the past, what the bucket has is not here: the bucket is right.
    third = machine("one")
    third.restore()
    assert job_layout.read_state_steps((third.folder / "checkpoint").read_text())[0] == 30
    # Another machine has gone on meanwhile.
    other = machine("other")
    other.restore()
    _checkpoint(other.folder, 50)
    other.push()
    _checkpoint(one.folder, 45)
    back = machine("one")
    back.restore()
    assert job_layout.read_state_steps((back.folder / "checkpoint").read_text())[0] == 50
    assert not (back.folder / "model.ckpt-45.index").exists()


def _empty(folder, keeps=lambda path: False):
    for path in folder.rglob("*"):
        if path.is_file() and not keeps(path):
            path.unlink()


def test_an_emptied_folder_removes_nothing_and_is_fetched_again(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder, 10)
    _export(one.folder)
    _write(one.folder, **{"config.yaml": "c", "events.out.tfevents.1": "e"})
    one.push()
    stored = cloud.names("jobs/x/")
    # While the job runs.
    _empty(one.folder)
    _write(one.folder, **{"metrics.jsonl": "m"})
    assert one.push() == 1
    assert cloud.names("jobs/x/") == sorted([*stored, "jobs/x/metrics.jsonl"])
    # While no job runs.
    _empty(one.folder)
    again = machine("one")
    again.restore()
    assert sorted(f"jobs/x/{name}" for name in _tree(again.folder)) == cloud.names("jobs/x/")
    again.push()
    assert cloud.names("jobs/x/") == sorted([*stored, "jobs/x/metrics.jsonl"])


def test_files_that_are_removed_while_the_job_is_fetched_are_fetched_again(
    machine, cloud, monkeypatch
):
    one = machine("one")
    _checkpoint(one.folder, 10)
    _write(one.folder, **{"config.yaml": "c", "metrics.jsonl": "m"})
    one.push()
    two = machine("two")
    download, counts = Bucket.download, []

    def download_and_empty(bucket, found, path):
        download(bucket, found, path)
        counts.append(found.name)
        if len(counts) == len(cloud.names("jobs/x/")):
            _empty(two.folder, keeps=lambda path: path.name == "metrics.jsonl")

    monkeypatch.setattr(Bucket, "download", download_and_empty)
    two.restore()
    assert _tree(two.folder) == _tree(one.folder)


def test_a_job_is_not_fetched_where_files_are_removed_all_the_time(machine, cloud, monkeypatch):
    one = machine("one")
    _checkpoint(one.folder, 10)
    one.push()
    two = machine("two")
    download = Bucket.download

    def download_and_empty(bucket, found, path):
        download(bucket, found, path)
        path.with_name("model.ckpt-10.index").unlink(missing_ok=True)

    monkeypatch.setattr(Bucket, "download", download_and_empty)
    with pytest.raises(Unavailable, match="another program removes files .* --storage.cache_dir"):
        two.restore()


def test_local_checkpoints_without_files_do_not_end_a_job_of_which_none_is_stored(
    machine, cloud, told
):
    one = machine("one")
    _write(one.folder, **{"config.yaml": "c"})
    one.push()
    _checkpoint(one.folder, 10)
    _checkpoint(one.folder, 20, kept=[10])
    _empty(one.folder, keeps=lambda path: path.suffix != ".index")
    again = machine("one")
    again.restore()
    assert sorted(_tree(again.folder)) == ["config.yaml"]
    assert len(told) == 1 and "lack files" in told[0] and str(ADDRESS) in told[0]


def test_a_graph_is_no_sign_of_a_complete_checkpoint_before_a_state_file_is_stored(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder, 0)
    one.push()
    one.bucket.remove(one.bucket.find("jobs/x/checkpoint"))
    two = machine("two")
    two.restore()
    assert sorted(_tree(two.folder)) == ["model.ckpt-0.data-00000-of-00001", "model.ckpt-0.index"]


def test_no_checkpoint_is_removed_that_a_lost_request_may_have_named(machine, cloud, monkeypatch):
    one = machine("one", claims=True)
    one.restore()
    _checkpoint(one.folder, 10)
    one.push()
    _checkpoint(one.folder, 20, kept=[10])
    upload = Bucket.upload

    def upload_and_lose(bucket, stream, size, name, generation):
        found = upload(bucket, stream, size, name, generation)
        if name.endswith("/checkpoint"):
            raise Unavailable("the answer is lost")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(Bucket, "upload", upload_and_lose)
        with pytest.raises(Unavailable):
            one.push()
    # The state file in the bucket names step 20. Then a program that cleans up removes all files.
    _empty(one.folder)
    one.push()
    assert [name for name in cloud.names("jobs/x/") if "ckpt-20.index" in name]


@pytest.mark.parametrize(
    "name, is_new",
    [
        ("model.ckpt-10.index", True),
        ("export/best/1700000000/saved_model.pb", True),
        ("events.out.tfevents.1", True),
        ("export/best/best.json", False),
    ],
)
def test_what_a_loss_of_power_has_cut_is_fetched_again(machine, cloud, name, is_new):
    one = machine("one")
    _checkpoint(one.folder, 10)
    _export(one.folder)
    _write(one.folder, **{"events.out.tfevents.1": "e", "export/best/best.json": "{}"})
    one.push()
    whole, status = (one.folder / name).read_bytes(), (one.folder / name).stat()
    os.truncate(one.folder / name, len(whole) // 2)
    os.utime(one.folder / name, ns=(status.st_mtime_ns, status.st_mtime_ns + is_new))
    again = machine("one")
    assert again.restore() == 1
    assert (again.folder / name).read_bytes() == whole


@pytest.mark.parametrize("content", ["{", '{"address": "gs://a-bucket/jobs/x", "objects": 1}'])
def test_a_damaged_record_of_stored_objects_is_told(machine, cloud, told, content):
    one = machine("one")
    _checkpoint(one.folder, 10)
    one.push()
    (one.folder.parent / MEMORY).write_text(content)
    assert machine("one").restore() == 4
    assert len(told) == 1 and "is damaged" in told[0] and "fetched from there again" in told[0]


def test_only_missing_files_are_fetched_into_a_newer_folder(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder, 10)
    _write(one.folder, **{"config.yaml": "c", "events.out.tfevents.1": "e"})
    one.push()
    _checkpoint(one.folder, 20, kept=[10])
    # Old files are cleaned away, new ones are not.
    for name in ("config.yaml", "events.out.tfevents.1", "model.ckpt-10.index"):
        (one.folder / name).unlink()
    again = machine("one")
    assert again.restore() == 3
    assert job_layout.read_state_steps((again.folder / "checkpoint").read_text())[0] == 20
    assert (again.folder / "model.ckpt-10.index").read_text() == "10 index"
    # What the job itself removed is not fetched again, but removed from the bucket.
    _checkpoint(again.folder, 30)
    third = machine("one")
    assert third.restore() == 0
    third.push()
    assert not [name for name in cloud.names("jobs/x/") if "ckpt-10" in name]


def test_an_export_is_removed_only_for_a_newer_one(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder, 10)
    for stamp in (1700000000, 1700000001):
        _export(one.folder, stamp)
    one.push()
    folder = one.folder / "export/best"
    shutil.rmtree(folder / "1700000001")
    one.push()
    assert "jobs/x/export/best/1700000001/saved_model.pb" in cloud.names("jobs/x/")
    shutil.rmtree(folder / "1700000000")
    _export(one.folder, 1700000002)
    one.push()
    left = {name.split("/")[4] for name in cloud.names("jobs/x/export/best/1")}
    assert left == {"1700000002"}


def test_an_unrecorded_upload_is_not_taken_for_another_writer(machine, cloud):
    one = machine("one")
    _checkpoint(one.folder, 10)
    one.push()
    memory = one.folder.parent / "mirror.json"
    kept = memory.read_text()
    _checkpoint(one.folder, 20, kept=[10])
    one.push()
    memory.write_text(kept)
    _write(one.folder, **{"metrics.jsonl": "more"})
    again = machine("one")
    assert again.restore() == 0
    assert again.push() == 1
    assert cloud.read("jobs/x/metrics.jsonl") == b"more"


def test_the_second_of_two_writers_is_stopped(machine, cloud):
    one, two = machine("one"), machine("two")
    one.restore()
    two.restore()
    _checkpoint(one.folder, 10)
    _checkpoint(two.folder, 10)
    (two.folder / "model.ckpt-10.index").write_text("another")
    one.push()
    with pytest.raises(Conflict):
        two.push()
    assert cloud.read("jobs/x/model.ckpt-10.index") == b"10 index"
    stopped = []
    keeper = Keeper(
        two, pushes=True, pulls=False, log=print, stop=lambda: stopped.append(1), secs=0.01
    )
    keeper.start()
    keeper._thread.join(10)
    assert stopped and isinstance(keeper.error, Conflict)
    with pytest.raises(UserError, match=f"what is not stored there is in {two.folder}"):
        keeper.end()


def test_of_two_claims_the_last_to_store_wins(machine, cloud):
    one, two = machine("one", claims=True), machine("two", claims=True)
    one.restore()
    two.restore()
    _write(one.folder, **{"metrics.jsonl": "one"})
    one.push()
    # Both began at once: who stored first has it, and the other has stored nothing.
    _write(two.folder, **{"config.yaml": "two"})
    with pytest.raises(Conflict, match="another writer has begun to work there"):
        two.push()
    assert cloud.names("jobs/x/") == ["jobs/x/metrics.jsonl", "jobs/x/writer.json"]
    # One is begun again elsewhere. What it stores late, two's claim lets be replaced and removed.
    two = machine("elsewhere", claims=True)
    assert two.restore() == 1 and not (two.folder / "writer.json").exists()
    _write(one.folder, **{"metrics.jsonl": "one, late", "events.out.tfevents.1": "one"})
    assert one.push() == 2
    _write(two.folder, **{"metrics.jsonl": "two", "events.out.tfevents.1": "two"})
    assert two.push() == 2
    _write(one.folder, **{"metrics.jsonl": "one, too late"})
    with pytest.raises(Conflict, match="gs://a-bucket/jobs/x: another writer has begun"):
        one.push()
    assert cloud.read("jobs/x/metrics.jsonl") == b"two"


def test_a_finished_job_is_not_overwritten_by_an_earlier_one(machine, cloud):
    early, paused = machine("early", claims=True), machine("paused", claims=True)
    early.restore()
    paused.restore()
    _write(early.folder, **{"metrics.jsonl": "early"})
    early.push()
    later = machine("later", claims=True)
    later.restore()
    _write(later.folder, **{"metrics.jsonl": "later"})
    Keeper(later, pushes=True, pulls=False, log=print, stop=None).end()
    # Both wake up after the later job has finished.
    for old in (early, paused):
        _write(old.folder, **{"metrics.jsonl": "too late"})
        with pytest.raises(Conflict, match="another writer has begun"):
            old.push()
    assert cloud.read("jobs/x/metrics.jsonl") == b"later"
    # A job that starts now continues.
    again = machine("again", claims=True)
    again.restore()
    _write(again.folder, **{"metrics.jsonl": "again"})
    assert again.push() == 1


@pytest.mark.parametrize("act", ["store", "remove"])
def test_a_failed_request_is_not_repeated_when_a_later_job_has_claimed_the_place(
    machine, cloud, monkeypatch, act
):
    """Before the later job gives the objects new generations, the request would be carried out."""
    early = machine("early", claims=True)
    early.restore()
    _checkpoint(early.folder, 10)
    early.push()
    state = cloud.read("jobs/x/checkpoint")
    later = Claim(Bucket("a-bucket"), ADDRESS)
    later.note_owner()
    _checkpoint(early.folder, 20, kept=(10,))
    if act == "remove":
        early.start_over()
        for path in early.folder.iterdir():
            path.unlink()
    fault = cloud.fail("status", method={"store": "POST", "remove": "DELETE"}[act], path="")
    monkeypatch.setattr(early.bucket._requests, "_sleep", lambda secs: later.enforce())
    with pytest.raises(Conflict, match="another writer has begun"):
        early.push()
    assert fault.met == 1 and cloud.read("jobs/x/checkpoint") == state
    # Files are stored in parallel; that of the failed request is missing.
    wanted = {path.name for path in early.folder.glob("model.ckpt-20.*")} or {"model.ckpt-20.index"}
    assert not wanted <= {name.rpartition("/")[2] for name in cloud.names()}


def test_an_object_of_a_later_job_is_not_found_and_overwritten(machine, cloud, monkeypatch):
    """The later job claims the place and stores the object while this one looks it up."""
    early, name = machine("early", claims=True), "jobs/x/metrics.jsonl"
    early.restore()
    cloud.write(name, b"of a job before")
    _write(early.folder, **{"metrics.jsonl": "too late"})
    later, find = Claim(Bucket("a-bucket"), ADDRESS), Bucket.find

    def find_slowly(bucket, wanted):
        # The second time: the first request of the upload has looked for the cause of its refusal.
        asked.append(wanted)
        if asked.count(name) == 2 and wanted == name:
            later.note_owner()
            later.enforce()
            cloud.write(name, b"of the later job")
        return find(bucket, wanted)

    asked = []
    monkeypatch.setattr(Bucket, "find", find_slowly)
    with pytest.raises(Conflict, match="another writer has begun"):
        early.push()
    assert cloud.read(name) == b"of the later job"


def test_of_two_takeovers_at_once_the_later_holds(machine, cloud, monkeypatch):
    """The content of an object shows neither job that the other has given it its generation."""
    first = machine("first", claims=True)
    first.restore()
    _checkpoint(first.folder, 10)
    first.push()
    early, later = machine("early", claims=True), machine("later", claims=True)
    early.restore()
    later.restore()
    _checkpoint(early.folder, 10)
    (early.folder / "model.ckpt-10.index").write_text("10 of early")
    _write(later.folder, **{"metrics.jsonl": "later"})
    renew = Bucket.renew

    def renew_late(bucket, found):
        if bucket is early.bucket and not done:
            done.append(found)
            # It has started after the early job had claimed the place.
            later.claim.note_owner()
            later.push()
        return renew(bucket, found)

    done = []
    monkeypatch.setattr(Bucket, "renew", renew_late)
    with pytest.raises(Conflict, match="another writer has begun"):
        early.push()
    assert done and cloud.read("jobs/x/model.ckpt-10.index") == b"10 index"


def test_a_takeover_that_an_error_ended_begins_again(machine, cloud, monkeypatch):
    one, two = machine("one", claims=True), machine("two", claims=True)
    one.restore()
    _checkpoint(one.folder, 10)
    one.push()
    two.restore()
    _checkpoint(one.folder, 20, kept=(10,))
    one.push()
    _checkpoint(two.folder, 20, kept=(10,))
    (two.folder / "model.ckpt-20.index").write_text("20 of two")
    list_folder, upload, named = Bucket.list_folder, Bucket.upload, []

    def fail(self, address):
        monkeypatch.setattr(Bucket, "list_folder", list_folder)
        raise Unavailable("no answer")

    def note_state(self, stream, size, name, generation):
        if name.endswith("model.ckpt-20.index"):
            named.append("jobs/x/checkpoint" in cloud.names("jobs/x/"))
        return upload(self, stream, size, name, generation)

    monkeypatch.setattr(Bucket, "list_folder", fail)
    with pytest.raises(Unavailable):
        two.push()
    monkeypatch.setattr(Bucket, "upload", note_state)
    two.push()
    # The state file of the other job named the checkpoint that is replaced.
    assert named and not named[0] and cloud.read("jobs/x/model.ckpt-20.index") == b"20 of two"
    assert b"model.ckpt-20" in cloud.read("jobs/x/checkpoint")


def test_a_job_whose_checkpoints_are_cleaned_away_before_training_does_not_begin_anew(
    machine, cloud
):
    one = machine("one", claims=True)
    one.restore()
    one.check_restored()
    _checkpoint(one.folder, 10)
    one.push()
    again = machine("one", claims=True)
    again.restore()
    again.check_restored()
    (again.folder / "checkpoint").unlink()
    with pytest.raises(TemporaryError, match="another program has removed files since gs://"):
        again.check_restored()
    again.start_over()
    again.check_restored()


def test_a_refused_job_does_not_claim_the_place(machine, cloud):
    one, two = machine("one", claims=True), machine("two", claims=True)
    one.restore()
    _write(one.folder, **{"metrics.jsonl": "one"})
    one.push()
    two.restore()
    keeper = Keeper(two, pushes=True, pulls=False, log=print, stop=None)
    keeper.end()
    _write(one.folder, **{"metrics.jsonl": "one, still"})
    assert one.push() == 1


def test_an_outage_of_the_service_loses_nothing(machine, cloud):
    one = machine("one")
    said = []
    one.bucket._patience = 0.2
    _checkpoint(one.folder, 10)
    fault = cloud.fail("status", times=50)
    keeper = Keeper(one, pushes=True, pulls=False, log=said.append, stop=None, secs=0.05)
    keeper.start()
    deadline = 100
    while "jobs/x/checkpoint" not in cloud.names("jobs/x/") and deadline:
        deadline -= 1
        keeper._ended.wait(0.2)
    keeper.end()
    assert fault.met == 50 and len(said) == 2 and "no answer from Cloud Storage" in said[0]
    assert said[1].startswith("storage: files are stored and fetched again, after ")
    assert len(cloud.names("jobs/x/")) == 4


def test_an_evaluator_fetches_checkpoints_and_stores_exports(machine, cloud):
    chief = machine("chief", theirs=job_layout.is_evaluated, is_shared=True)
    evaluator = machine("evaluator", mine=job_layout.is_evaluated, is_shared=True)
    _checkpoint(chief.folder, 10)
    _write(chief.folder, **{"events.out.tfevents.1": "e", "metrics.jsonl": "{}"})
    chief.push()
    assert evaluator.pull() == 4
    assert not (evaluator.folder / "events.out.tfevents.1").exists()
    _export(evaluator.folder)
    _write(evaluator.folder, **{"metrics.jsonl": "not its own to store"})
    evaluator.push()
    assert cloud.read("jobs/x/metrics.jsonl") == b"{}"
    assert chief.pull() == 4 and (chief.folder / "export/best/best.json").exists()
    _checkpoint(chief.folder, 20)
    chief.push()
    evaluator.pull()
    assert sorted(path.name for path in evaluator.folder.glob("*.index")) == ["model.ckpt-20.index"]
    # Both evaluate once, the one in the other's place: the later of them stays.
    (evaluator.folder / "export/best/best.json").write_text('{"by": "evaluator"}')
    (chief.folder / "export/best/best.json").write_text('{"by": "the chief"}')
    evaluator.push()
    chief.push()
    assert b"the chief" in cloud.read("jobs/x/export/best/best.json")


def test_a_file_replaced_during_a_push_is_stored_completely(machine, cloud, monkeypatch):
    one = machine("one")
    _checkpoint(one.folder, 10)
    _write(one.folder, **{"tuning.json": "a long text"})
    upload = Bucket.upload

    def slow_upload(self, stream, size, name, generation):
        if name.endswith("10.index"):
            _write(one.folder, **{"tuning.json": "short"})
        return upload(self, stream, size, name, generation)

    monkeypatch.setattr(Bucket, "upload", slow_upload)
    assert one.push() == 5 and one.push() == 0
    assert cloud.read("jobs/x/tuning.json") == b"short"


def test_checkpoints_removed_faster_than_stored_are_stored(machine, cloud, monkeypatch):
    one = machine("one")
    _checkpoint(one.folder, 10)
    step, upload, saving = 10, Bucket.upload, threading.Lock()

    def slow_upload(self, stream, size, name, generation):
        nonlocal step
        with saving:
            step += 10
            _checkpoint(one.folder, step)
        return upload(self, stream, size, name, generation)

    monkeypatch.setattr(Bucket, "upload", slow_upload)
    for _ in range(3):
        newest = step
        assert one.push() > 0
        assert f"ckpt-{newest}" in cloud.read("jobs/x/checkpoint").decode()
        for suffix in ("data-00000-of-00001", "index", "meta"):
            content = cloud.read(f"jobs/x/model.ckpt-{newest}.{suffix}")
            assert content.decode() == f"{newest} {suffix}"


def test_a_file_removed_during_a_push_is_skipped(machine, cloud, monkeypatch):
    one = machine("one")
    _checkpoint(one.folder, 10)
    _write(one.folder, **{"tuning.json": "{}"})
    upload = Bucket.upload

    def slow_upload(self, stream, size, name, generation):
        (one.folder / "tuning.json").unlink(missing_ok=True)
        return upload(self, stream, size, name, generation)

    monkeypatch.setattr(Bucket, "upload", slow_upload)
    one.push()
    assert cloud.names("jobs/x/") == [
        "jobs/x/checkpoint",
        *(f"jobs/x/model.ckpt-10.{end}" for end in ("data-00000-of-00001", "index", "meta")),
    ]
    assert os.stat(one.folder / "checkpoint").st_size == len(cloud.read("jobs/x/checkpoint"))


def test_the_newest_checkpoints_are_opened_first(machine, cloud, monkeypatch):
    """No more files are open than a process may have; the newest checkpoint is whole still."""
    monkeypatch.setattr("trainer.storage.outgoing.MOST_OPEN", 3)
    names = ["model.ckpt-9.index", "checkpoint", "model.ckpt-10.index", "model.ckpt-10.meta"]
    assert job_layout.newest_checkpoints(names) == [names[2], names[3], names[0]]
    one = machine("one")
    _checkpoint(one.folder, 9)
    _checkpoint(one.folder, 10, kept=[9])
    upload = Bucket.upload

    def slow_upload(self, stream, size, name, generation):
        if "ckpt-10" in name:
            for path in one.folder.glob("model.ckpt-10.*"):
                path.unlink(missing_ok=True)
        return upload(self, stream, size, name, generation)

    monkeypatch.setattr(Bucket, "upload", slow_upload)
    # The state file is stored a second time, when both checkpoints are there.
    assert one.push() == 8
    assert cloud.read("jobs/x/model.ckpt-10.index") == b"10 index"
    assert b"ckpt-9" in cloud.read("jobs/x/checkpoint")


@pytest.mark.parametrize(
    "name, fault",
    [
        ("/abs/path", "names a file elsewhere"),
        ("export/./x", "names a file elsewhere"),
        ("config.yaml/part", "has the name of another object"),
        ("a\x1b[2Jb", "cannot be printed"),
        ("n" * 300, "more than 200 bytes"),
        ("/".join(["n" * 199] * 25), "more than 1,024 bytes"),
    ],
)
def test_object_names_that_no_file_can_have_are_refused(machine, cloud, tmp_path, name, fault):
    cloud.write("jobs/x/config.yaml", b"c")
    cloud.write(f"jobs/x/{name}", b"outside")
    one = machine("one")
    with pytest.raises(UserError, match=fault) as caught:
        one.restore()
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)
    copies = Copies(Settings(patience_secs=5), tmp_path / "copies")
    with pytest.raises(UserError, match=fault):
        copies.fetch("gs://a-bucket/jobs/x", "job_dir")
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_names_with_spaces_of_all_kinds_are_stored_and_fetched(machine, cloud):
    one, two = machine("one"), machine("two")
    names = {"a b.txt", "no\u00a0break", "narrow\u202fno-break", "wide\u3000space"}
    _write(one.folder, **dict.fromkeys(names, "x"))
    assert one.push() == 4 and two.restore() == 4
    assert set(_tree(two.folder)) == names


def test_an_unexpected_error_does_not_end_the_thread(machine, cloud, monkeypatch):
    one = machine("one")
    said, errors = [], [OSError(28, "No space left on device"), ValueError("odd")]
    push = Mirror.push

    def fail_first(mirror):
        if errors:
            raise errors.pop()
        return push(mirror)

    monkeypatch.setattr(Mirror, "push", fail_first)
    _checkpoint(one.folder, 10)
    keeper = Keeper(one, pushes=True, pulls=False, log=said.append, stop=None, secs=0.01)
    keeper.start()
    for _ in range(1000):
        if "jobs/x/checkpoint" in cloud.names("jobs/x/"):
            break
        keeper._ended.wait(0.01)
    keeper.end()
    assert "ValueError: odd; the job goes on, and storing is tried again" in said[0]
    assert len(said) == 2 and "again, after" in said[1]
    assert len(cloud.names("jobs/x/")) == 4
    errors.append(ValueError("odd"))
    failing = Keeper(one, pushes=True, pulls=False, log=said.append, stop=None)
    with pytest.raises(UserError, match="what is not stored there is in"):
        failing.end()
