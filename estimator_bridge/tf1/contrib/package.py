"""What every package of `tf.contrib` here shares: its private paths, and the errors for its missing
names.
"""

import sys
import types
from collections.abc import Mapping
from typing import Callable, Optional

from estimator_bridge.tf1.unsupported import GENERAL_ADVICE, NotSuppliedError, advise

__all__ = ["PrivatePath", "SecondName", "lookup"]


class SecondName(types.ModuleType):
    """`tf.contrib.linalg`: a package of tf.compat.v1, which has most of the names it had here."""

    def __init__(self, name: str, advice: str):
        """Takes the package's name, and what to do for a name that is not in tf.compat.v1."""
        import tensorflow.compat.v1 as tf

        same = getattr(tf, name)
        super().__init__(f"tf.contrib.{name}", same.__doc__)
        self.__dict__.update(_same=same, _advice=advice)

    def _advice_for(self, name):
        return f"{self.__name__}.{name}", self._advice

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            return getattr(self._same, name)
        try:
            value = getattr(self._same, name)
        except AttributeError:
            raise NotSuppliedError(advise(*self._advice_for(name))) from None
        setattr(self, name, value)
        return value

    def __dir__(self):
        return dir(self._same)


class PrivatePath(types.ModuleType):
    """`tensorflow.contrib.layers.python.layers.utils`: any path into a package leads to that
    package's own names.

    1.x programs import by these paths what the package also has at its top. A name that the package
    has not is taken for one more step of the path; calling it raises NotSuppliedError.
    """

    def __init__(self, path: str, package: types.ModuleType):
        super().__init__(path)
        self.__dict__["_package"] = package

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        if hasattr(self._package, name) and name != "python":
            return getattr(self._package, name)
        return self.step(name)

    def step(self, name):
        """Returns the path one step further, whatever the package has under that name."""
        return PrivatePath(f"{self.__name__}.{name}", self._package)

    def __call__(self, *args, **kwargs):
        raise NotSuppliedError(advise(self.__name__, GENERAL_ADVICE))

    def __mro_entries__(self, bases):
        raise NotSuppliedError(advise(self.__name__, GENERAL_ADVICE))


def lookup(
    names: dict[str, object],
    gone: Optional[Mapping[str, str]] = None,
    otherwise: str = GENERAL_ADVICE,
) -> tuple[Callable, Callable]:
    """Returns a package's `__getattr__`, and the function that the import statement asks about
    missing names.

    Args:
      names: the package's `globals()`.
      gone: what to do instead, for names that programs are known to use and that are not supplied.
      otherwise: the same for all other names.
    """
    public = "tf." + names["__name__"].split(".tf1.")[1]
    gone = gone or {}

    def advice_for(name):
        return f"{public}.{name}", gone.get(name, otherwise)

    def getattribute(name):
        if name == "python":
            return PrivatePath(f"{public}.python", sys.modules[names["__name__"]])
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {public!r} has no attribute {name!r}")
        raise NotSuppliedError(advise(*advice_for(name)))

    return getattribute, advice_for
