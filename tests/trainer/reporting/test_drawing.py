"""Settings of the current folder do not reach the figures."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.quick, pytest.mark.newest]

DRAW = """
import sys
from trainer.reporting import figures, html
drawn = figures.draw_bars(["a"], [1.0], [0.0], "loss")
assert "<svg" in html.figure(drawn, "Bars")
"""


def test_a_file_of_the_current_folder_changes_no_figure(tmp_path):
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    done = subprocess.run(
        [sys.executable, "-c", DRAW], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


LOADED = """
import sys, threading
from trainer import drawing

{before}
drawing.load_beside()
for thread in threading.enumerate():
    if thread.name == "load matplotlib":
        thread.join()
print("matplotlib.backends.backend_agg" in sys.modules)
"""


@pytest.mark.parametrize(
    ("before", "output"), [("", "True\n"), ("sys.modules['matplotlib'] = None", "False\n")]
)
def test_another_thread_loads_matplotlib(before, output):
    """Where that fails, a figure reports it."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(before=before)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == (output, "")
