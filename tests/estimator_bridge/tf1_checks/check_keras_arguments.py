"""Layers and models of `keras` take the arguments of Keras 1, as in Keras 2.3.1.

`keras_1_calls.txt` has the calls with what Keras 2.3.1 on TensorFlow 1.15.5 made of them: the
error, or how the configuration (of the layer inside a wrapper) differs from that of a call with
nothing but the required arguments, and the number of warnings at the call.
"""

import importlib
import inspect
import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import backend as K
from keras.layers import *  # noqa: F403 - as the programs do
from keras.layers import Conv2D, Convolution2D, Dense, Dropout, Flatten, Input, Layer
from keras.legacy import interfaces
from keras.models import Model, Sequential, clone_model, load_model, model_from_json

_CALLS = Path(__file__).with_name("keras_1_calls.txt").read_text(encoding="utf-8").splitlines()


def _plain(value):
    if isinstance(value, dict):
        config = value["config"]
        if "l1" in config or "l2" in config:
            return {name: round(float(number), 6) for name, number in config.items() if number}
        return value["class_name"]
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _caught(call):
    """Returns the result of a call, and the warnings of it that point to this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    own = (__file__, "<string>")
    return result, [str(one.message) for one in caught if one.filename in own]


@pytest.mark.parametrize("line", _CALLS)
def test_a_call_of_keras_1_gives_the_layer_of_keras_2_3_1(line):
    call, expected = line.split(" -> ")
    if expected.endswith("Error"):
        with pytest.raises((TypeError, ValueError)) as error:
            eval(call)
        assert error.typename == expected
        return
    expected, count = expected.rsplit("  ", 1)
    layer, warned = _caught(lambda: eval(call))
    while hasattr(layer, "layer"):
        layer = layer.layer
    config = layer.get_config()
    assert {name: _plain(config[name]) for name in json.loads(expected)} == json.loads(expected)
    assert len(warned) == int(count)


def test_the_warning_shows_the_call_of_keras_2():
    _, warned = _caught(
        lambda: Convolution2D(8, 3, 5, border_mode="same", weights=[np.ones(3)], name="a" * 20)
    )
    assert warned == [
        "`Conv2D` got arguments of Keras 1; in Keras 2: "
        f'`Conv2D(8, (3, 5), weights=[array([1...., name="{"a" * 20}", padding="same")`'
    ]
    _, warned = _caught(lambda: Dense(3, activation="relu", input_dim=2))
    assert warned == []


def _make_model():
    inputs = Input((3,))
    model = Model(input=inputs, output=Dense(1, name="dense")(inputs))
    model.compile("sgd", "mse")
    return model


def test_a_model_takes_input_and_output():
    class Own(Model):
        def __init__(self):
            inputs = Input((3,))
            super().__init__(input=inputs, output=Dense(1)(inputs))

    for kind, name in ((_make_model, "Model"), (Own, "Own"), (Own, "Own")):
        model, warned = _caught(kind)
        assert len(model.layers) == 2
        assert model.predict(np.ones((2, 3))).shape == (2, 1)
        assert [text.split()[0] for text in warned] == [f"`{name}`"]
    with pytest.raises(TypeError, match="`inputs` is given twice"):
        Model(input=Input((3,)), inputs=Input((3,)), outputs=[])


class Batches:
    batch_size = 4

    def __iter__(self):
        return self

    def __next__(self):
        return np.ones((4, 3)), np.ones((4, 1))


def _rows():
    while True:
        yield np.ones((4, 3)), np.ones((4, 1))


def test_samples_of_generators():
    model = _make_model()
    done, warned = _caught(
        lambda: model.fit_generator(
            _rows(),
            samples_per_epoch=3,
            nb_epoch=2,
            verbose=0,
            validation_data=_rows(),
            nb_val_samples=2,
            nb_worker=1,
            max_q_size=2,
            pickle_safe=False,
        )
    )
    assert (done.params["steps"], done.epoch) == (3, [0, 1])
    assert ["counts batches" in text for text in warned] == [True, False]
    done = model.fit_generator(Batches(), samples_per_epoch=12, nb_epoch=1, verbose=0)
    assert done.params["steps"] == 3
    done = model.fit_generator(generator=_rows(), samples_per_epoch=2, verbose=0)
    assert done.params["steps"] == 2
    assert model.fit_generator(_rows(), 3, 2, verbose=0).epoch == [0, 1]
    assert np.shape(model.evaluate_generator(_rows(), val_samples=2)) == ()
    assert model.predict_generator(_rows(), val_samples=2, max_q_size=3).shape == (8, 1)
    with pytest.raises(TypeError, match="by position"):
        model.fit_generator(_rows(), 3, 2, 0, nb_worker=1)
    with pytest.raises(TypeError, match="steps_per_epoch"):
        model.fit_generator(_rows(), 3, samples_per_epoch=2)


class Scaled(Layer):
    """A layer as programs of Keras 1 wrote it."""

    def __init__(self, output_dim, **kwargs):
        self.output_dim = output_dim
        super().__init__(**kwargs)

    def build(self, shape):
        size = (self.output_dim,)
        self.W = self.add_weight((shape[1], *size), initializer="uniform", name="W")
        self.b = self.add_weight(size, "b", initializer="zero")
        self.c = self.add_weight(shape=size, name="c", initializer="one")
        self.d = self.add_weight("d", size, initializer="one")
        super().build(shape)

    def call(self, inputs):
        return K.dot(inputs, self.W) + self.b * self.c * self.d


def test_weights_of_an_own_layer_with_the_shape_first():
    model = Sequential([Scaled(2, input_shape=(3,))])
    assert [weights.shape for weights in model.get_weights()] == [(3, 2), (2,), (2,), (2,)]
    assert [v.name.split("/")[-1] for v in model.weights] == ["W:0", "b:0", "c:0", "d:0"]


class Square(Conv2D):
    def __init__(self, filters, size, **kwargs):
        super().__init__(filters, size, size, init="one", border_mode="same", **kwargs)


def test_a_subclass_passes_old_arguments_on():
    layer, warned = _caught(lambda: Square(4, 3))
    assert (layer.kernel_size, layer.padding) == ((3, 3), "same")
    assert [text.split()[0] for text in warned] == ["`Square`"]


@pytest.mark.parametrize(
    ("module", "kernel"),
    [
        (__name__, (3, 5)),
        ("estimator_bridge.tf1.keras_layers", (3, 5)),
        ("tf_keras.src.applications", None),
    ],
)
def test_who_calls_decides_what_two_numbers_are(module, kernel):
    names = {"__name__": module, "Conv2D": Conv2D}
    exec("def make(*args): return Conv2D(*args)", names)
    layer, _ = _caught(lambda: names["make"](8, 3, 5))
    assert (layer.kernel_size, layer.strides) == ((kernel, (1, 1)) if kernel else ((3, 3), (5, 5)))


def test_a_model_is_saved_loaded_and_cloned(tmp_path):
    model = Sequential()
    model.add(Convolution2D(4, 3, 3, border_mode="same", input_shape=(6, 6, 1)))
    model.add(Dropout(p=0.5))
    model.add(Flatten())
    model.add(Dense(output_dim=2, W_regularizer="l2"))
    model.compile("sgd", "mse")
    model.save(str(tmp_path / "model.h5"))
    copies = [clone_model(model), model_from_json(model.to_json())]
    for copy in copies:
        copy.set_weights(model.get_weights())
    images = np.ones((1, 6, 6, 1))
    for copy in [*copies, load_model(str(tmp_path / "model.h5"))]:
        np.testing.assert_array_equal(copy.predict(images), model.predict(images))


# As Keras 1.2.2 wrote them.
_IMAGES_1 = """[
{"class_name": "Convolution2D", "config": {"name": "c", "trainable": true, "init": "uniform",
  "batch_input_shape": [null, 8, 8, 1], "input_dtype": "float32", "activation": "relu",
  "nb_filter": 4, "nb_row": 3, "nb_col": 5, "border_mode": "valid", "subsample": [1, 1],
  "dim_ordering": "tf", "W_regularizer": null, "b_regularizer": null, "bias": true,
  "activity_regularizer": null, "W_constraint": null, "b_constraint": null}},
{"class_name": "BatchNormalization", "config": {"name": "b", "trainable": true, "mode": 0,
  "axis": -1, "momentum": 0.9, "gamma_regularizer": null, "beta_regularizer": null}},
{"class_name": "MaxPooling2D", "config": {"name": "m", "trainable": true, "pool_size": [2, 2],
  "strides": [2, 2], "border_mode": "valid", "dim_ordering": "tf"}},
{"class_name": "Dropout", "config": {"name": "p", "trainable": true, "p": 0.25}}]"""
_WORDS_1 = """[
{"class_name": "Embedding", "config": {"name": "e", "trainable": true, "init": "uniform",
  "batch_input_shape": [null, 8], "input_dim": 20, "output_dim": 4, "input_length": 8,
  "mask_zero": false, "activity_regularizer": null, "W_regularizer": null,
  "W_constraint": null, "dropout": 0.2}},
{"class_name": "LSTM", "config": {"name": "l", "trainable": true, "return_sequences": false,
  "go_backwards": false, "stateful": false, "unroll": false, "consume_less": "mem",
  "input_dim": 4, "input_length": null, "output_dim": 3, "init": "uniform",
  "inner_init": "orthogonal", "forget_bias_init": "one", "activation": "tanh",
  "inner_activation": "hard_sigmoid", "W_regularizer": null, "U_regularizer": null,
  "b_regularizer": null, "dropout_W": 0.0, "dropout_U": 0.0}}]"""


@pytest.mark.parametrize(
    ("layers", "shapes"),
    [
        (_IMAGES_1, [(6, 4, 4), (6, 4, 4), (3, 2, 4), (3, 2, 4)]),
        (_WORDS_1, [(8, 4), (3,)]),
    ],
)
def test_a_model_that_keras_1_described(layers, shapes):
    model = model_from_json(f'{{"class_name": "Sequential", "config": {layers}}}')
    assert [layer.output_shape[1:] for layer in model.layers] == shapes


def test_classes_keep_their_signatures():
    assert list(inspect.signature(Dense).parameters)[:3] == ["units", "activation", "use_bias"]
    assert inspect.getfullargspec(Conv2D.__init__).args[:3] == ["self", "filters", "kernel_size"]
    assert Dense.__init__.__qualname__ == "Dense.__init__"
    assert list(inspect.signature(Model.fit_generator).parameters)[:2] == ["self", "generator"]
    assert pickle.loads(pickle.dumps(Dense)) is Dense
    assert tf.keras.layers.Dense(3, "relu").get_config()["activation"] == "relu"


class Optimizer:
    @interfaces.legacy_get_updates_support
    def get_updates(self, loss, params):
        return loss, params


class Windowed(Layer):
    @interfaces.generate_legacy_interface(
        allowed_positional_args=["units", "size"],
        conversions=[("output_dim", "units"), ("subsample_length", "strides")],
        value_conversions={"dim_ordering": {"tf": "last"}},
        preprocessor=interfaces.recurrent_args_preprocessor,
    )
    def __init__(self, units, size=2, strides=1, dim_ordering=None, **kwargs):
        self.given = units, size, strides, dim_ordering
        super().__init__(**kwargs)

    @interfaces.generate_legacy_method_interface(conversions=[("nb_row", "rows")])
    def take(self, rows):
        return rows


class Old(Layer):
    @interfaces.legacy_dense_support
    def __init__(self, units, use_bias=True, **kwargs):
        self.given = units, use_bias
        super().__init__(**kwargs)


def test_decorators_of_keras_legacy():
    own = Optimizer()
    assert own.get_updates("loss", ["p"]) == ("loss", ["p"])
    assert own.get_updates(["p"], {}, "loss") == ("loss", ["p"])
    assert own.get_updates(["p"], {}, loss="loss") == ("loss", ["p"])
    with pytest.raises(TypeError, match="get_updates"):
        own.get_updates(["p"], {}, "loss", 1)
    layer, warned = _caught(
        lambda: Windowed(output_dim=3, subsample_length=2, dim_ordering="tf", input_dim=4)
    )
    assert layer.given == (3, 2, 2, "last")
    assert len(warned) == 2
    taken, warned = _caught(lambda: layer.take(nb_row=3))
    assert (taken, len(warned)) == (3, 1)
    assert Old(output_dim=3, bias=False).given == (3, False)
    with pytest.raises(TypeError, match="by position"):
        Old(3, False)
    with pytest.raises(TypeError, match="`b` is given twice"):
        interfaces.raise_duplicate_arg_error("a", "b")
    assert importlib.import_module("keras.layers").interfaces.legacy_conv2d_support
    assert importlib.import_module("keras.legacy.interfaces").embedding_kwargs_preprocessor


def test_the_program_keeps_its_own_names_with_import_all():
    names = {}
    exec("import tensorflow as tf; from keras.layers import *; from keras.engine import *", names)
    assert names["tf"] is tf
    assert names["Convolution2D"] is names["Conv2D"] is keras.layers.Conv2D


_MODULES = {
    "by_keras.py": "import keras, tensorflow as tf\nlayer = tf.keras.layers.Conv2D(8, 3, 2)\n",
    "by_tf.py": "import tensorflow as tf\nlayer = tf.keras.layers.Conv2D(8, 3, 2)\n",
    "program.py": "import by_tf, by_keras, by_tf as first\n"
    "for one in (by_tf, by_keras):\n"
    "    print(one.layer.kernel_size, one.layer.strides)\n",
    "without.py": "import by_tf, tensorflow as tf\n"
    "try:\n"
    "    tf.keras.layers.Dense(output_dim=3)\n"
    "except TypeError:\n"
    "    print('TypeError')\n",
}


@pytest.mark.parametrize(
    ("program", "printed"),
    [("program.py", "(3, 3) (2, 2)\n(3, 2) (1, 1)\n"), ("without.py", "TypeError\n")],
)
def test_programs_without_keras_are_as_before(tmp_path, program, printed):
    for name, text in _MODULES.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "estimator_bridge", "run", "--tf1", str(tmp_path / program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.stdout == printed, done.stderr[-2000:]
