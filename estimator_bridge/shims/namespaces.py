"""Restores `tf.estimator` and its copies in `tf.compat`, removed by TensorFlow 2.16."""

import importlib
import importlib.util
import os
import sys

from estimator_bridge.private_tf import lazy_loader

__all__ = ["apply"]

_API = "tensorflow_estimator.python.estimator.api._v{}.estimator"

# The module that gets an attribute `estimator` -> the generation of its API. `import
# tensorflow.compat.v1` executes the file of tensorflow._api.v2.compat.v1 a second time, as another
# module.
_NAMESPACES = {
    "tensorflow": 2,
    "tensorflow.compat.v1": 1,
    "tensorflow.compat.v2": 2,
    "tensorflow._api.v2.compat.v1": 1,
    "tensorflow._api.v2.compat.v2": 2,
    "tensorflow._api.v2.compat.v1.compat.v1": 1,
    "tensorflow._api.v2.compat.v1.compat.v2": 2,
    "tensorflow._api.v2.compat.v2.compat.v1": 1,
    "tensorflow._api.v2.compat.v2.compat.v2": 2,
}


def apply() -> None:
    """Gives each namespace an attribute `estimator` that is loaded on first use."""
    package = importlib.util.find_spec("tensorflow_estimator")
    for name, generation in _NAMESPACES.items():
        module = importlib.import_module(name)
        if "estimator" in vars(module):
            continue
        api = _API.format(generation)
        # The module's dict is set, because compat.v1 is an object that warns about old names.
        vars(module)["estimator"] = lazy_loader.LazyLoader("estimator", vars(module), api)
        if package is not None and package.submodule_search_locations:
            # `from tensorflow.estimator.export import ...` searches the path of the package.
            folder = os.path.join(
                package.submodule_search_locations[0],
                "python",
                "estimator",
                "api",
                f"_v{generation}",
            )
            sys.modules[name].__path__ = [folder, *sys.modules[name].__path__]
