"""Names of the package `keras` until 2.3; the values were computed by Keras 2.1.6 and 2.2.4."""

import importlib
import json
import os
import subprocess
import sys

import h5py
import keras
import keras.backend as K
import numpy as np
import pytest
import tensorflow as tf
from keras.applications.resnet50 import conv_block, identity_block
from keras.engine import InputSpec, get_source_inputs
from keras.engine import topology as saving
from keras.layers import Dense, Input, Masking, Recurrent
from keras.models import Model, Sequential, load_model
from keras.optimizers import clip_norm
from keras.preprocessing.image import apply_transform, list_pictures
from keras.utils.conv_utils import convert_kernel, deconv_length
from keras_descriptions import STORED, compare


@pytest.mark.parametrize(
    "module, names",
    [
        ("keras.applications.mobilenet", "relu6 DepthwiseConv2D"),
        ("keras.applications.mobilenetv2", "MobileNetV2"),
        ("keras.backend.common", "_EPSILON epsilon normalize_data_format image_dim_ordering"),
        ("keras.callbacks.callbacks", "Callback ModelCheckpoint"),
        ("keras.engine.base_layer", "Node to_list has_arg"),
        ("keras.engine.saving", "preprocess_weights_for_loading load_model"),
        ("keras.engine.topology", "Container Node Layer InputSpec"),
        ("keras.engine.training", "Model standardize_input_data GeneratorEnqueuer"),
        ("keras.engine.training_utils", "standardize_weights batch_shuffle"),
        ("keras.layers.core", "K func_dump initializers regularizers conv_utils"),
        ("keras.layers.recurrent", "Recurrent _time_distributed_dense LSTM"),
        ("keras.legacy.layers", "Highway MaxoutDense AtrousConvolution2D"),
        ("keras.utils", "print_summary HDF5Matrix multi_gpu_model"),
        ("keras.utils.generic_utils", "unpack_singleton object_list_uid func_load"),
        ("keras.utils.io_utils", "HDF5Matrix"),
        ("keras.utils.layer_utils", "convert_all_kernels_in_model"),
        ("keras.utils.multi_gpu_utils", "multi_gpu_model"),
        ("keras.utils.test_utils", "get_test_data"),
        ("keras.utils.training_utils", "multi_gpu_model"),
    ],
)
def test_a_module_has_the_names_of_keras_2_3(module, names):
    found = importlib.import_module(module)
    for name in names.split():
        assert callable(getattr(found, name)) or getattr(found, name) is not None, name


def test_objectives_are_losses():
    from keras import objectives
    from keras.objectives import categorical_crossentropy

    assert categorical_crossentropy is keras.losses.categorical_crossentropy
    assert objectives.mse is keras.losses.mse


def test_the_format_of_images_has_its_name_of_keras_1():
    assert K.image_dim_ordering() == "tf"
    K.set_image_dim_ordering("th")
    try:
        assert K.image_data_format() == "channels_first"
        assert K.image_dim_ordering() == "th" and K.normalize_data_format(None) == "channels_first"
    finally:
        K.set_image_dim_ordering("tf")
    with pytest.raises(ValueError, match="use 'tf' or 'th'"):
        K.set_image_dim_ordering("channels_last")


def test_functions_of_the_backend():
    session, x = K.get_session(), K.constant(np.arange(6.0).reshape(2, 3))
    assert K.is_tensor(x) and not K.is_tensor(3) and K.is_variable(K.zeros((2,)))
    np.testing.assert_array_equal(session.run(K.slice(x, [0, 1], [2, 2])), [[1, 2], [4, 5]])
    assert session.run(K.size(x)) == 6
    assert K.get_variable_shape(K.zeros((2, 3))) == (2, 3)
    assert K.transpose_shape((None, 4, 5, 3), "channels_first", (1, 2)) == (None, 3, 4, 5)
    long, short = K.constant([3.0, 4.0]), K.constant([0.3, 0.4])
    clipped = [clip_norm(long, 1.0, K.constant(5.0)), clip_norm(short, 1.0, K.constant(0.5))]
    clipped.append(clip_norm(long, 0, K.constant(5.0)))
    np.testing.assert_allclose(session.run(clipped), [[0.6, 0.8], [0.3, 0.4], [3, 4]], rtol=1e-6)


# The others read the step after or before it is counted, as it happens: two runs differ.
LOSSES = {
    "sgd": [0.443612, 0.414338, 0.387712],
    "rmsprop": [0.442905, 0.421061, 0.40649],
    "adagrad": [0.425866, 0.363974, 0.329202],
    "adadelta": [0.44739, 0.433974, 0.421036],
}
RATES = {"adam": 0.001, "adamax": 0.002, "nadam": 0.002}
CLIPPED = [0.438143, 0.37509, 0.292776]
COSINE = 0.501877
DATA = np.random.RandomState(0).rand(16, 4), np.random.RandomState(1).rand(16, 2)


def train(optimizer, loss="mse"):
    """Returns the loss of three epochs, from the same weights each time."""
    random = np.random.RandomState(2)
    weights = [random.randn(4, 3) * 0.5, np.zeros(3), random.randn(3, 2) * 0.5, np.zeros(2)]
    model = Sequential([Dense(3, activation="tanh", input_shape=(4,)), Dense(2)])
    model.compile(optimizer, loss)
    model.set_weights(weights)
    return model.fit(*DATA, batch_size=8, epochs=3, shuffle=False, verbose=0).history["loss"]


@pytest.mark.parametrize("name, expected", LOSSES.items())
def test_optimizers_have_the_defaults_of_keras(name, expected):
    np.testing.assert_allclose(train(name), expected, rtol=1e-4)
    kind = getattr(keras.optimizers, name)
    assert kind is getattr(keras.optimizers, kind.__name__)
    np.testing.assert_allclose(train(kind()), expected, rtol=1e-4)
    again = keras.optimizers.get({"class_name": kind.__name__, "config": kind().get_config()})
    assert type(again) is kind and again.get_config() == kind().get_config()
    assert kind is not getattr(tf.keras.optimizers, kind.__name__)


@pytest.mark.parametrize("name, rate", RATES.items())
def test_optimizers_have_the_learning_rates_of_keras(name, rate):
    kind = getattr(keras.optimizers, name)
    made = kind(), keras.optimizers.get(name)
    assert [one.get_config()["learning_rate"] for one in made] == [rate] * 2
    assert type(made[1]) is kind
    assert kind(lr=0.5).get_config()["learning_rate"] == 0.5


def test_gradients_are_clipped_together():
    optimizer = keras.optimizers.SGD(0.1, 0.9, 0.0, True, clipnorm=0.1)
    np.testing.assert_allclose(train(optimizer), CLIPPED, rtol=1e-4)
    config = optimizer.get_config()
    assert config["clipnorm"] == 0.1 and "global_clipnorm" not in config
    assert keras.optimizers.SGD.from_config(config).global_clipnorm == 0.1
    with pytest.raises(TypeError, match="takes 4 arguments, but 5 were given"):
        keras.optimizers.SGD(0.1, 0.9, 0.0, True, 1)


class OwnSGD(keras.optimizers.Optimizer):
    def __init__(self, lr=0.01, **kwargs):
        super().__init__(**kwargs)
        self.iterations = K.variable(0, dtype="int64", name="iterations")
        self.lr = K.variable(lr, name="lr")

    def get_updates(self, loss, params):
        gradients = self.get_gradients(loss, params)
        self.updates = [K.update_add(self.iterations, 1)]
        self.weights = [self.iterations]
        for variable, gradient in zip(params, gradients):
            self.updates.append(K.update(variable, variable - self.lr * gradient))
        return self.updates

    def get_config(self):
        return {**super().get_config(), "lr": float(K.get_value(self.lr))}


class Delayed(keras.optimizers.SGD):
    """Has weights and updates of its own, and those of SGD."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.calls = K.variable(0.0)

    def get_updates(self, loss, params):
        self.updates = super().get_updates(loss, params) + [K.update_add(self.calls, 1.0)]
        self.weights.append(self.calls)
        return self.updates


def test_an_optimizer_of_a_program():
    optimizer = OwnSGD()
    np.testing.assert_allclose(train(optimizer), LOSSES["sgd"], rtol=1e-5)
    assert K.get_value(optimizer.iterations) == 6 and len(optimizer.get_weights()) == 1
    clipped = OwnSGD(clipnorm=1e-9)
    losses = train(clipped)
    assert losses[0] == pytest.approx(losses[-1], abs=1e-5)
    assert clipped.get_config()["clipnorm"] == 1e-9
    again = keras.optimizers.deserialize(
        {"class_name": "OwnSGD", "config": {"lr": 0.5}}, custom_objects={"OwnSGD": OwnSGD}
    )
    assert K.get_value(again.lr) == 0.5


def test_an_optimizer_of_a_program_that_extends_one_of_keras():
    optimizer = Delayed(lr=0.01)
    np.testing.assert_allclose(train(optimizer), LOSSES["sgd"], rtol=1e-5)
    assert K.get_value(optimizer.calls) == 6
    for one in (optimizer, OwnSGD(), keras.optimizers.Adam()):
        assert isinstance(one, keras.optimizers.Optimizer)
    assert type(keras.optimizers.Adam(lr=0.1)) is keras.optimizers.Adam


def test_similarity_is_minimized():
    x = K.constant([[1.0, 0.0]])
    assert K.get_session().run(keras.losses.cosine_proximity(x, x)) == [-1]
    assert train("sgd", "cosine_proximity")[0] == pytest.approx(COSINE, rel=1e-4)


def test_layers_and_models_are_counted_from_one():
    with tf.Graph().as_default():
        inputs = Input((4,))
        hidden = Dense(2)(inputs)
        model = Model(inputs, Dense(1)(hidden))
        assert [layer.name for layer in model.layers] == ["input_1", "dense_1", "dense_2"]
        assert model.weights[0].name == "dense_1/kernel:0"
        assert (model.name, Sequential().name) == ("model_1", "sequential_1")
        tf.layers.dense(inputs, 1)
        assert tf.trainable_variables()[-1].name == "dense/bias:0"


def test_nodes_have_lists_of_tensors_and_masks():
    inputs = Input((3, 2))
    masking, dense = Masking(), Dense(1)
    masked = masking(inputs)
    output = keras.layers.add([dense(masked), masked[:, :, :1]])
    node = dense._inbound_nodes[0]
    assert node.input_tensors[0] is masked and len(node.input_tensors) == 1
    assert node.input_masks[0] is not None and node.output_masks[0] is not None
    assert node.inbound_layers == [masking]
    assert output._keras_history[0]._inbound_nodes[0].input_masks[1] is None
    assert (dense.input, dense.output) == (masked, dense.get_output_at(0))
    assert (dense.input_shape, dense.output_shape) == ((None, 3, 2), (None, 3, 1))
    model = Model(inputs, dense.output)
    assert model.inputs == [inputs] and model.predict(np.ones((1, 3, 2))).shape == (1, 3, 1)


def test_images_are_resized_from_the_corner():
    images = np.arange(4.0).reshape(1, 2, 2, 1)
    for shape in ((2, 2, 1), (None, None, 1)):
        inputs = Input(shape)
        outputs = keras.layers.UpSampling2D(2, interpolation="bilinear")(inputs)
        values = Model(inputs, outputs).predict(images)[0, :, :, 0]
        np.testing.assert_allclose(values[:3], [[0, 0.5, 1, 1], [1, 1.5, 2, 2], [2, 2.5, 3, 3]])


@pytest.mark.parametrize(
    "version, expected", [("2.2", "2.2.5 acc hard_sigmoid"), ("2.3", "2.3.1 accuracy sigmoid")]
)
def test_a_variable_chooses_between_two_versions(tmp_path, version, expected):
    program = tmp_path / "program.py"
    program.write_text(
        "import keras, numpy as np\n"
        "gate = keras.layers.LSTM(1)\n"
        "model = keras.models.Sequential([keras.layers.Dense(1, input_shape=(1,))])\n"
        "model.compile('sgd', 'mse', ['accuracy'])\n"
        "done = model.fit(np.ones((1, 1)), np.ones((1, 1)), verbose=0)\n"
        "print(keras.__version__, sorted(done.history)[0], gate.recurrent_activation.__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "estimator_bridge", "run", "--tf1", str(program)],
        env={**os.environ, "ESTIMATOR_BRIDGE_KERAS": version},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout.decode().strip() == expected


@pytest.mark.parametrize(
    "imported, expected",
    [
        ("from keras.utils import to_categorical", "dense (3, 3) (2, 2)"),
        ("import keras.preprocessing.sequence", "dense (3, 3) (2, 2)"),
        ("from keras import layers", "dense_1 (3, 2) (1, 1)"),
        ("from keras.models import Sequential", "dense_1 (3, 2) (1, 1)"),
    ],
)
def test_a_program_that_only_takes_tools_keeps_tf_keras(tmp_path, imported, expected):
    program = tmp_path / "program.py"
    program.write_text(
        f"import tensorflow as tf\n{imported}\n"
        "layer = tf.keras.layers.Conv2D(8, 3, 2)\n"
        "print(tf.keras.layers.Dense(1).name, layer.kernel_size, layer.strides)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "estimator_bridge", "run", "--tf1", str(program)],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert done.stdout.decode().strip() == expected


def test_another_version_is_refused(tmp_path):
    (tmp_path / "program.py").write_text("import keras\n")
    done = subprocess.run(
        [sys.executable, "-m", "estimator_bridge", "run", "--tf1", str(tmp_path / "program.py")],
        env={**os.environ, "ESTIMATOR_BRIDGE_KERAS": "1.2"},
        stderr=subprocess.PIPE,
    )
    assert done.returncode != 0
    last = done.stderr.decode().splitlines()[-1]
    assert last.endswith("ESTIMATOR_BRIDGE_KERAS=1.2: set it to 2.2 or 2.3"), last


def make_weights(layer):
    random = np.random.RandomState(0)
    layer.set_weights([random.randn(*w.shape).astype("f") for w in layer.get_weights()])
    return random.randn(3, 2).astype("f")


def test_a_highway_layer_gates_its_input(tmp_path):
    layer = keras.layers.Highway(input_dim=2, activation="tanh", name="highway_1")
    model = Sequential([layer])
    assert [w.name for w in layer.weights] == [
        *("highway_1/W:0", "highway_1/W_carry:0", "highway_1/b:0", "highway_1/b_carry:0"),
    ]
    np.testing.assert_array_equal(layer.get_weights()[3], [1, 1])
    outputs = model.predict(make_weights(layer))
    expected = [[0.857968, 0.544692], [0.695095, 0.723077], [1.012424, 0.151642]]
    np.testing.assert_allclose(outputs, expected, atol=1e-6)
    model.save(str(tmp_path / "model.h5"))
    classes = {"Highway": keras.layers.Highway}
    loaded = load_model(str(tmp_path / "model.h5"), custom_objects=classes)
    np.testing.assert_array_equal(loaded.get_weights()[0], layer.get_weights()[0])


def test_a_maxout_layer_takes_the_largest():
    layer = keras.layers.MaxoutDense(3, nb_feature=4, input_dim=2)
    outputs = Sequential([layer]).predict(make_weights(layer))
    expected = [
        [7.134457, 2.324309, 3.090959],
        [0.909062, 1.547859, 1.369549],
        [-1.116865, 1.486941, 3.887182],
    ]
    np.testing.assert_allclose(outputs, expected, atol=1e-5)
    assert layer.get_config()["nb_feature"] == 4
    weights = layer.get_weights()
    given = keras.layers.MaxoutDense(3, weights=weights, input_dim=2)
    Sequential([given])
    np.testing.assert_array_equal(given.get_weights()[0], weights[0])


class Decoder(Recurrent):
    """Adds the inputs up, twice each."""

    def __init__(self, units, **kwargs):
        self.units = units
        super().__init__(**kwargs)

    def build(self, input_shape):
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        self.states = [None]
        if self.stateful:
            self.input_spec = [InputSpec(shape=(shape[0], None, shape[2]))]
            self.reset_states()
        self.kernel = self.add_weight(name="kernel", shape=(shape[-1], 2), initializer="ones")
        self.built = True

    def get_constants(self, inputs, training=None):
        return [K.constant(2.0)]

    def step(self, inputs, states):
        state = K.dot(inputs, self.kernel) * states[1] + states[0]
        return state, [state]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, [[30, 30], [102, 102]]),
        ({"unroll": True}, [[30, 30], [102, 102]]),
        (
            {"return_sequences": True},
            [[[2, 2], [12, 12], [30, 30]], [[26, 26], [60, 60], [102, 102]]],
        ),
        (
            {"return_sequences": True, "go_backwards": True},
            [[[18, 18], [28, 28], [30, 30]], [[42, 42], [76, 76], [102, 102]]],
        ),
        ({"return_state": True}, [[[30, 30], [102, 102]], [[30, 30], [102, 102]]]),
    ],
)
def test_a_recurrent_layer_of_a_program(options, expected):
    inputs = Input((3, 2))
    layer = Decoder(2, **options)
    outputs = layer(inputs)
    shapes = [K.int_shape(one) for one in (outputs if isinstance(outputs, list) else [outputs])]
    assert shapes[0] == ((None, 3, 2) if options.get("return_sequences") else (None, 2))
    values = Model(inputs, outputs).predict(np.arange(12.0).reshape(2, 3, 2))
    np.testing.assert_array_equal(values, expected)
    assert layer.get_config()["return_sequences"] == options.get("return_sequences", False)


def test_a_recurrent_layer_takes_first_states_and_a_mask():
    inputs, first = Input((3, 2)), Input((2,))
    model = Model([inputs, first], Decoder(2)(inputs, initial_state=first))
    outputs = model.predict([np.arange(12.0).reshape(2, 3, 2), np.ones((2, 2))])
    np.testing.assert_array_equal(outputs, [[31, 31], [103, 103]])
    inputs = Input((3, 2))
    model = Model(inputs, Decoder(2)(Masking()(inputs)))
    outputs = model.predict(np.array([[[1.0, 1], [0, 0], [1, 2]]]))
    np.testing.assert_array_equal(outputs, [[10, 10]])


def test_a_stateful_recurrent_layer_begins_with_the_last_states():
    inputs = Input(batch_shape=(1, 3, 2))
    layer = Decoder(2, stateful=True)
    model, ones = Model(inputs, layer(inputs)), np.ones((1, 3, 2))
    assert [model.predict(ones)[0, 0] for _ in range(2)] == [12, 24]
    model.reset_states()
    assert model.predict(ones)[0, 0] == 12
    layer.reset_states([np.full((1, 2), 5.0)])
    assert model.predict(ones)[0, 0] == 17
    with pytest.raises(ValueError, match="has 1 states, but 2 were given"):
        layer.reset_states([np.zeros((1, 2))] * 2)


def test_weights_of_a_list_of_layers_are_written_and_read(tmp_path):
    def make(*names):
        inputs = Input((2,))
        net = inputs
        for name in names:
            net = Dense(2, name=name)(net)
        return Model(inputs, net)

    first, second, third = make("a", "b"), make("b", "c"), make("x", "y")
    with h5py.File(str(tmp_path / "weights.h5"), "w") as file:
        saving.save_weights_to_hdf5_group(file, first.layers)
    with h5py.File(str(tmp_path / "weights.h5"), "r") as file:
        before = second.get_layer("c").get_weights()[0]
        saving.load_weights_from_hdf5_group_by_name(file, second.layers)
        saving.load_weights_from_hdf5_group(file, third.layers)
    ours = [layer.get_weights()[0] for layer in first.layers[1:]]
    np.testing.assert_array_equal(second.get_layer("b").get_weights()[0], ours[1])
    np.testing.assert_array_equal(second.get_layer("c").get_weights()[0], before)
    for layer, kernel in zip(third.layers[1:], ours):
        np.testing.assert_array_equal(layer.get_weights()[0], kernel)


def test_blocks_of_resnet():
    inputs = Input((8, 8, 4))
    net = conv_block(inputs, 3, [2, 2, 8], stage=2, block="a")
    outputs = identity_block(net, 3, [2, 2, 8], stage=2, block="b")
    assert K.int_shape(outputs) == (None, 4, 4, 8)
    assert get_source_inputs(outputs)[0] is inputs
    names = [layer.name for layer in Model(inputs, outputs).layers]
    assert {"res2a_branch1", "bn2a_branch2c", "res2b_branch2b", "bn2b_branch2a"} <= set(names)


def test_images_and_kernels(tmp_path):
    image = np.arange(24.0).reshape(3, 4, 2)
    matrix = np.array([[1, 0.5, 0.2], [0, 1, 1], [0, 0, 1]])
    moved = apply_transform(image, matrix, 2, "constant", -1.0)
    expected = [3.6, 4.6, 9.6, 10.6, 15.6, 16.6, -1, -1, 11.6, 12.6, 17.6, 18.6, *[-1] * 12]
    np.testing.assert_allclose(moved.ravel(), expected)
    for name in ("x.JPG", "y-z.png", "b.gif", "q.jpg"):
        (tmp_path / name).touch()
    assert list_pictures(str(tmp_path)) == [str(tmp_path / "q.jpg")]
    kernel = convert_kernel(np.arange(8.0).reshape(2, 2, 2, 1))
    np.testing.assert_array_equal(kernel.ravel(), [6, 7, 4, 5, 2, 3, 0, 1])
    assert [deconv_length(5, 2, 3, p) for p in ("same", "valid", "full")] == [10, 11, 7]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, [5, 3, 4, 5, 6, 7]),
        ({"mode": "mul"}, [0, 2, 4, 6, 8, 10]),
        ({"mode": "ave"}, [2.5, 1.5, 2, 2.5, 3, 3.5]),
        ({"mode": "max"}, [5, 2, 2, 3, 4, 5]),
        ({"mode": "concat"}, [0, 1, 2, 5, 2, 2, 3, 4, 5, 2, 2, 2]),
        ({"mode": "concat", "concat_axis": 1}, [0, 1, 2, 3, 4, 5, 5, 2, 2, 2, 2, 2]),
        ({"mode": "dot", "dot_axes": 2}, [6, 6, 33, 24]),
        ({"mode": "dot", "dot_axes": [1, 1]}, [6, 6, 6, 13, 10, 10, 20, 14, 14]),
        ({"mode": "cos"}, [0.4671, 0.378, 2.0788, 0.9798]),
        ({"mode": lambda x: x[0] - x[1], "output_shape": (2, 3)}, [-5, -1, 0, 1, 2, 3]),
    ],
)
def test_merge_is_a_function(options, expected):
    from keras.layers import merge

    first, second = Input((2, 3)), Input((2, 3))
    with pytest.warns(UserWarning, match="`merge` is deprecated"):
        output = merge([first, second], name="merged", **options)
    arrays = np.arange(6.0).reshape(1, 2, 3), np.array([[[5.0, 2, 2], [2, 2, 2]]])
    values = Model([first, second], output).predict([*arrays])
    np.testing.assert_allclose(values.ravel(), expected, atol=1e-4)
    assert output.name.startswith("merged/")
    assert K.int_shape(output) == (None, *values.shape[1:])


def test_merge_of_models_is_refused():
    with pytest.raises(ValueError, match="merge their outputs with keras.layers.concatenate"):
        keras.layers.Merge([Sequential(), Sequential()], mode="concat")
    wrong = pytest.raises(ValueError, match="Invalid merge mode: nope")
    with wrong, pytest.warns(UserWarning, match="`merge` is deprecated"):
        keras.layers.merge([Input((1,)), Input((1,))], mode="nope")
    assert keras.layers.merge.Concatenate is keras.layers.Concatenate


def test_layers_are_described_as_by_keras_2_2():
    compare(keras, "keras")


def test_a_model_is_saved_for_keras_2_2(tmp_path):
    inputs = Input((3,))
    net = keras.layers.BatchNormalization()(Dense(2)(inputs))
    model = Model(inputs, keras.layers.Lambda(lambda x: x + 1)(net))
    path = str(tmp_path / "model.h5")
    for name, expected in json.loads(STORED.read_text())["keras"]["optimizers"].items():
        model.compile(name, "mse")
        model.fit(np.ones((2, 3)), np.ones((2, 2)), verbose=0)
        model.save(path)
        with h5py.File(path, "r") as file:
            training = json.loads(file.attrs["training_config"])
            assert sorted(training["optimizer_config"]["config"]) == expected
            layers = json.loads(file.attrs["model_config"])["config"]["layers"]
            weights = [*file["optimizer_weights"].attrs["weight_names"]]
        assert layers[2]["config"]["axis"] == 1 and "module" not in layers[3]["config"]
        # Adam of Keras has a maximum for each of four variables.
        assert name != "adam" or len(weights) == 1 + 3 * 4
        loaded = load_model(path)
        np.testing.assert_array_equal(
            loaded.predict(np.ones((1, 3))), model.predict(np.ones((1, 3)))
        )
        for ours, theirs in zip(loaded.optimizer.get_weights(), model.optimizer.get_weights()):
            np.testing.assert_array_equal(ours, theirs)


def test_atrous_convolutions_are_dilated():
    layer = keras.layers.AtrousConvolution2D(4, (3, 3), atrous_rate=(2, 2))
    assert type(layer) is tf.keras.layers.Conv2D and layer.dilation_rate == (2, 2)
