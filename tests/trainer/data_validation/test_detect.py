"""The style of CSV files: detected by infer, and read by every command."""

import gzip
import shlex

import pytest

from trainer.config import DataConfig, commands, load_config
from trainer.data_validation.detect import detect_delimiter, detect_encoding
from trainer.errors import UserError
from trainer.inputs.files import DataFile, find_files
from trainer.inputs.tables import read_batches
from trainer.schema import load_schema
from trainer.schema.__main__ import main

pytestmark = pytest.mark.quick

ROWS = [("größe", "stadt", "kauf")] + [
    (str(n % 17), ["Köln", "Ulm", "Bonn, Beuel"][n % 3], ["no", "yes"][n % 2]) for n in range(200)
]


def _write(path, encoding, delimiter, compress=False):
    lines = [
        delimiter.join(f'"{field}"' if delimiter in field else field for field in row)
        for row in ROWS
    ]
    content = ("\n".join(lines) + "\n").encode(encoding)
    path.write_bytes(gzip.compress(content) if compress else content)
    return str(path)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
def test_infer_detects_the_style_and_the_readers_follow(
    tmp_path, capsys, encoding, delimiter, compress
):
    path = _write(tmp_path / "a.csv", encoding, delimiter, compress)
    output = tmp_path / "schema.yaml"
    assert main(["infer", f"--data={path}", "--label=kauf", f"--output={output}"]) == 0
    printed = capsys.readouterr().out
    schema = load_schema(str(output))
    assert set(schema.columns) == {"größe", "stadt", "kauf"}
    assert set(schema.columns["stadt"].vocabulary) == {"Köln", "Ulm", "Bonn, Beuel"}

    flags = dict(
        word[2:].split("=")
        # As a shell splits the printed command.
        for word in shlex.split(printed.partition("Now train with it:")[2])
        if word.startswith("--data.")
    )
    flags.pop("data.schema_file")
    assert ("data.delimiter" in flags) == (delimiter != ",")
    data = load_config(None, flags).data
    (file,) = find_files([path], "auto", "data")
    (batch,) = read_batches(file, schema, list(schema.columns), data)
    assert batch.columns.column("stadt").to_pylist() == [row[1] for row in ROWS[1:]]


def test_files_of_different_encodings_are_refused(tmp_path, capsys):
    _write(tmp_path / "a.csv", "utf-8", ",")
    _write(tmp_path / "b.csv", "cp1252", ",")
    assert commands.run(main, ["infer", f"--data={tmp_path}/*.csv", "--label=kauf"]) == 2
    error = capsys.readouterr().err
    assert "b.csv is cp1252" in error and "--encoding" in error and error.count("\n") == 1


def test_ascii_and_bytes_that_windows_1252_does_not_define(tmp_path):
    path = tmp_path / "a.csv"
    for content, encoding in (
        (b"a,b\n1,2\n", "ascii"),
        (b"a,b\n\xe4,\x80\n", "cp1252"),
        (b"a,b\n\xe4,\x81\n", "latin-1"),
        # A character of two bytes lies on the boundary of two blocks.
        (b"a" * ((1 << 20) - 1) + "é".encode(), "utf-8"),
    ):
        path.write_bytes(content)
        assert detect_encoding(DataFile(str(path), "csv", False)) == encoding


def test_the_label_decides_on_the_delimiter(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,1;b,1;label\n" + "1,5;2,5;1\n" * 5)
    file = DataFile(str(path), "csv", False)
    assert detect_delimiter(file, "ascii", ["label"]) == ";"


@pytest.mark.parametrize("encoding", ["nonsense", "base64", "utf-8\0"])
def test_an_unknown_encoding_is_refused(encoding):
    with pytest.raises(UserError, match="no such text encoding"):
        load_config(None, {"data.encoding": encoding})


def test_names_of_an_encoding_are_equal():
    assert DataConfig(encoding="Windows-1252").encoding == "cp1252"
    assert DataConfig(encoding="UTF8").encoding == DataConfig().encoding
