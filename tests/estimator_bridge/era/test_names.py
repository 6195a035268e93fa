"""Every public name of TensorFlow 2.0 to 2.15 under `run --as`, and values of 2.4.4."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import names  # noqa: E402

PROGRAM = f"""
import json, runpy, sys
sys.path.insert(0, {str(HERE)!r})
import estimator_bridge
estimator_bridge.install(as_version="2.4")
import names
print(json.dumps(names.find_all()))
runpy.run_path({str(HERE / "old_layers.py")!r}, run_name="__main__")
import tensorflow as tf
from tensorflow.keras.mixed_precision import experimental
from tensorflow.keras.utils import HDF5Matrix, convert_all_kernels_in_model
import tensorflow.compat.v2 as v2
options = tf.data.Options()
options.experimental_stats = tf.data.experimental.StatsOptions()
options.experimental_optimization.map_vectorization.enabled = True
counted = tf.data.Dataset.range(3).apply(tf.data.experimental.latency_stats("a"))
policy = experimental.Policy("mixed_float16", loss_scale=8.0)
scaled = experimental.LossScaleOptimizer(optimizer=v2.optimizers.SGD(), loss_scale=8.0)
layer = tf.compat.v1.keras.layers.Dense(1)
focal = tf.keras.backend.binary_weighted_focal_crossentropy
quantized = tf.quantize_and_dequantize_v4(tf.constant([0.3]), -1.0, 1.0, range_given=True)
print(json.dumps([
    [int(one) for one in counted.with_options(options)],
    float(policy.loss_scale()), float(scaled.loss_scale),
    isinstance(scaled, experimental.LossScaleOptimizer),
    isinstance(scaled, tf.keras.mixed_precision.LossScaleOptimizer),
    experimental.get_layer_policy(layer).name,
    v2.train.experimental.LossScale is tf.mixed_precision.experimental.LossScale,
    tf.keras.__version__,
    float(focal(tf.constant([1.0]), tf.constant([0.6]))[0]),
    round(float(quantized[0]), 4),
    tf.config.experimental_list_devices()[:1],
]))
import collections, numpy as np
assert np.float is float and np.object is object and collections.Mapping
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,), name="other")])
model.save("model.h5", True, False)
model.load_weights("model.h5", True)
assert not HDF5Matrix.refs
convert_all_kernels_in_model(model)
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """The lines that PROGRAM prints, and its errors."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path_factory.mktemp("names"),
    )
    return done.stdout.splitlines(), done.stderr


@pytest.mark.newest
def test_every_name_is_there_or_refused_with_what_to_do(printed):
    lines, stderr = printed
    assert lines, stderr
    states, table = json.loads(lines[0]), json.loads(names.TABLE.read_text())
    assert [name for name, state in states.items() if state == "missing"] == []
    refused = {name: state for name, state in states.items() if state != "there"}
    assert refused == {name: text for name, (_, text) in table.items() if text != "supplied"}, (
        "run tools/record_tf2_names.py --kept"
    )
    assert all(len(text) > len("refused: ") + 20 for text in refused.values())


def test_preprocessing_layers_compute_what_2_4_computed(printed):
    lines, stderr = printed
    assert len(lines) > 1, stderr
    values, expected = json.loads(lines[1]), json.loads((HERE / "stored/layers.json").read_text())
    assert values.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(values[name], value, rtol=2e-6, atol=1e-6, err_msg=name)


def test_supplied_names_work_as_they_did(printed):
    lines, stderr = printed
    assert len(lines) == 3, stderr
    *values, focal, quantized, devices = json.loads(lines[2])
    assert values == [[0, 1, 2], 8.0, 8.0, True, True, "float32", True, "2.4.0"]
    # 0.25 * (1 - 0.6) ** 2 * -log(0.6); and 0.3 in steps of 1 / 127.
    assert abs(focal - 0.0204330) < 1e-6 and quantized == 0.2992
    assert devices == ["/job:localhost/replica:0/task:0/device:CPU:0"]
    assert (
        "tf.keras.utils.convert_all_kernels_in_model is not supplied on this TensorFlow: remove it"
        in stderr
    )
