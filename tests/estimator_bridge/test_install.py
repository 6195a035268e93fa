"""Every way to the names, in every order of imports, each in a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

import estimator_bridge
from estimator_bridge import versions
from estimator_bridge.shims import keras2

pytestmark = pytest.mark.versions

REMOVED = versions.parse(versions.installed_tensorflow()) >= versions.ESTIMATOR_REMOVED_IN


def python(code, **environment):
    # What an earlier test has set in this process is not the program's.
    clean = {name: value for name, value in os.environ.items() if name != "TF_USE_LEGACY_KERAS"}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**clean, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
    )


def runs(code, **environment):
    done = python(code, **environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


NAMES = """
import tensorflow as tf
v1, v2 = tf.compat.v1.estimator, tf.estimator
assert v1.DNNClassifier is not v2.DNNClassifier
from tensorflow import estimator
assert estimator.DNNClassifier is v2.DNNClassifier
from tensorflow.compat.v1 import estimator as first
from tensorflow.compat.v2 import estimator as second
assert first.DNNClassifier is v1.DNNClassifier and second.DNNClassifier is v2.DNNClassifier
import tensorflow.compat.v1 as tf1
import tensorflow.compat.v2 as tf2
assert tf1.estimator.DNNClassifier is v1.DNNClassifier
assert tf2.estimator.DNNClassifier is v2.DNNClassifier
assert tf.compat.v1.compat.v2.estimator.DNNClassifier is v2.DNNClassifier
assert tf.compat.v2.compat.v1.estimator.DNNClassifier is v1.DNNClassifier
from tensorflow.estimator import RunConfig, export
from tensorflow.estimator.export import ServingInputReceiver
from tensorflow.compat.v1.estimator.inputs import numpy_input_fn
import tensorflow_estimator
from tensorflow_estimator.python.estimator import estimator as private
assert private.EstimatorV2 is v2.Estimator and private.Estimator is v1.Estimator
from tensorflow.python.estimator import estimator as older, estimator_lib, model_fn, run_config
from tensorflow.python.estimator.canned import dnn, head
from tensorflow.python.estimator.inputs import numpy_io
from tensorflow.python.estimator.inputs.queues import feeding_functions
from tensorflow.python.estimator.export import export_lib, export_output
from tensorflow.python.estimator import keras as keras_lib
assert older.Estimator.__module__ == private.Estimator.__module__
assert dnn.DNNClassifier is v1.DNNClassifier
assert keras_lib.model_to_estimator
from tensorflow.python.framework import test_util
from tensorflow.python.distribute import estimator_training
from tensorflow.python.tpu import session_support, tpu_embedding
from tensorflow.python.tpu.tpu_config import TPUConfig
assert tf.keras.Model.__module__.split(".")[0] in ("keras", "tf_keras")
from tensorflow.keras.layers import Dense
assert issubclass(Dense, tf.keras.layers.Layer)
"""

ORDERS = {
    "install first": "import estimator_bridge\nestimator_bridge.install()\n",
    "tensorflow first": "import tensorflow\nimport estimator_bridge\nestimator_bridge.install()\n",
    "compat.v1 first": (
        "import tensorflow.compat.v1\nimport estimator_bridge\nestimator_bridge.install()\n"
    ),
    "tf from the bridge": "from estimator_bridge import tf\n",
    "estimator from the bridge": "from estimator_bridge import estimator\n",
    "the package first": (
        "import estimator_bridge\nestimator_bridge.install()\nimport tensorflow_estimator\n"
    ),
    "Keras first": "import keras\nimport estimator_bridge\nestimator_bridge.install()\n",
    "in a thread": (
        "import threading, estimator_bridge\n"
        "ts = [threading.Thread(target=estimator_bridge.install) for _ in range(8)]\n"
        "[t.start() for t in ts], [t.join() for t in ts]\n"
    ),
}


# The first of each kind; all of them take a minute.
QUICK = ("install first", "tensorflow first", "Keras first", "in a thread")


@pytest.mark.parametrize(
    "order",
    [o if o in QUICK else pytest.param(o, marks=pytest.mark.matrix) for o in ORDERS],
)
def test_all_names_in_any_order(order):
    runs(ORDERS[order] + NAMES)


def test_after_a_failed_import_of_the_package():
    """A program may have tried, caught the error and gone on."""
    if not REMOVED:
        pytest.skip("TensorFlow 2.15 imports it without help")
    runs(
        "try:\n    import tensorflow_estimator\nexcept ImportError:\n    pass\n"
        "import estimator_bridge\nestimator_bridge.install()\n" + NAMES
    )


def test_importing_the_bridge_imports_nothing():
    runs(
        """
        import sys, estimator_bridge
        estimator_bridge.set_verbosity("warning")
        estimator_bridge.install()
        heavy = {"tensorflow", "numpy", "keras", "tf_keras", "tensorflow_estimator"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
        from estimator_bridge import tf
        assert tf.__name__ == "tensorflow"
        assert "tensorflow_estimator" not in sys.modules
        """
    )


def test_keras_3_stays_in_the_process():
    if not REMOVED:
        pytest.skip("TensorFlow 2.15 comes with Keras 2")
    for first, second in (
        ("from estimator_bridge import tf", "import keras"),
        ("import keras", "from estimator_bridge import tf"),
    ):
        runs(
            f"""
            {first}
            {second}
            import numpy as np
            assert keras.__version__.startswith("3")
            assert tf.keras.Model.__module__.startswith("tf_keras")
            x, y = np.ones((8, 1)), np.ones((8, 1))
            new = keras.Sequential([keras.layers.Dense(1)])
            new.compile("sgd", "mse")
            new.fit(x, y, verbose=0)
            old = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            old.compile("sgd", "mse")
            old.fit(x, y, verbose=0)
            tf.estimator.Estimator
            """
        )


@pytest.mark.parametrize(
    ("use", "named"),
    [
        ("import tensorflow as tf\ntf.keras.layers", "tf.keras"),
        ("import tensorflow as tf\ntf.optimizers.Adam", "tf.optimizers"),
        ("from tensorflow.keras import layers", "tensorflow.keras"),
    ],
)
def test_keras_3_used_before_the_bridge_is_refused(use, named):
    if not REMOVED:
        pytest.skip("TensorFlow 2.15 comes with Keras 2")
    done = python(use + "\nimport estimator_bridge\nestimator_bridge.install()\n")
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("estimator_bridge.errors.BridgeError: " + named)
    assert "Keras 3" in last and "estimator_bridge.install()" in last and "run" in last


def test_missing_packages_are_named():
    hide = """
        import sys, importlib.abc
        class Hidden(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path=None, target=None):
                if name == {name!r}:
                    raise ModuleNotFoundError(name)
        import importlib.util
        found = importlib.util.find_spec
        importlib.util.find_spec = lambda n, p=None: None if n == {name!r} else found(n, p)
        import estimator_bridge
        try:
            estimator_bridge.install()
        except estimator_bridge.BridgeError as error:
            print(error)
    """
    text = runs(hide.format(name="tensorflow_estimator")).stdout
    assert "pip install --no-deps tensorflow-estimator==2.15.0" in text
    variable = {} if REMOVED else {"TF_USE_LEGACY_KERAS": "1"}
    text = runs(hide.format(name="tf_keras"), **variable).stdout
    minor = min(versions.parse(versions.installed_tensorflow())[1], 21)
    assert (
        f"pip install --no-deps 'tf-keras==2.{minor}.*'" if REMOVED else "Unset TF_USE_LEGACY_KERAS"
    ) in text


@pytest.mark.quick
def test_the_keras_of_an_older_tensorflow_is_refused(monkeypatch):
    monkeypatch.setattr(versions, "installed", lambda name: "2.15.1")
    monkeypatch.setattr(versions, "installed_tensorflow", lambda: "2.17.1")
    with pytest.raises(
        estimator_bridge.BridgeError, match=r"tf-keras is 2\.15\.1\. .*'tf-keras==2\.17\.\*'"
    ):
        keras2.prepare()


@pytest.mark.quick
def test_python_without_docstrings_is_refused():
    program = "import estimator_bridge; estimator_bridge.install()"
    done = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True)
    assert "use -O or PYTHONOPTIMIZE=1" in done.stderr.splitlines()[-1]


@pytest.mark.quick
def test_an_attribute_that_a_package_lacks_is_named(monkeypatch):
    class Broken:
        @property
        def estimator_api(self):
            raise AttributeError("no attribute 'register_it'")

    monkeypatch.setattr(estimator_bridge, "install", lambda: None)
    monkeypatch.setattr(estimator_bridge, "private_tf", Broken())
    monkeypatch.delitem(vars(estimator_bridge), "estimator", raising=False)
    with pytest.raises(ImportError, match="estimator cannot be imported: .*'register_it'"):
        from estimator_bridge import estimator  # noqa: F401


def test_few_shims_are_applied_on_2_15():
    if REMOVED:
        pytest.skip("is about TensorFlow 2.15")
    runs(
        """
        import os, sys
        finders = list(sys.meta_path)
        import estimator_bridge
        estimator_bridge.install()
        import tensorflow as tf
        tf.estimator.Estimator
        ours = [f for f in sys.meta_path if type(f).__module__.startswith("estimator_bridge")]
        assert [type(f).__name__ for f in ours] == ["ModuleSupplier"]
        shims = {m for m in sys.modules if m.startswith("estimator_bridge.shims.")}
        shims -= {"estimator_bridge.shims.keras2"}
        expected = {"boosted_trees", "gathered_slices"}
        assert {m.rpartition(".")[2] for m in shims} == expected
        assert "TF_USE_LEGACY_KERAS" not in os.environ
        """
    )


def test_tensorflow_2_15_is_imported_where_keras_cannot_be():
    if REMOVED:
        pytest.skip("is about TensorFlow 2.15")
    runs(
        """
        import sys
        sys.modules["keras"] = None
        from estimator_bridge import tf
        assert tf.constant
        """
    )


def test_loaders_of_keras_are_safe_in_threads():
    """Resolved by many threads at once, TensorFlow's own way ends in endless recursion."""
    runs(
        """
        import sys, threading, estimator_bridge
        sys.setswitchinterval(1e-6)
        from estimator_bridge import tf
        import tensorflow.compat.v1 as tf1
        failures = []
        def touch():
            try:
                tf.keras.layers.Dense, tf.losses.MeanSquaredError, tf.optimizers.Adam
                tf1.layers.dense, tf1.nn.rnn_cell.LSTMCell, tf1.keras.Model
                tf.compat.v2.keras.Model, tf.initializers.Zeros, tf.metrics.Mean
            except BaseException as error:
                failures.append(repr(error))
        threads = [threading.Thread(target=touch) for _ in range(16)]
        [t.start() for t in threads], [t.join(60) for t in threads]
        assert not failures, failures
        assert not any(t.is_alive() for t in threads)
        """
    )


def test_start_up_cost():
    """Ours on top of TensorFlow's own import, as processor time in one process: under 0.3 s."""
    done = runs(
        """
        import time
        start = time.process_time()
        import estimator_bridge
        complete, after = estimator_bridge._complete, []
        def timed():
            start = time.process_time()
            complete()
            after.append(time.process_time() - start)
        estimator_bridge._complete = timed
        estimator_bridge.install()
        before = time.process_time() - start
        import tensorflow
        print(before + after[0])
        """
    )
    assert float(done.stdout) < 0.3
