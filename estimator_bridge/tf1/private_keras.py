"""The modules of Keras as programs of 1.x import them: `tensorflow.python.keras` and `keras`.

TensorFlow still contains modules of these names, but only the parts that it uses itself, without
most layers. Their classes do not work with those of `tf.keras`. A program gets a module that finds
each name in Keras 2: first in the public module, then in Keras's own source, and only then in
TensorFlow's remainder, which has some private functions.
"""

import functools
import importlib
import types
from typing import Any, Optional

from estimator_bridge.tf1 import keras_23
from estimator_bridge.tf1.unsupported import NotSuppliedError, StandIn, advise

__all__ = ["MODULES", "NAMES", "KerasModule", "KerasParent", "PrivatePackage", "find", "source"]

# Prefix of 1.x -> where its modules are: the public package, and the source of Keras 2.
_PREFIXES = {
    "tensorflow.python.keras": ("{api}", "{source}"),
    "tensorflow.python.keras._impl.keras": ("{api}", "{source}"),
    "tensorflow.python.layers": ("{source}.legacy_tf_layers",),
    "keras": ("{api}", "{source}"),
}

# Package -> its modules in 1.x, and where these have public names. A public name comes first: it is
# the class of 1.x where Keras has two.
_PUBLIC = {
    "engine": (
        "base_layer functional input_layer input_spec network sequential topology training",
        ("{api}.layers", "{api}"),
    ),
    "layers": (
        "advanced_activations convolutional convolutional_recurrent core cudnn_recurrent "
        "dense_attention embeddings kernelized local merge noise normalization pooling recurrent "
        "wrappers",
        ("{api}.layers",),
    ),
}

# Modules that were split or renamed, by their name below the prefix -> where their names are.
_SPLIT = {
    "applications.mobilenetv2": ("{api}.applications.mobilenet_v2",),
    "backend.common": ("{api}.backend",),
    "backend.tensorflow_backend": ("{api}.backend", "{source}.backend"),
    "callbacks.callbacks": ("{api}.callbacks", "{source}.callbacks"),
    "callbacks.tensorboard_v1": ("{api}.callbacks",),
    "engine": ("{source}.engine.base_layer", "{source}.utils.layer_utils"),
    "engine.base_layer": ("{source}.engine.node",),
    "engine.input_layer": ("{source}.engine.node",),
    "engine.network": ("{source}.engine.node", "{source}.utils.layer_utils"),
    "engine.saving": ("{api}.models", "{source}.saving.legacy.hdf5_format"),
    "engine.topology": (
        "{source}.engine.functional",
        "{source}.engine.node",
        "{source}.utils.layer_utils",
    ),
    "engine.training": ("{api}.utils", "{source}.engine.training_utils_v1"),
    "engine.training_utils": ("{source}.engine.training_utils_v1",),
    "layers.convolutional": ("{source}.layers.convolutional.base_conv",),
    "layers.cudnn_recurrent": ("{source}.layers.rnn.base_cudnn_rnn",),
    "layers.merge": ("{source}.layers.merging.base_merge",),
    "layers.normalization": ("{source}.layers.normalization.batch_normalization",),
    "layers.recurrent": (
        "{source}.layers.rnn.dropout_rnn_cell_mixin",
        "{source}.layers.rnn.rnn_utils",
    ),
    "legacy": ("{api}",),
    "legacy.layers": ("{api}.layers",),
    "objectives": ("{api}.losses", "{source}.losses"),
    "optimizer_v2": ("{source}.optimizers.legacy",),
    "optimizers": ("{api}.optimizers", "{source}.optimizers", "{source}.optimizers.legacy"),
    "saving.hdf5_format": ("{source}.saving.legacy.hdf5_format",),
    "utils.generic_utils": ("{source}.utils.generic_utils", "{source}.saving.serialization_lib"),
    "utils.multi_gpu_utils": (),
    "utils.test_utils": ("{source}.testing_infra.test_utils",),
    "utils.training_utils": (),
}

# Modules of 1.x that TensorFlow has removed, and that `find` supplies.
MODULES = frozenset(
    f"tensorflow.python.keras.{name}"
    for name in (
        *(f"{package}.{name}" for package, (names, _) in _PUBLIC.items() for name in names.split()),
        *_SPLIT,
    )
)

# Names that modules of TensorFlow have lost, and that `find` takes from Keras's source.
NAMES = {
    "tensorflow.python.layers.normalization": (
        *("BatchNorm", "BatchNormalization", "batch_norm", "batch_normalization"),
    ),
}

# Keras 2 merged the class of 1.x, which had two names, into its subclass.
_RENAMED = {"Container": "Model", "Network": "Model"}

# What many modules imported, and programs import from them -> where it is.
_SHARED = {
    "K": "backend",
    "activations": "activations",
    "cbks": "callbacks",
    "constraints": "constraints",
    "conv_utils": "utils.conv_utils",
    "initializers": "initializers",
    "interfaces": "legacy.interfaces",
    "losses": "losses",
    "metrics_module": "metrics",
    "optimizers": "optimizers",
    "regularizers": "regularizers",
}
_SHARED_FUNCTIONS = frozenset(
    [
        *("deserialize_keras_object", "func_dump", "func_load", "has_arg", "is_all_none"),
        *("object_list_uid", "serialize_keras_object", "slice_arrays", "to_list"),
        "transpose_shape",
        "unpack_singleton",
    ]
)

_INTERFACES = "estimator_bridge.tf1.keras_interfaces"

_ADVICE = "it is a private name of Keras; use the public name of tf.keras, or keep a copy of it"


@functools.cache
def _packages() -> dict[str, str]:
    """Returns the names of Keras's public package and of its source."""
    v1_keras = importlib.import_module("tensorflow").compat.v1.keras
    # Reading an attribute resolves TensorFlow's lazy loader; its name is then that of Keras 2.
    v1_keras.layers  # noqa: B018
    api = v1_keras.__name__
    return {"api": api, "source": api.split(".")[0] + ".src"}


def source() -> str:
    """Returns the name of the package with the source of Keras 2."""
    return _packages()["source"]


def load_source(name: str) -> Any:
    """Imports a module of the source of Keras 2.

    Args:
      name: its name in that package, such as utils.conv_utils.
    """
    return importlib.import_module(f"{source()}.{name}")


@functools.cache
def _load(name: str) -> Optional[types.ModuleType]:
    """Imports a module; returns None if it, or a module that it imports, does not exist."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


@functools.cache
def find(name: str) -> Optional[types.ModuleType]:
    """Returns the module that a program gets for a private module of Keras, or None.

    Args:
      name: the full name in 1.x, such as tensorflow.python.keras.layers.
    """
    if name.startswith("keras."):
        keras_23.install_for(name)
        if name.endswith(".interfaces"):
            # Programs take it from the modules that imported it, such as keras.layers, too.
            return KerasModule(name, [importlib.import_module(_INTERFACES)])
    # The longest matching prefix is used, because some prefixes contain others.
    fitting = [p for p in _PREFIXES if name == p or name.startswith(p + ".")]
    prefix = max(fitting, key=len, default=None)
    if prefix is None:
        return None
    rest = name[len(prefix) + 1 :]
    places = [place + ("." + rest if rest else "") for place in _PREFIXES[prefix]]
    if "keras" in prefix:
        package, _, module = rest.partition(".")
        modules, public = _PUBLIC.get(package, ("", ()))
        if not module or module in modules.split():
            places[1:1] = public
        places += _SPLIT.get(rest, ())
    # What TensorFlow itself has kept.
    places.append(f"tensorflow.python.{'layers' if prefix.endswith('layers') else 'keras'}.{rest}")
    names = [place.format(**_packages()).rstrip(".") for place in places]
    found: list[Any] = [module for module in map(_load, dict.fromkeys(names)) if module is not None]
    lost = keras_23.find(rest) if "keras" in prefix else None
    if lost is not None:
        # Before what TensorFlow has kept, whose functions do not know the classes of Keras 2.
        kept = _load(names[-1])
        found.insert(len(found) - (kept in found), lost)
    replaced = keras_23.find_replaced(rest) if prefix == "keras" else None
    if replaced is not None:
        found.insert(0, replaced)
    if name == "keras.layers.merge":
        return _Merging(name, found)
    return KerasModule(name, found) if found else None


def _read(module: Any, name: str) -> Any:
    """Returns an attribute, or None without it."""
    try:
        return getattr(module, name, None)
    except ModuleNotFoundError:
        # TensorFlow's own modules load parts of Keras that Keras does not have.
        return None


class KerasModule(types.ModuleType):
    """A private module of Keras.

    Args:
      path: its name in 1.x.
      places: the modules in which its names are looked for, in this order.
    """

    def __init__(self, path: str, places: list[Any]):
        main = next((one for one in places if isinstance(one, types.ModuleType)), keras_23)
        super().__init__(path, main.__doc__)
        self.__dict__.update(_places=places, _main=main, __path__=[])

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return self._public_names()
        if name.startswith("__") and name.endswith("__"):
            return getattr(self._main, name)
        if name == "_impl":
            return KerasParent(f"{self.__name__}._impl")
        name = _RENAMED.get(name, name)
        if self.__name__ == "keras":
            keras_23.install_for(f"keras.{name}")
        value = self._find_in_places(name)
        if value is None or isinstance(value, types.ModuleType):
            value = find(f"{self.__name__}.{name}") or value
        if value is None:
            value = self._find_shared(name)
        if value is None:
            raise NotSuppliedError(advise(*self._advice_for(name)))
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({name for place in self._places for name in dir(place)})

    def _find_in_places(self, name: str) -> Any:
        """Returns the first value of a name, or else what stands for it in a place, or None."""
        stand_in = None
        for place in self._places:
            value = _read(place, name)
            if isinstance(value, StandIn):
                stand_in = value if stand_in is None else stand_in
            elif value is not None:
                return value
        return stand_in

    def _find_shared(self, name: str) -> Any:
        """Returns what this module of 1.x had imported from another one, or None."""
        prefix = max((p for p in _PREFIXES if self.__name__.startswith(f"{p}.")), key=len)
        if name in _SHARED:
            return find(f"{prefix}.{_SHARED[name]}")
        if name in _SHARED_FUNCTIONS:
            return _read(find(f"{prefix}.utils.generic_utils"), name)
        return None

    def _public_names(self) -> list[str]:
        """Returns the names for `import *`: not the modules that Keras's source imports."""
        names = dir(self._main)
        for place in self._places:
            if isinstance(place, types.SimpleNamespace):
                names += vars(place)
        values = {name: _read(self, name) for name in names if not name.startswith("_")}
        prefixes = (source().partition(".")[0], "keras")
        return [
            name
            for name, value in values.items()
            if not isinstance(value, types.ModuleType) or value.__name__.startswith(prefixes)
        ]

    def _advice_for(self, name: str) -> tuple[str, str]:
        return f"{self.__name__}.{name}", _ADVICE

    def step(self, name: str) -> Any:
        """Returns the module of a name, even if a function has the same name.

        Args:
          name: the next component of the path.

        Raises:
          ModuleNotFoundError: there is no such module.
        """
        if name == "_impl":
            return getattr(self, name)
        path = f"{self.__name__}.{name}"
        module = find(path)
        if module is None:
            raise ModuleNotFoundError(f"No module named {path!r}", name=path)
        return module


class _Merging(KerasModule):
    """`keras.layers.merge`: a module, and a function until Keras 2.1."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.merge(*arguments, **options)


class KerasParent(types.ModuleType):
    """`tensorflow.python.keras._impl` and others, whose only module is `keras`.

    Args:
      name: the full name in 1.x.
    """

    def __getattr__(self, name: str) -> Any:
        if name != "keras":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return find("tensorflow.python.keras._impl.keras")

    def step(self, name: str) -> Any:
        """Returns the module of a name.

        Args:
          name: the next component of the path.
        """
        return getattr(self, name)


class PrivatePackage(types.ModuleType):
    """`tensorflow.python` as a program gets it: its own modules, and the above for those of Keras.

    Args:
      package: TensorFlow's package.
    """

    def __init__(self, package: types.ModuleType):
        super().__init__(package.__name__, package.__doc__)
        self.__dict__.update(_package=package, __path__=package.__path__, __spec__=package.__spec__)

    def __getattr__(self, name: str) -> Any:
        if name in ("keras", "layers"):
            return find(f"tensorflow.python.{name}")
        return getattr(self._package, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._package), "keras", "layers"})
