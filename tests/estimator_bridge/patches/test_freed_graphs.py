"""Memory of graphs that are no longer used."""

import gc
import weakref

import pytest

from estimator_bridge import tf


@pytest.mark.parametrize("kind", ["LinearRegressor", "DNNRegressor"])
def test_the_graph_of_a_training_is_freed(tmp_path, kind):
    graphs = []

    def input_fn():
        graphs.append(weakref.ref(tf.compat.v1.get_default_graph()))
        return tf.data.Dataset.from_tensors(({"x": [[1.0]]}, [[2.0]]))

    columns = [tf.feature_column.numeric_column("x")]
    options = {"hidden_units": [2]} if kind == "DNNRegressor" else {}
    model = getattr(tf.estimator, kind)(feature_columns=columns, model_dir=str(tmp_path), **options)
    model.train(input_fn)
    model.evaluate(input_fn)
    gc.collect()
    assert [graph() for graph in graphs] == [None, None]


def test_a_sum_over_replicas_has_its_gradient():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.constant(3.0)
        context = tf.distribute.get_replica_context()
        y = context.all_reduce(tf.distribute.ReduceOp.SUM, x) ** 2.0
        gc.collect()
        assert session.run(tf.gradients(y, x)) == [6.0]
