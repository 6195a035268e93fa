"""Functions and classes of the API are pickled by name, and pickles of 1.15.5 can be read."""

import pickle

import pytest
import tensorflow as tf
import tensorflow.contrib.layers

MODULES = {
    "tf": tf,
    "tf.nn": tf.nn,
    "tf.math": tf.math,
    "tf.layers": tf.layers,
    "tf.losses": tf.losses,
    "tf.train": tf.train,
    "tf.initializers": tf.initializers,
    "tf.contrib.layers": tf.contrib.layers,
}
# 1.15.5 had no such names, or could not pickle them, or made another object of them.
OTHERS = [
    "batch_mat_mul_v3",
    "batch_matmul",
    "elu",
    "legacy_linear",
    "legacy_relu",
    "linear",
    "quantize_and_dequantize_v4",
    "relu",
    "relu6",
    "scale_gradient",
    "sparse_segment_sum_grad",
    "summarize_biases",
    "summarize_variables",
    "summarize_weights",
    "tpu_partitioned_output_v2",
]
# What 1.15.5 pickled is now elsewhere, or of a module that TensorFlow lacks.
OF_1_15 = {
    "tensorflow.contrib.layers.python.layers.layers conv2d": tf.contrib.layers.conv2d,
    "tensorflow.contrib.layers.python.layers.initializers xavier_initializer": (
        tf.contrib.layers.xavier_initializer
    ),
    "tensorflow.contrib.layers.python.layers.feature_column real_valued_column": (
        tf.contrib.layers.real_valued_column
    ),
    "tensorflow.python.layers.normalization batch_normalization": tf.layers.batch_normalization,
    "tensorflow.python.layers.normalization BatchNormalization": tf.layers.BatchNormalization,
    "tensorflow.python.framework.ops enable_tensor_equality": tf.enable_tensor_equality,
    "tensorflow.python.ops.gen_math_ops bessel_i0e": tf.math.bessel_i0e,
    "tensorflow.python.ops.gen_nn_ops relu": tf.nn.relu,
    "tensorflow.python.ops.math_ops bincount_v1": tf.math.bincount,
    "tensorflow.python.ops.nn_impl compute_average_loss": tf.nn.compute_average_loss,
    "tensorflow.python.pywrap_tensorflow_internal NewCheckpointReader": (
        tf.train.NewCheckpointReader
    ),
    "tensorflow.core.framework.summary_pb2 HistogramProto": tf.HistogramProto,
}


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_pickled(module):
    names = [name for name in dir(MODULES[module]) if not name.startswith("_")]
    if module in ("tf", "tf.contrib.layers"):
        names = [name for name in names if name not in OTHERS]
    found = {name: getattr(MODULES[module], name) for name in names}
    found = {name: value for name, value in found.items() if callable(value)}
    assert found
    for name, value in found.items():
        for protocol in (2, 4):
            assert pickle.loads(pickle.dumps(value, protocol)) is value, name


@pytest.mark.parametrize("place", OF_1_15)
def test_pickles_of_1_15_are_read(place):
    module, name = place.split()
    assert pickle.loads(f"c{module}\n{name}\n.".encode()) is OF_1_15[place]


def test_a_message_is_pickled():
    message = tf.HistogramProto(min=1, bucket=[2, 3])
    assert pickle.loads(pickle.dumps(message)) == message


def test_a_missing_module_cannot_be_read():
    with pytest.raises(ModuleNotFoundError, match="no_such"):
        pickle.loads(b"ctensorflow.contrib.no_such\nname\n.")
    with pytest.raises(ModuleNotFoundError, match="no_such"):
        pickle.loads(b"ctensorflow.no_such\nname\n.")


def test_functions_of_their_modules_compute():
    with tf.Session() as session:
        values = [tf.nn.tanh(0.0), tf.nn.sigmoid(0.0), tf.arg_max([1, 3, 2], 0), tf.add(1, 2)]
        assert session.run(values) == [0, 0.5, 1, 3]
    assert tf.make_tensor_proto(7).int_val == [7]
