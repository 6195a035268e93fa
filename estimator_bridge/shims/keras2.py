"""Makes `tf.keras` Keras 2, for Estimators. Since TensorFlow 2.16 it is Keras 3.

TensorFlow uses Keras 2, from the package tf_keras, when TF_USE_LEGACY_KERAS is set. `import keras`
still imports Keras 3 in the same process; the two share nothing.
"""

import importlib
import importlib.util
import os
import sys
import threading
import types

from .. import private_tf, versions
from ..errors import BridgeError

__all__ = [
    "NAMESPACES",
    "VARIABLE",
    "apply",
    "initialize_loaders",
    "is_asked_for",
    "prepare",
    "refuse_variable_without_package",
]

VARIABLE = "TF_USE_LEGACY_KERAS"

_V1 = ("_v1/keras/__internal__/legacy", "_v1")
_V1_NN = ("_v1/keras/__internal__/legacy",)
_V2 = ("_v2",)

# The namespaces whose attributes load Keras lazily and choose Keras 2 or 3 on first use. The values
# are the folders of tf_keras/api that `import <namespace>.keras` (.layers, .nn.rnn_cell) searches.
NAMESPACES = {
    "tensorflow": _V2,
    "tensorflow.compat.v1": _V1,
    "tensorflow.compat.v2": _V2,
    "tensorflow._api.v2.compat.v1": _V1,
    "tensorflow._api.v2.compat.v1.nn": _V1_NN,
    "tensorflow._api.v2.compat.v2": _V2,
    "tensorflow._api.v2.compat.v1.compat.v1": _V1,
    "tensorflow._api.v2.compat.v1.compat.v1.nn": _V1_NN,
    "tensorflow._api.v2.compat.v1.compat.v2": _V2,
    "tensorflow._api.v2.compat.v2.compat.v1": _V1,
    "tensorflow._api.v2.compat.v2.compat.v1.nn": _V1_NN,
    "tensorflow._api.v2.compat.v2.compat.v2": _V2,
}

_ATTRIBUTES = ("keras", "layers", "losses", "metrics", "optimizers", "initializers", "rnn_cell")

_REMEDY = (
    "Call estimator_bridge.install() before anything uses tf.keras, best in the program's first "
    "lines, or start it with `python -m estimator_bridge run`. `import keras` stays Keras 3."
)


def prepare() -> None:
    """Makes TensorFlow use Keras 2; called before TensorFlow is imported.

    Raises:
      BridgeError: tf_keras is not installed, or is that of TensorFlow 2.15.
    """
    version = None
    if importlib.util.find_spec("tf_keras") is not None:
        version = versions.installed("tf-keras") or ""
    # Later TensorFlow versions cannot import that of 2.15; they can import any other.
    if version is None or version.startswith("2.15."):
        tested = versions.find_supported(versions.installed_tensorflow() or "")
        raise BridgeError(
            "Estimators on this TensorFlow need Keras 2, and tf-keras is "
            f"{version or 'not installed'}. Install it in TensorFlow's own minor version: "
            f"pip install --no-deps '{(tested or versions.SUPPORTED[-1]).tf_keras}'"
        )
    os.environ[VARIABLE] = "1"


def is_asked_for() -> bool:
    """Returns whether the variable asks TensorFlow for the package tf_keras."""
    return os.environ.get(VARIABLE) in ("1", "true", "True")


def refuse_variable_without_package() -> None:
    """Checks, on TensorFlow 2.15, that the variable is not set without tf_keras.

    That version's own Keras is Keras 2; with the variable it imports tf_keras instead.

    Raises:
      BridgeError: the variable requires tf_keras, which is not installed.
    """
    if is_asked_for() and importlib.util.find_spec("tf_keras") is None:
        raise BridgeError(
            f"{VARIABLE}={os.environ[VARIABLE]} asks TensorFlow for the package tf-keras, which is "
            f"not installed; TensorFlow 2.15 has Keras 2 without it. Unset {VARIABLE}."
        )


def _loaders():
    """Yields (namespace, attribute, loader) of every lazy loader of Keras."""
    for name in NAMESPACES:
        module = sys.modules.get(name)
        for attribute, value in list(vars(module).items()) if module is not None else ():
            if type(value) is private_tf.lazy_loader.KerasLazyLoader:
                yield name, attribute, value


def initialize_loaders() -> None:
    """Initializes the lazy loaders of TensorFlow 2.15 while it is imported, by a single thread.

    Their own method is not safe when several threads use a loader first (see `_resolve`). It only
    looks Keras up, which TensorFlow has imported; where that failed, the loaders stay as they are.
    """
    if sys.modules.get("tf_keras" if is_asked_for() else "keras") is None:
        return
    for _, _, loader in _loaders():
        if not loader._initialized:
            loader._initialize()


def _resolve(loader) -> None:
    """Sets a lazy loader to Keras 2, without importing Keras, unless the loader is set already.

    TensorFlow's own method marks the loader as initialised too early. A second thread that uses the
    loader at this moment recurses endlessly.
    """
    if loader._tfll_initialized:
        return
    package = "tf_keras.api.{}.keras".format("_v1" if loader._tfll_mode == "v1" else "_v2")
    if loader._tfll_submodule is not None:
        package = f"{package}.{loader._tfll_submodule}"
    loader._tfll_keras_version = "tf_keras"
    name, namespace = loader._tfll_name, loader._tfll_parent_module_globals
    private_tf.lazy_loader.LazyLoader.__init__(loader, name, namespace, package)
    loader._tfll_initialized = True


def _names_of_keras3():
    """Yields TensorFlow's names through which this process has used Keras 3 already."""
    for name, module in list(sys.modules.items()):
        if name == "tensorflow.keras" or name.startswith("tensorflow.keras."):
            origin = getattr(module, "__file__", None) or ""
            if f"{os.sep}tf_keras{os.sep}" not in origin:
                yield name
    # On first use, the module replaces its loader, under one name of the loader or under all.
    for namespace in NAMESPACES:
        module = sys.modules.get(namespace)
        where = namespace.replace("tensorflow._api.v2.", "tf.").replace("tensorflow", "tf")
        for attribute in _ATTRIBUTES:
            value = vars(module).get(attribute) if module is not None else None
            # A loader is a module too; reading `__name__` of an unused loader would load Keras.
            plain = type(value) is types.ModuleType
            if plain and value.__name__.partition(".")[0] == "keras":
                yield f"{where}.{attribute}"
    for namespace, attribute, loader in _loaders():
        if loader._tfll_initialized and loader._tfll_keras_version != "tf_keras":
            where = namespace.replace("tensorflow._api.v2.", "tf.").replace("tensorflow", "tf")
            yield f"{where}.{attribute.lstrip('_')}"


def _refuse_keras3() -> None:
    """Raises if this process has used Keras 3 through TensorFlow's names already."""
    name = next(_names_of_keras3(), None)
    if name is not None:
        raise BridgeError(
            f"{name} was used before estimator_bridge was installed, and is Keras 3 in this "
            f"process; Estimators need Keras 2 there. {_REMEDY}"
        )


def _put_on_path(name: str, folders) -> None:
    """Makes `import <name>.keras` and similar imports find Keras 2 before Keras 3."""
    module = sys.modules.get(name)
    path = list(getattr(module, "__path__", None) or ())
    if module is not None and path:
        module.__path__ = [*folders, *(entry for entry in path if entry not in folders)]


def apply() -> None:
    """Makes every name of TensorFlow that leads to Keras lead to Keras 2.

    Raises:
      BridgeError: tf_keras is missing, or `tf.keras` has been used already and is Keras 3.
    """
    if os.environ.get(VARIABLE) != "1":
        prepare()
    _refuse_keras3()
    lock = threading.Lock()

    def initialize(loader):
        with lock:
            _resolve(loader)

    private_tf.lazy_loader.KerasLazyLoader._initialize = initialize
    for _, _, loader in _loaders():
        initialize(loader)
    package = importlib.util.find_spec("tf_keras")
    assert package is not None and package.submodule_search_locations
    api = os.path.join(package.submodule_search_locations[0], "api")
    for name, folders in NAMESPACES.items():
        _put_on_path(name, [os.path.join(api, folder) for folder in folders])
    # TensorFlow imports this at the end of its own import, so that Keras 2 is registered with
    # SavedModel.
    private_tf.load("keras2_optimizers")
