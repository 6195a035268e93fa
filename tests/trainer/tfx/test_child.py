"""A function runs in a process of its own, which ends with one signal."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.newest, pytest.mark.quick]
ROOT = Path(__file__).parents[3]

# Notes the signals of the half second after the first one.
NOTE_SIGNALS = """
import os, signal, time

def note(folder):
    signals = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: signals.append(number))
    open(os.path.join(folder, "started"), "w").close()
    while not signals:
        time.sleep(0.01)
    time.sleep(0.5)
    with open(os.path.join(folder, "signals"), "w") as stream:
        stream.write(" ".join(signal.Signals(number).name for number in signals))
"""


def test_ctrl_c_in_a_terminal_reaches_the_process_once(tmp_path):
    (tmp_path / "noting.py").write_text(NOTE_SIGNALS)
    code = f"from trainer.tfx import child; child.call('noting:note', {str(tmp_path)!r})"
    caller = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    with caller:
        deadline = time.monotonic() + 60
        while not (tmp_path / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        # As a terminal does.
        os.killpg(caller.pid, signal.SIGINT)
        _, errors = caller.communicate(timeout=60)
    assert b"KeyboardInterrupt" in errors
    assert (tmp_path / "signals").read_text() == "SIGTERM"
