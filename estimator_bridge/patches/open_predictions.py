"""Closes predictions that a program has not read to their end. Noisy in all TensorFlow versions.

`Estimator.predict` is a generator that holds a session. If it is still open when the program ends,
Python closes it after the modules are gone, and prints an AttributeError.
"""

import atexit
import contextlib
import functools
import importlib
import weakref
from collections.abc import Iterator
from typing import Any

from ..process.importing import call_when_imported

__all__ = ["apply"]

_MODULE = "tensorflow_estimator.python.estimator.estimator"
_open: "weakref.WeakSet[Iterator[Any]]" = weakref.WeakSet()


def apply() -> None:
    """Has the predictions of Estimators closed before the program ends."""
    call_when_imported(_MODULE, _attach)


def _attach() -> None:
    estimator = importlib.import_module(_MODULE).Estimator
    predict = estimator.predict
    if getattr(predict, "_bridged", False):
        return

    @functools.wraps(predict)
    def predict_and_close(*args: Any, **options: Any) -> Any:
        predictions = predict(*args, **options)
        _open.add(predictions)
        return predictions

    vars(predict_and_close)["_bridged"] = True
    estimator.predict = predict_and_close
    atexit.register(_close)


def _close() -> None:
    for predictions in list(_open):
        # Another thread may be reading.
        with contextlib.suppress(ValueError):
            predictions.close()  # type: ignore[attr-defined]
