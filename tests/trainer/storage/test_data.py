import os
import tempfile
from pathlib import Path

import pytest

from trainer import storage
from trainer.console import Console
from trainer.errors import UserError
from trainer.inputs.data_sets import find_eval_files, find_train_files
from trainer.inputs.files import find_files
from trainer.storage.data import GIB, DataFiles, Settings

pytestmark = pytest.mark.newest


def _read(path):
    return Path(path).read_bytes()


@pytest.fixture
def files(cloud, tmp_path):
    """files(**settings) → DataFiles with a cache of its own."""

    def build(**settings):
        options = {"cache_dir": str(tmp_path / "cache"), "patience_secs": 5, **settings}
        return DataFiles(Settings(**options), Console())

    return build


@pytest.fixture
def configured(cloud, tmp_path):
    storage.configure(Settings(cache_dir=str(tmp_path / "cache")))
    yield
    storage.configure(Settings())


def test_files_patterns_and_folders_are_found(cloud, files):
    for name in ("d/a.csv", "d/b.csv", "d/_SUCCESS", "d/.x", "d/deep/c.csv", "dx/a.csv"):
        cloud.write(name, b"x")
    found = files().find
    assert found("gs://a-bucket/d/a.csv", "data") == ["gs://a-bucket/d/a.csv"]
    both = ["gs://a-bucket/d/a.csv", "gs://a-bucket/d/b.csv"]
    assert found("gs://a-bucket/d/*.csv", "data") == both
    assert found("gs://a-bucket/d/*", "data") == found("gs://a-bucket/[d]/?*", "data") == both
    assert found("gs://a-bucket/d/_*", "data") == ["gs://a-bucket/d/_SUCCESS"]
    assert found("gs://a-bucket/d", "data") == found("gs://a-bucket/d/", "data") == both
    assert len(found("gs://a-bucket/**/*.csv", "data")) == 4
    assert found("gs://a-bucket/nothing*", "data") == []
    for name in ("p/dt=1/a.csv", "p/dt=2/h=3/b.csv", "p/_temporary/dt=3/c.csv", "p/deep/d.csv"):
        cloud.write(name, b"x")
    partitions = ["gs://a-bucket/p/dt=1/a.csv", "gs://a-bucket/p/dt=2/h=3/b.csv"]
    assert found("gs://a-bucket/p", "data") == partitions
    assert found("gs://a-bucket/p/dt=*", "data") == partitions
    assert found("gs://a-bucket/p/dt=[2-9]/", "data") == partitions[1:]


def test_a_file_is_fetched_once_and_again_after_a_change(cloud, files):
    cloud.write("d/a.csv", b"one")
    data = files()
    path = "gs://a-bucket/d/a.csv"
    local = data.fetch(path)
    assert _read(local) == b"one" and data.fetch(path) == local
    reads = [asked for asked in cloud.requests if "alt=media" in asked[1]]
    assert len(reads) == 1
    assert files().fetch(path) == local
    cloud.write("d/a.csv", b"two")
    assert _read(files().fetch(path)) == b"two"
    # Found before it was replaced, read after.
    late = files()
    cloud.write("d/c.csv", b"one")
    late.find("gs://a-bucket/d/c.csv", "data")
    cloud.write("d/c.csv", b"three")
    assert _read(late.fetch("gs://a-bucket/d/c.csv")) == b"three"
    with pytest.raises(UserError, match="gs://a-bucket/d/b.csv: no such object"):
        data.fetch("gs://a-bucket/d/b.csv")


def test_a_damaged_local_copy_is_fetched_again(cloud, files):
    cloud.write("d/a.csv", b"one")
    path = "gs://a-bucket/d/a.csv"
    local = Path(files().fetch(path))
    local.write_bytes(b"two")
    assert _read(files().fetch(path)) == b"one"


def test_the_cache_stays_within_its_limit(cloud, files, tmp_path):
    for number in range(6):
        cloud.write(f"d/{number}.csv", bytes([number]) * 1000)
    data = files(cache_gib=2500 / GIB)
    for number in (0, 1, 0, 2, 0, 3, 4, 0, 5):
        local = data.fetch(f"gs://a-bucket/d/{number}.csv")
        assert _read(local) == bytes([number]) * 1000
        kept = list((tmp_path / "cache" / "data").iterdir())
        assert sum(os.path.getsize(path) for path in kept) <= 2500
    # The one that is asked for all the time has stayed.
    reads = [path for _, path in cloud.requests if "alt=media" in path and "0.csv" in path]
    assert len(reads) <= 2
    cloud.write("d/big", b"x" * 3000)
    with pytest.raises(UserError, match="raise --storage.cache_gib"):
        data.fetch("gs://a-bucket/d/big")


def test_a_file_stays_readable_when_the_cache_removes_it(cloud, files):
    cloud.write("d/a", b"a" * 1000)
    cloud.write("d/b", b"b" * 1000)
    data = files(cache_gib=1500 / GIB)
    with open(data.fetch("gs://a-bucket/d/a"), "rb") as stream:
        data.fetch("gs://a-bucket/d/b")
        assert stream.read() == b"a" * 1000


def test_a_mounted_bucket_is_read_from_the_mount(cloud, files, tmp_path):
    (tmp_path / "gcs" / "a-bucket" / "d").mkdir(parents=True)
    mount = str(tmp_path / "gcs")
    pattern = "gs://a-bucket/d/*.csv"
    assert files(mount=mount).find(pattern, "data") == [f"{mount}/a-bucket/d/*.csv"]
    assert files(mount=mount, reader="client").find(pattern, "data") == []
    with pytest.raises(UserError, match="data.train: .*no .*/gcs/other-bucket; mount the bucket"):
        files(mount=mount, reader="mount").find("gs://other-bucket/x", "data.train")


def _read_ids(file, schema, data):
    from trainer.inputs.tables import read_batches

    batches = read_batches(file, schema, ["id"], data)
    return [value for batch in batches for value in batch.columns.column("id").to_pylist()]


def test_every_format_is_read_from_a_bucket(cloud, make, configured, tmp_path):
    from trainer.inputs.tables import count_rows, read_batches

    rows = make.rows(50)
    names = {"a.csv": make.csv, "b.csv.gz": make.csv, "c.parquet": make.parquet,
             "d.tfrecord": make.tfrecord}  # fmt: skip
    for name, write in names.items():
        options = {"compress": True} if name.endswith("gz") else {}
        cloud.write(f"d/{name}", _read(write(tmp_path / name, rows, **options)))
    found = find_files(["gs://a-bucket/d"], "auto", "data.train")
    assert [file.format for file in found] == ["csv", "csv", "parquet", "tfrecord"]
    # To tell the formats apart, the first bytes were enough.
    assert not (tmp_path / "cache" / "data").exists()
    schema = make.schema()
    for file in found:
        config = make.config(rows=["x"])
        batches = list(read_batches(file, schema, ["age", "city"], config.data))
        assert sum(batch.columns.num_rows for batch in batches) == 50
        assert batches[0].file.path == f"gs://a-bucket/d/{file.path.rpartition('/')[2]}"
    assert count_rows(found[2]) == 50
    # Both parts of a divided set of files, the same rows of each format.
    data = make.config(data={"train": ["gs://a-bucket/d"], "eval_share": 0.3}).data
    parts = [find(data, schema) for find in (find_train_files, find_eval_files)]
    read = [[_read_ids(file, schema, data) for file in part] for part in parts]
    assert [part == part[:1] * 4 for part in read] == [True, True]
    assert sorted(read[0][0] + read[1][0]) == sorted(row["id"] for row in rows)
    with pytest.raises(UserError, match="data.eval: no object matches 'gs://a-bucket/e/\\*'"):
        find_files(["gs://a-bucket/e/*"], "auto", "data.eval")


def test_a_share_of_a_large_file_is_fetched_alone(cloud, make, configured, tmp_path):
    import pyarrow.parquet as pq

    from trainer.errors import TemporaryError
    from trainer.inputs.files import FilePart
    from trainer.inputs.parquet_files import count_runs
    from trainer.inputs.stretches import cut, describe_dialect, examine

    schema, data = make.schema(), make.config(rows=["x"]).data
    text = _read(make.csv(tmp_path / "a.csv", make.rows(100))).partition(b"\n")
    cloud.write("d/a.csv", text[0] + b"\n" + 400 * text[2])
    pq.write_table(pq.read_table(make.parquet(tmp_path / "b.parquet", make.rows(50))),
                   tmp_path / "b.parquet", row_group_size=20)  # fmt: skip
    cloud.write("d/b.parquet", _read(tmp_path / "b.parquet"))
    large, groups = find_files(["gs://a-bucket/d"], "auto", "data")
    size, step = large.find_size(), 1 << 20
    found = [
        examine(large.path, start, min(start + step, size), describe_dialect(data))
        for start in range(0, size, step)
    ]
    stretches = cut(size, found)
    version, count = large.find_version(), len(stretches)
    assert count >= 2 and count_runs(groups) == 1
    shares = [large._replace(part=FilePart(*one)) for one in
              ((n, count, version, stretch) for n, stretch in enumerate(stretches))]  # fmt: skip
    cloud.requests.clear()
    ids = _read_ids(shares[-1], schema, data)
    # The header, the blocks in it, and the share: not the rest.
    assert sum("alt=media" in path for _, path in cloud.requests) <= 4
    whole = [row["id"] for row in make.rows(100)] * 400
    assert ids == whole[stretches[-1].rows - 1 :]
    assert [one for share in shares for one in _read_ids(share, schema, data)] == whole
    part = groups._replace(part=FilePart(0, 1, groups.find_version()))
    assert len(_read_ids(part, schema, data)) == 50
    assert not (tmp_path / "cache" / "data").exists()
    # Another worker looks the file up when it has been replaced.
    cloud.write("d/a.csv", b"id,age\n")
    with pytest.raises(TemporaryError, match="was replaced while it was read"):
        _read_ids(shares[0], schema, data)
    storage.configure(storage.current_settings())
    with pytest.raises(UserError, match="has changed while the files were read"):
        _read_ids(shares[0], schema, data)


def test_a_scan_is_read_from_the_cache_until_an_object_changes(cloud, make, tmp_path):
    from trainer.inputs.cache import CacheFolder
    from trainer.inputs.scan_cache import scan_or_load

    for name in ("a", "b"):
        cloud.write(f"d/{name}.csv", _read(make.csv(tmp_path / f"{name}.csv", make.rows(50))))
    cache = CacheFolder(str(tmp_path / "scans"), 1e9, pytest.fail)

    def scan(disk):
        # Each run is a process of its own; a new machine has an empty disk.
        storage.configure(Settings(cache_dir=str(tmp_path / disk)))
        cloud.requests.clear()
        found = find_files(["gs://a-bucket/d"], "csv", "data.train")
        config = make.config(rows=["x"])
        result, is_cached = scan_or_load(found, make.schema(), config.data, Console(), cache)
        assert sum(result.rows.values()) == 100
        return is_cached, sum("alt=media" in path for _, path in cloud.requests)

    # The first bytes of both files are read to tell the format, and then the files.
    assert scan("one") == (False, 2 + 2)
    assert scan("one") == (True, 2)
    assert scan("two") == (True, 2)
    # The same content, stored again: another generation.
    cloud.write("d/b.csv", _read(tmp_path / "b.csv"))
    assert scan("one") == (False, 2 + 1)
    storage.configure(Settings())


def test_tensorflow_reads_if_it_has_a_file_system(tmp_path):
    from estimator_bridge import tf
    from trainer.storage.gfile import FileSystem

    root = "ram://a-bucket/"
    tf.io.gfile.makedirs(root + "d/deep")
    for name in ("d/a.csv", "d/deep/b.csv"):
        with tf.io.gfile.GFile(root + name, "wb") as stream:
            stream.write(b"content of " + name.encode())
    store = FileSystem("ram://", "a-bucket")
    assert [found.name for found in store.list_all("d/")] == ["d/a.csv", "d/deep/b.csv"]
    found = store.find("d/a.csv")
    assert store.read_range(found, 3, 4) == b"tent" and store.find("d/no.csv") is None
    store.download(found, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == b"content of d/a.csv"
    with pytest.raises(UserError, match="TensorFlow cannot read it"):
        store.read_range(found._replace(name="d/gone.csv"), 0, 7)
    with pytest.raises(UserError, match="--storage=tensorflow: .*set --storage=auto"):
        FileSystem("nosuch://", "a-bucket")


def test_a_cache_of_another_user_is_refused(tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir()
    monkeypatch.setattr("os.getuid", lambda: 12345)
    with pytest.raises(UserError, match="it belongs to another user; name another folder"):
        Settings(cache_dir=str(tmp_path / "cache")).make_folder("data")


def test_a_link_in_place_of_the_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = Settings().make_folder("data")
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    folder.parent.rename(tmp_path / "elsewhere")
    folder.parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="it is a link or a file, not a folder; name another"):
        Settings().make_folder("data")
    # A folder that the user names may be a link.
    assert Settings(cache_dir=str(folder.parent)).make_folder("data").is_dir()


def test_copies_are_kept_outside_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Settings().folder == tmp_path / ".cache" / f"trainer-storage-{os.getuid()}"
    # A container's user without a home directory of its own.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert Settings().folder.parent == Path(tempfile.gettempdir())
