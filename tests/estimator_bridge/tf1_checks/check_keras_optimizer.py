"""A program's own optimizers with `get_updates`; the values are those of Keras 2.3.1."""

import keras
import numpy as np
import pytest
from keras import backend as K
from keras.callbacks import LearningRateScheduler
from keras.layers import Dense
from keras.legacy import interfaces
from keras.models import Sequential, load_model
from keras.optimizers import SGD, Adam, Optimizer


class Plain(Optimizer):
    def __init__(self, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.learning_rate = K.variable(rate)

    @interfaces.legacy_get_updates_support
    def get_updates(self, loss, params):
        gradients = self.get_gradients(loss, params)
        self.updates = [K.update_sub(p, self.lr * g) for p, g in zip(params, gradients)]
        return self.updates

    def get_config(self):
        return {**super().get_config(), "rate": float(K.get_value(self.lr))}


class Around(Optimizer):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    @interfaces.legacy_get_updates_support
    def get_updates(self, loss, params):
        self.updates = self.inner.get_updates(loss=loss, params=params)
        return self.updates


def _train(optimizer):
    model = Sequential([Dense(2, init="zero", input_dim=3)])
    model.compile(optimizer, "mse")
    rows = np.arange(12).reshape(4, 3) / 12
    model.fit(rows, np.ones((4, 2)), batch_size=4, epochs=3, verbose=0)
    return model


@pytest.mark.parametrize(
    ("limits", "kernel", "bias"),
    [
        ({}, [0.09205, 0.11318, 0.13431], 0.25353),
        ({"clipnorm": 0.5}, [0.03084, 0.03775, 0.04466], 0.08294),
        ({"clipvalue": 0.3}, [0.09, 0.09, 0.09], 0.09),
        ({"clipnorm": 1.0, "clipvalue": 0.3}, [0.06128, 0.07514, 0.089], 0.09),
    ],
)
def test_an_own_optimizer_trains(limits, kernel, bias):
    model = _train(Plain(**limits))
    kernels, biases = model.get_weights()
    np.testing.assert_allclose(kernels, np.transpose([kernel, kernel]), atol=1e-5)
    np.testing.assert_allclose(biases, [bias, bias], atol=1e-5)
    assert model.optimizer.get_config() == {**limits, "rate": pytest.approx(0.1)}


def test_an_own_optimizer_around_another():
    expected, _ = _train(SGD(0.1)).get_weights()
    np.testing.assert_array_equal(_train(Around(SGD(0.1))).get_weights()[0], expected)


def test_it_is_saved_and_its_rate_is_scheduled(tmp_path):
    path = str(tmp_path / "model.h5")
    _train(Plain(0.25)).save(path)
    model = load_model(path, custom_objects={"Plain": Plain})
    assert K.get_value(model.optimizer.lr) == 0.25
    scheduled = LearningRateScheduler(lambda epoch: 0.5 * (epoch + 1))
    model.fit(np.ones((4, 3)), np.ones((4, 2)), epochs=2, verbose=0, callbacks=[scheduled])
    assert K.get_value(model.optimizer.lr) == 1.0


def test_the_optimizers_of_keras_are_of_this_class():
    assert isinstance(SGD(0.1), Optimizer)
    assert isinstance(keras.optimizers.get("adam"), Optimizer)
    assert issubclass(Adam, Optimizer)
    assert isinstance(Plain(), Optimizer)
    assert not isinstance(SGD(0.1), Plain)
    assert not isinstance(3, Optimizer)
    with pytest.raises(TypeError, match="momentum"):
        Plain(momentum=0.9)
    with pytest.raises(AttributeError, match="'Around' object has no attribute 'lr'"):
        _ = Around(SGD(0.1)).lr
