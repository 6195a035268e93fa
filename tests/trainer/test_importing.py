"""trainer.importing: a quick start gives the same modules."""

import subprocess
import sys

PROGRAM = """
import gc, sys
from trainer.importing import quickly
assert gc.isenabled()
with quickly():
    assert not gc.isenabled()
    from estimator_bridge import estimator, tf
    from trainer import run
assert gc.isenabled() and gc.get_freeze_count() > 100_000
loaded = {name for name in ("pandas.core", "matplotlib", "sklearn", "pyarrow.parquet")
          if name in sys.modules}
assert not loaded, loaded
# AutoGraph looks for the files of all modules.
assert sys.modules["pandas"].__file__ and "pandas.core" not in sys.modules
import pandas
from pandas import Series
import pandas.testing
assert pandas.DataFrame({"a": [1, 2]}).a.sum() == 3
assert sys.modules["pandas"].Series is Series is pandas.Series

frame = pandas.DataFrame({"a": [1.0, 2.0]})
input_fn = tf.compat.v1.estimator.inputs.pandas_input_fn(frame, frame.a, shuffle=False)
with tf.Graph().as_default():
    features, labels = input_fn()
print("done")
"""


def test_what_is_seldom_used_waits_until_it_is_asked_for():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_the_collector_stays_off_if_it_was_off_and_on_after_an_error():
    program = """
import gc
from trainer.importing import quickly
try:
    with quickly():
        raise ValueError
except ValueError:
    assert gc.isenabled()
gc.disable()
with quickly():
    pass
assert not gc.isenabled()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
