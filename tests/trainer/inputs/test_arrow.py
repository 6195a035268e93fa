"""trainer.inputs.arrow: pandas is imported only when something needs it."""

import subprocess
import sys

PROGRAM = """
import sys
from estimator_bridge.process.fast_import import fast_imports
with fast_imports():
    import trainer.inputs
import pyarrow as pa

def scan():
    assert pa.scalar(1).as_py() == 1
    assert pa.array([1.0, None]).fill_null(0).to_numpy().tolist() == [1.0, 0.0]

WHAT
"""
# Only a pyarrow that knows pandas reads the NaN of a Series as null.
KNOWN = "assert pa.array(pandas.Series([1.0, float('nan')])).null_count == 1"


def run(what):
    program = PROGRAM.replace("WHAT", what)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr


def test_pandas_is_not_imported_for_tables():
    run("scan(); assert 'pandas' not in sys.modules")


def test_pandas_is_recognised_after_its_import():
    run(f"scan(); import pandas; {KNOWN}")


def test_tables_can_be_converted_to_pandas():
    run(f"scan(); assert len(pa.table({{'a': [1]}}).to_pandas()) == 1; import pandas; {KNOWN}")


def test_pandas_imported_before_is_recognised():
    program = PROGRAM.replace("import sys", "import sys, pandas", 1)
    program = program.replace("WHAT", f"scan(); {KNOWN}")
    subprocess.run([sys.executable, "-c", program], check=True)
