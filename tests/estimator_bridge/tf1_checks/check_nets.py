"""The networks of slim.nets: shapes, published variable names, and training."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.contrib.slim.nets import inception, resnet_v1, resnet_v2, vgg
from tensorflow.contrib.slim.python.slim.nets import inception_v3

slim = tf.contrib.slim


def num_values():
    return sum(variable.shape.num_elements() for variable in tf.trainable_variables())


@pytest.mark.parametrize(
    ("network", "weights"),
    [
        # The published numbers of parameters with 1,000 classes.
        (resnet_v1.resnet_v1_50, 25_557_032),
        (resnet_v2.resnet_v2_50, 25_568_360),
    ],
)
def test_residual_networks_have_the_published_weights(network, weights):
    with slim.arg_scope(resnet_v1.resnet_arg_scope()):
        logits, end_points = network(tf.zeros([2, 224, 224, 3]), 1000, is_training=False)
    name = network.__name__
    assert logits.shape.as_list() == [2, 1, 1, 1000]
    assert end_points["predictions"].shape == logits.shape
    sizes = [end_points[f"{name}/block{i}"].shape.as_list() for i in (1, 2, 3, 4)]
    assert sizes == [[2, 28, 28, 256], [2, 14, 14, 512], [2, 7, 7, 1024], [2, 7, 7, 2048]]
    assert num_values() == weights
    names = {variable.op.name for variable in slim.get_model_variables()}
    version = name[:9]
    unit = f"{name}/block3/unit_2/bottleneck_{version[-2:]}"
    assert {f"{unit}/conv2/weights", f"{unit}/conv2/BatchNorm/moving_mean"} <= names
    assert f"{name}/logits/biases" in names
    if version == "resnet_v2":
        assert {f"{unit}/preact/gamma", f"{name}/postnorm/beta", f"{name}/conv1/biases"} <= names
    else:
        assert f"{name}/block1/unit_1/bottleneck_v1/shortcut/BatchNorm/beta" in names


@pytest.mark.parametrize(
    ("network", "block"),
    [
        (resnet_v1.resnet_v1, resnet_v1.resnet_v1_block),
        (resnet_v2.resnet_v2, resnet_v2.resnet_v2_block),
    ],
)
def test_dilation_computes_the_features_between_positions(run, network, block):
    """Every second position at stride 8 equals a position at stride 16."""
    images = tf.constant(np.random.RandomState(0).normal(size=[1, 65, 65, 3]).astype(np.float32))
    blocks = [block(f"block{i}", 2 * i, 2, 2) for i in (1, 2)]
    options = {"is_training": False, "global_pool": False, "scope": "net"}
    with slim.arg_scope(resnet_v1.resnet_arg_scope()):
        fine, _ = network(images, blocks, output_stride=8, **options)
        coarse, _ = network(images, blocks, output_stride=16, reuse=True, **options)
        for stride in (6, 64):
            with pytest.raises(ValueError, match="output_stride"):
                network(images, blocks, output_stride=stride, reuse=True, **options)
    fine, coarse = run([fine, coarse])
    assert fine.shape == (1, 9, 9, 16) and coarse.shape == (1, 5, 5, 16)
    np.testing.assert_allclose(fine[:, ::2, ::2], coarse, rtol=1e-3, atol=1e-5)


def test_small_residual_network_learns(tmp_path):
    """Uses custom blocks; a second Estimator starts from the weights of the first."""
    images = np.random.RandomState(0).normal(size=[16, 8, 8, 3]).astype(np.float32)
    labels = (images.mean((1, 2, 3)) > 0).astype(np.int32)

    def model_fn(features, labels, mode, params):
        blocks = [resnet_v2.resnet_v2_block("block1", 4, 2, 2)]
        with slim.arg_scope(resnet_v2.resnet_arg_scope(batch_norm_decay=0.5)):
            net, _ = resnet_v2.resnet_v2(
                features,
                blocks,
                2,
                is_training=mode == tf.estimator.ModeKeys.TRAIN,
                include_root_block=False,
                scope="net",
            )
        logits = tf.squeeze(net, [1, 2])
        if params["start"]:
            tf.train.init_from_checkpoint(params["start"], {"net/": "net/"})
        tf.losses.sparse_softmax_cross_entropy(labels, logits)
        optimizer = tf.train.AdamOptimizer(params["rate"])
        train_op = slim.learning.create_train_op(tf.losses.get_total_loss(), optimizer)
        return tf.estimator.EstimatorSpec(
            mode,
            loss=tf.losses.get_total_loss(),
            train_op=train_op,
            eval_metric_ops={"accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, 1))},
        )

    def input_fn():
        return tf.data.Dataset.from_tensors((images, labels)).repeat(40)

    first = tf.estimator.Estimator(
        model_fn, str(tmp_path / "a"), params={"start": None, "rate": 0.01}
    )
    first.train(input_fn)
    assert first.evaluate(input_fn, steps=1)["accuracy"] > 0.9
    second = tf.estimator.Estimator(
        model_fn, str(tmp_path / "b"), params={"start": first.model_dir, "rate": 0.0}
    )
    second.train(input_fn, steps=1)
    name = "net/block1/unit_2/bottleneck_v2/conv2/weights"
    np.testing.assert_array_equal(second.get_variable_value(name), first.get_variable_value(name))


def test_vgg_has_the_published_weights():
    with slim.arg_scope(vgg.vgg_arg_scope()):
        logits, end_points = vgg.vgg_16(tf.zeros([2, 224, 224, 3]), is_training=False)
        larger, _ = vgg.vgg_16(
            tf.zeros([1, 256, 288, 3]), is_training=False, spatial_squeeze=False, scope="larger"
        )
    assert logits.shape.as_list() == [2, 1000]
    assert larger.shape.as_list() == [1, 2, 3, 1000]
    assert end_points["vgg_16/conv3/conv3_2"].shape.as_list() == [2, 56, 56, 256]
    assert end_points["vgg_16/fc8"].shape.as_list() == [2, 1000]
    names = {variable.op.name for variable in tf.trainable_variables("vgg_16/")}
    assert {"vgg_16/conv5/conv5_3/weights", "vgg_16/fc6/biases"} <= names
    assert num_values() == 2 * 138_357_544
    assert len(tf.losses.get_regularization_losses()) == 32


@pytest.mark.parametrize(
    ("network", "base_values", "names"),
    [
        # The published number below the classifier, moving averages included.
        (inception.inception_v1, 5_607_184, ["Mixed_5b/Branch_2/Conv2d_0a_3x3/weights"]),
        (inception.inception_v2, 10_173_112, ["Conv2d_1a_7x7/depthwise_weights"]),
        (
            inception_v3.inception_v3,
            21_802_784,
            [
                "Mixed_5c/Branch_1/Conv_1_0c_5x5/weights",
                "Mixed_6a/Branch_0/Conv2d_1a_1x1/BatchNorm/moving_variance",
                "Mixed_7b/Branch_1/Conv2d_0b_3x1/BatchNorm/beta",
                "AuxLogits/Conv2d_2a_5x5/weights",
            ],
        ),
    ],
)
def test_inception_networks_have_the_published_weights(network, base_values, names):
    version, side = network.__name__[-1], network.default_image_size
    with slim.arg_scope(inception.inception_v3_arg_scope()):
        logits, end_points = network(tf.zeros([2, side, side, 3]), 7, is_training=True)
    assert logits.shape.as_list() == end_points["Predictions"].shape.as_list() == [2, 7]
    last = {"1": "Mixed_5c", "2": "Mixed_5c", "3": "Mixed_7c"}[version]
    depth = {"1": 1024, "2": 1024, "3": 2048}[version]
    small = 8 if version == "3" else 7
    assert end_points[last].shape.as_list() == [2, small, small, depth]
    scope = f"InceptionV{version}"
    variables = {v.op.name: v.shape.num_elements() for v in slim.get_model_variables(scope)}
    assert {f"{scope}/{name}" for name in names} <= set(variables)
    head = sum(n for name, n in variables.items() if "Logits/" in name and "Aux" not in name)
    auxiliary = sum(n for name, n in variables.items() if "AuxLogits/" in name)
    assert sum(variables.values()) - head - auxiliary == base_values
    assert head == 7 * depth + 7
    base = getattr(inception, f"inception_v{version}_base")
    with pytest.raises(ValueError, match="Mixed_9z"):
        base(tf.zeros([1, side, side, 3]), final_endpoint="Mixed_9z", scope="again")


def test_inception_v3_as_a_feature_extractor(run):
    """Covers a small network, unknown input size and weights shared with the evaluation."""
    images = tf.placeholder(tf.float32, [None, None, None, 3])
    with slim.arg_scope(inception_v3.inception_v3_arg_scope(weight_decay=0.0)):
        net, end_points = inception_v3.inception_v3_base(
            images, "Mixed_6e", min_depth=4, depth_multiplier=0.1, scope="InceptionV3"
        )
        logits, _ = inception_v3.inception_v3(
            tf.zeros([2, 139, 139, 3]),
            3,
            is_training=False,
            depth_multiplier=0.1,
            min_depth=4,
            create_aux_logits=False,
            spatial_squeeze=False,
            reuse=tf.AUTO_REUSE,
        )
    assert logits.shape.as_list() == [2, 1, 1, 3] and "Mixed_7a" not in end_points
    found = run(net, {images: np.zeros([1, 299, 299, 3])})
    assert found.shape == (1, 17, 17, 4 * 19)
