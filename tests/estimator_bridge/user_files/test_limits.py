"""estimator_bridge.user_files.limits: small files that claim to be large are refused at once."""

import io
import struct

import google_crc32c
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from estimator_bridge import BridgeError
from estimator_bridge.user_files.limits import (
    check_column_sizes,
    limit_lines,
    load_yaml,
    read_checked,
)

pytestmark = [pytest.mark.newest, pytest.mark.quick]


def _record(length, body):
    head = struct.pack("<Q", length)
    checksum = google_crc32c.value(head)
    masked = (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    return head + struct.pack("<I", masked) + body + bytes(4)


@pytest.mark.parametrize("length", [2**40, 2**63 + 5, 3000])
@pytest.mark.parametrize("before", [0, 7])
def test_a_record_longer_than_its_file(tmp_path, length, before):
    path = tmp_path / "a.tfrecord"
    whole = _record(20, bytes(20))
    path.write_bytes(whole * before + _record(length, bytes(96)))
    with pytest.raises(BridgeError, match=f"damaged after row {before}: .*{length:,} bytes"):
        list(read_checked(str(path), lambda: range(9), 1))


def test_sound_and_truncated_files_pass(tmp_path):
    path = tmp_path / "a.tfrecord"
    for sizes in ([], [0, 1, 0], [3_000_000, 5, 2_000_000], [100] * 50_000):
        content = b"".join(_record(size, bytes(size)) for size in sizes)
        for end in (len(content), len(content) - 3):
            path.write_bytes(content[: max(end, 0)])
            assert list(read_checked(str(path), lambda: range(3), 1)) == [0, 1, 2]


def test_a_column_that_unpacks_extremely(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"x": pa.array([0.0] * 2_000_000), "s": pa.array(["a"] * 2_000_000)})
    pq.write_table(table, path, use_dictionary=False, compression="zstd")
    metadata = pq.read_metadata(path)
    check_column_sizes(metadata, ["x", "s"], 1 << 30)
    check_column_sizes(metadata, [], 1 << 20)
    with pytest.raises(BridgeError, match="column 'x' of row group 0 unpacks from .* to 8,"):
        check_column_sizes(metadata, ["x"], 1 << 20)


def test_a_line_without_an_end():
    lines = limit_lines(io.StringIO("ab\nabcd\nabcdefg"), 5)
    assert [next(lines), next(lines)] == ["ab\n", "abcd\n"]
    with pytest.raises(BridgeError, match="line 3 is longer than 5 characters"):
        next(lines)


def test_yaml_aliases_that_multiply_or_contain_themselves():
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(yaml.YAMLError, match="aliases multiply"):
        load_yaml("\n".join(levels))
    with pytest.raises(yaml.YAMLError, match="within its own anchor"):
        load_yaml("a: &a [1, *a]")
    assert load_yaml("a: &a {b: [1]}\nc: {<<: *a}\nd: *a\n") == {
        "a": {"b": [1]},
        "c": {"b": [1]},
        "d": {"b": [1]},
    }
    assert load_yaml("") is None
