"""Input pipelines that parse rows one by one."""

import ast
import json
import textwrap

import pytest

from estimator_bridge.audit import audit, to_json
from estimator_bridge.audit.html import render as render_html
from estimator_bridge.audit.pipelines import find_slow
from estimator_bridge.audit.text import render

pytestmark = [pytest.mark.newest, pytest.mark.quick]

PARSE = """
import functools
import tensorflow as tf

def parse(line, names=()):
    return tf.decode_csv(line, [[0.0]])

def read(row):
    return tf.io.parse_single_example(row, {})

def by_another(line):
    return parse(line), 1
"""


def lines(source):
    return [(one.line, one.parser) for one in find_slow(ast.parse(PARSE + textwrap.dedent(source)))]


@pytest.mark.parametrize(
    ("source", "line", "parser"),
    [
        ("ds = ds.map(parse).batch(8)", 1, "decode_csv"),
        ("ds = ds.map(parse)\nds = ds.shuffle(9).repeat()\nds = ds.batch(8)", 1, "decode_csv"),
        (
            "ds = (\n    ds.map(read, num_parallel_calls=4)\n    .batch(8))",
            2,
            "parse_single_example",
        ),
        ("def f(ds):\n    return ds.map(lambda x: parse(x)).padded_batch(8, [])", 2, "decode_csv"),
        ("ds.map(lambda x: tf.decode_csv(x, [[1]])).batch(8)", 1, "decode_csv"),
        ("ds.map(functools.partial(parse, names=[1])).batch(8)", 1, "decode_csv"),
        ("ds.map(by_another).batch(8)", 1, "decode_csv"),
        ("ds.apply(tf.data.experimental.map_and_batch(parse, 8))", 1, "decode_csv"),
    ],
)
def test_rows_that_are_parsed_one_by_one_are_found(source, line, parser):
    assert lines(source) == [(PARSE.count("\n") + line, parser)]


@pytest.mark.parametrize(
    "source",
    [
        "ds = ds.batch(8).map(parse)",
        "ds = ds.batch(8)\nds = ds.map(parse)",
        "ds = ds.map(parse)",
        "ds.map(len).batch(8)",
        "map(parse, lines)\nds.batch(8)",
        "def one(ds):\n    return ds.map(parse)\ndef other(ds):\n    return ds.batch(8)",
        "def files(name):\n    return tf.data.TextLineDataset(name).batch(8).map(parse)\n"
        "ds.flat_map(files).batch(8)",
    ],
)
def test_other_pipelines_are_left_out(source):
    assert lines(source) == []


def test_a_report_lists_them(tmp_path):
    (tmp_path / "main.py").write_text(PARSE + "ds.map(parse).batch(8)\n")
    report = audit(str(tmp_path))
    (found,) = json.loads(to_json(report))["slow"]
    assert found["file"] == "main.py" and found["line"] == PARSE.count("\n") + 1
    assert "dataset.batch(n).map(parse) is about 8 times as fast" in found["text"]
    text = " ".join("\n".join(render(report, 100)).split())
    assert f"SLOW INPUT ---------- main.py:{found['line']} {found['text']}" in text
    assert "Slow input" in str(render_html(report))
