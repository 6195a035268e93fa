"""tf.contrib.layers: variable names, results, arg scopes, optimize_loss."""

import math

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.contrib import layers

framework = tf.contrib.framework


def shapes():
    return {v.op.name: v.shape.as_list() for v in tf.global_variables()}


def test_names_and_shapes_of_variables():
    images = tf.zeros([2, 8, 8, 3])
    net = layers.conv2d(images, 4, 3, normalizer_fn=layers.batch_norm)
    net = layers.conv2d(net, 5, [3, 2], stride=2, scope="second")
    net = layers.separable_conv2d(net, 6, 3, depth_multiplier=2)
    net = layers.conv2d_transpose(net, 7, 4, stride=2)
    net = layers.layer_norm(layers.flatten(layers.max_pool2d(net, 2)))
    net = layers.fully_connected(net, 9)
    net = layers.fully_connected(net, 3, normalizer_fn=layers.batch_norm)
    layers.embed_sequence(tf.zeros([2, 4], tf.int64), 11, 5)
    assert net.shape.as_list() == [2, 3]
    assert shapes() == {
        "Conv/weights": [3, 3, 3, 4],
        "Conv/BatchNorm/beta": [4],
        "Conv/BatchNorm/moving_mean": [4],
        "Conv/BatchNorm/moving_variance": [4],
        "second/weights": [3, 2, 4, 5],
        "second/biases": [5],
        "SeparableConv2d/depthwise_weights": [3, 3, 5, 2],
        "SeparableConv2d/pointwise_weights": [1, 1, 10, 6],
        "SeparableConv2d/biases": [6],
        "Conv2d_transpose/weights": [4, 4, 7, 6],
        "Conv2d_transpose/biases": [7],
        "LayerNorm/beta": [112],
        "LayerNorm/gamma": [112],
        "fully_connected/weights": [112, 9],
        "fully_connected/biases": [9],
        "fully_connected_1/weights": [9, 3],
        "fully_connected_1/BatchNorm/beta": [3],
        "fully_connected_1/BatchNorm/moving_mean": [3],
        "fully_connected_1/BatchNorm/moving_variance": [3],
        "EmbedSequence/embeddings": [11, 5],
    }
    model = {v.op.name for v in framework.get_model_variables()}
    assert model == set(shapes())
    assert len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)) == 4


def test_reuse_shares_the_variables(run):
    x = tf.constant(np.random.RandomState(0).normal(size=[3, 4]).astype(np.float32))
    first = layers.fully_connected(x, 5, scope="shared")
    second = layers.fully_connected(x, 5, scope="shared", reuse=True)
    assert len(tf.global_variables()) == 2
    a, b = run([first, second])
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="shared/weights"):
        layers.fully_connected(x, 5, scope="shared")


def test_fully_connected_of_rank_3(run):
    x = np.random.RandomState(0).normal(size=[2, 3, 4]).astype(np.float32)
    outputs = layers.fully_connected(tf.constant(x), 5, activation_fn=None)
    got, weights = run([outputs, framework.get_unique_variable("fully_connected/weights")])
    # One run, because two sessions would draw different initial values.
    np.testing.assert_allclose(got, x @ weights, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [[6, 3], [4, 5, 5, 3], [4, 5, 3]])
def test_batch_norm_normalizes_by_the_batch_in_training(shape):
    x = np.random.RandomState(0).normal(2.0, 3.0, size=shape).astype(np.float32)
    outputs = layers.batch_norm(tf.constant(x), decay=0.9, scale=True)
    axes = tuple(range(len(shape) - 1))
    mean, variance = x.mean(axes), x.var(axes)
    count = x.size // 3
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got = session.run(outputs)
        session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        moving = [
            session.run(framework.get_unique_variable(f"BatchNorm/moving_{kind}"))
            for kind in ("mean", "variance")
        ]
    np.testing.assert_allclose(got, (x - mean) / np.sqrt(variance + 0.001), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(moving[0], 0.1 * mean, rtol=1e-4)
    # The fused kernel, which 1.x uses for ranks 2 and 4, returns the unbiased variance.
    unbiased = 1.0 if len(shape) == 3 else count / (count - 1)
    np.testing.assert_allclose(moving[1], 0.9 + 0.1 * variance * unbiased, rtol=1e-4)


def test_batch_norm_switches_by_a_placeholder(run):
    training = tf.placeholder(tf.bool, [])
    x = np.random.RandomState(0).normal(2.0, 3.0, size=[8, 3]).astype(np.float32)
    outputs = layers.batch_norm(tf.constant(x), is_training=training, updates_collections=None)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(outputs, {training: False})
        np.testing.assert_allclose(before, x / np.sqrt(1.001), rtol=1e-5)
        np.testing.assert_allclose(session.run(outputs, {training: True}).mean(0), 0, atol=1e-5)
        after = session.run(outputs, {training: False})
    assert np.abs(after - before).max() > 1e-4


def test_layer_norm_normalizes_each_example(run):
    x = np.random.RandomState(0).normal(2.0, 3.0, size=[2, 4, 6]).astype(np.float32)
    last = layers.layer_norm(tf.constant(x), begin_norm_axis=-1, begin_params_axis=-1)
    both = layers.layer_norm(tf.constant(x), center=False, scale=False)
    last, both = run([last, both])
    want = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    np.testing.assert_allclose(last, want, rtol=1e-4, atol=1e-5)
    want = (x - x.mean((1, 2), keepdims=True)) / x.std((1, 2), keepdims=True)
    np.testing.assert_allclose(both, want, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="rank"):
        layers.layer_norm(tf.placeholder(tf.float32))


def test_arg_scope_gives_defaults_and_nests():
    x = tf.zeros([2, 8, 8, 3])
    with (
        framework.arg_scope(
            [layers.conv2d, layers.fully_connected], weights_regularizer=layers.l2_regularizer(0.1)
        ),
        framework.arg_scope([layers.conv2d], padding="VALID") as scope,
    ):
        assert layers.conv2d(x, 4, 3).shape.as_list() == [2, 6, 6, 4]
        assert layers.conv2d(x, 4, 3, padding="SAME").shape.as_list() == [2, 8, 8, 4]
        layers.fully_connected(layers.flatten(x), 2)
    assert len(tf.losses.get_regularization_losses()) == 3
    assert layers.conv2d(x, 4, 3).shape.as_list() == [2, 8, 8, 4]
    with framework.arg_scope(scope):
        assert layers.conv2d(x, 4, 3).shape.as_list() == [2, 6, 6, 4]
    with pytest.raises(ValueError, match="add_arg_scope"), framework.arg_scope([len], a=1):
        pass


@pytest.mark.parametrize(("mode", "n"), [("FAN_IN", 200), ("FAN_OUT", 300), ("FAN_AVG", 250)])
@pytest.mark.parametrize("uniform", [False, True])
def test_variance_scaling(run, mode, n, uniform):
    values = run(layers.variance_scaling_initializer(2.0, mode, uniform, seed=1)([200, 300]))
    assert values.std() == pytest.approx(math.sqrt(2.0 / n), rel=0.05)
    limit = math.sqrt(6.0 / n) if uniform else 2 * math.sqrt(2.6 / n)
    assert np.abs(values).max() <= limit * 1.0001


def test_regularizers(run):
    x = tf.constant([[1.0, -2.0], [3.0, 0.0]])
    values = run(
        [
            layers.l1_regularizer(0.5)(x),
            layers.l2_regularizer(0.5)(x),
            layers.l1_l2_regularizer(0.5, 0.5)(x),
        ]
    )
    assert values == pytest.approx([3.0, 3.5, 6.5])
    assert layers.l2_regularizer(0.0)(x) is None
    for bad in (1, -0.5):
        with pytest.raises(ValueError, match="scale"):
            layers.l2_regularizer(bad)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", tf.train.AdagradOptimizer])
def test_optimize_loss_applies_a_step(optimizer):
    x = tf.get_variable("x", initializer=[3.0, -4.0])
    loss = tf.reduce_sum(x**2)
    step = tf.train.get_or_create_global_step()
    train = layers.optimize_loss(
        loss,
        step,
        0.1,
        optimizer,
        clip_gradients=1.0,
        learning_rate_decay_fn=lambda rate, at: tf.train.exponential_decay(rate, at, 10, 0.5),
        summaries=layers.OPTIMIZER_SUMMARIES,
    )
    tags = {v.op.name for v in tf.get_collection(tf.GraphKeys.SUMMARIES)}
    assert {
        "OptimizeLoss/learning_rate",
        "OptimizeLoss/loss",
        "OptimizeLoss/gradients/x_0",
        "OptimizeLoss/gradient_norm/x_0",
        "OptimizeLoss/global_norm/gradient_norm",
        "OptimizeLoss/global_norm/clipped_gradient_norm",
    } <= {tag.rsplit("_1", 1)[0] for tag in tags}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        first = session.run(train)
        assert first == pytest.approx(25.0)
        after = session.run(x)
        if optimizer == "SGD":
            np.testing.assert_allclose(after, [3.0 - 0.06, -4.0 + 0.08], rtol=1e-5)
        assert session.run(step) == 1
        assert session.run(train) < first
    if optimizer == "Adam":
        assert "OptimizeLoss/x/Adam_1" in shapes()


def test_optimize_loss_runs_the_updates_first():
    count = tf.get_variable("count", initializer=0.0, trainable=False)
    x = tf.get_variable("x", initializer=1.0)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign_add(count, 1.0))
    train = layers.optimize_loss(
        x * 1.0, None, 0.1, "SGD", gradient_multipliers={"x:0": 2.0}, increment_global_step=False
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([count, x]) == pytest.approx([1.0, 0.8])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"optimizer": "Nadam"}, "optimizer: 'Nadam' is unknown; use"),
        ({"optimizer": 3}, "optimizer: expected a name, an Optimizer"),
        ({"learning_rate": "fast"}, "learning_rate: expected a float or a scalar tensor"),
        ({"learning_rate": -1.0}, "learning_rate: -1.0 is negative"),
        ({"clip_gradients": "much"}, "clip_gradients"),
        ({"summaries": ["everything"]}, "summaries: 'everything' is unknown; use"),
    ],
)
def test_optimize_loss_rejects_invalid_arguments(arguments, message):
    x = tf.get_variable("x", initializer=1.0)
    given = {"learning_rate": 0.1, "optimizer": "SGD", **arguments}
    with pytest.raises(ValueError, match=message):
        layers.optimize_loss(x * 1.0, None, **given)


def test_checkpoints_restore_by_scope(tmp_path):
    path = str(tmp_path / "model")
    x = tf.ones([2, 4])
    layers.fully_connected(x, 3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saved = session.run(tf.global_variables())
        tf.train.Saver().save(session, path)
    with tf.Graph().as_default(), tf.Session() as session:
        layers.fully_connected(tf.ones([2, 4]), 3, scope="encoder")
        tf.contrib.framework.init_from_checkpoint(path, {"fully_connected/": "encoder/"})
        session.run(tf.global_variables_initializer())
        for got, want in zip(session.run(tf.global_variables()), saved):
            np.testing.assert_array_equal(got, want)
        layers.fully_connected(tf.ones([2, 4]), 3)
        restore = framework.assign_from_checkpoint_fn(
            path, framework.get_variables_to_restore(exclude=["encoder"])
        )
        restore(session)
        np.testing.assert_array_equal(
            session.run(framework.get_unique_variable("fully_connected/weights")), saved[0]
        )


def test_feature_columns_of_contrib(run):
    district = layers.sparse_column_with_keys("district", ["n", "s"])
    street = layers.sparse_column_with_hash_bucket("street", 10)
    area = layers.real_valued_column("area", dimension=2)
    columns = [
        layers.one_hot_column(district),
        layers.embedding_column(street, 3),
        layers.bucketized_column(area, [1.0, 2.0]),
        layers.one_hot_column(layers.crossed_column([district, street], 5)),
    ]
    spec = layers.create_feature_spec_for_parsing([*columns, area])
    assert sorted(spec) == ["area", "district", "street"]
    features = {
        "district": tf.constant([["s"], ["n"]]),
        "street": tf.constant([["a"], ["b"]]),
        "area": tf.constant([[0.0, 1.5], [3.0, 1.5]]),
    }
    dense = layers.input_from_feature_columns(features, columns)
    linear, variables, bias = layers.weighted_sum_from_feature_columns(
        features, [district, street, area], num_outputs=4
    )
    assert set(variables) == {district, street, area}
    assert bias.shape.as_list() == [4]
    assert run(dense).shape == (2, 2 + 3 + 6 + 5)
    assert run(linear).shape == (2, 4)


def test_group_norm(run):
    x = np.random.RandomState(0).normal(2, 3, size=[2, 4, 5, 6]).astype(np.float32)
    net = layers.group_norm(tf.constant(x), groups=3)
    assert shapes() == {"GroupNorm/beta": [6], "GroupNorm/gamma": [6]}
    grouped = x.reshape([2, 20, 3, 2])
    wanted = (grouped - grouped.mean((1, 3), keepdims=True)) / grouped.std((1, 3), keepdims=True)
    wanted = wanted.reshape(x.shape)
    first = layers.group_norm(
        tf.constant(x.transpose([0, 3, 1, 2])),
        3,
        channels_axis=-3,
        reduction_axes=[-2, -1],
        mean_close_to_zero=True,
        activation_fn=tf.nn.relu,
        param_initializers={"beta": tf.constant_initializer(0.5)},
    )
    net, first = run([net, first])
    np.testing.assert_allclose(net, wanted, atol=1e-4)
    np.testing.assert_allclose(
        first.transpose([0, 2, 3, 1]), np.maximum(wanted + 0.5, 0), atol=1e-3
    )
    for options in ({"groups": 4}, {"groups": 3, "reduction_axes": [-1]}, {"channels_axis": 4}):
        with pytest.raises(ValueError, match="groups|reduction_axes|rank"):
            layers.group_norm(tf.constant(x), **options)


def test_maxout_and_3d_layers(run):
    x = np.random.RandomState(0).normal(size=[2, 5, 6]).astype(np.float32)
    most = layers.maxout(tf.constant(x), 3)
    middle = layers.maxout(tf.placeholder_with_default(x, [None, 5, None]), 1, axis=1)
    assert most.shape.as_list() == [2, 5, 3] and middle.shape.as_list() == [None, 1, None]
    with pytest.raises(ValueError, match="multiple of 4"):
        layers.maxout(tf.constant(x), 4)
    volumes = tf.random_normal([1, 4, 4, 4, 2])
    pooled = [layers.max_pool3d(volumes, 2), layers.avg_pool3d(volumes, [2, 2, 2])]
    with framework.arg_scope([layers.conv3d_transpose], activation_fn=None):
        net = layers.conv3d_transpose(pooled[1], 3, 3, stride=2, padding="VALID")
        flat = layers.conv2d_transpose(tf.zeros([1, 2, 2, 1]) - 1, 1, 2, biases_initializer=None)
    assert net.shape.as_list() == [1, 5, 5, 5, 3]
    assert shapes()["Conv3d_transpose/weights"] == [3, 3, 3, 3, 2]
    most, middle, volumes, highest, mean, net, flat = run(
        [most, middle, volumes, *pooled, net, flat]
    )
    np.testing.assert_array_equal(most, x.reshape([2, 5, 3, 2]).max(-1))
    # As on 1.15: consecutive elements, also where the axis is not the last.
    np.testing.assert_array_equal(middle, x.reshape([2, 1, 6, 5]).max(-1))
    blocks = volumes.reshape([1, 2, 2, 2, 2, 2, 2, 2])
    np.testing.assert_allclose(highest, blocks.max((2, 4, 6)))
    np.testing.assert_allclose(mean, blocks.mean((2, 4, 6)), atol=1e-6)
    # The scope changes only the named layer.
    assert net.min() < 0 and flat.min() >= 0
