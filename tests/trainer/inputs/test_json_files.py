"""trainer.inputs.json_files: JSON lines, whatever the types of the values in a block."""

import json

import pytest

from trainer.config import DataConfig
from trainer.errors import UserError
from trainer.inputs.bad_rows import BadRows
from trainer.inputs.files import DataFile
from trainer.inputs.json_files import BLOCK_BYTES, iterate_json_lines, read_json_lines
from trainer.inputs.raw_batches import ReadRequest
from trainer.schema import Schema

pytestmark = pytest.mark.quick


def _read(tmp_path, content, max_row_bytes=1 << 24):
    path = tmp_path / "a.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    batches = iterate_json_lines(DataFile(str(path), "jsonl", False), max_row_bytes)
    return [row for batch in batches for row in batch.to_pylist()]


def test_rows_do_not_depend_on_blocks(tmp_path):
    rows = [{"n": number, "day": f"2020-01-{number % 28 + 1:02}"} for number in range(40_000)]
    rows += [{"n": 0.5, "day": "none", "late": "2020-01-01"}]
    content = "\n".join(json.dumps(row) for row in rows)
    assert len(content) > BLOCK_BYTES
    found = _read(tmp_path, content)
    assert [{name: v for name, v in row.items() if v is not None} for row in found] == rows


def test_a_column_of_several_types_is_text(tmp_path):
    found = _read(tmp_path, '{"a": 1, "b": true}\n\n{"a": "x", "b": 2}\n{"b": null}\n')
    assert [row["a"] for row in found] == ["1", "x", None]
    assert [row["b"] for row in found] == ["true", "2", None]


def test_a_byte_order_mark_is_skipped(tmp_path):
    assert _read(tmp_path, '{"a": 1}\n'.encode("utf-8-sig")) == [{"a": 1}]


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ('{"a": 1}\n[2]\n', "row 2: not a JSON object"),
        ('[{"a": 1}]', "row 1: not a JSON object"),
        ('{"a": 1}\n{"a":\n1}\n', "row 2: not JSON in one line"),
        ('{\n"a": 1\n}\n', "row 1: not JSON in one line"),
        ('{"a": 1, "a": 2}\n', "a name appears twice"),
        (b'{"a": "\xff"}\n', "not UTF-8"),
        ("[" * 100_000, "row 1"),
        ('{"a": "' + "x" * 3_000_000, "--data.max_row_mib"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path, content, wanted):
    with pytest.raises(UserError, match=wanted) as caught:
        _read(tmp_path, content, 2 << 20)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.long
def test_lines_that_are_no_objects_are_bad_rows(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'{"a": 1}\n{"a": \n\n[2]\n{"a": 3}\n{"a": "\xff"}\n' + b'{"a": 4}\n' * 200_000
    )
    schema = Schema.model_validate({"columns": {"a": {"type": "int"}}, "label": {"column": "a"}})

    def read(limit):
        bad_rows = BadRows(limit)
        file = DataFile(str(path), "jsonl", False)
        request = ReadRequest(file, schema, ["a"], DataConfig(), bad_rows)
        batches = list(read_json_lines(request))
        return [n for each in batches for n in each.columns["a"].to_pylist()], batches, bad_rows

    values, batches, bad_rows = read(3)
    assert values == [1, 3, *[4] * 200_000]
    assert bad_rows.count == 3 and [batches[0].number(i) for i in (0, 1, 2)] == [1, 4, 6]
    assert "row 2: not JSON in one line" in bad_rows.examples[0]
    assert "row 3: not a JSON object" in bad_rows.examples[1]
    assert batches[-1].number(len(batches[-1].columns) - 1) == 200_005
    with pytest.raises(UserError, match="more bad rows than the 2"):
        read(2)
