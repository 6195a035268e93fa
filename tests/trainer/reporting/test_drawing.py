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


@pytest.mark.long
def test_a_file_of_the_current_folder_changes_no_figure(tmp_path):
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    done = subprocess.run(
        [sys.executable, "-c", DRAW], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
