"""Large CSV files and JSON lines that are divided at the ends of rows."""

import random
from pathlib import Path

import pytest

from trainer.config import DataConfig
from trainer.errors import UserError
from trainer.inputs import stretches
from trainer.inputs.bad_rows import BadRows
from trainer.inputs.csv_files import CsvLayout, open_reader
from trainer.inputs.files import DataFile, FilePart
from trainer.inputs.stretches import Dialect, JsonLines, cut, describe_dialect, examine
from trainer.inputs.tables import read_batches
from trainer.schema import Schema

pytestmark = [pytest.mark.quick, pytest.mark.newest]

SCHEMA = Schema.model_validate(
    {
        "columns": {
            "x": {"type": "float"},
            "word": {"type": "string", "hash_buckets": 10},
            "y": {"type": "int"},
        },
        "label": {"column": "y", "num_classes": 2},
    }
)


def divide(path, dialect, step, kind="csv"):
    """Returns the shares of a file; [the whole file] if it cannot be divided."""
    file, size = DataFile(str(path), kind, False), Path(path).stat().st_size
    starts = range(0, size, step)
    found = [examine(str(path), start, min(start + step, size), dialect) for start in starts]
    parts = cut(size, found)
    if len(parts) == 1:
        return [file]
    version, count = file.find_version(), len(parts)
    return [
        file._replace(part=FilePart(number, count, version, part))
        for number, part in enumerate(parts)
    ]


def _make_text(rng, rows, irregular=False):
    values = [
        lambda: "x" * rng.randint(0, 20),
        lambda: '"two ""quotes"" and\n\na line"',
        lambda: '"a\r\nb"',
        lambda: '""',
        lambda: f'"{"long " * rng.randint(0, 12)}"',
    ]
    lines = ["a,b"]
    for number in range(rows):
        lines.append(f"{number},{rng.choice(values)()}")
        if rng.random() < 0.1:
            lines.append("")
    if irregular:
        lines[rows // 2] = f'{rows},5" pipe'
    text = rng.choice(["", "\ufeff"]) + "".join(line + rng.choice(["\n", "\r\n"]) for line in lines)
    return text if rng.random() < 0.5 else text.rstrip()


@pytest.mark.parametrize("seed", range(12))
def test_shares_have_the_batches_of_the_whole_file(seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    path = tmp_path / "data.csv"
    text = _make_text(rng, 120)
    path.write_text(text, newline="")
    monkeypatch.setattr(stretches, "PIECE_BYTES", rng.choice([30, 64, 1 << 20]))
    # No row is longer than a block.
    dialect = Dialect(",", "utf-8", rng.randint(90, 200))
    shares = divide(path, dialect, dialect.block_bytes * rng.randint(1, 5))
    assert len(shares) > 2
    # Lines before the first row: the header's.
    layout = CsvLayout(["a", "b"], 1, *dialect)

    def read(file):
        import pyarrow as pa

        types = pa.schema([("a", pa.string()), ("b", pa.string())])
        batches = [batch for batch in open_reader(file, layout, types) if batch.num_rows]
        return [batch.to_pydict() for batch in batches]

    whole = read(shares[0]._replace(part=None))
    assert sum(len(batch["a"]) for batch in whole) == 120
    assert [batch for share in shares for batch in read(share)] == whole
    first = 0
    for share in shares[1:]:
        # The number of rows before, with the header.
        names = read(share)[0]["a"]
        first = share.part.stretch.rows
        assert names[0] == str(first - 1)


def test_a_file_with_quotes_inside_of_fields_is_not_divided(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(_make_text(random.Random(0), 300, irregular=True), newline="")
    assert divide(path, Dialect(",", "utf-8", 100), 200) == [DataFile(str(path), "csv", False)]
    path.write_text("a,b\r" * 500, newline="")
    assert divide(path, Dialect(",", "utf-8", 100), 200) == [DataFile(str(path), "csv", False)]
    # Without a header too; empty lines at the end are no share.
    path.write_text("a,b\n" * 10 + "\n" * 500)
    assert divide(path, Dialect(",", "utf-8", 100), 100) == [DataFile(str(path), "csv", False)]


@pytest.mark.parametrize(
    "delimiter, encoding, divisible",
    [(",", "utf-8", True), ("\t", "utf-8", True), (",", "utf-16", False), ('"', "utf-8", False),
     ("\u00a7", "utf-8", False)],
)  # fmt: skip
def test_files_whose_ends_of_rows_are_unknown(delimiter, encoding, divisible):
    assert Dialect(delimiter, encoding, 100).can_be_divided == divisible


def _write_rows(path, wrong=()):
    """Writes four megabytes; of the rows in `wrong`, one has a wrong value, the others a field."""
    with path.open("w") as stream:
        stream.write("\nx,word,y\n")
        for row in range(60_000):
            value = "many" if row in wrong[:1] else f"{row}.5"
            more = ",more" if row in wrong[1:] else ""
            stream.write(f'{value},"line\n{"w" * 50}",{row % 2}{more}\n')


def test_row_numbers_and_bad_rows_are_those_of_the_whole_file(tmp_path):
    path, data = tmp_path / "data.csv", DataConfig()
    _write_rows(path, wrong=(40_000, 50_000, 59_999))
    shares = divide(path, describe_dialect(data), 1 << 20)
    assert len(shares) == 4

    def read(files):
        bad_rows, found = BadRows(10), []
        for file in files:
            for batch in read_batches(file, SCHEMA, ["x", "word", "y"], data, bad_rows):
                found.append((batch.numbers.tolist(), batch.columns.to_pydict()))
        # Arrow reads ahead: it reports a wrong number of fields before values of rows before.
        return sorted(bad_rows.examples), bad_rows.count, found

    whole = read([shares[0]._replace(part=None)])
    assert whole[1] == 3 and sum(len(numbers) for numbers, _ in whole[2]) == 59_997
    assert read(shares) == whole
    for number, row in ((2, "row 40003, column x"), (3, "row 50003 has 4 fields")):
        # The first error of a share, as a message of Arrow.
        with pytest.raises(UserError) as there:
            list(read_batches(shares[number], SCHEMA, ["x", "word", "y"], data))
        assert row in str(there.value)


def _make_lines(rng, rows):
    lines = []
    for number in range(rows):
        word = rng.choice(["x" * rng.randint(0, 30), "\\n", '\\"', "2020-02-03"])
        row = f'{{"x": {number}, "word": "{word}", "y": {number % 2}}}'
        lines.append(rng.choice([row, row, f" {row} ", f'{{"x": {number}, "y": 1}}']))
        if rng.random() < 0.1:
            lines.append(rng.choice(["", "  ", " \t"]))
    lines[rows // 2] = '{"x": 1'
    text = rng.choice(["", "\ufeff"]) + "".join(line + rng.choice(["\n", "\r\n"]) for line in lines)
    return text if rng.random() < 0.5 else text.rstrip()


@pytest.mark.parametrize("seed", range(8))
def test_shares_of_json_lines_are_the_whole_file(seed, tmp_path, monkeypatch):
    rng = random.Random(seed)
    path = tmp_path / "data.jsonl"
    path.write_text(_make_lines(rng, 120), newline="")
    monkeypatch.setattr(stretches, "PIECE_BYTES", rng.choice([7, 30, 64, 1 << 20]))
    block_bytes = rng.randint(90, 200)
    monkeypatch.setattr("trainer.inputs.json_files.BLOCK_BYTES", block_bytes)
    shares = divide(path, JsonLines(block_bytes), block_bytes * rng.randint(1, 5), "jsonl")
    assert len(shares) > 2

    def read(files):
        bad_rows, found = BadRows(10), []
        for file in files:
            for batch in read_batches(file, SCHEMA, ["x", "word", "y"], DataConfig(), bad_rows):
                found.append((batch.numbers.tolist(), batch.columns.to_pydict()))
        return bad_rows.examples, bad_rows.count, found

    whole = read([shares[0]._replace(part=None)])
    numbers = [number for rows, _ in whole[2] for number in rows]
    assert whole[1] == 1 and len(numbers) == len(set(numbers)) and numbers[-1] - numbers[0] >= 118
    assert read(shares) == whole


def test_a_file_that_has_changed_is_not_read(tmp_path):
    path, data = tmp_path / "data.csv", DataConfig()
    _write_rows(path)
    shares = divide(path, describe_dialect(data), 1 << 20)
    path.open("a").write("1.5,late,1\n")
    with pytest.raises(UserError, match="has changed while the files were read"):
        list(read_batches(shares[1], SCHEMA, ["x"], data))
