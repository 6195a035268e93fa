"""`tf.keras.wrappers.scikit_learn`, which TensorFlow 2.12 removed, written on Keras 2.

Keras models as estimators of scikit-learn: `GridSearchCV(KerasClassifier(build, epochs=2), ...)`.
"""

import functools
import importlib
import inspect
from typing import Any, Callable, Optional

import numpy as np

__all__ = ["NAMES", "build"]

NAMES = ("KerasClassifier", "KerasRegressor")

# Arguments of Sequential.predict_classes, which Keras removed in 2.6.
_OF_PREDICT_CLASSES = {"batch_size", "verbose"}


class _Wrapper:
    """Builds and trains a model with its parameters.

    Args:
      build_fn: function, or object that can be called, that returns a compiled model; None for the
        object itself.
      **sk_params: arguments of `build_fn`, and of `fit`, `predict` and `evaluate` of the model.

    Raises:
      ValueError: none of these functions has the parameter.
    """

    _keras = ""

    def __init__(self, build_fn: Optional[Callable[..., Any]] = None, **sk_params: Any):
        self.build_fn, self.sk_params = build_fn, sk_params
        self.check_params(sk_params)

    @property
    def _sequential(self) -> Any:
        # Keras is not complete yet when the classes are made.
        return importlib.import_module(f"{self._keras}.api._v2.keras").Sequential

    def _with_categories(self, y: Any) -> Any:
        """Returns classes as one-hot rows where the loss needs these."""
        loss = self.model.loss
        if getattr(loss, "__name__", loss) != "categorical_crossentropy" or np.ndim(y) == 2:
            return y
        return importlib.import_module(f"{self._keras}.api._v2.keras.utils").to_categorical(y)

    def _builder(self) -> Callable[..., Any]:
        """Returns the function whose arguments can be parameters."""
        build_fn: Any = self.build_fn
        if build_fn is None:
            # A class without it gets the AttributeError that it always got.
            return getattr(self, "__call__")  # noqa: B004, B009
        is_function = inspect.isfunction(build_fn) or inspect.ismethod(build_fn)
        return build_fn if is_function else build_fn.__call__

    def check_params(self, params: dict[str, Any]) -> None:
        """Raises ValueError for a parameter that no function has.

        Args:
          params: {name: value}.
        """
        model = self._sequential
        functions = [model.fit, model.predict, model.evaluate, self._builder()]
        for name in params:
            known = any(_takes(function, name) for function in functions)
            if not known and name != "nb_epoch":
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, **params: Any) -> dict[str, Any]:
        """Returns the parameters, with `build_fn`.

        Args:
          **params: not used; scikit-learn gives `deep`.
        """
        del params
        return {**self.sk_params, "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> Any:
        """Sets parameters.

        Args:
          **params: {name: value}.

        Returns:
          self.

        Raises:
          ValueError: no function has the parameter.
        """
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Builds and trains a model.

        Args:
          x: array of features, or what else the model takes.
          y: array of labels.
          **kwargs: arguments of the model's `fit`, which precede the parameters.

        Returns:
          History of the training.
        """
        builder = self._builder()
        self.model = (self.build_fn or self)(**self.filter_sk_params(builder))  # type: ignore[operator]
        arguments = {**self.filter_sk_params(self._sequential.fit), **kwargs}
        return self.model.fit(x, self._with_categories(y), **arguments)

    def filter_sk_params(
        self, fn: Callable[..., Any], override: Optional[dict[str, Any]] = None
    ) -> dict[str, Any]:
        """Returns the parameters that a function takes.

        Args:
          fn: the function.
          override: {name: value} to add.
        """
        chosen = {name: value for name, value in self.sk_params.items() if _takes(fn, name)}
        return {**chosen, **(override or {})}

    def _predict(self, x: Any, given: dict[str, Any]) -> Any:
        chosen = {n: value for n, value in self.sk_params.items() if n in _OF_PREDICT_CLASSES}
        return self.model.predict(x, **{"verbose": 0, **chosen, **given})

    def _evaluate(self, x: Any, y: Any, given: dict[str, Any]) -> Any:
        return self.model.evaluate(x, y, **self.filter_sk_params(self._sequential.evaluate, given))


class KerasClassifier(_Wrapper):
    """A Keras model as a classifier of scikit-learn.

    Args:
      build_fn: function that returns a compiled model; None for the object itself.
      **sk_params: arguments of `build_fn`, and of `fit`, `predict` and `evaluate` of the model.

    Attributes:
      classes_: array [classes], the labels.
      n_classes_: int.
      model: the trained model.
    """

    def fit(self, x: Any, y: Any, **kwargs: Any) -> Any:
        """Builds and trains a model.

        Args:
          x: array of features, or what else the model takes.
          y: [rows] or [rows, 1] labels of any type, or [rows, classes] one-hot.
          **kwargs: arguments of the model's `fit`.

        Returns:
          History of the training.

        Raises:
          ValueError: `y` has another shape.
        """
        y = np.array(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif y.ndim in (1, 2):
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise ValueError(f"Invalid shape for y: {y.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> np.ndarray:
        """Returns the labels of rows.

        Args:
          x: array of features, or what else the model takes.
          **kwargs: `batch_size`, `verbose`.

        Returns:
          [rows]; of a model with one output, [rows, 1].
        """
        found = self._predict(x, kwargs)
        several = found.shape[-1] > 1
        return self.classes_[found.argmax(-1) if several else (found > 0.5).astype("int32")]

    def predict_proba(self, x: Any, **kwargs: Any) -> np.ndarray:
        """Returns the probabilities of the classes.

        Args:
          x: array of features, or what else the model takes.
          **kwargs: `batch_size`, `verbose`.

        Returns:
          float32 [rows, classes].
        """
        found = self._predict(x, kwargs)
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Returns the accuracy.

        Args:
          x: array of features, or what else the model takes.
          y: [rows] labels.
          **kwargs: arguments of the model's `evaluate`.

        Raises:
          ValueError: the model does not compute the accuracy.
        """
        y = self._with_categories(np.searchsorted(self.classes_, y))
        outputs = self._evaluate(x, y, kwargs)
        values = outputs if isinstance(outputs, list) else [outputs]
        for name, value in zip(self.model.metrics_names, values):
            if name in ("accuracy", "acc"):
                return float(value)
        raise ValueError(
            "The model is not configured to compute accuracy. Pass metrics=['accuracy'] to "
            "model.compile()."
        )


class KerasRegressor(_Wrapper):
    """A Keras model as a regressor of scikit-learn.

    Args:
      build_fn: function that returns a compiled model; None for the object itself.
      **sk_params: arguments of `build_fn`, and of `fit`, `predict` and `evaluate` of the model.

    Attributes:
      model: the trained model.
    """

    def predict(self, x: Any, **kwargs: Any) -> np.ndarray:
        """Returns the predictions of rows.

        Args:
          x: array of features, or what else the model takes.
          **kwargs: arguments of the model's `predict`.

        Returns:
          float32 [rows], or [rows, outputs].
        """
        arguments = {"verbose": 0, **self.filter_sk_params(self._sequential.predict, kwargs)}
        return np.squeeze(self.model.predict(x, **arguments))

    def score(self, x: Any, y: Any, **kwargs: Any) -> float:
        """Returns the negative loss: a higher score is better.

        Args:
          x: array of features, or what else the model takes.
          y: [rows] labels.
          **kwargs: arguments of the model's `evaluate`.
        """
        loss = self._evaluate(x, y, kwargs)
        return -(loss[0] if isinstance(loss, list) else loss)


def _takes(function: Callable[..., Any], name: str) -> bool:
    return name in inspect.signature(function).parameters


@functools.cache
def build(keras: str) -> dict[str, type]:
    """Returns the classes by name.

    Args:
      keras: the package of Keras 2.
    """
    parts = {"_keras": keras, "__module__": "tensorflow.keras.wrappers.scikit_learn"}
    return {
        one.__name__: type(one.__name__, (one,), {**parts, "__doc__": one.__doc__})
        for one in (KerasClassifier, KerasRegressor)
    }
