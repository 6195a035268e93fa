"""A function runs in a process of its own, which ends with one signal."""

import os
import sys
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
    end = time.monotonic() + 60
    while not signals and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.5)
    with open(os.path.join(folder, "signals"), "w") as stream:
        stream.write(" ".join(signal.Signals(number).name for number in signals))
"""


@pytest.mark.long
def test_ctrl_c_in_a_terminal_reaches_the_process_once(tmp_path, press_ctrl_c):
    (tmp_path / "noting.py").write_text(NOTE_SIGNALS)
    code = f"from trainer.tfx import child; child.call('noting:note', {str(tmp_path)!r})"
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    _, errors = press_ctrl_c([sys.executable, "-c", code], tmp_path / "started", env)
    assert "KeyboardInterrupt" in errors
    assert (tmp_path / "signals").read_text() == "SIGTERM"
