"""Trains, evaluates and exports TensorFlow Estimators.

    import trainer

    schema = trainer.infer_schema(frame, label="bought")
    run = trainer.train({"job_dir": "jobs/first"}, frame, other, schema=schema)
    predictions = trainer.load(run.job_dir).predict(new_rows)

The names of `__all__` are the Python API, which docs/python.md describes. They are loaded on first
use: importing this package imports neither them nor TensorFlow.
"""

import importlib
from typing import TYPE_CHECKING, Any

# First, because it keeps files of the current folder from being imported as modules.
import estimator_bridge as estimator_bridge
from trainer import signals

if TYPE_CHECKING:
    from trainer.api.evaluating import Evaluation, evaluate, explain
    from trainer.api.models import LoadedModel, load
    from trainer.api.runs import Run
    from trainer.api.schemas import InferredSchema, infer_schema
    from trainer.api.scikit import EstimatorClassifier, EstimatorRegressor
    from trainer.api.training import train
    from trainer.errors import TemporaryError, UserError

# Before the modules are imported that take seconds.
signals.end_at_sigterm()

# Name → the module that defines it.
_HOMES = {
    "EstimatorClassifier": "trainer.api.scikit",
    "EstimatorRegressor": "trainer.api.scikit",
    "Evaluation": "trainer.api.evaluating",
    "InferredSchema": "trainer.api.schemas",
    "LoadedModel": "trainer.api.models",
    "Run": "trainer.api.runs",
    "TemporaryError": "trainer.errors",
    "UserError": "trainer.errors",
    "evaluate": "trainer.api.evaluating",
    "explain": "trainer.api.evaluating",
    "infer_schema": "trainer.api.schemas",
    "load": "trainer.api.models",
    "train": "trainer.api.training",
}

__all__ = [
    "EstimatorClassifier",
    "EstimatorRegressor",
    "Evaluation",
    "InferredSchema",
    "LoadedModel",
    "Run",
    "TemporaryError",
    "UserError",
    "evaluate",
    "explain",
    "infer_schema",
    "load",
    "train",
]


def __getattr__(name: str) -> Any:
    """Loads a name of the Python API when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
