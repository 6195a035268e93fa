"""Values of another type are set as pandas 1.3 to 2 did, which 1.1.5 did not do yet."""

import subprocess

import measured

PROGRAM = """
import warnings
import pandas as pd
from estimator_bridge import old_packages
old_packages.install()
warnings.simplefilter("error")
warnings.filterwarnings("ignore", category=FutureWarning)
numbers = pd.Series([1, 2, 3])
numbers[0] = 1.5
assert numbers.tolist() == [1.5, 2, 3] and numbers.dtype == float
frame = pd.DataFrame({"a": [1, 2], "b": [True, False]})
frame.at[1, "a"] = 2.5
frame.loc[0, "b"] = "x"
assert frame.a.tolist() == [1, 2.5] and frame.b.tolist() == ["x", False]
"""


def test_a_value_of_another_type_changes_the_type_of_the_column(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(measured.python(file), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
