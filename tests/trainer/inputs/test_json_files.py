"""trainer.inputs.json_files: JSON lines, whatever the types of the values in a block."""

import json

import pytest

from trainer.errors import UserError
from trainer.inputs.files import DataFile
from trainer.inputs.json_files import BLOCK_BYTES, iterate_json_lines

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
