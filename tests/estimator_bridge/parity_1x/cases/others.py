"""Cases of the small packages of tf.contrib, and of more arguments of layers and cells."""

import contextlib
import functools
import importlib
import io

import tensorflow as tf
import values

CASES = {}
contrib = tf.contrib
layers, rnn = contrib.layers, contrib.rnn


def image(*shape):
    return values.real(*(shape or (2, 6, 5, 3)), seed=1)


def steps():
    return values.real(2, 3, 4, seed=2)


def volume():
    return values.real(2, 3, 3, 3, 2, seed=3)


# tf.contrib.nn, image, stateless, signal and the like.
for _k in (0, 1):
    CASES[f"nn.nth_element, {_k}"] = lambda k=_k: contrib.nn.nth_element(values.real(2, 4), k)
CASES["nn.nth_element, reverse"] = lambda: contrib.nn.nth_element(
    input=values.real(2, 4), n=1, reverse=True
)
CASES["nn.scaled_softplus"] = lambda: contrib.nn.scaled_softplus(values.real(5), 2.0)
CASES["nn.scaled_softplus, clip"] = lambda: contrib.nn.scaled_softplus(
    values.real(5, high=3.0), values.given([0.5, 1, 2, 1, 1]), clip=1.0
)
CASES["nn.alpha_dropout, kept"] = lambda: contrib.nn.alpha_dropout(values.real(5), 1.0)
for _name in ("sigmoid", "softmax"):
    CASES[f"nn.deprecated_flipped_{_name}"] = lambda name=_name: getattr(
        contrib.nn, f"deprecated_flipped_{name}_cross_entropy_with_logits"
    )(values.real(3, 4), tf.nn.softmax(values.real(3, 4, seed=2)))
CASES["nn.deprecated_flipped_sparse_softmax"] = lambda: (
    contrib.nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
        values.real(3, 4), values.whole(3, below=4)
    )
)
CASES["image.rotate"] = lambda: contrib.image.rotate(image(), 0.5)
CASES["image.rotate, bilinear"] = lambda: contrib.image.rotate(image(), [0.5, -1.0], "BILINEAR")
CASES["image.translate"] = lambda: contrib.image.translate(image(), [1.0, -2.0])
CASES["image.transform"] = lambda: contrib.image.transform(
    image(), [1.0, 0.1, 0.5, 0.0, 0.9, 0.2, 0.01, 0.0], "BILINEAR"
)
CASES["image.angles_to_projective_transforms"] = lambda: (
    contrib.image.angles_to_projective_transforms([0.3, 1.0], 6.0, 5.0)
)
for _name in ("normal", "uniform", "truncated_normal"):
    CASES[f"stateless.{_name}"] = lambda name=_name: getattr(
        contrib.stateless,
        f"stateless_random_{name}" if name != "truncated_normal" else "stateless_truncated_normal",
    )([3, 2], [1, 2])


def scaled(manager):
    weight = tf.get_variable("w", [3], initializer=tf.ones_initializer(), use_resource=True)
    loss = tf.reduce_sum(weight**2)
    optimizer = contrib.mixed_precision.LossScaleOptimizer(
        tf.train.MomentumOptimizer(0.1, 0.9), manager()
    )
    return {"w": weight}, [optimizer.minimize(loss)]


CASES["mixed_precision.LossScaleOptimizer"] = lambda: scaled(
    lambda: contrib.mixed_precision.FixedLossScaleManager(8.0)
)
CASES["mixed_precision.LossScaleOptimizer, update"] = lambda: scaled(
    lambda: contrib.mixed_precision.ExponentialUpdateLossScaleManager(8.0, 1)
)
for _name in ("scalar", "histogram", "image"):
    CASES[f"deprecated.{_name}_summary"] = lambda name=_name: {
        "shape": str(
            getattr(contrib.deprecated, f"{name}_summary")(
                "mine", image() if name == "image" else tf.constant(1.0)
            ).shape
        )
    }

# Layers.
for _name, _make in {
    "avg_pool3d": lambda: layers.avg_pool3d(volume(), 2),
    "max_pool3d": lambda: layers.max_pool3d(volume(), [2, 1, 2], stride=1, padding="SAME"),
    "conv1d, NWC": lambda: layers.conv1d(steps(), 2, 2, data_format="NWC"),
    "conv2d, NHWC": lambda: layers.conv2d(image(), 2, 3, data_format="NHWC", scope="mine"),
    "conv2d, collections": lambda: layers.conv2d(
        *(image(), 2, 3),
        variables_collections={"weights": ["w"], "biases": ["b"]},
        outputs_collections=["outputs"],
        trainable=False,
    ),
    "conv2d, list of collections": lambda: layers.conv2d(
        image(), 2, 3, variables_collections=["mine"], biases_regularizer=layers.l2_regularizer(0.1)
    ),
    "conv3d": lambda: layers.conv3d(volume(), 3, 2),
    "conv3d_transpose": lambda: layers.conv3d_transpose(volume(), 3, 2, stride=2),
    "convolution, rate": lambda: layers.convolution(steps(), 3, 2, rate=2),
    "convolution2d_transpose, valid": lambda: layers.convolution2d_transpose(
        image(), 4, [2, 3], stride=[2, 1], padding="VALID", normalizer_fn=layers.batch_norm
    ),
    "elu": lambda: layers.elu(values.real(3, 4), 2),
    "flatten, collections": lambda: layers.flatten(image(), outputs_collections=["outputs"]),
    "fully_connected, collections": lambda: layers.fully_connected(
        *(values.real(3, 4), 2),
        weights_initializer=tf.ones_initializer(),
        variables_collections={"weights": ["w"]},
        outputs_collections=["outputs"],
    ),
    "fully_connected, rank 1": lambda: layers.fully_connected(values.real(3), 2),
    "fully_connected, twice": lambda: [
        layers.fully_connected(layers.fully_connected(values.real(3, 4), 2), 2)
    ],
    "fully_connected, reused": lambda: reused(),
    "group_norm, axes": lambda: layers.group_norm(
        image(2, 4, 4, 4), 2, channels_axis=-1, reduction_axes=(-3, -2), mean_close_to_zero=True
    ),
    "instance_norm, options": lambda: layers.instance_norm(
        image(), center=False, scale=True, epsilon=0.1, activation_fn=tf.nn.relu
    ),
    "separable_conv2d, stride": lambda: layers.separable_conv2d(
        image(), 4, [3, 2], 2, stride=2, padding="VALID", normalizer_fn=layers.batch_norm
    ),
    "separable_conv2d, rate": lambda: layers.separable_conv2d(image(), None, 3, 2, rate=2),
    "separable_conv2d, pointwise": lambda: layers.separable_conv2d(
        *(image(), 4, 3, 1),
        weights_initializer=tf.ones_initializer(),
        pointwise_initializer=tf.zeros_initializer(),
        weights_regularizer=layers.l2_regularizer(0.1),
    ),
    "bow_encoder, dense": lambda: layers.bow_encoder(
        values.whole(3, 2, below=5), 5, 2, sparse_lookup=False
    ),
    "embed_sequence, unique": lambda: layers.embed_sequence(
        values.whole(3, 2, below=5), 5, 2, unique=True, scope="mine"
    ),
    "embedding_lookup_unique": lambda: layers.embedding_lookup_unique(
        [values.real(3, 2), values.real(2, 2, seed=2)], values.whole(2, 3, below=5)
    ),
    "safe_embedding_lookup_sparse": lambda: layers.safe_embedding_lookup_sparse(
        [tf.get_variable("e", [5, 2])],
        tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, -1, 3], tf.int64), [4, 2]),
        default_id=2,
    ),
    "safe_embedding_lookup_sparse, weights": lambda: layers.safe_embedding_lookup_sparse(
        [tf.get_variable("e", [5, 2])],
        tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 2, 3], tf.int64), [4, 2]),
        tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.0, -1.0, 2.0], [4, 2]),
        combiner="sum",
    ),
    "recompute_grad": lambda: recomputed(),
    "summarize_tensors": lambda: layers.summarize_tensors([values.real(3), tf.constant(2.0)]),
    "summarize_activations": lambda: summarized(),
    "legacy_linear": lambda: layers.legacy_linear(values.real(3, 4), 2),
    "sum_regularizer": lambda: layers.sum_regularizer(
        [layers.l1_regularizer(0.1), None, layers.l2_regularizer(0.2)]
    )(values.real(3)),
    "l1_regularizer, zero": lambda: {"found": str(layers.l1_regularizer(0.0)(values.real(3)))},
    "l2_regularizer, negative": lambda: layers.l2_regularizer(-1.0),
    "l2_regularizer, integer": lambda: layers.l2_regularizer(1),
    "xavier_initializer": lambda: tf.get_variable(
        "x", [3, 4], initializer=layers.xavier_initializer(seed=3)
    ),
    "xavier_initializer, normal": lambda: tf.get_variable(
        "x", [3, 3, 2, 4], initializer=layers.xavier_initializer_conv2d(False, seed=3)
    ),
    "variance_scaling_initializer": lambda: tf.get_variable(
        "x", [3, 4], initializer=layers.variance_scaling_initializer(1.0, "FAN_AVG", True, seed=3)
    ),
}.items():
    CASES[f"layers.{_name}"] = _make


def reused():
    first = layers.fully_connected(values.real(3, 4), 2, scope="same")
    return [first, layers.fully_connected(values.real(3, 4, seed=2), 2, scope="same", reuse=True)]


def recomputed():
    function = layers.recompute_grad(lambda one: layers.fully_connected(one, 3, scope="inner"))
    with tf.variable_scope("outer", use_resource=True):
        return function(values.real(2, 4))


def summarized():
    with contrib.framework.arg_scope([layers.fully_connected], outputs_collections=["outputs"]):
        tf.add_to_collection("activations", layers.fully_connected(values.real(3, 4), 2))
    layers.summarize_activations(None, layers.summarize_activation)
    layers.summarize_collection("activations", name_filter=".*Relu.*")
    return layers.summarize_activations()


# Cells.
for _name, _make in {
    "AttentionCellWrapper, options": lambda: rnn.AttentionCellWrapper(
        rnn.GRUCell(4), 3, attn_size=2, attn_vec_size=5, input_size=6
    ),
    "CoupledInputForgetGateLSTMCell, layer_norm": lambda: rnn.CoupledInputForgetGateLSTMCell(
        4, layer_norm=True, norm_gain=0.5
    ),
    "CudnnCompatibleGRUCell": lambda: contrib.cudnn_rnn.CudnnCompatibleGRUCell(4),
    "CudnnCompatibleLSTMCell": lambda: contrib.cudnn_rnn.CudnnCompatibleLSTMCell(4),
    "HighwayWrapper, options": lambda: rnn.HighwayWrapper(
        rnn.GRUCell(4), couple_carry_transform_gates=False, carry_bias_init=0.5
    ),
    "LSTMBlockCell, forget_bias": lambda: rnn.LSTMBlockCell(4, forget_bias=0.0, name="mine"),
    "LSTMCell, partitions": lambda: rnn.LSTMCell(4, num_unit_shards=2, num_proj=4),
    "LayerNormBasicLSTMCell, options": lambda: rnn.LayerNormBasicLSTMCell(
        4, forget_bias=0.5, activation=tf.nn.relu, norm_gain=0.5, norm_shift=0.1
    ),
    "MultiRNNCell, wrapped": lambda: rnn.MultiRNNCell(
        [
            rnn.DropoutWrapper(rnn.LSTMCell(4), state_keep_prob=1.0),
            rnn.ResidualWrapper(rnn.LSTMCell(4)),
            rnn.DeviceWrapper(rnn.GRUCell(4), "/cpu:0"),
        ]
    ),
    "UGRNNCell, options": lambda: rnn.UGRNNCell(4, forget_bias=0.5, activation=tf.nn.relu),
    "BasicRNNCell, named": lambda: rnn.BasicRNNCell(4, tf.nn.relu, name="mine"),
}.items():
    CASES[f"rnn.{_name}"] = lambda make=_make: tf.nn.dynamic_rnn(make(), steps(), dtype=tf.float32)
CASES["rnn.bidirectional_dynamic_rnn"] = lambda: tf.nn.bidirectional_dynamic_rnn(
    *(rnn.LSTMBlockCell(4), rnn.GRUBlockCellV2(3), steps(), tf.constant([3, 1])), dtype=tf.float32
)
CASES["rnn.stack_bidirectional_dynamic_rnn, time"] = lambda: rnn.stack_bidirectional_dynamic_rnn(
    *([rnn.LSTMCell(3)] * 1, [rnn.LSTMCell(3)] * 1, steps()), dtype=tf.float32, time_major=True
)
CASES["rnn.static_state_saving_rnn"] = lambda: rnn.static_state_saving_rnn(
    rnn.GRUCell(4), [values.real(2, 3)], Saver(), "state", scope="mine"
)


class Saver:
    """Keeps a state as the batch of a queue of sequences does."""

    def state(self, name):
        return values.real(2, 4, seed=8)

    def save_state(self, name, state):
        return tf.no_op()


def cudnn(name, **options):
    made = getattr(contrib.cudnn_rnn, name)(2, 3, **options)
    with tf.Graph().as_default():  # The variables of 1.15 need a GPU to start.
        made.build([3, 2, 4])
    return {
        "shapes": str(made.canonical_weight_shapes) + str(made.canonical_bias_shapes),
        "layers": str([made.num_layers, made.num_units, made.num_dirs, made.input_size]),
    }


CASES["cudnn_rnn.CudnnLSTM, shapes"] = lambda: cudnn("CudnnLSTM")
CASES["cudnn_rnn.CudnnGRU, shapes"] = lambda: cudnn("CudnnGRU", direction="bidirectional")


MODULES = {
    "layers": "conv2d",
    "initializers": "xavier_initializer",
    "regularizers": "l2_regularizer",
    "variables": "model_variables",
}
CASES["slim, modules"] = lambda: {
    module: str(hasattr(getattr(contrib.slim, module), name)) for module, name in MODULES.items()
}


def analyzed():
    tf.identity(tf.placeholder(tf.float32, [2, 3]), name="y")
    tf.placeholder(tf.float32, [None, 3], name="z")
    analyzer = importlib.import_module("tensorflow.contrib.slim").model_analyzer
    graph = tf.get_default_graph()
    return {
        "size": analyzer.analyze_ops(graph),
        "text": analyzer.tensor_description(graph.get_tensor_by_name("z:0")),
    }


def analyzed_and_printed():
    tf.get_variable("v", [2, 3], tf.float16)
    tf.get_variable("w", [], initializer=tf.zeros_initializer(), use_resource=True)
    graph, printed = tf.Graph(), io.StringIO()
    with graph.as_default():
        tf.placeholder(tf.float32, name="unknown")
        tf.placeholder(tf.float32, [None, 3], name="known")
        tf.no_op()
    analyzer = importlib.import_module("tensorflow.contrib.slim").model_analyzer
    with contextlib.redirect_stdout(printed):
        sizes = analyzer.analyze_vars(tf.global_variables(), print_info=True)
        analyzer.analyze_ops(graph, print_info=True)
    return {"sizes": str(sizes), "printed": printed.getvalue()}


def decoded(width):
    decoder = contrib.slim.tfexample_decoder
    handler = decoder.BackupHandler(decoder.Tensor("one"), decoder.Tensor("two"))
    found = handler.tensors_to_item({"one": values.real(width), "two": values.real(2, seed=2)})
    return {"found": found, "keys": str(sorted(handler.keys))}


CASES["slim.model_analyzer"] = analyzed
CASES["slim.model_analyzer, printed"] = analyzed_and_printed
CASES["slim.tfexample_decoder.BackupHandler"] = lambda: decoded(3)
CASES["slim.tfexample_decoder.BackupHandler, nothing"] = lambda: decoded(0)


def decoded_sparse(batch=(), **options):
    """Returns the item and the features of a handler, for one row or for two."""
    handler = contrib.slim.tfexample_decoder.SparseTensor(**options)
    rows = [[0], [1], [2]] if not batch else [[0, 0], [0, 1], [1, 0]]
    size = [3] if not batch else [2, 2]
    made = tf.SparseTensor(rows, values.real(3), size)
    features = {"values": made, "weights": made, "shape": tf.constant([*batch, 7], tf.int64)}
    features["sparse shape"] = tf.SparseTensor([[0]], tf.constant([7], tf.int64), [1])
    places = tf.SparseTensor(rows, tf.constant([0, 1, 1 if batch else 2], tf.int64), size)
    features.update(indices=places, places=places)
    item = handler.tensors_to_item({key: features[key] for key in handler.keys})
    return {"item": item, "keys": str(handler.keys)}


for _name, _options in {
    "": {},
    ", keys": {"indices_key": "places", "values_key": "weights"},
    ", shape": {"shape": [7], "densify": True},
    ", shape of a feature": {"shape_key": "shape", "densify": True, "default_value": -1.0},
    ", sparse shape": {"shape_key": "sparse shape", "densify": True},
    ", both shapes": {"shape_key": "shape", "shape": [9]},
    ", batch": {"batch": (2,), "shape_key": "shape", "densify": True},
}.items():
    CASES["slim.tfexample_decoder.SparseTensor" + _name] = functools.partial(
        decoded_sparse, **_options
    )


# The networks of slim: names, shapes and end points; nothing runs.
def network(module, name, size=None, **options):
    found = {}
    with tf.Graph().as_default():
        nets = getattr(importlib.import_module("tensorflow.contrib.slim.nets"), module)
        inputs = tf.placeholder(tf.float32, [2, size or 224, size or 224, 3])
        scope = getattr(nets, f"{name}_arg_scope", None) or getattr(
            nets, module + "_arg_scope", None
        )
        with contrib.framework.arg_scope(scope() if scope else []):
            net, points = getattr(nets, name)(inputs, **options)
        found["net"] = str(net.shape)
        found["points"] = "\n".join(f"{key} {one.shape}" for key, one in sorted(points.items()))
        for key in ("variables", "model_variables", "trainable_variables"):
            names = [f"{one.name} {one.shape}" for one in tf.get_collection(key)]
            found[key] = "\n".join(names)
        for key in ("losses", "update_ops"):
            found[key] = len(tf.get_collection(key))
        found["regularization"] = len(tf.get_collection("regularization_losses"))
    return found


for _module, _name, _options in [
    ("inception", "inception_v1", {"num_classes": 7}),
    ("inception", "inception_v2", {"num_classes": 7, "is_training": False}),
    ("inception", "inception_v3", {"num_classes": 7, "size": 299}),
    ("resnet_v1", "resnet_v1_50", {"num_classes": 7}),
    ("resnet_v1", "resnet_v1_101", {"global_pool": False, "output_stride": 16}),
    ("resnet_v2", "resnet_v2_50", {"num_classes": 7, "spatial_squeeze": False}),
    ("vgg", "vgg_16", {"num_classes": 7}),
    ("vgg", "vgg_a", {"spatial_squeeze": False}),
]:
    CASES[f"slim.nets.{_name}"] = functools.partial(network, _module, _name, **_options)
