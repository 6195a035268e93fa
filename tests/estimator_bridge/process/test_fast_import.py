"""estimator_bridge.process.fast_import: a quick start gives the same modules."""

import importlib.metadata
import subprocess
import sys

import pytest

PROGRAM = """
import gc, sys
import estimator_bridge
assert gc.isenabled()
estimator_bridge.install()
import tensorflow as tf
tf.estimator.RunConfig, tf.compat.v1.estimator.inputs
tf.keras.layers
assert gc.isenabled() and gc.get_freeze_count() > 100_000
seldom = ("pandas", "scipy", "h5py", "requests")
assert not {name for name in sys.modules if name.startswith(seldom)}

# What Keras holds is the package where it is used.
from importlib import import_module
keras = "keras" if "keras.src.preprocessing" in sys.modules else "tf_keras"
image = import_module(keras + ".src.preprocessing.image")
assert "scipy" not in sys.modules
import numpy
square = numpy.array([[[1.0], [2.0]], [[3.0], [4.0]]])
turned = image.apply_affine_transform(square, theta=90, row_axis=0, col_axis=1, channel_axis=2)
assert turned.ravel().round(5).tolist() == [2.0, 4.0, 1.0, 3.0], turned
adapter = import_module(keras + ".src.engine.data_adapter")

import pandas
import pandas.testing
from pandas import Series
from scipy.sparse import csr_matrix, issparse
import scipy
assert scipy.linalg.det([[2.0]]) == 2 and issparse(csr_matrix([[1.0]]))
assert adapter._is_scipy_sparse(csr_matrix([[1.0]])) and not adapter._is_scipy_sparse(1)
assert pandas.DataFrame({"a": [1, 2]}).a.sum() == 3
assert pandas.Series is Series and sys.modules["pandas"] is pandas

model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
model.save(PATH)
import h5py
with h5py.File(PATH) as file:
    assert "model_weights" in file
    assert tf.keras.models.load_model(file).count_params() == 3

frame = pandas.DataFrame({"a": [1.0, 2.0]})
input_fn = tf.compat.v1.estimator.inputs.pandas_input_fn(frame, frame.a, shuffle=False)
with tf.Graph().as_default():
    features, labels = input_fn()
assert adapter._is_pandas_series(Series([1]))
assert callable(import_module(keras + ".src.callbacks").requests.get)
print("done")
"""


def test_rarely_used_packages_are_imported_on_use(tmp_path):
    program = PROGRAM.replace("PATH", repr(str(tmp_path / "model.h5")))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


def test_a_package_imported_before_is_not_replaced():
    program = """
import pandas, scipy.sparse
before = pandas, scipy, scipy.sparse
from estimator_bridge.process.fast_import import fast_imports
with fast_imports(), fast_imports():
    import pandas, scipy.sparse
    assert before == (pandas, scipy, scipy.sparse)
    from scipy import optimize
assert before == (pandas, scipy, scipy.sparse)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_garbage_collector_is_restored():
    program = """
import gc
from estimator_bridge.process.fast_import import fast_imports
try:
    with fast_imports():
        raise ValueError
except ValueError:
    assert gc.isenabled()
gc.disable()
with fast_imports():
    pass
assert not gc.isenabled()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_another_package_of_that_name_is_imported(tmp_path):
    (tmp_path / "scipy").mkdir()
    (tmp_path / "scipy" / "__init__.py").write_text("linalg = 1\n")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from estimator_bridge.process.fast_import import fast_imports
with fast_imports():
    exec("import scipy\\nassert scipy.linalg == 1", {{"__name__": "keras.src"}})
import scipy
assert scipy.__file__.startswith({str(tmp_path)!r})
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# Each part of a package is imported by another thread at a random moment of TensorFlow's import.
THREADS = """
import builtins, importlib, random, sys, threading, time
import estimator_bridge
estimator_bridge.install()
own_import, failures = builtins.__import__, []

def use(number):
    time.sleep(random.Random(number).uniform(0, 4))
    try:
        import scipy.sparse, scipy.linalg, scipy.optimize
        from scipy import ndimage
        import pandas, h5py, requests
        assert type(scipy) is type(sys) and sys.modules["scipy"] is scipy
        assert importlib.import_module("scipy.sparse") is scipy.sparse
        assert scipy.linalg.det([[2.0]]) == 2 and callable(scipy.optimize.minimize)
        assert scipy.sparse.issparse(scipy.sparse.csr_matrix([[1.0]])) and ndimage.shift
        assert pandas.DataFrame({"a": [1, 2]}).a.sum() == 3 and h5py.File and requests.get
        assert sys.modules["pandas"] is pandas and type(pandas) is type(sys)
    except BaseException as error:
        failures.append(repr(error))

threads = [threading.Thread(target=use, args=(number,)) for number in range(6)]
for thread in threads:
    thread.start()
import tensorflow as tf
tf.estimator.RunConfig, tf.keras.layers.Dense
for thread in threads:
    thread.join()
assert not failures, failures
assert builtins.__import__ is own_import
"""


def test_threads_that_import_at_the_same_time():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True)
    assert not done.returncode, done.stderr


AT_EACH_MOMENT = """
import sys, threading
from estimator_bridge.process.fast_import import block_import, fast_imports

def elsewhere(code):
    caught = []
    def run():
        try:
            exec(code, {"__name__": "program"})
        except BaseException as error:
            caught.append(repr(error))
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not caught, caught

def keras(code):
    exec(code, {"__name__": "keras.src.part"})

with fast_imports(), block_import("pandas"):
    keras("import scipy; from scipy import linalg; from scipy.sparse import issparse")
    assert not [name for name in sys.modules if name.startswith(("scipy", "pandas"))]
    elsewhere("import scipy.MOMENT; assert scipy.MOMENT.__spec__.name == 'scipy.MOMENT'")
    elsewhere("from scipy.sparse import csr_matrix; import scipy; scipy.linalg.det([[1.0]])")
    keras("import scipy; assert scipy.sparse.csr_matrix")
    elsewhere("import pandas; pandas.DataFrame")
elsewhere("import scipy.sparse, scipy.optimize; assert scipy.optimize.minimize")
"""


@pytest.mark.parametrize("moment", ["linalg", "sparse", "optimize", "ndimage"])
def test_another_thread_gets_the_packages(moment):
    program = AT_EACH_MOMENT.replace("MOMENT", moment)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr


KERAS_3 = """
import sys
from estimator_bridge.process.fast_import import import_keras_3
keras = import_keras_3()
assert keras is sys.modules["keras"] and keras.layers.Dense(1)
unused = ("sklearn", "matplotlib", "scipy")
assert not {name for name in sys.modules if name.startswith(unused)}
from sklearn.base import BaseEstimator
import matplotlib.figure
"""


@pytest.mark.skipif(importlib.metadata.version("keras").startswith("2."), reason="has Keras 2")
def test_keras_3_is_imported_without_what_it_seldom_uses():
    subprocess.run([sys.executable, "-c", KERAS_3], check=True)
