"""From raw columns to what a model sees, in graph and in NumPy.

A model_fn of your own imports `build_feature_columns` from here.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    # Loaded on first use: this package is imported by modules that do without TensorFlow.
    if name == "build_feature_columns":
        from trainer.features.columns import build_feature_columns

        return build_feature_columns
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
