"""Names of the variables of Keras layers, as TensorFlow 1.15 gave them.

In a model_fn, and in model_to_estimator, these names are the keys of the checkpoint. Two things
have changed since. The cell of a recurrent layer has got a scope of its own:
`lstm/lstm_cell/kernel` for `lstm/kernel`. And the default name of a class with digits is another
one: `conv_lstm2d` for `conv_lst_m2d`.
"""

import contextlib
import importlib
import re
import types
from typing import Any

from estimator_bridge.tf1 import private_keras

__all__ = ["install"]


def _name_of_class(name: str) -> str:
    """Returns the name of a layer without a name, from that of its class."""
    words = re.sub(r"(?<=.)(?=[A-Z][a-z0-9])|(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return words if words[0] != "_" else f"private{words}"


def _no_scope(name: str) -> Any:
    return contextlib.nullcontext()


# Module of Keras's source -> a module that it uses, and what it gets for a function of that. The
# first two call name_scope for the cells alone.
_REPLACED = {
    "layers.rnn.base_rnn": ("backend", "name_scope", _no_scope),
    "layers.rnn.stacked_rnn_cells": ("backend", "name_scope", _no_scope),
    "engine.base_layer": ("generic_utils", "to_snake_case", _name_of_class),
    "engine.base_layer_v1": ("generic_utils", "to_snake_case", _name_of_class),
    "engine.functional": ("generic_utils", "to_snake_case", _name_of_class),
}


def install() -> None:
    """Names layers and variables as 1.15 does; calling it again has no effect."""
    for place, (used, function, value) in _REPLACED.items():
        module = importlib.import_module(f"{private_keras.source()}.{place}")
        original = getattr(module, used)
        if getattr(original, function) is not value:
            copy = types.ModuleType(original.__name__, original.__doc__)
            copy.__dict__.update(vars(original))
            setattr(copy, function, value)
            setattr(module, used, copy)
