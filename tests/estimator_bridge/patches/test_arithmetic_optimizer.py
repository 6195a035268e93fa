"""The arithmetic optimizer of graphs: off, unless a program names it."""

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


def test_the_programs_configuration_is_not_changed():
    config = configured(MODES.DEFAULT, allow_soft_placement=True)
    before = config.SerializeToString()
    with tf.Session(config=config):
        assert config.SerializeToString() == before
