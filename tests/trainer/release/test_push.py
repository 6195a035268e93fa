"""Versions appear whole, whoever is killed or stopped while pushing."""

import importlib.util
import json
import os
import random
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from trainer import storage
from trainer.errors import UserError
from trainer.export.fingerprint import fingerprint_export
from trainer.release import push_command
from trainer.release.pushing import Deployment, Request
from trainer.release.state import Entry

_spec = importlib.util.spec_from_file_location("places", Path(__file__).with_name("places.py"))
places = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(places)
FILES, read_state = places.FILES, places.read_state

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def make_export(folder, name):
    """An export whose files all say its name."""
    for inner in FILES:
        path = folder / name / inner
        path.parent.mkdir(parents=True, exist_ok=True)
        text = f"{inner} of {name}"
        if inner == storage.GRAPH:
            # A graph with a field of this text.
            text = f"\x12{chr(len(text) + 2)}\x1a{chr(len(text))}{text}"
        path.write_text(text)
    return folder / name


@pytest.fixture(params=["folder", "bucket"])
def place(request, tmp_path):
    """The two kinds of places."""
    if request.param == "folder":
        return places.Folder(tmp_path / "served")
    return places.ServedBucket(request.getfixturevalue("cloud"))


@pytest.fixture(params=["folder", "bucket"])
def stepped(request, tmp_path, monkeypatch):
    """The two kinds of places, at which a process can be killed or stopped at any step."""
    if request.param == "folder":
        return places.Folder(tmp_path / "served")
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.storage import Client

    bucket = places.MemoryBucket()
    client = Client("p", AnonymousCredentials(), bucket)
    monkeypatch.setattr("trainer.storage.bucket.make_client", lambda: client)
    # One after the other, so that the steps have an order.
    monkeypatch.setattr("trainer.storage.transfers.THREADS", 1)
    return bucket


def push(place, export, **options):
    """Pushes an export; returns its version."""
    fingerprint = f"of {export.name}"
    entry = Entry(export=str(export), fingerprint=fingerprint, verdict="blessed", pushed="now")
    return Deployment(place.place).push(Request(export, entry, **options))


def check_readers(place):
    """A reader sees whole versions only; returns their names by number."""
    numbers, files, seen = place.list_numbers(), place.read(), {}
    for number in numbers:
        mine = {name: text for name, text in files.items() if name.startswith(f"{number}/")}
        assert set(mine) == {f"{number}/{inner}" for inner in FILES}, (number, sorted(files))
        (name,) = {text.rpartition(" of ")[2] for text in mine.values()}
        seen[number] = name
    return seen


def check_settled(place):
    """Nothing is left behind, and the state, the versions and models.config agree."""
    seen, files = check_readers(place), place.read()
    state = read_state(place)
    assert {int(number) for number in state["versions"]} == set(seen)
    assert state["pending"] is None and state["unfinished"] == "" and state["removing"] == []
    assert set(state["labels"].values()) <= set(seen)
    for number, entry in state["versions"].items():
        assert entry["export"].endswith(seen[int(number)])
    allowed = {"push.json", "models.config", ".push.lock"}
    allowed |= {"models-stable.config", "models-canary.config"}
    assert {name for name in files if name.split("/")[0] not in state["versions"]} <= allowed
    released = Deployment(place.place).read()
    assert files["models.config"] == released.render()
    for label in ("stable", "canary"):
        assert files[f"models-{label}.config"] == released.render_label(label)
    return seen, state


def start_anew(place, exports):
    """Versions 1 to 3, of which a push with keep=1 removes two; returns the content."""
    for number in (1, 2, 3):
        assert push(place, make_export(exports, f"base{number}")) == number
    return place.read()


@pytest.mark.newest
def test_a_push_that_is_killed_at_any_step_is_repaired_by_the_next(stepped, tmp_path):
    content = start_anew(stepped, tmp_path)
    killed, following = make_export(tmp_path, "killed"), make_export(tmp_path, "following")
    fates = set()
    for step in range(500):
        stepped.write(content)
        was_killed = stepped.kill_at(step, lambda: push(stepped, killed, keep=1))
        is_complete = "killed" in check_readers(stepped).values()
        fates.add(is_complete)
        if not was_killed:
            break
        version = push(stepped, following)
        seen, state = check_settled(stepped)
        assert version == max(seen) and seen[version] == "following"
        assert state["labels"] == {"stable": version}
        # Where the killed push was complete, it was recorded, and is what a rollback restores.
        assert state["stable_before"][-1] == (4 if is_complete else 3)
    assert step > 10 and fates == {False, True}
    assert check_settled(stepped)[0] == {3: "base3", 4: "killed"}


@pytest.mark.newest
@pytest.mark.parametrize("label", ["stable", "canary", ""])
def test_a_push_that_is_killed_and_given_again_adds_one_version(stepped, tmp_path, label):
    content, export = start_anew(stepped, tmp_path), make_export(tmp_path, "again")

    def give():
        return push(stepped, export, label=label, keep=2)

    for step in range(500):
        stepped.write(content)
        was_killed = stepped.kill_at(step, give)
        if not was_killed:
            break
        state = read_state(stepped)
        if "again" in check_readers(stepped).values() and not (
            state["pending"] or state["unfinished"]
        ):
            # All is done but for the removal of a file for the last write.
            check_settled(stepped)
            continue
        version = give()
        seen, state = check_settled(stepped)
        assert list(seen.values()).count("again") == 1 and seen[version] == "again"
        assert state["labels"] == {"stable": 3, **({label: version} if label else {})}
        assert len(seen) == (2 if label == "stable" else 3)
    assert step > 10
    # After a push that ended, too.
    assert give() == 4
    assert list(check_settled(stepped)[0].values()).count("again") == 1


@pytest.mark.quick
@pytest.mark.newest
def test_a_push_that_is_given_again_keeps_the_version_to_roll_back_to(stepped, tmp_path):
    good, bad = make_export(tmp_path, "good"), make_export(tmp_path, "bad")
    assert [push(stepped, export) for export in (good, bad, bad)] == [1, 2, 2]
    # Options of the second command count.
    assert push(stepped, bad, name="shop", keep=1) == 2
    seen, state = check_settled(stepped)
    assert seen == {1: "good", 2: "bad"} and state["name"] == "shop"
    assert Deployment(stepped.place).roll_back() == "rollback from version 2 to 1"
    # The label is elsewhere now, so the export is pushed again.
    assert push(stepped, bad) == 3


@pytest.mark.long
@pytest.mark.quick
@pytest.mark.newest
def test_a_push_that_is_given_again_ends_another_one(stepped, tmp_path):
    export, other = make_export(tmp_path, "export"), make_export(tmp_path, "other")
    push(stepped, export)
    content, fates = stepped.read(), set()
    for step in range(100):
        stepped.write(content)
        if not stepped.kill_at(step, lambda: push(stepped, other)):
            break
        was_complete = "other" in check_readers(stepped).values()
        fates.add(was_complete)
        assert push(stepped, export) == (3 if was_complete else 1)
        state = check_settled(stepped)[1]
        assert state["labels"] == {"stable": 3 if was_complete else 1}
    assert fates == {False, True}


@pytest.mark.quick
@pytest.mark.newest
def test_a_rollback_passes_over_versions_with_the_same_content(stepped, tmp_path):
    for name in ("good", "bad"):
        push(stepped, make_export(tmp_path, name))
    copy = make_export(tmp_path / "elsewhere", "bad")
    push(stepped, copy, label="canary")
    Deployment(stepped.place).promote()
    config = stepped.read()["models.config"]
    assert [line.split()[1] for line in config.splitlines() if "versions:" in line] == list("13")
    assert Deployment(stepped.place).roll_back() == "rollback from version 3 to 1"
    with pytest.raises(UserError, match="no earlier stable version is left"):
        Deployment(stepped.place).roll_back()


@pytest.mark.quick
@pytest.mark.newest
def test_a_rollback_passes_over_versions_that_others_removed(stepped, tmp_path):
    for name in "abc":
        push(stepped, make_export(tmp_path, name))
    files = stepped.read().items()
    stepped.write({name: text for name, text in files if not name.startswith("2/")})
    assert Deployment(stepped.place).roll_back() == "rollback from version 3 to 1"


@pytest.mark.newest
def test_thirty_kills_at_random_moments(place, tmp_path):
    export, rng = make_export(tmp_path, "killed"), random.Random(7)
    push(place, export)
    started = time.monotonic()
    push(place, make_export(tmp_path, "timed"))
    secs = time.monotonic() - started
    interrupted = 0
    for number in range(30):
        export = make_export(tmp_path, f"killed{number}")
        process = os.fork()
        if not process:
            try:
                push(place, export, keep=2)
            finally:
                os._exit(0)
        time.sleep(rng.uniform(0, 1.5 * secs))
        os.kill(process, signal.SIGKILL)
        status = os.waitpid(process, 0)[1]
        interrupted += os.WIFSIGNALED(status)
        # Whole versions, and the one that models.config names is there.
        seen = check_readers(place)
        assert Deployment(place.place).read().labels["stable"] in seen
    assert interrupted >= 10
    version = push(place, make_export(tmp_path, "last"), keep=1)
    seen, state = check_settled(place)
    assert seen[version] == "last" and state["labels"] == {"stable": version}


@pytest.mark.newest
def test_a_push_that_is_overtaken_at_any_step_wins_or_says_so(stepped, tmp_path):
    content = start_anew(stepped, tmp_path)
    slow, fast = make_export(tmp_path, "slow"), make_export(tmp_path, "fast")
    outcomes = set()
    for step in range(500):
        stepped.write(content)
        versions = []

        def meanwhile(versions=versions):
            versions.append(push(stepped, fast))

        was_reached, status = stepped.stop_at(step, lambda: push(stepped, slow), meanwhile)
        seen = check_readers(stepped)
        assert status == (0 if "slow" in seen.values() else 75)
        if not was_reached:
            break
        for version in versions:
            assert seen[version] == "fast" and str(version) in read_state(stepped)["versions"]
            outcomes.add(status)
    assert step > 10 and outcomes == {0, 75}
    push(stepped, fast)
    check_settled(stepped)


@pytest.mark.newest
def test_a_rollback_that_is_killed_is_completed_by_the_next_one(stepped, tmp_path):
    content = start_anew(stepped, tmp_path)
    roll_back = Deployment(stepped.place).roll_back
    for step in range(100):
        stepped.write(content)
        if not stepped.kill_at(step, roll_back):
            break
        state = read_state(stepped)
        if state["labels"] == {"stable": 3} or state["unfinished"]:
            roll_back()
        # Only the next push removes what an interrupted write has left.
        push(stepped, make_export(tmp_path, "next"), label="")
        assert check_settled(stepped)[1]["labels"] == {"stable": 2}
    assert step > 3
    assert roll_back() == "rollback from version 2 to 1"
    with pytest.raises(UserError, match="no earlier stable version is left; push the export"):
        roll_back()


@pytest.mark.newest
def test_many_pushes_at_once_while_a_client_lists(place, tmp_path):
    push(place, make_export(tmp_path, "first"))
    exports = [make_export(tmp_path, f"export{number}") for number in range(4)]
    statuses, seen, begin, ended = [], [], threading.Barrier(4), threading.Event()

    def run(export):
        begin.wait()
        try:
            push(place, export)
            statuses.append(0)
        except UserError as error:
            statuses.append(error.status)

    def follow():
        while not ended.is_set():
            numbers, names = place.list_numbers(), set(place.list_names())
            wanted = {f"{number}/{inner}" for number in numbers for inner in FILES}
            seen.append((numbers, wanted - names))

    pushes = [threading.Thread(target=run, args=(export,)) for export in exports]
    follower = threading.Thread(target=follow)
    for thread in (follower, *pushes):
        thread.start()
    for thread in pushes:
        thread.join()
    ended.set()
    follower.join()
    assert set(statuses) <= {0, 75} and 0 in statuses and len(statuses) == 4
    assert seen and all(1 in numbers and not missing for numbers, missing in seen)
    version = push(place, make_export(tmp_path, "last"))
    pushed, state = check_settled(place)
    assert state["labels"] == {"stable": version} and len(pushed) >= 2 + statuses.count(0)


@pytest.mark.quick
@pytest.mark.newest
def test_versions_of_others_are_kept_and_counted(stepped, tmp_path):
    stepped.write({f"1700000000/{inner}": f"{inner} of theirs" for inner in FILES})
    assert push(stepped, make_export(tmp_path, "ours"), keep=1) == 1700000001
    assert check_readers(stepped) == {1700000000: "theirs", 1700000001: "ours"}


@pytest.mark.quick
@pytest.mark.newest
def test_a_models_config_of_others_is_not_replaced(stepped, tmp_path):
    stepped.write({"models.config": "theirs"})
    with pytest.raises(UserError, match="contains models.config, but no push.json of a push"):
        push(stepped, make_export(tmp_path, "ours"))
    assert stepped.read() == {"models.config": "theirs"}


@pytest.mark.quick
@pytest.mark.newest
def test_keep_spares_labels_and_the_version_before(stepped, tmp_path):
    push(stepped, make_export(tmp_path, "one"))
    push(stepped, make_export(tmp_path, "two"), label="")
    push(stepped, make_export(tmp_path, "three"), label="canary")
    push(stepped, make_export(tmp_path, "four"))
    push(stepped, make_export(tmp_path, "five"), label="", keep=1)
    seen, state = check_settled(stepped)
    assert seen == {1: "one", 3: "three", 4: "four", 5: "five"}
    assert state["labels"] == {"stable": 4, "canary": 3}
    # A server loads the labelled versions and the one before, each by its number.
    config = stepped.read()["models.config"]
    assert [line.split()[1] for line in config.splitlines() if "versions:" in line] == list("134")


@pytest.mark.quick
@pytest.mark.newest
def test_keep_counts_no_version_that_somebody_removed(tmp_path):
    place = places.Folder(tmp_path / "served")
    for name in ("one", "two", "three", "four"):
        push(place, make_export(tmp_path, name))
    for version in (3, 4):
        shutil.rmtree(place.path / str(version))
    # Version 2 is the one to roll back to.
    push(place, make_export(tmp_path, "five"), keep=1)
    assert check_readers(place) == {2: "two", 5: "five"}
    config = place.read()["models.config"]
    assert [line.split()[1] for line in config.splitlines() if "versions:" in line] == list("25")
    push(place, make_export(tmp_path, "six"), label="", keep=3)
    assert check_readers(place) == {2: "two", 5: "five", 6: "six"}


@pytest.mark.quick
def test_tensorflow_serving_parses_models_config(tmp_path):
    config_pb2 = pytest.importorskip("tensorflow_serving.config.model_server_config_pb2")
    from google.protobuf import text_format

    place = places.Folder(tmp_path / 'a "modèle"')
    for number in (1, 2, 3):
        export = make_export(tmp_path, f"export{number}")
        push(place, export, label="canary" if number == 3 else "stable")
    text = place.read()["models.config"]
    config = text_format.Parse(text, config_pb2.ModelServerConfig())
    (model,) = config.model_config_list.config
    assert model.name == 'a "modèle"' and model.base_path == place.place
    # Older versions of protobuf do not know the escapes of JSON.
    assert "modèle" in text
    assert list(model.model_version_policy.specific.versions) == [1, 2, 3]
    assert dict(model.version_labels) == {"stable": 2, "canary": 3}
    # Servers of one label each, between which the traffic is divided.
    for label, version in (("stable", 2), ("canary", 3)):
        text = place.read()[f"models-{label}.config"]
        (model,) = text_format.Parse(text, config_pb2.ModelServerConfig()).model_config_list.config
        assert list(model.model_version_policy.specific.versions) == [version]
        assert dict(model.version_labels) == {label: version}
    Deployment(place.place).promote()
    assert place.read()["models-canary.config"] == place.read()["models-stable.config"]


@pytest.mark.quick
def test_the_command(place, tmp_path, capsys):
    export = make_export(tmp_path, "export")

    def run(*argv, status=0):
        assert push_command.main([f"--to={place.place}", *argv]) == status
        out, err = capsys.readouterr()
        return out + err

    assert "no versions; check the path, or push an export" in run("--list")
    assert "is none" in run(f"--export={export}", status=3)
    assert place.list_numbers() == set()
    assert "give the reason" in run(f"--export={export}", "--force", status=2)
    run(f"--export={export}", "--force", "--reason=the first model")
    extra = export / "assets.extra"
    extra.mkdir()
    verdict = {"verdict": "blessed", "fingerprint": fingerprint_export(str(export))}
    storage.write_json(extra / "gate.json", {**verdict, "verdict": "inconclusive"})
    assert "inconclusive" in run(f"--export={export}", status=4)
    storage.write_json(extra / "gate.json", verdict)
    again = run(f"--export={export}")
    assert "version 1 already has this export, so no version is added; stable is 1" in again
    (export / "assets/words.txt").write_text("better")
    forced = {"forced": True, "reason": "a column was renamed"}
    verdict = {**verdict, **forced, "fingerprint": fingerprint_export(export)}
    storage.write_json(extra / "gate.json", verdict)
    assert "version 2 is complete (blessed)" in run(f"--export={export}", "--label=canary")
    listed = run("--list").splitlines()
    assert '"the first model"' in listed[0] and "stable" in listed[0]
    assert 'blessed · "a column was renamed"' in listed[1] and "canary" in listed[1]
    assert "stable is 2" in run("--promote")
    assert "from version 2 to 1" in run("--rollback")
    assert "give one of" in run("--rollback", "--list", status=2)
    # A verdict counts for exactly the export that was judged.
    (export / "assets/words.txt").write_text("others")
    assert "is none" in run(f"--export={export}", status=3)
    place.write({"push.json": "{}", "1/saved_model.pb": "of theirs"})
    assert "not pushed by this command" in run("--list")
    for damaged in ('{"labels": 3}', "[]"):
        place.write({"push.json": damaged})
        assert "damaged (" in (line := run("--list", status=2))
        assert f"{place.place}/push.json: " in line and "copy; do not remove it: the" in line
    # The token of a push becomes a part of a path.
    entry = {"export": "x", "fingerprint": "x", "verdict": "blessed"}
    pending = {"version": 1, "token": "../../victim", "label": "", "entry": entry}
    place.write({"push.json": json.dumps({"pending": pending})})
    assert "damaged (pending.token" in run("--list", status=2)


@pytest.mark.quick
def test_the_inputs_of_an_export_in_a_bucket_are_recorded(cloud, tmp_path, capsys):
    runs = [{"started": f"20{year}-01-01T00:00:00+00:00"} for year in (26, 27, 28)]
    cloud.write("jobs/a/inputs.json", json.dumps({"runs": runs}).encode())
    local, export = make_export(tmp_path, "export"), "jobs/a/export/best/1800000000"
    for inner in FILES:
        cloud.write(f"{export}/{inner}", (local / inner).read_bytes())
    served = tmp_path / "served"
    flags = [f"--to={served}", "--force", "--reason=x"]
    assert push_command.main([f"gs://a-bucket/{export}", *flags]) == 0
    # 1800000000 is in January 2027.
    assert Deployment(str(served)).read().versions[1].inputs == runs[1]
    # The export is pushed without a record that is damaged.
    cloud.write("jobs/a/inputs.json", b"{")
    cloud.write(f"{export}/assets/words.txt", b"others")
    assert push_command.main(["gs://a-bucket/jobs/a", *flags]) == 0
    assert Deployment(str(served)).read().versions[2].inputs is None


@pytest.mark.quick
@pytest.mark.parametrize("inner", ["", "/served"])
def test_the_folder_of_a_job_is_refused(place, tmp_path, capsys, inner):
    export, job = make_export(tmp_path, "export"), place.place
    files = {"config.yaml": "{}", "inputs.json": "{}"}
    place.write(files)
    command = [str(export), f"--to={job}{inner}", "--force", "--reason=the first"]
    assert push_command.main(command) == 2
    lies = f"lies in the job {job}" if inner else "is the folder of a job"
    line = f"--to={job}{inner}: {lies}, which --fresh would delete; name another"
    assert capsys.readouterr().err == f"error: {line}\n"
    assert place.read() == files
    # What an earlier version has pushed there is still served.
    Deployment(f"{job}{inner}").push(Request(export, Entry(export="x", fingerprint="", verdict="")))
    assert push_command.main(command) == 0
    assert "version 2 is complete" in capsys.readouterr().out


@pytest.mark.quick
def test_a_file_in_place_of_the_folder_is_named(tmp_path, capsys):
    path = tmp_path / "served"
    path.write_text("a file")
    for place in (path, path / "models" / "shop"):
        assert push_command.main([f"--to={place}", "--list"]) == 2
        assert capsys.readouterr().err == f"error: --to: {path} is a file; name a folder\n"


@pytest.mark.quick
def test_a_folder_that_cannot_be_created_is_named(tmp_path, capsys):
    export = make_export(tmp_path, "export")
    (tmp_path / "link").symlink_to("nowhere")
    for folder, reason in (
        ("/proc/none/served", "/proc/none: No such file or directory"),
        (tmp_path / "link", "File exists"),
    ):
        command = [str(export), f"--to={folder}", "--force", "--reason=the first"]
        assert push_command.main(command) == 2
        assert capsys.readouterr().err == (
            f"error: {folder}: cannot be created: {reason}; name another folder\n"
        )
