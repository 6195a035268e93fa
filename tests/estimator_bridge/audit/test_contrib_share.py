"""The tool that measures the share of tf.contrib: what it counts, and its table."""

import importlib.util
import re
from pathlib import Path

import pytest

pytestmark = [pytest.mark.quick, pytest.mark.newest]

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def tool():
    path = ROOT / "tools" / "contrib_share.py"
    spec = importlib.util.spec_from_file_location("contrib_share", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_use_is_counted_and_what_is_missing_is_named(tool, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "model.py").write_text(
        "import tensorflow as tf\n"
        "from tensorflow.contrib import rnn\n"
        "cell = rnn.LSTMCell(3)\n"
        "net = tf.contrib.layers.fully_connected(tf.zeros([1, 2]), 3)\n"
        "one, two = tf.contrib.ffmpeg.decode_audio, tf.contrib.ffmpeg.decode_audio\n"
        "other = tf.contrib.nothing_of_this_name\n"
        "mean = tf.reduce_mean(net)\n"
    )
    share = tool.count("package==1.0", tmp_path)
    assert (share.uses, share.supplied) == (6, 3)
    assert share.missing == {
        "tf.contrib.ffmpeg.decode_audio": 2,
        "tf.contrib.nothing_of_this_name": 1,
    }
    lines = tool.render([[share, share], [share]]).splitlines()
    names = "`ffmpeg.decode_audio` (2), `nothing_of_this_name`"
    assert lines[2:] == [
        *2 * [f"| package 1.0 | 6 | 3 | 50.0 % | {names} |"],
        "| group 1: 2 packages | 12 | 6 | 50.0 % |  |",
        f"| package 1.0 | 6 | 3 | 50.0 % | {names} |",
        "| all 3 packages | 18 | 9 | 50.0 % |  |",
    ]


def test_the_document_has_every_package_and_the_target_is_met(tool):
    text = (ROOT / "docs" / "parity.md").read_text(encoding="utf-8")
    table = text.partition(tool.BEGIN)[2].partition(tool.END)[0]
    rows = re.findall(r"^\| (.*?) \| ([\d,]+) \| ([\d,]+) \|", table, re.MULTILINE)
    packages = [one.replace("==", " ") for group in tool.PACKAGES for one in group]
    assert [name for name, _, _ in rows if name[:4] not in ("all ", "grou")] == packages
    _, uses, supplied = rows[-1]
    assert int(supplied.replace(",", "")) >= 0.99 * int(uses.replace(",", "")) > 2400
