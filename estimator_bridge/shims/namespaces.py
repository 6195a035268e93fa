"""`tf.estimator` and its twins in `tf.compat`. Missing in TensorFlow 2.16 and later."""

import importlib
import importlib.util
import os
import sys

from estimator_bridge.private_tf import lazy_loader

__all__ = ["apply"]

_API = "tensorflow_estimator.python.estimator.api._v{}.estimator"

# The module that gets an attribute `estimator` -> the generation of the API it shows. `import
# tensorflow.compat.v1` executes the file of tensorflow._api.v2.compat.v1 a second time, as a
# module apart.
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
    """Gives each namespace its `estimator`, loaded when it is first used."""
    package = importlib.util.find_spec("tensorflow_estimator")
    for name, generation in _NAMESPACES.items():
        module = importlib.import_module(name)
        if "estimator" in vars(module):
            continue
        api = _API.format(generation)
        # setattr on the module itself: compat.v1 is wrapped by an object that warns about old
        # names.
        vars(module)["estimator"] = lazy_loader.LazyLoader("estimator", vars(module), api)
        if package is not None:
            # For `from tensorflow.estimator.export import ...`, which Python looks up in the path.
            folder = os.path.join(
                package.submodule_search_locations[0],
                "python",
                "estimator",
                "api",
                f"_v{generation}",
            )
            sys.modules[name].__path__ = [folder, *sys.modules[name].__path__]
