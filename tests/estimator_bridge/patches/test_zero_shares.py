"""The summaries of shares of zeros: TensorFlow's numbers and names, without its branches."""

import ast
import inspect

import numpy as np
import pytest

from estimator_bridge import estimator, tf

pytestmark = pytest.mark.versions

v1 = tf.compat.v1


@pytest.mark.parametrize(
    "values",
    [
        np.array([[0, 1.5, -0.0], [np.nan, 0, 1e-40]], np.float32),
        np.zeros((0, 3), np.float32),
        np.array([0, 3, 0], np.int64),
        np.array([0, 2], np.float16),
    ],
    ids=["numbers", "empty", "integers", "halves"],
)
def test_the_share_of_a_layer_is_that_of_tensorflow(values):
    from tensorflow_estimator.python.estimator.canned import dnn, dnn_linear_combined

    for summarise in (dnn._add_hidden_layer_summary, dnn_linear_combined._add_layer_summary):
        with tf.Graph().as_default() as graph, v1.Session() as session:
            tensor = v1.placeholder(values.dtype)
            summarise(tensor, "scope/layer")
            assert not graph.as_graph_def().library.function
            shown, histogram = v1.get_collection(v1.GraphKeys.SUMMARIES)
            assert histogram.name == "scope/layer/activation:0"
            wanted = ["zero_fraction/fraction:0", tf.math.zero_fraction(tensor), shown]
            found, expected, text = session.run(wanted, {tensor: values})
        np.testing.assert_equal(found, expected)
        (summary,) = v1.Summary.FromString(text).value
        assert summary.tag == "scope/layer/fraction_of_zero_values"
        np.testing.assert_equal(np.float32(summary.simple_value), expected)


def test_the_share_of_weights_is_that_of_tensorflow():
    from tensorflow_estimator.python.estimator.canned import linear

    (written,) = [
        node
        for node in ast.parse(inspect.getsource(linear)).body
        if getattr(node, "name", "") == "_compute_fraction_of_zero"
    ]
    original = dict(vars(linear))
    exec(ast.unparse(written), original)
    # In float32, 3 / 21 * 21 is not 3, and neither is 7 / 13 * 13 equal to 7.
    sizes = ((3, 21), (7, 13), (0, 0), (5, 5), (0, 2))
    weights = [np.float32(np.arange(size) >= num_zeros) for num_zeros, size in sizes]
    # The graph optimizer multiplies by 1 / 21 instead, if it sees this division.
    session = v1.ConfigProto()
    session.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default() as graph, v1.Session(config=session) as session:
        made = [v1.get_variable(f"w{i}", initializer=w) for i, w in enumerate(weights)]
        share = linear._compute_fraction_of_zero([made[0], made[1:]])
        assert share.name == "zero_fraction/zero_fraction_or_nan:0"
        assert not graph.as_graph_def().library.function
        expected = original["_compute_fraction_of_zero"]([made[0], made[1:]])
        session.run(v1.global_variables_initializer())
        found, expected = session.run([share, expected])
        assert found == expected == np.float32(15 / 41)


def test_an_estimator_has_no_branches(tmp_path):
    column = tf.feature_column.numeric_column("x")

    def input_fn():
        return tf.data.Dataset.from_tensors(({"x": [[1.0], [2.0]]}, [[0], [1]])).repeat()

    model = estimator.DNNLinearCombinedClassifier(
        model_dir=str(tmp_path),
        linear_feature_columns=[column],
        dnn_feature_columns=[column],
        dnn_hidden_units=[2],
    )
    model.train(input_fn, steps=1)
    graph = (tmp_path / "graph.pbtxt").read_text()
    for name in ("linear", "dnn/hiddenlayer_0", "dnn/logits"):
        assert f'"{name}/fraction_of_zero_values"' in graph
    assert '"zero_fraction/zero_fraction_or_nan"' in graph
    assert "zero_fraction/cond" not in graph and "zero_count" not in graph
