"""Cases of tf.contrib.layers: layers, columns and optimize_loss."""

import functools
import importlib

import tensorflow as tf
import values

CASES = {}
layers = tf.contrib.layers


def image(*shape):
    return values.real(*(shape or (2, 6, 5, 3)), seed=1)


def rows(*shape):
    return values.real(*(shape or (4, 6)), seed=2)


def normalized(rank=2, by_tensor=False, **options):
    """Runs the updates of batch normalisation, by which the moving averages move."""
    if by_tensor:
        options["is_training"] = tf.placeholder_with_default(True, [])
    outputs = layers.batch_norm(image() if rank == 4 else rows(), decay=0.9, **options)
    return {"outputs": outputs}, [*tf.get_collection(tf.GraphKeys.UPDATE_OPS), outputs.op]


LAYERS = {
    "avg_pool2d": lambda: layers.avg_pool2d(image(), [2, 2]),
    "avg_pool2d, same": lambda: layers.avg_pool2d(image(), 3, stride=1, padding="SAME"),
    "batch_norm": lambda: layers.batch_norm(rows()),
    "batch_norm, not training": lambda: layers.batch_norm(rows(), is_training=False, scale=True),
    "batch_norm, fused": lambda: layers.batch_norm(image(), fused=True, scale=True),
    "batch_norm, not fused": lambda: layers.batch_norm(image(), fused=False, scale=True),
    "batch_norm, no updates": lambda: layers.batch_norm(rows(), updates_collections=None),
    "batch_norm, zero_debias": lambda: layers.batch_norm(rows(), zero_debias_moving_mean=True),
    **{
        f"batch_norm, zero_debias, {name}": functools.partial(
            lambda make, **options: layers.batch_norm(
                make(), zero_debias_moving_mean=True, **options
            ),
            *(make,),
            **options,
        )
        for name, make, options in [
            ("not fused", image, {"fused": False}),
            ("not fused, rank 2", rows, {"fused": False}),
            ("rank 3", lambda: rows(2, 3, 4), {}),
            ("weighted", rows, {"batch_weights": values.np.ones(4, values.np.float32)}),
            ("updated at once", image, {"updates_collections": None}),
        ]
    },
    "bias_add": lambda: layers.bias_add(rows(), activation_fn=tf.nn.relu),
    "bow_encoder": lambda: layers.bow_encoder(values.whole(3, 2, below=5), 5, 2),
    "conv1d": lambda: layers.conv1d(image(2, 6, 3), 4, 3),
    "conv2d": lambda: layers.conv2d(image(), 4, [3, 2], stride=2),
    "conv2d, normalized": lambda: layers.conv2d(
        image(), 4, 3, padding="VALID", normalizer_fn=layers.batch_norm
    ),
    "conv2d, dilated": lambda: layers.conv2d(image(), 4, 3, rate=2, activation_fn=None),
    "conv2d, regularized": lambda: layers.conv2d(
        image(), 4, 3, weights_regularizer=layers.l2_regularizer(0.1), biases_initializer=None
    ),
    "conv2d_in_plane": lambda: layers.conv2d_in_plane(image(), 3),
    "conv2d_transpose": lambda: layers.conv2d_transpose(image(), 4, 3, stride=2),
    "dropout": lambda: layers.dropout(rows(), is_training=False),
    "embed_sequence": lambda: layers.embed_sequence(values.whole(3, 2, below=5), 5, 2),
    "flatten": lambda: layers.flatten(image()),
    "fully_connected": lambda: layers.fully_connected(rows(), 3),
    "fully_connected, rank 4": lambda: layers.fully_connected(image(), 3, activation_fn=None),
    "fully_connected, normalized": lambda: layers.fully_connected(
        rows(), 3, normalizer_fn=layers.layer_norm, scope="mine"
    ),
    "fully_connected, no rows": lambda: layers.fully_connected(rows(0, 6), 3),
    "group_norm": lambda: layers.group_norm(image(2, 4, 4, 4), groups=2),
    "instance_norm": lambda: layers.instance_norm(image()),
    "layer_norm": lambda: layers.layer_norm(image()),
    "layer_norm, axis": lambda: layers.layer_norm(image(), begin_norm_axis=2, scale=False),
    "legacy_fully_connected": lambda: layers.legacy_fully_connected(rows(), 3),
    "legacy_relu": lambda: layers.legacy_relu(rows(), 3),
    "linear": lambda: layers.linear(rows(), 3),
    "max_pool2d": lambda: layers.max_pool2d(image(), 2),
    "maxout": lambda: layers.maxout(rows(), 3),
    "maxout, axis": lambda: layers.maxout(image(), 3, axis=1),
    "one_hot_encoding": lambda: layers.one_hot_encoding(values.whole(4, below=3), 3),
    "relu6": lambda: layers.relu6(rows(), 3),
    "repeat": lambda: layers.repeat(rows(), 2, layers.fully_connected, 3, scope="fc"),
    "separable_conv2d": lambda: layers.separable_conv2d(image(), 4, 3, 2),
    "separable_conv2d, depthwise": lambda: layers.separable_conv2d(image(), None, 3, 1),
    "separable_conv2d, collections": lambda: layers.separable_conv2d(
        *(image(), 4, 3), variables_collections={"weights": ["mine"]}
    ),
    "softmax": lambda: layers.softmax(image()),
    "stack": lambda: layers.stack(rows(), layers.fully_connected, [3, 2], scope="fc"),
    "unit_norm": lambda: layers.unit_norm(rows(), 1),
    "apply_regularization": lambda: layers.apply_regularization(
        layers.l1_l2_regularizer(0.1, 0.2), [values.given([1.0, -2.0])]
    ),
    "summarize_activation": lambda: layers.summarize_activation(tf.nn.relu(rows())),
    "variable": lambda: tf.contrib.framework.variable("v", [2], collections=["mine"]),
    "model_variable": lambda: tf.contrib.framework.model_variable(
        "v", [2], tf.float32, tf.ones_initializer(), collections=["mine"]
    ),
}
for _name, _options in {
    "": {},
    ", rank 4": {"rank": 4},
    ", clipped": {"renorm_clipping": {"rmin": 0.9, "rmax": 1.1, "dmax": 0.05}},
    ", decay": {"renorm_decay": 0.5, "scale": True},
    ", not training": {"is_training": False},
    ", training by tensor": {"by_tensor": True},
    ", no updates": {"updates_collections": None},
    ", unknown clipping": {"renorm_clipping": {"min": 1.0}},
}.items():
    LAYERS["batch_norm, renorm" + _name] = functools.partial(normalized, renorm=True, **_options)
LAYERS["batch_norm, adjustment"] = lambda: normalized(
    adjustment=lambda shape: (tf.constant(1.5), tf.constant(0.25))
)
CASES.update(LAYERS)


def optimized(**options):
    weight = tf.get_variable("w", [3], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(tf.square(weight) * values.array(3, seed=3, low=0.5))
    step = tf.train.get_or_create_global_step()
    options.setdefault("learning_rate", 0.1)
    train = layers.optimize_loss(loss, step, optimizer=options.pop("optimizer", "SGD"), **options)
    return {"w": weight, "step": step}, [train]


CASES["optimize_loss"] = optimized
CASES["optimize_loss, Adam"] = lambda: optimized(optimizer="Adam", clip_gradients=0.5)
CASES["optimize_loss, multipliers"] = lambda: optimized(gradient_multipliers={"w:0": 0.5})
CASES["optimize_loss, multipliers by op"] = lambda: optimized(gradient_multipliers={"w": 0.5})
CASES["optimize_loss, no rate"] = lambda: optimized(
    learning_rate=None, optimizer=tf.train.GradientDescentOptimizer(0.1)
)
CASES["optimize_loss, decay"] = lambda: optimized(
    learning_rate_decay_fn=lambda rate, step: tf.train.exponential_decay(rate, step, 1, 0.5)
)
CASES["optimize_loss, all summaries"] = lambda: optimized(summaries=layers.OPTIMIZER_SUMMARIES)
CASES["optimize_loss, adaptive"] = lambda: optimized(
    clip_gradients=layers.adaptive_clipping_fn(report_summary=True)
)


def clipped_by_history(**options):
    # 1.15 has it in this module only.
    optimizers = importlib.import_module("tensorflow.contrib.layers.python.layers.optimizers")
    return optimized(clip_gradients=optimizers.adaptive_clipping_fn(**options))


CASES["adaptive_clipping_fn"] = lambda: clipped_by_history(report_summary=True)
CASES["adaptive_clipping_fn, options"] = lambda: clipped_by_history(
    std_factor=0.5, decay=0.5, static_max_norm=0.2, epsilon=0.1
)
CASES["adaptive_clipping_fn, step"] = lambda: clipped_by_history(
    global_step=tf.train.get_or_create_global_step(), name="mine"
)
CASES["optimize_loss, negative rate"] = lambda: optimized(learning_rate=-1.0)


def columns(hash_key, combiner, dense):
    text = tf.constant([["a"], ["b"], ["a"]])
    pairs = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], ["x", "y", "x"], [3, 2])
    features = {"s": text if dense else tf.contrib.layers.dense_to_sparse(text, ""), "t": pairs}
    one = layers.sparse_column_with_hash_bucket("s", 5, combiner)
    two = layers.sparse_column_with_keys("t", ["x", "y"], combiner=combiner)
    cross = layers.crossed_column([one, two], 9, combiner, hash_key=hash_key)
    logits, _, _ = layers.weighted_sum_from_feature_columns(features, [one, two, cross], 2)
    return logits


for _combiner in ("sum", "mean", "sqrtn"):
    CASES[f"weighted_sum, {_combiner}"] = functools.partial(columns, None, _combiner, False)
CASES["weighted_sum, dense"] = lambda: columns(None, "sum", True)
CASES["weighted_sum, hash_key"] = lambda: columns(99, "sum", False)
CASES["weighted_sum, unknown combiner"] = lambda: columns(99, "max", False)


def with_side_effects(make):
    """Returns the outputs and what a placeholder of unknown sizes has as its static shape."""
    outputs = make()
    return {"outputs": outputs, "static": str(outputs.shape)}


def unknown(*shape, **options):
    """Returns an image with unknown sizes but for the channels."""
    sizes = [None] * (len(shape) - 1) + [shape[-1]]
    return tf.placeholder_with_default(image(*shape), sizes, **options)


MAPS = {
    "spatial_softmax": lambda: layers.spatial_softmax(image()),
    "spatial_softmax, temperature": lambda: layers.spatial_softmax(image(), 0.5, "mine"),
    "spatial_softmax, fixed": lambda: layers.spatial_softmax(
        image(), 2.0, variables_collections=["mine"], trainable=False
    ),
    "spatial_softmax, NCHW": lambda: layers.spatial_softmax(image(), data_format="NCHW"),
    "spatial_softmax, one place": lambda: layers.spatial_softmax(image(2, 1, 1, 3)),
    "spatial_softmax, unknown sizes": lambda: layers.spatial_softmax(unknown(2, 6, 5, 3)),
    "spatial_softmax, unknown channels": lambda: layers.spatial_softmax(
        tf.placeholder_with_default(image(), [None] * 4)
    ),
    "spatial_softmax, wrong format": lambda: layers.spatial_softmax(image(), data_format="NC"),
    "images_to_sequence": lambda: layers.images_to_sequence(image(), outputs_collections=["mine"]),
    "images_to_sequence, NCHW": lambda: layers.images_to_sequence(image(), "NCHW", scope="mine"),
    "images_to_sequence, wrong format": lambda: layers.images_to_sequence(image(), "NC"),
    "sequence_to_images": lambda: layers.sequence_to_images(
        image(5, 6, 2), 3, outputs_collections=["mine"]
    ),
    "sequence_to_images, first": lambda: layers.sequence_to_images(
        image(5, 6, 2), 2, "channels_first", scope="mine"
    ),
    "sequence_to_images, there and back": lambda: layers.sequence_to_images(
        layers.images_to_sequence(image()), 6
    ),
    "gdn": lambda: layers.gdn(image()),
    "gdn, inverse": lambda: layers.gdn(image(), inverse=True, name="mine"),
    "gdn, options": lambda: layers.gdn(image(), False, 0.3, 0.05, 0.1),
    "gdn, rank 3": lambda: layers.gdn(rows(2, 5, 3)),
    "gdn, rank 5": lambda: layers.gdn(rows(2, 2, 3, 2, 3)),
    "gdn, rank 2": lambda: layers.gdn(rows()),
    "gdn, rank 6": lambda: layers.gdn(rows(1, 2, 1, 2, 1, 2)),
    "gdn, not trained": lambda: layers.gdn(image(), trainable=False),
    "gdn, regularized": lambda: layers.gdn(
        image(), activity_regularizer=layers.l2_regularizer(0.1)
    ),
    "gdn, twice": lambda: layers.gdn(layers.gdn(image(), name="a"), name="a", reuse=True),
    "gdn, wrong format": lambda: layers.gdn(image(), data_format="NCHW"),
    "gdn, unknown channels": lambda: layers.gdn(tf.placeholder_with_default(image(), [None] * 4)),
}
for _name, _make in MAPS.items():
    CASES[_name] = functools.partial(with_side_effects, _make)


def layer_of_gdn():
    layer = layers.GDN(inverse=True, name="mine")
    outputs = layer(image())
    return {
        "outputs": outputs,
        "beta": layer.beta,
        "gamma": layer.gamma,
        "described": str([layer.inverse, layer.data_format, layer.name]),
        "shape": str(layer.compute_output_shape([2, 6, 5, 3])),
    }


CASES["GDN"] = layer_of_gdn
for _name, _scale in {
    "number": lambda: 0.5,
    "scalar": lambda: values.given(0.25),
    "tensor": lambda: rows(),
}.items():
    CASES[f"scale_gradient, {_name}"] = functools.partial(
        lambda scale: layers.scale_gradient(tf.square(values.real(4, 6, seed=3)), scale()), _scale
    )


def block(call, **options):
    """Runs a block of reversible layers: `call` is a function of it and a pair of tensors."""

    def f(x):
        return layers.fully_connected(x, 3, activation_fn=None)

    made = layers.RevBlock(f, lambda x: f(tf.tanh(x)), **options)
    outputs = call(made, [rows(2, 3), rows(2, 3) * 2.0])
    names = sorted(one.name for one in made.variables)
    return {"outputs": outputs, "name": made.name, "variables": str(names)}


CASES["RevBlock"] = functools.partial(block, lambda made, pair: made(pair), num_layers=2)
CASES["RevBlock, forward"] = functools.partial(block, lambda made, pair: made.forward(*pair))
CASES["RevBlock, backward"] = functools.partial(block, lambda made, pair: made.backward(*pair))
CASES["RevBlock, from the outputs"] = functools.partial(
    block, lambda made, pair: made(pair, forward=False), name="mine"
)
CASES["RevBlock, there and back"] = functools.partial(
    block, lambda made, pair: made.backward(*made(pair)), num_layers=2
)
CASES["RevBlock, simple gradients"] = functools.partial(
    block, lambda made, pair: made(pair), use_efficient_backprop=False
)
CASES["RevBlock, wrong number"] = lambda: layers.RevBlock([tf.tanh], tf.tanh, num_layers=2)
