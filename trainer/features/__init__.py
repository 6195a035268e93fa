"""Converts raw columns to the inputs of a model, in the graph and in NumPy.

Users' own model_fns import `build_feature_columns` from here.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    # Loaded on first use, because modules that do not need TensorFlow import this package too.
    if name == "build_feature_columns":
        from trainer.features.columns import build_feature_columns

        return build_feature_columns
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
