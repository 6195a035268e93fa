"""The 1.x view: the module that a TensorFlow 1.x program gets for `import tensorflow as tf`.

Nearly all of it is `tf.compat.v1`, which TensorFlow still contains. The view adds the names that
compat.v1 lacks (`contrib`, `examples`, the private packages as attributes), and the `__version__`
that programs compare.
"""

import importlib
import sys
import types
from typing import Any

from estimator_bridge.era import strategies
from estimator_bridge.tf1 import app, flags, pickled, private_keras

__all__ = ["VERSION", "View", "build"]

# The last 1.x release. Programs compare it ("at least 1.4", "starts with 1."). The real version is
# in `tf.version.GIT_VERSION` and in the doctor's report.
VERSION = "1.15.5"

_LAZY = {
    "contrib": "estimator_bridge.tf1.contrib",
    "examples": "estimator_bridge.tf1.examples",
    "pywrap_tensorflow": "tensorflow.python.pywrap_tensorflow",
}


class View(types.ModuleType):
    """`tensorflow` as in 1.x: its own attributes, those of `tf.compat.v1`, and private packages.

    Args:
      tensorflow: the 2.x module.
      v1: its `compat.v1`.
    """

    def __init__(self, tensorflow: Any, v1: Any):
        super().__init__("tensorflow", tensorflow.__doc__)
        self.__dict__.update(
            _tensorflow=tensorflow,
            _v1=v1,
            __file__=tensorflow.__file__,
            __path__=tensorflow.__path__,
            __spec__=tensorflow.__spec__,
            __loader__=tensorflow.__loader__,
            __package__="tensorflow",
        )

    def __getattr__(self, name):
        if name in _LAZY:
            value = importlib.import_module(_LAZY[name])
        elif name == "python":
            value = private_keras.PrivatePackage(sys.modules["tensorflow.python"])
        elif name in ("core", "tools", "compiler") and f"tensorflow.{name}" in sys.modules:
            value = sys.modules[f"tensorflow.{name}"]
        else:
            try:
                value = getattr(self._v1, name)
            except AttributeError:
                message = f"module 'tensorflow' (the 1.x view) has no attribute {name!r}"
                if hasattr(self._tensorflow, name):
                    message += (
                        f"; TensorFlow 2 has it: from tensorflow.compat import v2, then v2.{name}"
                    )
                raise AttributeError(message) from None
        setattr(self, name, value)
        return value

    def __dir__(self):
        return sorted({*self.__dict__, *_LAZY, *dir(self._v1)})


def _with(module, **changed):
    """Returns a copy of a module of the API with some names changed; lazy attributes stay lazy."""
    copy = types.ModuleType(module.__name__, module.__doc__)
    copy.__dict__.update(module.__dict__)
    copy.__dict__.update(changed)
    copy.__getattr__ = lambda name: getattr(module, name)
    return copy


def _set_private_names(v1: Any) -> None:
    """Gives private packages the datasets of 1.x, which they have imported before the switch."""
    for package, public in (
        ("tensorflow.python.data", v1.data),
        ("tensorflow.python.data.experimental", v1.data.experimental),
    ):
        private = vars(importlib.import_module(package))
        changed = [name for name in private if callable(getattr(public, name, None))]
        private.update({name: getattr(public, name) for name in changed})


def build(tensorflow: Any) -> View:
    """Switches TensorFlow to 1.x behaviour and returns the view.

    `disable_v2_behavior` switches to graph mode, reference variables, 1.x control flow, and shapes
    of Dimension objects.

    Args:
      tensorflow: the 2.x module, with tf.estimator and Keras 2 in place.
    """
    v1 = tensorflow.compat.v1
    v1.disable_v2_behavior()
    _set_private_names(v1)
    pickled.use_own_modules(v1)
    view = View(tensorflow, v1)
    strategies.restore(tensorflow)
    own_flags = flags.as_in_1x(v1.flags)
    vars(view).update(
        __version__=VERSION,
        VERSION=VERSION,
        version=_with(v1.version, VERSION=VERSION),
        flags=own_flags,
        app=app.as_in_1x(v1.app, own_flags),
    )
    return view
