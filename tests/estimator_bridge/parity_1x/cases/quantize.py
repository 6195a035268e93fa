"""Cases of tf.contrib.quantize.

A difference of one rounding step may quantize a value to the next number. So the networks are
small: none of their values is near the middle between two numbers.
"""

import functools

import tensorflow as tf
import values
from tensorflow.contrib import graph_editor, quantize, slim

CASES = {}
NETWORKS = {}
layers, relu = tf.layers, tf.nn.relu


def network(function):
    """Adds a function from (inputs [1, 3, 3, 2], training) to outputs."""
    NETWORKS[function.__name__] = function
    return function


def conv(x, name="w", size=2, outputs=2):
    w = tf.get_variable(name, [size, size, x.shape[-1], outputs])
    return tf.nn.conv2d(x, w, strides=[1] * 4, padding="SAME")


def bias(x, name="b"):
    return tf.nn.bias_add(x, tf.get_variable(name, [x.shape[-1]]))


def normalized(training, **options):
    params = dict({"is_training": training, "scale": True, "decay": 0.5}, **options)
    return {"normalizer_fn": slim.batch_norm, "normalizer_params": params}


# Weights, biases and activations.
@network
def plain(x, training):
    return tf.nn.relu6(bias(conv(x)))


@network
def without_bias(x, training):
    return relu(conv(x))


@network
def without_activation(x, training):
    return tf.tanh(bias(conv(x)))


@network
def products(x, training):
    m = tf.get_variable("m", [18, 3])
    h = relu(tf.matmul(slim.flatten(x), m))
    return tf.nn.softmax(slim.fully_connected(h, 2, activation_fn=None, scope="logits"))


@network
def partitioned(x, training):
    with tf.variable_scope("p", partitioner=tf.fixed_size_partitioner(2)):
        return slim.fully_connected(slim.flatten(x), 2, scope="s")


@network
def resource(x, training):
    with tf.variable_scope("n", use_resource=True):
        return bias(conv(x))


@network
def shared(x, training):
    with tf.variable_scope("n", reuse=tf.AUTO_REUSE):
        return relu(bias(conv(relu(bias(conv(x))))))


@network
def separable(x, training):
    return slim.separable_conv2d(x, 2, 2, 1, scope="s")


@network
def in_row(x, training):
    return bias(conv(conv(x, "a", 1)))


# Batch normalization.
@network
def batch_norm(x, training):
    return slim.conv2d(x, 2, 2, scope="conv", **normalized(training))


@network
def batch_norm_named(x, training):
    return slim.conv2d(x, 2, 2, scope="conv", **normalized(training, scope="bn"))


@network
def unfused(x, training):
    return slim.conv2d(x, 2, 2, scope="conv", **normalized(training, fused=False))


@network
def unfused_without_scale(x, training):
    return slim.conv2d(x, 2, 2, scope="conv", **normalized(training, fused=False, scale=False))


@network
def batch_norm_of_product(x, training):
    x = tf.transpose(tf.reshape(x, [3, 6]))
    return slim.fully_connected(x, 2, scope="fc", **normalized(training))


@network
def depthwise(x, training):
    return slim.separable_conv2d(x, None, 2, 1, scope="dw", **normalized(training))


@network
def depthwise_dilated(x, training):
    return slim.separable_conv2d(x, None, 2, 1, rate=2, scope="dw", **normalized(training))


@network
def separable_normalized(x, training):
    return slim.separable_conv2d(x, 2, 2, 1, scope="s", **normalized(training))


@network
def before_activation(x, training):
    """Normalizes and activates before the convolution, as a ResNet of the second kind."""
    h = relu(slim.batch_norm(x, is_training=training, scale=True))
    return bias(conv(h))


@network
def layers_of_tf(x, training):
    h = layers.conv2d(x, 2, 2, use_bias=False, name="c")
    h = relu(layers.batch_normalization(h, training=training, momentum=0.5, name="n"))
    h = layers.flatten(layers.max_pooling2d(h, 2, 2))
    return layers.dense(layers.dense(h, 2, activation=relu, name="d"), 2, name="e")


@network
def layers_of_keras(x, training):
    keras = tf.keras.layers
    h = keras.Conv2D(2, 2, use_bias=False)(x)
    h = keras.ReLU()(keras.BatchNormalization()(h, training=training))
    h = keras.ReLU()(keras.DepthwiseConv2D(1)(h))
    return keras.Dense(2)(keras.Flatten()(h))


# Sums and products.
@network
def bypass(x, training):
    return relu(slim.conv2d(x, 2, 2, activation_fn=None, scope="conv", **normalized(training)) + x)


@network
def bypass_without_activation(x, training):
    return bias(conv(x)) + x


@network
def bypass_after(x, training):
    with tf.variable_scope("a"):
        h = relu(bias(conv(x)))
    with tf.variable_scope("b"):
        return h + x


@network
def of_two_activations(x, training):
    return relu(bias(conv(x))) + relu(bias(conv(x, "w2", 1), "b2"))


@network
def inverted(x, training):
    """Two blocks of MobileNet V2."""
    for name in ("c0", "c1"):
        with tf.variable_scope(name):
            h = slim.conv2d(x, 3, 1, activation_fn=tf.nn.relu6, scope="e", **normalized(training))
            h = slim.separable_conv2d(
                *(h, None, 2, 1), activation_fn=tf.nn.relu6, scope="d", **normalized(training)
            )
            h = slim.conv2d(h, 2, 1, activation_fn=tf.identity, scope="p", **normalized(training))
            x = tf.identity(h + x, name="output")
    return bias(conv(x, size=1))


@network
def gated(x, training):
    h = bias(conv(x))
    return relu(h) * tf.nn.relu6(h + 3.0) * (1 / 6.0)


@network
def dropped(x, training):
    h = relu(bias(conv(x)))
    return slim.dropout(h, 0.999999, is_training=training, seed=1)


@network
def quantized_already(x, training):
    h = relu(bias(conv(x)))
    return tf.fake_quant_with_min_max_args(tf.identity(h), -4.0, 4.0)


def wired(graph):
    """Returns as text what every operation that quantizes reads, and what reads it."""
    readers, lines = {}, []
    for op in graph.get_operations():
        for tensor in op.inputs:
            readers.setdefault(tensor.name, set()).add(op.name)
    for op in graph.get_operations():
        if op.type.startswith("FakeQuant"):
            bits, narrow = op.get_attr("num_bits"), op.get_attr("narrow_range")
            to = sorted(readers.get(op.outputs[0].name, ()))
            line = f"{op.name} {bits} {narrow}: {op.inputs[0].name} to {to}"
            # The name of a convolution of slim and of what 1.15 drops by.
            line = line.replace("convolution", "Conv2D").replace("/SelectV2", "/mul_1")
            lines.append(line.replace("/Mul", "/mul"))
    return "\n".join(lines)


def optimized(out):
    """Returns an operation that trains: gradients, then changes, then averages."""
    graph = tf.get_default_graph()
    optimizer = tf.train.GradientDescentOptimizer(0.0625)
    pairs = optimizer.compute_gradients(tf.reduce_sum(out * out))
    pairs = [pair for pair in pairs if pair[0] is not None]
    with tf.control_dependencies([gradient for gradient, _ in pairs]):
        train = optimizer.apply_gradients(pairs)
    updates = [
        one if isinstance(one, tf.Operation) else one.op
        for one in tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    ]
    for update in updates:
        graph_editor.add_control_inputs(update, [train])
    graph.clear_collection("train_op")
    return tf.group(train, *updates)


def rewritten(name, rewrite, training=True, steps=False):
    x = values.real(1, 3, 3, 2)
    out = tf.negative(NETWORKS[name](x, training), name="out")
    rewrite()
    graph = tf.get_default_graph()
    outputs = {"out": out, "wired": wired(graph)}
    operations = [optimized(out)] if steps else []
    # 1.15 collects operations, and here are tensors.
    graph.clear_collection(tf.GraphKeys.UPDATE_OPS)
    graph.clear_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    return (outputs, operations) if steps else outputs


def add(case, name, rewrite, **options):
    CASES[case] = functools.partial(rewritten, name, rewrite, **options)


EVALUATED = ("batch_norm", "unfused", "layers_of_tf", "inverted", "before_activation")
TRAINED = ("plain", "batch_norm", "depthwise", "bypass_after", "unfused_without_scale")
ONLY_OTHERWISE = {"before_activation", "bypass_without_activation", *TRAINED[2:]}
for _name in NETWORKS:
    if _name not in ONLY_OTHERWISE:
        add(_name, _name, quantize.create_training_graph)
for _name in EVALUATED:
    add(f"{_name}, eval", _name, quantize.create_eval_graph, training=False)
for _name in TRAINED:
    add(f"{_name}, steps", _name, quantize.create_training_graph, steps=True)

_train = quantize.experimental_create_training_graph
_evaluate = quantize.experimental_create_eval_graph
for _case, _rewrite, _options in (
    ("delay", functools.partial(quantize.create_training_graph, quant_delay=4), {"steps": True}),
    ("delay, eval", functools.partial(_evaluate, quant_delay=1), {"training": False}),
    ("frozen", functools.partial(_train, None, 8, 8, False, 2, 3), {"steps": True}),
    ("bits", functools.partial(_train, weight_bits=4, activation_bits=5), {"steps": True}),
    ("symmetric", functools.partial(_train, symmetric=True, activation_bits=4), {"steps": True}),
    ("moments of the batch, eval", quantize.create_eval_graph, {}),
    ("wrong delay", functools.partial(_train, quant_delay=2.5), {}),
):
    add(f"batch_norm: {_case}", "batch_norm", _rewrite, **_options)
_frozen = functools.partial(_train, freeze_bn_delay=4)
add("unfused: frozen", "unfused", _frozen, steps=True)
add("scope 'c1'", "inverted", functools.partial(_train, scope="c1"))
add("scope 'conv', eval", "bypass", functools.partial(_evaluate, scope="conv"), training=False)


def twice():
    quantize.create_training_graph()
    quantize.create_training_graph()


def in_variable_scope():
    with tf.variable_scope("mine"):
        quantize.create_training_graph()


def behind_gradients():
    tf.gradients(tf.get_default_graph().get_tensor_by_name("out:0"), tf.trainable_variables())
    quantize.create_eval_graph()


def of_graph():
    graph = tf.get_default_graph()
    with tf.Graph().as_default():
        assert quantize.create_training_graph(graph) is None


add("twice", "bypass_without_activation", twice)
add("in_variable_scope", "bypass", in_variable_scope)
add("behind_gradients", "bypass_without_activation", behind_gradients)
add("of_graph", "plain", of_graph)
