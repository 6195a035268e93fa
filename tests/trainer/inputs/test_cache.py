"""trainer.inputs.cache: complete entries, never stale, bounded; failures do not stop training."""

import fcntl
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import trainer
from trainer.config import load_config
from trainer.console import Console
from trainer.environment.variables import find_cache_folder, find_cache_home
from trainer.inputs.cache import CacheFolder
from trainer.inputs.cache_entry import Damaged
from trainer.inputs.cache_key import build_key
from trainer.inputs.cache_lock import KeyLock
from trainer.inputs.file_identity import CODE, checksum_code
from trainer.schema import Schema
from trainer.training.job import build_source, encode_sources, prepare

COLUMNS = {
    "x": {"type": "float", "default": "mean"},
    "kind": {"type": "string", "vocabulary": ["a", "b"]},
    "y": {"type": "float"},
}
DTYPE = np.dtype([("a", np.int32), ("b", np.int8, (3,))])
ROWS = np.zeros(1000, DTYPE)


class _Lines(Console):
    """Passes each line on."""

    def __init__(self, log):
        super().__init__(quiet=True)
        self.log = log


def _rows(count=40):
    return [{"x": float(n), "kind": "ab"[n % 2], "y": 1.0} for n in range(count)]


def _encode(make, path, folder, columns=COLUMNS, log=lambda line: None, **data):
    schema = Schema.model_validate({"columns": columns, "label": {"column": "y"}})
    config = make.config(rows=path, data={"cache": str(folder), **data})
    job = prepare(config, schema, _Lines(log))
    (rows,) = encode_sources(job, [build_source(job, True)])
    return rows


def _list(folder):
    """Returns the names in a cache folder, without notes, which have tests of their own."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".note.json"))


def _read(rows):
    return [chunk["//rows"] for chunk in rows._read()]


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_the_file_of_an_entry_is_closed_when_nothing_reads_it(tmp_path):
    folder = CacheFolder(str(tmp_path), 1e9, print)
    assert _fill(folder, "key")
    entry = folder.open("key", DTYPE, 1)
    descriptor, rows = entry._descriptors["rows"], entry.read(0)
    del entry
    assert sum(map(len, rows)) == len(ROWS)
    del rows
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    # An incomplete entry, too.
    (tmp_path / "key" / "rows").write_bytes(b"")
    before = set(os.listdir("/proc/self/fd"))
    assert folder.open("key", DTYPE, 1) is None
    assert set(os.listdir("/proc/self/fd")) <= before


def _fill(folder, key, logged=None, rows=ROWS):
    """Writes an entry; returns whether the cache accepted it."""
    writer = folder.begin(key, rows.nbytes)
    if writer is None:
        return False
    with writer:
        writer.add(0, rows)
        writer.finish(rows.dtype, 1)
    return True


# Never stale


def _rewrite(path, text, times):
    status = path.stat()
    path.write_text(text)
    if times:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def test_a_changed_file_is_encoded_again(make, tmp_path):
    path = Path(make.csv(tmp_path / "a.csv", _rows()))
    _read(_encode(make, path, tmp_path / "cache"))
    assert _encode(make, path, tmp_path / "cache").origin == "cache"
    # The same size and an old time, as copying tools set it.
    _rewrite(path, path.read_text().replace("1.0,b", "2.0,b", 1), times=True)
    rows = _encode(make, path, tmp_path / "cache")
    assert rows.origin == "text"
    _read(rows)
    _rewrite(path, path.read_text() + "7.0,a,1.0\n", times=False)
    assert _encode(make, path, tmp_path / "cache").origin == "text"


def test_everything_that_rows_depend_on_is_in_the_key(make, tmp_path):
    path = Path(make.csv(tmp_path / "a.csv", _rows()))
    other = Path(make.csv(tmp_path / "b.csv", _rows()))

    def key(columns=COLUMNS, path=path, shard=None, defaults=None, fingerprint=None, **data):
        rows = _encode(make, path, "off", columns, **data)
        source, encoder = rows._source, rows.encoder
        source.shard = shard or source.shard
        source.defaults = defaults or source.defaults
        encoder.fingerprint = fingerprint or encoder.fingerprint
        schema = Schema.model_validate({"columns": columns, "label": {"column": "y"}})
        return build_key(source, schema, encoder)

    first = key()
    assert key() == first
    kind = {"type": "string", "vocabulary": ["b", "a"]}
    keys = [
        first,
        key(path=other),
        key(path=[path, other]),
        key({**COLUMNS, "kind": kind}),
        key({**COLUMNS, "x": {"type": "float", "default": 0.0}}),
        key({**COLUMNS, "x": {"type": "float", "default": "mean", "normalize": "minmax"}}),
        key(shard=(0, 2)),
        key(shard=(1, 2)),
        key(defaults={"x": 3.0, "kind": "", "y": None}),
        key(fingerprint="another version of the code, or other hashes"),
        key(header="yes"),
        key(max_bad_rows=5),
    ]
    assert len(set(keys)) == len(keys)


def _imported_packages(packages):
    """Packages of `trainer` that modules of some packages import, directly or through others."""
    root = Path(trainer.__file__).parent
    found, new = set(), set(packages)
    while new:
        found |= new
        names = set()
        for package in new:
            folder = root / package
            for path in sorted(folder.rglob("*.py")) or [folder.with_suffix(".py")]:
                # Nothing imports an entry point.
                text = "" if path.name == "__main__.py" else path.read_text(encoding="utf-8")
                names |= set(re.findall(r"^ *(?:from|import) trainer\.(\w+)", text, re.M))
                for line in re.findall(r"^ *from trainer import (.*)", text, re.M):
                    names |= {part.split()[0] for part in line.split(",")}
        new = names - found
    return found


def test_all_code_that_rows_depend_on_is_in_the_key():
    # These determine where options and files come from, and what is shown of them; the key contains
    # their values.
    others = {"config", "storage", "environment", "job_layout", "errors", "console"}
    assert _imported_packages(CODE) == {*CODE, *others}


@pytest.mark.parametrize("package", CODE)
def test_a_change_of_the_code_changes_the_key(tmp_path, monkeypatch, package):
    before = checksum_code()
    root = Path(trainer.__file__).parent
    for name in CODE:
        shutil.copytree(root / name, tmp_path / name)
    monkeypatch.setattr("trainer.inputs.file_identity.__file__", str(tmp_path / "inputs" / "a.py"))
    assert checksum_code() == before
    with (tmp_path / package / "__init__.py").open("a") as stream:
        stream.write("# changed\n")
    assert checksum_code() != before


def test_statistics_are_in_the_key(make, tmp_path):
    path = make.csv(tmp_path / "a.csv", _rows())
    rows = _encode(make, path, tmp_path / "cache")
    schema = rows._schema
    encoder = rows.encoder
    statistics = encoder.encoding.statistics
    seen = statistics.columns["x"].model_copy(update={"mean": 77.0})
    before = build_key(rows._source, schema, encoder)
    moved = statistics._replace(columns={**statistics.columns, "x": seen})
    encoder.encoding = encoder.encoding._replace(statistics=moved)
    assert build_key(rows._source, schema, encoder) != before


def test_a_source_that_changes_while_it_is_read_is_not_cached(make, tmp_path):
    path = Path(make.csv(tmp_path / "a.csv", _rows()))
    rows = _encode(make, path, tmp_path / "cache")
    chunks = rows._read()
    next(chunks)
    path.touch()
    list(chunks)
    assert _list(tmp_path / "cache") == []


@pytest.mark.parametrize("damage", ["half", "no index", "no rows", "other layout", "no JSON"])
def test_an_incomplete_entry_is_built_again(make, tmp_path, damage):
    path = make.csv(tmp_path / "a.csv", _rows())
    wanted = _read(_encode(make, path, tmp_path / "cache"))
    (name,) = _list(tmp_path / "cache")
    entry = tmp_path / "cache" / name
    if damage == "half":
        os.truncate(entry / "rows", os.path.getsize(entry / "rows") // 2)
    elif damage in ("no index", "no rows"):
        (entry / {"no index": "index.json", "no rows": "rows"}[damage]).unlink()
    else:
        text = (entry / "index.json").read_text()
        text = text.replace("<f4", "<i4") if damage == "other layout" else text[:-5]
        (entry / "index.json").write_text(text)
    rows = _encode(make, path, tmp_path / "cache")
    assert rows.origin == "text"
    _read(rows)
    again = _encode(make, path, tmp_path / "cache")
    assert again.origin == "cache"
    np.testing.assert_array_equal(np.concatenate(_read(again)), np.concatenate(wanted))


# Several processes

BUILDER = """
import os, sys
import numpy as np
from trainer.inputs.cache import CacheFolder
rows = np.zeros(1000, [("a", np.int32), ("b", np.int8, (3,))])
folder = CacheFolder(sys.argv[1], 1e9, print)
writer = folder.begin("key", rows.nbytes)
writer.add(0, rows)
print("begun", flush=True)
sys.stdin.readline()
"""


def test_one_process_holds_the_lock_of_a_key(tmp_path, monkeypatch):
    first, second, third = (KeyLock(tmp_path / "key.lock") for _ in range(3))
    assert first.acquire() and not second.acquire()
    flock = fcntl.flock

    def release_before(stream, how):
        # The first process ends after the second one has opened the file.
        first.release()
        return flock(stream, how)

    monkeypatch.setattr(fcntl, "flock", release_before)
    assert second.acquire()
    monkeypatch.undo()
    assert not third.acquire()
    second.release()
    assert third.acquire()
    third.release()


def test_a_killed_writer_leaves_no_entry(tmp_path):
    folder = CacheFolder(str(tmp_path), 1e9, pytest.fail)
    process = subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "begun\n"
        # While it runs, no other process writes the same entry; they read the files.
        assert not _fill(folder, "key")
        assert _fill(folder, "another")
        assert len(list(tmp_path.glob("key.building-*"))) == 1
    finally:
        process.kill()
        process.communicate()
    assert folder.open("key", DTYPE, 1) is None
    assert _fill(folder, "third")
    assert list(tmp_path.glob("*.building-*")) == []
    assert _fill(folder, "key")
    assert folder.open("key", DTYPE, 1) is not None
    assert _list(tmp_path) == ["another", "key", "third"]


def test_an_unfinished_pass_leaves_nothing(make, tmp_path):
    path = make.csv(tmp_path / "a.csv", _rows())
    chunks = _encode(make, path, tmp_path / "cache")._read()
    next(chunks)
    chunks.close()
    assert _list(tmp_path / "cache") == []


# Bounds


def test_the_least_recently_used_entry_is_evicted(tmp_path):
    folder = CacheFolder(str(tmp_path), 3.5 * ROWS.nbytes, pytest.fail)
    for key in "abc":
        assert _fill(folder, key)
        time.sleep(0.02)
    assert folder.open("a", DTYPE, 1) is not None
    time.sleep(0.02)
    assert _fill(folder, "d")
    assert _list(tmp_path) == ["a", "c", "d"]


def test_an_evicted_entry_stays_readable_while_open(tmp_path):
    rows = np.arange(3000, dtype=np.int32).view([("a", np.int32)])
    folder = CacheFolder(str(tmp_path), 1.5 * rows.nbytes, pytest.fail)
    assert _fill(folder, "a", rows=rows)
    entry = folder.open("a", rows.dtype, 1)
    assert _fill(folder, "b")
    assert folder.open("a", rows.dtype, 1) is None
    np.testing.assert_array_equal(np.concatenate(list(entry.read(0))), rows)
    assert list(entry.read(1)) == []


def test_an_entry_truncated_while_open_is_an_error(tmp_path):
    folder = CacheFolder(str(tmp_path), 1e9, pytest.fail)
    assert _fill(folder, "a")
    entry = folder.open("a", DTYPE, 1)
    os.truncate(tmp_path / "a" / "rows", 100)
    with pytest.raises(Damaged, match="its rows do not have their checksum"):
        list(entry.read(0))


def test_damaged_rows_are_read_from_the_files_and_written_again(make, tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.inputs.cache_entry.READ_ROWS", 16)
    paths = [
        make.csv(tmp_path / f"{name}.csv", _rows(count)) for name, count in (("a", 40), ("b", 70))
    ]
    logged = []
    wanted = np.concatenate(_read(_encode(make, paths, tmp_path / "cache")))
    (entry,) = [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]
    stored = entry / "rows"
    # One bit in the third of seven blocks of the second file.
    content = bytearray(stored.read_bytes())
    content[(40 + 35) * wanted.itemsize] ^= 1
    stored.write_bytes(content)
    rows = _encode(make, paths, tmp_path / "cache", log=logged.append)
    np.testing.assert_array_equal(np.concatenate(_read(rows)), wanted)
    lines = [line for line in logged if line.startswith("cache:")]
    assert len(lines) == 1 and "its rows do not have their checksum" in lines[0]
    np.testing.assert_array_equal(np.concatenate(_read(rows)), wanted)
    again = _encode(make, paths, tmp_path / "cache", log=logged.append)
    assert again.origin == "cache"
    np.testing.assert_array_equal(np.concatenate(_read(again)), wanted)
    assert len([line for line in logged if line.startswith("cache:")]) == 1
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


@pytest.mark.parametrize("what", ["a link", "another user"])
def test_a_cache_that_another_user_could_have_made_is_not_used(tmp_path, what):
    (tmp_path / "theirs").mkdir(mode=0o777)
    assert _fill(CacheFolder(str(tmp_path / "theirs"), 1e9, pytest.fail), "a")
    if what == "a link":
        (tmp_path / "cache").symlink_to(tmp_path / "theirs")
    elif os.getuid() == 0:
        (tmp_path / "theirs").rename(tmp_path / "cache")
        os.chown(tmp_path / "cache", 12345, 12345)
    else:
        pytest.skip("only root can give a folder to another user")
    logged = []
    cache = CacheFolder(str(tmp_path / "cache"), 1e9, logged.append, is_private=True)
    assert cache.open("a", DTYPE, 1) is None
    cache.write_note("n", 1)
    assert cache.read_note("n") is None and not _fill(cache, "b")
    assert len(logged) == 1 and ("link" if what == "a link" else what) in logged[0]


def test_the_folder_of_the_cache_is_closed_to_other_users(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o755)
    cache = CacheFolder(str(tmp_path / "cache"), 1e9, pytest.fail, is_private=True)
    assert _fill(cache, "a") and cache.open("a", DTYPE, 1) is not None
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def test_what_another_process_removes_meanwhile_is_no_failure(tmp_path):
    folder = CacheFolder(str(tmp_path), 1e9, pytest.fail)
    assert _fill(folder, "a")
    # Listed, but gone when it is looked at.
    (tmp_path / "a" / "rows2").symlink_to(tmp_path / "gone")
    (tmp_path / "n.note.json").symlink_to(tmp_path / "gone")
    folder.write_note("m", 1)
    assert folder.read_note("m") == 1 and _fill(folder, "b")


def test_rows_larger_than_the_limit_are_not_cached(tmp_path):
    logged = []
    folder = CacheFolder(str(tmp_path / "new"), 100, logged.append)
    assert not _fill(folder, "a") and not _fill(folder, "b")
    assert len(logged) == 1 and "data.cache_max_gb" in logged[0]
    assert not (tmp_path / "new").exists()


# Failures of the disk


@pytest.mark.parametrize("where", ["in a file", "read only"])
def test_an_unwritable_folder_is_reported_once(make, tmp_path, where):
    path = make.csv(tmp_path / "a.csv", _rows())
    logged = []
    folder = Path("/proc/self/cache")
    if where == "in a file":
        (tmp_path / "file").write_text("")
        folder = tmp_path / "file" / "cache"
    rows = _encode(make, path, folder, log=logged.append)
    assert len(np.concatenate(_read(rows))) == 40
    assert len(np.concatenate(_read(rows))) == 40
    lines = [line for line in logged if line.startswith("cache:")]
    assert len(lines) == 1 and str(folder) in lines[0] and "going on without" in lines[0]


def test_a_full_disk_is_found_before_writing(tmp_path, monkeypatch):
    logged = []
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("trainer.inputs.cache.shutil.disk_usage", lambda path: usage)
    assert not _fill(CacheFolder(str(tmp_path), 1e9, logged.append), "a")
    assert "GB are free" in logged[0] and _list(tmp_path) == []


def test_a_disk_that_fills_during_writing_is_reported_once(tmp_path):
    program = BUILDER.replace("import os, sys", "import resource, sys").replace(
        "writer = ", "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))\nwriter = "
    )
    program = program.replace("writer.add(0, rows)\n", "writer.add(0, rows.repeat(99))\n" * 2)
    program += textwrap.dedent(
        """
        writer.finish(rows.dtype, 1)
        import pathlib
        assert not list(pathlib.Path(sys.argv[1]).iterdir())
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], input="\n", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("cache:")]
    assert len(lines) == 1 and "File too large" in lines[0]


def test_off_caches_nothing(make, tmp_path, cache_home):
    path = make.csv(tmp_path / "a.csv", _rows())
    rows = _encode(make, path, "off")
    _read(rows)
    assert rows.describe() == "files"
    rows = _encode(make, path, "auto")
    assert rows.describe() == "files"
    _read(rows)
    assert rows.describe() == "files, now in the cache (0.0 MB)"
    assert _encode(make, path, "auto").describe() == "the cache (0.0 MB)"
    assert (cache_home / "estimator_trainer").is_dir()


@pytest.mark.parametrize(
    "text, value", [("off", "off"), ("on", "auto"), ("auto", "auto"), ("no", "off"), ("./x", "./x")]
)
def test_off_needs_no_quotes_in_yaml(tmp_path, text, value):
    path = tmp_path / "hparams.yaml"
    path.write_text(f"data: {{cache: {text}}}\n")
    assert load_config(str(path), {}).data.cache == value


def test_a_user_without_a_home(monkeypatch, cache_home, tmp_path):
    assert find_cache_home() == cache_home
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_cache_home() == tmp_path / ".cache"

    def fail(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", fail)
    assert find_cache_home() == Path(tempfile.gettempdir())
    # Users share that folder.
    assert find_cache_folder("x") == Path(tempfile.gettempdir()) / f"x-{os.getuid()}"


# Scans


def test_a_scan_is_loaded_in_the_next_run(make, shop, tmp_path):
    schema = make.schema("bought", weight=True)
    paths = [Path(make.csv(tmp_path / f"{name}.csv", _shop_rows(make))) for name in "ab"]
    logged = []
    console = _Lines(logged.append)
    jobs = []
    for cache in ("off", tmp_path / "cache", tmp_path / "cache"):
        config = make.config(rows=[str(path) for path in paths], data={"cache": str(cache)})
        jobs.append(prepare(config, schema, console))
    known = [line for line in logged if line.endswith("checked before; unchanged since")]
    assert len(known) == 1
    assert jobs[0].train_scan == jobs[1].train_scan == jobs[2].train_scan
    assert jobs[0].eval_scan == jobs[2].eval_scan
    # Another file, schema or tolerance needs another scan.
    os.utime(paths[0])
    prepare(config, schema, console)
    bad = make.config(
        rows=[str(path) for path in paths], data={"cache": str(cache), "max_bad_rows": 3}
    )
    prepare(bad, schema, console)
    prepare(config, make.schema("price"), console)
    assert len([line for line in logged if "checked before" in line]) == 1


def _shop_rows(make):
    return make.rows(50)


def test_only_the_most_recent_notes_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.inputs.cache.MAX_NOTES", 3)
    folder = CacheFolder(str(tmp_path), 1e9, pytest.fail)
    for number in range(5):
        folder.write_note(f"n{number}", {"number": number})
        time.sleep(0.01)
    assert [folder.read_note(f"n{number}") for number in range(5)] == [None, None] + [
        {"number": number} for number in (2, 3, 4)
    ]
    # A changed digit is noticed.
    logged = []
    note = tmp_path / "n4.note.json"
    note.write_text(note.read_text().replace('"number": 4', '"number": 5'))
    assert CacheFolder(str(tmp_path), 1e9, logged.append).read_note("n4") is None
    assert len(logged) == 1 and f"{note}: damaged" in logged[0]
