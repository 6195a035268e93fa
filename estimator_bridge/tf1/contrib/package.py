"""Lookup of private paths and unsupported names, shared by the packages of `tf.contrib`."""

import sys
import types
from collections.abc import Mapping
from typing import Any, Callable, Optional

from estimator_bridge.tf1 import names_of_1_15
from estimator_bridge.tf1.contrib import homes
from estimator_bridge.tf1.unsupported import GENERAL_ADVICE, NotSuppliedError, advise

__all__ = ["PackageAlias", "PrivatePath", "unsupported_names"]


# Modules of 1.x beside `python` that programs import, with the names of their package.
_MODULES = ("loader", "lookup_ops", "saved_model_predictor", "summary_ops")


class PackageAlias(types.ModuleType):
    """A package of tf.compat.v1 under its `tf.contrib` name, such as `tf.contrib.linalg`.

    Args:
      name: the package's name in tf.compat.v1 and in tf.contrib.
      advice: the remedy for names that only tf.contrib had.
    """

    def __init__(self, name: str, advice: str):
        import tensorflow.compat.v1 as tf

        target = getattr(tf, name)
        super().__init__(f"tf.contrib.{name}", target.__doc__)
        self.__dict__.update(_target=target, _advice=advice)

    def _advice_for(self, name):
        return f"{self.__name__}.{name}", self._advice

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            return getattr(self._target, name)
        try:
            value = getattr(self._target, name)
        except AttributeError:
            raise NotSuppliedError(advise(*self._advice_for(name))) from None
        setattr(self, name, value)
        return value

    def __dir__(self):
        return dir(self._target)


class PrivatePath(types.ModuleType):
    """A private path such as `tensorflow.contrib.layers.python.layers.utils`.

    1.x programs import public names by such paths. Attributes resolve to the package's public
    names. Any other name is one more step of the path; calling it raises NotSuppliedError.

    Args:
      path: the dotted path, for messages.
      package: the package that supplies the names.
    """

    def __init__(self, path: str, package: types.ModuleType):
        super().__init__(path)
        self.__dict__["_package"] = package

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        module = homes.find_module(self.__name__, name)
        if module is not None:
            return module
        if hasattr(self._package, name) and name != "python":
            value = getattr(self._package, name)
            own = f"{self._package.__name__}.{name}"
            if isinstance(value, types.ModuleType) and value.__name__ == own:
                return _complete(value, f"{self.__name__}.{name}", self._package)
            below = self.__name__.partition(".")[2]
            if not isinstance(value, types.ModuleType) and names_of_1_15.has_module(below, name):
                # A module that has the name of its function.
                return self.step(name)
            return value
        moved = homes.find(self.__name__, name)
        return self.step(name) if moved is None else moved

    def step(self, name: str) -> "PrivatePath":
        """Returns the path one step further, even if the package has a public name `name`.

        Args:
          name: the next component of the path.

        Returns:
          The longer path.
        """
        return PrivatePath(f"{self.__name__}.{name}", self._package)

    def __call__(self, *args, **kwargs):
        """Raises NotSuppliedError."""
        self._refuse()

    def __mro_entries__(self, bases):
        self._refuse()

    def _refuse(self):
        name = self.__name__.rpartition(".")[2]
        _, remedy = getattr(self._package, "_advice_for", lambda _: ("", GENERAL_ADVICE))(name)
        raise NotSuppliedError(advise(self.__name__, remedy))


def _complete(module: types.ModuleType, path: str, package: types.ModuleType) -> types.ModuleType:
    """Returns a module whose name is also that of a private one of 1.x, with the names of that.

    Args:
      module: the module.
      path: the path of the private one.
      package: the package that supplies the other names.
    """

    def find(name):
        if not name.startswith("_") and hasattr(package, name):
            return getattr(package, name)
        moved = homes.find(path, name)
        if moved is not None:
            return moved
        if homes.is_module(f"{path}.{name}"):
            return PrivatePath(f"{path}.{name}", package)
        raise AttributeError(f"module {path!r} has no attribute {name!r}")

    vars(module).setdefault("__getattr__", find)
    return module


def unsupported_names(
    namespace: Mapping[str, Any],
    advice: Optional[Mapping[str, str]] = None,
    default_advice: str = GENERAL_ADVICE,
) -> tuple[Callable[[str], Any], Callable[[str], tuple[str, str]]]:
    """Returns a package's `__getattr__` and `_advice_for`, which handle its unsupported names.

    Args:
      namespace: the package's `globals()`.
      advice: maps unsupported names that programs are known to use to their remedies.
      default_advice: the remedy for all other names.

    Returns:
      `__getattr__`, which raises NotSuppliedError for an unsupported name, and `_advice_for`, which
      returns (qualified name, remedy) to the import hook.
    """
    module_name = namespace["__name__"]
    public = "tf." + module_name.split(".tf1.")[1]
    remedies = advice or {}

    def advice_for(name: str) -> tuple[str, str]:
        return f"{public}.{name}", remedies.get(name, default_advice)

    def getattribute(name: str) -> Any:
        if name == "python" or name in _MODULES:
            return PrivatePath(f"{public}.{name}", sys.modules[module_name])
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {public!r} has no attribute {name!r}")
        raise NotSuppliedError(advise(*advice_for(name)))

    return getattribute, advice_for
