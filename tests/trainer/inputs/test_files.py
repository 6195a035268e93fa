"""trainer.inputs.files: which files a pattern matches, and their formats."""

import bz2
import gzip
import lzma
import os
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.inputs.copied_files import describe_copies
from trainer.inputs.files import find_files


def _find(*patterns, file_format="auto"):
    return find_files([str(pattern) for pattern in patterns], file_format, "data.train")


def _refuse(*patterns, file_format="auto"):
    with pytest.raises(UserError) as caught:
        _find(*patterns, file_format=file_format)
    message = str(caught.value)
    assert "\n" not in message and message.startswith("data.train: ")
    return message


@pytest.fixture
def folder(tmp_path):
    for name in ("b.csv", "a.csv", "c.csv", ".hidden.csv", "_SUCCESS"):
        (tmp_path / name).write_text("x,y\n1,2\n")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "d.csv").write_text("x,y\n1,2\n")
    return tmp_path


def _names(files):
    return [file.path.rpartition("/")[2] for file in files]


def test_paths_globs_and_directories(folder):
    assert _names(_find(folder / "b.csv")) == ["b.csv"]
    assert _names(_find(folder / "[ab].csv")) == ["a.csv", "b.csv"]
    # Markers, temporary files and nested folders are ignored.
    assert _names(_find(folder)) == ["a.csv", "b.csv", "c.csv"]
    assert _names(_find(folder / "**" / "d.csv")) == ["d.csv"]


def test_files_have_the_order_of_patterns_without_duplicates(folder):
    assert _names(_find(folder / "c.csv", folder)) == ["c.csv", "a.csv", "b.csv"]


def test_documents_beside_the_data_are_skipped_with_a_notice(folder, capsys):
    (folder / ".hidden.csv").unlink()
    others = {"README.md", "LICENSE", "readme.txt", "a.csv.tmp", "a.csv~"}
    for name in (*others, "readme_counts.csv"):
        (folder / name).write_text("words about the data\n")
    for pattern in (folder, folder / "*.*"):
        assert not others & set(_names(_find(pattern)))
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and "skipped" in err and "README.md" in err
    assert "readme_counts.csv" in _names(_find(folder))
    # A file that the user names is read.
    capsys.readouterr()
    assert _names(_find(folder / "readme.txt")) == ["readme.txt"]
    assert not capsys.readouterr().err


def test_hidden_data_files_are_skipped_with_a_notice(folder, capsys):
    (folder / ".a.csv.crc").write_text("checksum")
    for pattern in (folder, folder / "*"):
        assert _names(_find(pattern)) == ["a.csv", "b.csv", "c.csv"]
    notice = capsys.readouterr().err
    # A glob does not match names that begin with a dot; a marker is no data.
    assert notice.count("skipped") == 1 and ".hidden.csv" in notice
    assert "_SUCCESS" not in notice and ".crc" not in notice
    (folder / "_late.csv").write_text("x,y\n1,2\n")
    _find(folder / "*.csv")
    assert "_late.csv" in capsys.readouterr().err
    assert _names(_find(folder / "_*.csv")) == ["_late.csv"]
    assert not capsys.readouterr().err
    (folder / "_day=1").mkdir()
    (folder / "_day=1" / "unfinished.csv").write_text("x,y\n1,2\n")
    assert _names(_find(folder)) == ["a.csv", "b.csv", "c.csv"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.ndjson", "log"])
def test_json_lines_are_detected(tmp_path, name):
    path = tmp_path / name
    path.write_text('{"x": 1}\n')
    assert _find(path)[0].format == "jsonl"


def test_a_tilde_is_the_home_folder(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    assert _names(_find("~/a.csv")) == ["a.csv"]


def test_a_file_name_with_glob_characters(tmp_path):
    (tmp_path / "part[1].csv").write_text("x\n1\n")
    assert _names(_find(tmp_path / "part[1].csv")) == ["part[1].csv"]


def test_no_match_names_the_pattern_and_the_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    message = _refuse("nope-*.csv")
    assert "'nope-*.csv'" in message and str(folder) in message
    (folder / "empty").mkdir()
    assert "no file matches" in _refuse(folder / "empty")


def test_no_pattern():
    with pytest.raises(UserError, match="data.train: no data given; set --data.train=FILES"):
        find_files([], "auto", "data.train")


def test_empty_file(tmp_path):
    (tmp_path / "a.csv").touch()
    assert "a.csv is empty" in _refuse(tmp_path / "a.csv")


def test_formats_by_name_and_by_first_bytes(make, tmp_path):
    rows = [{"x": 1.0, "y": 2.0}] * 3
    paths = {
        "a.csv": "csv",
        "a.tsv": "csv",
        "noname": "csv",
        "a.parquet": "parquet",
        "b.data": "parquet",
        "a.tfrecord": "tfrecord",
        "train-00000-of-00001": "tfrecord",
    }
    for name, kind in paths.items():
        getattr(make, kind)(tmp_path / name, rows)
    make.csv(tmp_path / "z.csv.gz", rows, compress=True)
    make.tfrecord(tmp_path / "z.tfrecord.gz", rows, compress=True)
    for name, kind in paths.items():
        (file,) = _find(tmp_path / name)
        assert (file.format, file.gzipped) == (kind, False), name
    for name, kind in (("z.csv.gz", "csv"), ("z.tfrecord.gz", "tfrecord")):
        (file,) = _find(tmp_path / name)
        assert (file.format, file.gzipped) == (kind, True), name


def test_compression_is_detected_from_the_bytes(tmp_path):
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"x\n1\n"))
    assert _find(tmp_path / "a.csv")[0].gzipped


def test_other_compressions_are_named(tmp_path):
    import pyarrow as pa

    text = b"x,y\n" + b"1,2\n" * 100
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.csv", text)
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(text))
    (tmp_path / "b.csv.bz2").write_bytes(bz2.compress(b""))
    (tmp_path / "a.csv.xz").write_bytes(lzma.compress(text))
    with pa.output_stream(str(tmp_path / "a.csv.zst"), compression="zstd") as stream:
        stream.write(text)
    kinds = {"a.zip": "zip", "a.csv.bz2": "bz2", "b.csv.bz2": "bz2", "a.csv.xz": "xz"}
    for name, kind in {**kinds, "a.csv.zst": "zstd"}.items():
        for given in ("auto", "csv"):
            message = _refuse(tmp_path / name, file_format=given)
            assert f"{name}: {kind} is not supported; unpack it" in message
    # Text that only begins like them.
    (tmp_path / "a.csv").write_bytes(b"BZh9,PK\n1,2\n")
    assert _find(tmp_path / "a.csv")[0].format == "csv"


def test_other_formats_are_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "")
    (tmp_path / "a.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(9))
    with pa.ipc.new_file(tmp_path / "a.arrow", pa.schema([("x", pa.int64())])):
        pass
    for name, kind in {"a.xlsx": "Excel", "a.xls": "Excel", "a.arrow": "Arrow"}.items():
        message = _refuse(tmp_path / name)
        assert kind in message and "is not supported; write it as CSV or Parquet" in message
    with tf.io.TFRecordWriter(str(tmp_path / "a.tfrecord"), "ZLIB") as writer:
        writer.write(b"row" * 100)
    message = _refuse(tmp_path / "a.tfrecord")
    assert "a.tfrecord: TFRecord with zlib is not supported; write it with GZIP, or" in message
    # Text that only begins like them.
    (tmp_path / "a.csv").write_text("ARROW1,Obj\n1,2\n")
    assert _find(tmp_path / "a.csv")[0].format == "csv"


def test_pipes_and_addresses_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    for pipe in (tmp_path / "a.csv", "-"):
        assert "is a pipe or a device, which can be read only once; write" in _refuse(pipe)
    message = _refuse("https://example.com/a.csv")
    assert "https://example.com/a.csv: only local files and gs:// can be read" in message


def test_a_given_format_overrides_detection(make, tmp_path):
    path = make.tfrecord(tmp_path / "a.csv", [{"x": 1.0}])
    assert _find(path, file_format="tfrecord")[0].format == "tfrecord"


def test_a_file_that_is_not_parquet(tmp_path):
    (tmp_path / "a.parquet").write_text("x\n1\n")
    message = _refuse(tmp_path / "a.parquet")
    assert "not a Parquet file" in message and "write it again" in message


def test_copies_are_told_but_not_empty_parts_and_partitions(tmp_path):
    rows = "x\n" + "1\n" * 50_000
    for name, text in (
        ("a.csv", rows),
        ("b.csv", rows[:-2] + "2\n"),
        ("empty-1.csv", "x\n"),
        ("empty-2.csv", "x\n"),
        ("day=1/a.csv", rows),
        ("day=2/a.csv", rows),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in "pq":
        pq.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / f"{name}.parquet")
    assert describe_copies(_find(tmp_path, tmp_path / "day=*")) == ""
    (tmp_path / "link.csv").symlink_to("a.csv")
    (tmp_path / "day=1/b.csv").write_text(rows)
    told = describe_copies(_find(tmp_path, tmp_path / "day=*"))
    first = f"{tmp_path / 'link.csv'} of {tmp_path / 'a.csv'}"
    assert told.startswith(f"2 of 10 files are copies of others, such as {first}, so their rows")
