"""How much TensorFlow says at each level, each in a process of its own."""

import os
import re
import subprocess
import sys
import textwrap

import pytest

import estimator_bridge

pytestmark = pytest.mark.versions

# A line that TensorFlow's C++ code writes; which ones there are depends on the processor.
NATIVE = re.compile(r"\.cc:\d+\] ")
PROGRAM = """
import logging
import estimator_bridge
{set_level}
from estimator_bridge import tf
import warnings
from tensorflow.python.util import deprecation
{late}

@deprecation.deprecated("2020-01-01", "use something else")
def old():
    pass

old()
tf.get_logger().error("an error of ours")
tf.get_logger().warning("a warning of ours")
tf.get_logger().info("a fact of ours")
warnings.warn("`tf.layers.dense` is deprecated and will be removed in a future version.")
warnings.warn("float_format is deprecated for text_format.")
warnings.warn("another warning")
"""


def says(level=None, late=False, **environment):
    code = PROGRAM.format(
        set_level=f"estimator_bridge.set_verbosity({level!r})" if level and not late else "",
        late=f"estimator_bridge.set_verbosity({level!r})" if level and late else "",
    )
    kept = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**kept, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_warning_is_quiet_about_deprecations_and_the_machine():
    text = says("warning")
    assert "something else" not in text and "will be removed" not in text
    assert "a warning of ours" in text and "another warning" in text
    assert "a fact of ours" not in text
    for noise in ("oneDNN", "cuda drivers", "InitializeLog", "cuDNN", "AVX"):
        assert noise not in text


def test_error_shows_errors_only():
    text = says("error")
    assert "an error of ours" in text and "a warning of ours" not in text


def test_debug_shows_everything():
    text = says("debug")
    assert "something else" in text and "will be removed" in text and "a fact of ours" in text
    assert NATIVE.search(text)


def test_a_level_can_be_set_late():
    assert "something else" in says("debug", late=True)
    assert "a warning of ours" not in says("error", late=True)


def test_by_default_only_deprecations_are_hidden():
    text = says()
    assert "something else" not in text and "a warning of ours" in text
    assert NATIVE.search(text)


def test_unknown_level():
    with pytest.raises(ValueError, match="'loud': choose one of debug, info, warning, error"):
        estimator_bridge.set_verbosity("loud")


def test_other_output_during_the_import_is_kept():
    """The filter over TensorFlow's import drops known lines only, and ends with it."""
    code = """
        import os, sys
        import estimator_bridge
        estimator_bridge.set_verbosity("warning")
        from estimator_bridge.output import logs
        with logs._quiet_import():
            os.write(2, b"one\\nI0 oneDNN custom operations are on.\\ntwo\\nthree without an end")
        print("four", file=sys.stderr)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == "one\ntwo\nthree without an endfour\n"


def test_a_process_that_is_started_during_the_import_does_not_delay_it():
    code = """
        import os, subprocess, sys
        import estimator_bridge
        estimator_bridge.set_verbosity("warning")
        from estimator_bridge.output import logs
        with logs._quiet_import():
            child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
            os.write(2, b"one\\n")
        os.write(2, b"two\\n")
        child.communicate(b"\\n")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == "one\ntwo\n"
