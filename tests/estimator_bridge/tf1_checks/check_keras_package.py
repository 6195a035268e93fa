"""`import keras` in a program of 1.x gives Keras 2, with the modules of Keras 2.3."""

import importlib
import subprocess
import sys

import keras
import keras.backend as K
import numpy as np
import pytest
import tensorflow as tf
from keras import initializers
from keras.backend.tensorflow_backend import set_session
from keras.callbacks import ModelCheckpoint
from keras.engine.topology import Layer
from keras.layers import Conv2D, Dense, Flatten, Input
from keras.layers.advanced_activations import LeakyReLU
from keras.layers.normalization import BatchNormalization
from keras.models import Model, load_model
from keras.optimizers import Adam
from keras.utils import np_utils


class Scale(Layer):
    def build(self, shape):
        self.factors = self.add_weight(name="factors", shape=(shape[-1],), initializer="ones")
        super().build(shape)

    def call(self, inputs):
        return inputs * self.factors


def make_model():
    inputs = Input(shape=(6, 6, 1))
    net = Conv2D(4, (3, 3), kernel_initializer=initializers.RandomUniform(seed=1))(inputs)
    net = LeakyReLU(0.1)(BatchNormalization()(net))
    outputs = Dense(3, activation="softmax")(Scale()(Flatten()(net)))
    model = Model(inputs=inputs, outputs=outputs)
    model.compile(loss="categorical_crossentropy", optimizer=Adam(lr=0.05), metrics=["acc"])
    return model


def test_a_model_is_trained_saved_and_loaded(tmp_path):
    random = np.random.RandomState(0)
    images, labels = random.rand(32, 6, 6, 1), np_utils.to_categorical(np.arange(32) % 3, 3)
    with tf.Session() as session:
        set_session(session)
        model = make_model()
        before = model.evaluate(images, labels, verbose=0)
        kept = ModelCheckpoint(str(tmp_path / "best.h5"), monitor="loss", save_best_only=True)
        done = model.fit(images, labels, 8, 20, verbose=0, callbacks=[kept])
        assert set(done.history) == {"loss", "acc"}
        assert done.history["loss"][-1] < before[0]
        assert K.get_session() is session
        gradients = K.gradients(model.output[:, 0], model.input)[0]
        fed = {model.input: images[:1], K.learning_phase(): 0}
        assert session.run(gradients, fed).shape == (1, 6, 6, 1)
        expected = model.predict(images)
        model.save(str(tmp_path / "model.h5"))
        loaded = load_model(str(tmp_path / "model.h5"), custom_objects={"Scale": Scale})
        np.testing.assert_array_equal(loaded.predict(images), expected)
    set_session(None)


def test_it_is_the_keras_of_tf_keras():
    assert keras.layers.Dense is tf.keras.layers.Dense
    assert importlib.import_module("keras.layers.core").Dense is tf.keras.layers.Dense
    assert keras.__version__ == "2.2.5"
    assert tf.keras.__version__ == "2.2.4-tf"
    with pytest.raises(ModuleNotFoundError, match="keras.no_such_module"):
        importlib.import_module("keras.no_such_module")


@pytest.mark.skipif(
    tf.keras.layers.Dense.__module__.startswith("keras."),
    reason="TensorFlow 2.15 itself imports `keras`, and finds the folder",
)
def test_an_own_folder_named_keras_stays(tmp_path):
    (tmp_path / "keras").mkdir()
    (tmp_path / "keras" / "__init__.py").write_text("OWN = True\n")
    program = tmp_path / "program.py"
    program.write_text("import keras\nimport tensorflow as tf\nprint(keras.OWN)\n")
    command = [sys.executable, "-m", "estimator_bridge", "run", "--tf1", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout == "True\n", done.stderr[-2000:]
