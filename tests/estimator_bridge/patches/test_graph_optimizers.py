"""Optimizers of graphs that are off, unless a program names them."""

import json
import os
import subprocess
import sys

import pytest
import tensorflow.compat.v1 as tf

import estimator_bridge
from estimator_bridge.private_tf import rewriter_config

estimator_bridge.install()

MODES = rewriter_config.RewriterConfig


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def find_operations(config=None):
    """Returns the types of the operations that run for a lookup in an embedding."""
    table = tf.get_variable("table", [50, 4], use_resource=True)
    ids = tf.sparse_placeholder(tf.int64)
    rows = tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")
    options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
    with tf.Session(config=config) as session:
        session.run(table.initializer)
        given = tf.SparseTensorValue([[0, 0], [0, 1], [1, 0]], [3, 3, 5], [2, 2])
        session.run(tf.reduce_sum(rows), {ids: given}, options, metadata)
    return [node.op for graph in metadata.partition_graphs for node in graph.node]


def configured(mode, **options):
    config = tf.ConfigProto(**options)
    config.graph_options.rewrite_options.arithmetic_optimization = mode
    # Small graphs are optimized too.
    config.graph_options.rewrite_options.min_graph_nodes = -1
    return config


@pytest.mark.parametrize("mode", [MODES.DEFAULT, MODES.OFF])
def test_a_lookup_reads_its_rows_and_not_the_table(mode):
    found = find_operations(configured(mode))
    assert "ResourceGather" in found and "ReadVariableOp" not in found


def test_a_program_may_turn_the_optimizer_on():
    assert "ReadVariableOp" in find_operations(configured(MODES.ON))


NORMALIZED = """
import sys
import numpy as np
import estimator_bridge
from estimator_bridge.private_tf import rewriter_config
import tensorflow.compat.v1 as tf

estimator_bridge.install()
tf.disable_eager_execution()
config = tf.ConfigProto()
config.graph_options.rewrite_options.remapping = int(sys.argv[1])


def compute(result, fed):
    with tf.Session(config=config) as session:
        return session.run(tf.identity(result), fed)


rows = tf.placeholder(tf.float32, [None, 4])
mean, variance = tf.nn.moments(rows, [1], keepdims=True)
scale, offset = tf.constant(np.ones(4, np.float32)), tf.constant(np.zeros(4, np.float32))
layer = tf.nn.batch_normalization(rows, mean, variance, offset, scale, 1e-12)
print(compute(layer, {rows: np.float32([[0, 0.01, 0.02, 0.03]])}).tolist()[0])

images = tf.placeholder(tf.float32, [None, 3, 3, 4])
kernel = tf.constant(np.ones([1, 1, 4, 4], np.float32))
convolved = tf.nn.conv2d(images, kernel, 1, "SAME")
normal = tf.nn.fused_batch_norm(
    convolved, scale, offset, offset, scale, epsilon=0.0, is_training=False
)
print(compute(tf.tanh(normal[0]), {images: np.full([1, 3, 3, 4], 0.25, np.float32)}).max())
"""


@pytest.mark.parametrize("mode", [MODES.DEFAULT, MODES.OFF])
def test_normalized_values_are_those_of_the_graph(mode):
    """oneDNN is on, as it is by default on processors with AVX-512 VNNI."""
    done = subprocess.run(
        [sys.executable, "-c", NORMALIZED, str(mode)],
        env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    layer, tanh = map(json.loads, done.stdout.splitlines())
    # 0.01 * (-1.5, -0.5, 0.5, 1.5) / sqrt(0.000125)
    assert layer == pytest.approx([-1.341641, -0.447214, 0.447214, 1.341641], abs=1e-5)
    assert tanh == pytest.approx(0.761594, abs=1e-5)


def test_sessions_start_without_the_optimizer_of_branches():
    with tf.Session() as session:
        assert session._config.graph_options.rewrite_options.disable_tfg_optimizer


def test_the_programs_configuration_is_not_changed():
    config = configured(MODES.DEFAULT, allow_soft_placement=True)
    before = config.SerializeToString()
    with tf.Session(config=config):
        assert config.SerializeToString() == before
