"""Keras models as estimators of scikit-learn, in the form of TensorFlow 1.x to 2.11.

Prints JSON; `test_scikit_learn_api.py` has what TensorFlow 1.15.5 computed.
"""

import json

import numpy as np
import tensorflow as tf
from tensorflow.keras.wrappers.scikit_learn import KerasClassifier, KerasRegressor

layers = tf.keras.layers
X = np.random.RandomState(0).randn(24, 3).astype("float32")
LETTERS, NUMBERS = np.array(list("cab" * 8)), np.array([5, 7] * 12)
OPTIONS = {"epochs": 2, "batch_size": 8, "shuffle": False, "verbose": 0}


def build(outputs, activation, loss, metrics, units=2):
    hidden = layers.Dense(units, "tanh", kernel_initializer="ones", input_shape=(3,))
    kernel = "zeros" if outputs > 1 else "ones"
    last = layers.Dense(outputs, activation, kernel_initializer=kernel)
    model = tf.keras.Sequential([hidden, last])
    model.compile("sgd", loss, metrics=metrics)
    return model


def classes(units=2, loss="categorical_crossentropy"):
    return build(3, "softmax", loss, ["accuracy"], units)


def two_classes():
    return build(1, "sigmoid", "binary_crossentropy", ["accuracy"])


def numbers(units=2, metrics=None):
    return build(1, None, "mse", metrics, units)


class Callable:
    def __call__(self, units=1):
        return numbers(units)


class Own(KerasRegressor):
    def __call__(self, units=1):
        return numbers(units)


def error(function):
    try:
        return str(function())
    except (AttributeError, ValueError) as raised:
        return f"{type(raised).__name__}: {raised}"


def listed(array):
    rounded = array.astype(float).round(5) if array.dtype.kind == "f" else array
    return rounded[:4].astype(object).tolist()


letters = KerasClassifier(classes, units=3, **OPTIONS)
history = letters.fit(X, LETTERS).history["loss"]
sparse = KerasClassifier(classes, loss="sparse_categorical_crossentropy", **OPTIONS)
sparse.fit(X, LETTERS)
one_hot = KerasClassifier(classes, **OPTIONS)
one_hot.fit(X, np.eye(3)[np.arange(24) % 3])
binary = KerasClassifier(two_classes, **OPTIONS)
binary.fit(X, NUMBERS)
regressor = KerasRegressor(numbers, metrics=["mae"], **OPTIONS)
regressor.fit(X, X[:, 0])
own = Own(units=3, **OPTIONS)
own.fit(X, X[:, 0])
callable_object = KerasRegressor(Callable(), units=3, **OPTIONS)
callable_object.fit(X, X[:, 0], epochs=1)
without_accuracy = KerasClassifier(numbers, **OPTIONS)
without_accuracy.fit(X, NUMBERS)

print(
    json.dumps(
        {
            "losses": listed(np.array(history)),
            "classes": letters.classes_.tolist(),
            "letters": listed(letters.predict(X)),
            "probabilities": listed(letters.predict_proba(X)),
            "sparse": listed(sparse.predict_proba(X)),
            "one-hot": listed(one_hot.predict(X)),
            "scores": [
                round(float(value), 5)
                for value in (
                    letters.score(X, LETTERS),
                    sparse.score(X, LETTERS),
                    one_hot.score(X, np.arange(24) % 3),
                    binary.score(X, NUMBERS, batch_size=3),
                    regressor.score(X, X[:, 0]),
                )
            ],
            "binary": listed(binary.predict(X)),
            "two probabilities": listed(binary.predict_proba(X)),
            "numbers": listed(regressor.predict(X)),
            "own": listed(own.predict(X)),
            "callable": listed(callable_object.predict(X, batch_size=3)),
            "parameters": sorted(letters.get_params(deep=True)),
            "set": letters.set_params(units=4).sk_params["units"],
            "errors": [
                error(lambda: KerasClassifier(classes, other=1)),
                error(lambda: letters.set_params(other=1)),
                error(lambda: KerasClassifier(epochs=3)),
                error(lambda: letters.fit(X, np.zeros([24, 2, 2]))),
                error(lambda: without_accuracy.score(X, NUMBERS))[:60],
            ],
        }
    )
)
