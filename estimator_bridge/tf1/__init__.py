"""TensorFlow 1.x programs on today's TensorFlow: `python -m estimator_bridge run --tf1 ...`.

`install()` switches TensorFlow to 1.x behaviour and lets the program's own `import tensorflow` find
the 1.x view: graph mode, `tf.placeholder`, `tf.layers`, `tf.estimator` of the v1 kind and a
`tf.contrib`. The rooms:

  imports.py   who is given the view, and who goes on seeing TensorFlow 2
  view.py      the view itself
  app.py, flags.py   `tf.app` and `tf.flags` as 1.x had them
  moved.py     private modules and names of TensorFlow that have moved since 1.x
  shapes.py    dimensions given as floats
  era.py       what NumPy and Python had in those years and have dropped since
  gone.py      the error for what is not supplied
  examples.py  the reader of MNIST
  contrib/     `tf.contrib`, a file a topic
"""

import importlib
import types
from collections.abc import Iterable

from estimator_bridge.process import removed_names
from estimator_bridge.tf1 import imports

__all__ = ["install"]


def install(tf2_packages: Iterable[str] = ()) -> None:
    """Gives every module imported from now on the 1.x view of TensorFlow.

    Calling it again only adds packages. TensorFlow itself is imported, and switched to 1.x
    behaviour, when the first of the program's modules imports it; that must come before anything
    builds a part of a graph in this process (ValueError of TensorFlow).

    Args:
      tf2_packages: top-level names of further packages that must go on seeing TensorFlow 2, besides
        those in `imports.TF2_PACKAGES` and the environment variable `ESTIMATOR_BRIDGE_TF2_PACKAGES`
        (names, comma-separated).
    """
    removed_names.install()
    imports.keep_on_tf2(tf2_packages)
    if not imports.installed():
        imports.install(_build_view)


def _build_view() -> types.ModuleType:
    # First, by itself: the bridge completes TensorFlow at the end of this import.
    tensorflow = importlib.import_module("tensorflow")
    from estimator_bridge.tf1 import moved, shapes, view
    from estimator_bridge.tf1.contrib import tpu_refusal

    module = view.build(tensorflow)
    moved.install()
    shapes.install()
    tpu_refusal.refuse_tpu()
    return module
