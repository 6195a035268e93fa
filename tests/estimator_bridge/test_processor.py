"""estimator_bridge.processor: the cores of a container, and oneDNN where it helps."""

import builtins
import io
import os
import subprocess
import sys

import pytest

from estimator_bridge import prefer_onednn, processor

SWITCH = "TF_ENABLE_ONEDNN_OPTS"


@pytest.mark.parametrize(
    ("flags", "before", "after"),
    [
        ("fpu sse4_2 avx avx2 fma", None, "1"),
        ("fpu sse4_2 avx avx2 fma", "0", "0"),
        ("fpu sse4_2 avx f16c", None, None),
        (None, None, None),
    ],
)
def test_onednn_is_used_where_it_helps_unless_configured(monkeypatch, flags, before, after):
    def open_fake(path, *_, **__):
        assert path == "/proc/cpuinfo"
        if flags is None:
            raise FileNotFoundError(path)
        return io.StringIO(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t:\n")

    # Whatever it is set to is gone after the test.
    monkeypatch.setenv(SWITCH, before or "")
    if before is None:
        monkeypatch.delenv(SWITCH)
    with monkeypatch.context() as patched:
        patched.setattr(builtins, "open", open_fake)
        prefer_onednn()
    assert os.environ.pop(SWITCH, None) == after


@pytest.mark.parametrize(
    ("group", "files", "cores"),
    [
        # Version 2, in a container and in a service of the machine.
        ("0::/", {"cpu.max": "150000 100000"}, 2),
        ("0::/", {"cpu.max": "max 100000"}, 8),
        ("0::/", {"cpu.max": "1000 100000"}, 1),
        ("0::/", {"cpu.max": "6400000 100000"}, 8),
        ("0::/a/b", {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
        # Version 1. In a container, the path is that of the machine.
        ("4:cpu,cpuacct:/docker/12", {"cpu/cpu.cfs_quota_us": "250000"}, 3),
        ("4:cpu:/", {"cpu/cpu.cfs_quota_us": "-1"}, 8),
        ("5:cpuset:/\n4:cpuacct:/", {"cpu/cpu.cfs_quota_us": "100000"}, 8),
        ("0::/", {}, 8),
        (None, {}, 8),
    ],
)
def test_a_container_has_the_cores_of_its_limit(tmp_path, monkeypatch, group, files, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    mounted = tmp_path / "sys/fs/cgroup"
    (mounted / "cpu").mkdir(parents=True)
    (mounted / "cpu/cpu.cfs_period_us").write_text("100000\n")
    for name, text in files.items():
        (mounted / name).parent.mkdir(parents=True, exist_ok=True)
        (mounted / name).write_text(f"{text}\n")
    if group is not None:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(f"{group}\n")
    assert processor.count_cores(tmp_path) == cores


@pytest.mark.parametrize(
    ("features", "switch", "wanted"),
    [
        ({"avx512f", "avx512_bf16"}, "1", True),
        ({"avx512f", "amx_bf16"}, "1", True),
        ({"avx512f", "avx512_bf16"}, "0", False),
        ({"avx512f"}, "1", False),
    ],
)
def test_bfloat16_needs_instructions_and_onednn(monkeypatch, features, switch, wanted):
    monkeypatch.setattr(processor, "list_features", lambda: features)
    monkeypatch.setenv(SWITCH, switch)
    assert processor.has_bfloat16() == wanted


@pytest.mark.skipif(
    not {"avx2", "fma"} <= processor.list_features(), reason="the processor lacks AVX2 or FMA"
)
def test_tensorflow_uses_onednn_when_preferred():
    program = """
import estimator_bridge
estimator_bridge.prefer_onednn()
from estimator_bridge import tf
from tensorflow.python.util import _pywrap_util_port
print(_pywrap_util_port.IsMklEnabled())
"""
    kept = {name: value for name, value in os.environ.items() if name != SWITCH}
    for environment, told in ((kept, "True"), ({**kept, SWITCH: "0"}, "False")):
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )
        assert done.stdout.strip() == told, done.stderr
