"""Cases of tf.keras in 1.x programs: layers, losses, optimizers and models in a graph."""

import functools

import tensorflow as tf
import values

CASES = {}
keras = tf.keras
L = keras.layers


def rows(*shape):
    return values.real(*(shape or (3, 4)), seed=1)


def image():
    return values.real(2, 5, 4, 2, seed=2)


def steps():
    return values.real(2, 3, 4, seed=3)


def ids():
    return values.whole(2, 3, below=5, seed=4)


# Name -> (inputs, function that makes the layer).
LAYERS = {
    "Dense": (rows, lambda: L.Dense(3, activation="relu")),
    "Dense, options": (
        rows,
        lambda: L.Dense(3, use_bias=False, kernel_regularizer=keras.regularizers.l1(0.1)),
    ),
    "Activation": (rows, lambda: L.Activation("selu")),
    "ActivityRegularization": (rows, lambda: L.ActivityRegularization(l1=0.1, l2=0.2)),
    "AveragePooling2D": (image, lambda: L.AveragePooling2D()),
    "BatchNormalization": (rows, lambda: L.BatchNormalization()),
    "BatchNormalization, fused": (image, lambda: L.BatchNormalization(scale=False)),
    "Bidirectional": (steps, lambda: L.Bidirectional(L.LSTM(2))),
    "Bidirectional, sum": (steps, lambda: L.Bidirectional(L.GRU(2), merge_mode="sum")),
    "Conv1D": (steps, lambda: L.Conv1D(3, 2, padding="causal")),
    "Conv2D": (image, lambda: L.Conv2D(3, 2, strides=2, activation="tanh")),
    "Conv2DTranspose": (image, lambda: L.Conv2DTranspose(3, 2, strides=2)),
    "Conv3D": (lambda: values.real(1, 3, 3, 3, 2, seed=2), lambda: L.Conv3D(2, 2)),
    "ConvLSTM2D": (lambda: values.real(1, 2, 4, 4, 1, seed=2), lambda: L.ConvLSTM2D(2, 2)),
    "Cropping2D": (image, lambda: L.Cropping2D(1)),
    "CuDNNGRU": (steps, lambda: L.CuDNNGRU(2)),
    "DepthwiseConv2D": (image, lambda: L.DepthwiseConv2D(2, depth_multiplier=2)),
    "Dropout": (rows, lambda: L.Dropout(0.5)),
    "ELU": (rows, lambda: L.ELU(0.5)),
    "Embedding": (ids, lambda: L.Embedding(5, 2, mask_zero=True)),
    "Flatten": (image, lambda: L.Flatten()),
    "GRU": (steps, lambda: L.GRU(2, return_sequences=True)),
    "GRU, reset_after": (steps, lambda: L.GRU(2, reset_after=True)),
    "GRUCell": (steps, lambda: L.RNN(L.GRUCell(2))),
    "GlobalAveragePooling1D": (steps, lambda: L.GlobalAveragePooling1D()),
    "GlobalMaxPooling2D": (image, lambda: L.GlobalMaxPooling2D()),
    "LSTM": (steps, lambda: L.LSTM(2)),
    "LSTM, states": (steps, lambda: L.LSTM(2, return_state=True, go_backwards=True)),
    "LSTM, unrolled": (steps, lambda: L.LSTM(2, unroll=True, unit_forget_bias=False)),
    "Lambda": (rows, lambda: L.Lambda(lambda one: one**2)),
    "LayerNormalization": (steps, lambda: L.LayerNormalization()),
    "LeakyReLU": (rows, lambda: L.LeakyReLU()),
    "LocallyConnected1D": (steps, lambda: L.LocallyConnected1D(2, 2)),
    "Masking": (steps, lambda: L.Masking(0.25)),
    "MaxPooling1D": (steps, lambda: L.MaxPooling1D()),
    "PReLU": (rows, lambda: L.PReLU()),
    "Permute": (steps, lambda: L.Permute([2, 1])),
    "ReLU": (rows, lambda: L.ReLU(0.5, 0.1, 0.2)),
    "RNN, stacked": (steps, lambda: L.RNN([L.LSTMCell(2), L.SimpleRNNCell(3)])),
    "RepeatVector": (rows, lambda: L.RepeatVector(2)),
    "Reshape": (rows, lambda: L.Reshape([2, 2])),
    "SeparableConv2D": (image, lambda: L.SeparableConv2D(3, 2)),
    "SimpleRNN": (steps, lambda: L.SimpleRNN(2)),
    "Softmax": (rows, lambda: L.Softmax()),
    "SpatialDropout1D": (steps, lambda: L.SpatialDropout1D(0.5)),
    "StackedRNNCells": (steps, lambda: L.RNN(L.StackedRNNCells([L.GRUCell(2), L.GRUCell(2)]))),
    "ThresholdedReLU": (rows, lambda: L.ThresholdedReLU(0.3)),
    "TimeDistributed": (steps, lambda: L.TimeDistributed(L.Dense(2))),
    "UpSampling2D": (image, lambda: L.UpSampling2D()),
    "ZeroPadding2D": (image, lambda: L.ZeroPadding2D(1)),
    "PeepholeLSTMCell": (steps, lambda: L.RNN(keras.experimental.PeepholeLSTMCell(2))),
    "PeepholeLSTMCell, fused": (
        steps,
        lambda: L.RNN(keras.experimental.PeepholeLSTMCell(2, implementation=2)),
    ),
}


def layered(name, **options):
    inputs, make = LAYERS[name]
    layer = make()
    outputs = layer(inputs(), **options)
    return {
        "outputs": outputs,
        "losses": list(layer.losses),
        "weights": str([one.name for one in layer.weights]),
        "updates": len(layer.updates),
    }


for _name in sorted(LAYERS):
    CASES[f"layers.{_name}"] = functools.partial(layered, _name)
for _name in ("BatchNormalization", "BatchNormalization, fused"):
    CASES[f"layers.{_name}, training"] = functools.partial(layered, _name, training=True)
MERGES = ["Add", "Average", "Concatenate", "Dot", "Maximum", "Minimum", "Multiply", "Subtract"]
for _name in MERGES:
    CASES[f"layers.{_name}"] = lambda name=_name: getattr(L, name)(
        **({"axes": 1} if name == "Dot" else {})
    )([values.real(3, 4, seed=5), values.real(3, 4, seed=6)])
for _name in ("Attention", "AdditiveAttention"):
    CASES[f"layers.{_name}"] = lambda name=_name: getattr(L, name)()(
        [values.real(2, 3, 4, seed=5), values.real(2, 5, 4, seed=6)]
    )
LOSSES = [
    "BinaryCrossentropy",
    "CategoricalCrossentropy",
    "CategoricalHinge",
    "CosineSimilarity",
    "Hinge",
    "Huber",
    "KLDivergence",
    "LogCosh",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Poisson",
    "SquaredHinge",
]


def loss(name, weights=None):
    truth = tf.stop_gradient(values.real(3, 4, seed=7, low=0.1, high=0.9))
    given = values.real(3, 4, seed=8, low=0.1, high=0.9)
    return getattr(keras.losses, name)()(truth, given, sample_weight=weights)


for _name in ("cosine_similarity", "cosine_proximity", "logcosh", "mse", "kld", "squared_hinge"):
    CASES[f"losses.get, {_name}"] = lambda name=_name: keras.losses.get(name)(
        values.real(3, 4, seed=7), values.real(3, 4, seed=8)
    )
for _name in ("cosine", "cosine_proximity", "mean_absolute_error"):
    CASES[f"metrics.{_name}"] = lambda name=_name: getattr(keras.metrics, name)(
        values.real(3, 4, seed=7), values.real(3, 4, seed=8)
    )
for _name in LOSSES:
    CASES[f"losses.{_name}"] = functools.partial(loss, _name)
CASES["losses.MeanSquaredError, weights"] = lambda: loss("MeanSquaredError", [1.0, 0.0, 2.0])
CASES["losses.SparseCategoricalCrossentropy"] = lambda: keras.losses.SparseCategoricalCrossentropy(
    from_logits=True
)(values.whole(3, below=4), values.real(3, 4, seed=8))
METRICS = [
    "AUC",
    "Accuracy",
    "BinaryAccuracy",
    "BinaryCrossentropy",
    "CategoricalAccuracy",
    "CosineSimilarity",
    "FalseNegatives",
    "FalsePositives",
    "Hinge",
    "KLDivergence",
    "LogCoshError",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Precision",
    "Recall",
    "RootMeanSquaredError",
    "TrueNegatives",
    "TruePositives",
]


def metric(name):
    made = getattr(keras.metrics, name)()
    truth = tf.to_float(values.whole(6, 1, seed=9))
    update = made.update_state(truth, values.real(6, 1, seed=10, low=0.1, high=0.9))
    for one in made.weights:
        # They are in no collection, and Keras's own session starts them.
        tf.add_to_collection(tf.GraphKeys.LOCAL_VARIABLES, one)
    return {"result": made.result()}, [update]


for _name in METRICS:
    CASES[f"metrics.{_name}"] = functools.partial(metric, _name)
OPTIMIZERS = {
    "Adadelta": {},
    "Adagrad": {},
    "Adam": {},
    "Adam, amsgrad": {"amsgrad": True},
    "Adam, decay": {"decay": 0.1, "clipnorm": 0.5},
    "Adam, lr": {"lr": 0.1},
    "Adamax": {},
    "Ftrl": {},
    "Nadam": {},
    "RMSprop": {},
    "RMSprop, centered": {"centered": True, "momentum": 0.5},
    "SGD": {},
    "SGD, nesterov": {"momentum": 0.9, "nesterov": True, "clipvalue": 0.1},
}


def optimized(name, sparse):
    options = dict(OPTIMIZERS[name])
    if "lr" not in options:
        options["learning_rate"] = 0.1
    table = tf.get_variable("w", [4, 2], use_resource=True)
    read = tf.nn.embedding_lookup(table, [1, 2, 1]) if sparse else table
    optimizer = getattr(keras.optimizers, name.split(",")[0])(**options)
    updates = optimizer.get_updates(tf.reduce_sum(tf.square(read)), [table])
    names = {"weights": str([one.name for one in optimizer.weights])}
    return dict(names, w=table), [tf.group(*updates)]


for _name in sorted(OPTIMIZERS):
    CASES[f"optimizers.{_name}"] = functools.partial(optimized, _name, False)
    CASES[f"optimizers.{_name}, sparse"] = functools.partial(optimized, _name, True)
for _name, _arguments in {
    "ExponentialDecay": (0.1, 10, 0.5),
    "InverseTimeDecay": (0.1, 10, 0.5),
    "PiecewiseConstantDecay": ([5, 8], [1.0, 0.5, 0.1]),
    "PolynomialDecay": (0.1, 10),
}.items():
    CASES[f"optimizers.schedules.{_name}"] = lambda name=_name, arguments=_arguments: [
        getattr(keras.optimizers.schedules, name)(*arguments)(tf.constant(step))
        for step in (0, 7, 20)
    ]
for _name, _arguments in {
    "CosineDecay": (0.1, 10),
    "CosineDecayRestarts": (0.1, 10),
    "LinearCosineDecay": (0.1, 10),
}.items():
    CASES[f"experimental.{_name}"] = lambda name=_name, arguments=_arguments: [
        getattr(keras.experimental, name)(*arguments)(tf.constant(step)) for step in (0, 7, 20)
    ]


def linear_model(inputs=None, **options):
    model = keras.experimental.LinearModel(2, **options)
    found = model([rows(), values.real(3, 2, seed=6)] if inputs is None else inputs())
    return {"outputs": found, "names": str([one.name for one in model.weights])}


CASES["experimental.LinearModel"] = linear_model
CASES["experimental.LinearModel, one input"] = lambda: linear_model(rows, name="mine")
CASES["experimental.LinearModel, a list of one"] = lambda: linear_model(lambda: [rows()])
CASES["experimental.LinearModel, no bias"] = lambda: linear_model(use_bias=False)


def wide_and_deep(inputs=None, **options):
    deep = keras.Sequential([L.Dense(3), L.Dense(1)])
    model = keras.experimental.WideDeepModel(keras.experimental.LinearModel(), deep, **options)
    found = model([rows(), values.real(3, 2, seed=6)] if inputs is None else inputs())
    return {"outputs": found, "names": str([one.name for one in model.weights])}


CASES["experimental.WideDeepModel"] = wide_and_deep
CASES["experimental.WideDeepModel, activation"] = lambda: wide_and_deep(activation="sigmoid")
CASES["experimental.WideDeepModel, one input"] = lambda: wide_and_deep(rows)


def functional():
    one, two = keras.Input([4], name="one"), keras.Input([3], dtype="int64", name="two")
    words = L.GlobalAveragePooling1D()(L.Embedding(5, 2)(two))
    joined = L.concatenate([L.Dense(3)(one), words])
    model = keras.Model([one, two], [L.Dense(1)(joined), L.Dense(2, name="second")(joined)])
    model.compile("adam", ["mse", "mae"], loss_weights=[1.0, 0.5])
    return {
        "outputs": model([rows(2, 4), ids()]),
        "names": str([one.name for one in model.weights]),
        "layers": str([layer.name for layer in model.layers]),
        "metrics": str(model.metrics_names),
        "total": str(model.count_params()),
    }


class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.first = L.Dense(3, activation="relu")
        self.blocks = [L.Dense(3), L.BatchNormalization()]

    def call(self, inputs, training=False):
        net = self.first(inputs)
        for block in self.blocks[:1]:
            net = block(net)
        return self.blocks[1](net, training=training)


def subclassed():
    net = Net()
    return {"outputs": net(rows()), "names": str([one.name for one in net.weights])}


CASES["Model, functional"] = functional
CASES["Model, subclassed"] = subclassed
CASES["layers of several kinds, named"] = lambda: several()


def several():
    """The default names count, each class on its own; scopes come before them."""
    with tf.variable_scope("outer"):
        net = L.Dense(2)(L.Dense(3)(rows()))
        with tf.name_scope("inner"):
            net = L.Dense(2)(net)
        net = tf.layers.dense(net, 2)
        return L.GRU(2)(L.Conv1D(3, 1)(net[:, :, None]))
