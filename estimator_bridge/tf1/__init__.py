"""Runs TensorFlow 1.x programs on TensorFlow 2: `python -m estimator_bridge run --tf1 ...`.

`install()` switches TensorFlow to 1.x behaviour and makes the program's own `import tensorflow`
return the 1.x view: graph mode, `tf.placeholder`, `tf.layers`, v1 Estimators and a `tf.contrib`.

  imports.py         which modules get the view, and which get TensorFlow 2
  guarded.py         imports that a program expects to fail
  names_of_1_15.py   the modules of 1.15 and their names
  view.py            the view itself
  error_messages.py  the reason of an error first, then where its operation was defined
  app.py, flags.py   `tf.app` and `tf.flags` as in 1.x
  moved.py           private modules and names of TensorFlow that have moved since 1.x
  pickled.py         functions and classes as pickle finds them
  removed.py         names of TensorFlow 0.x
  private_keras.py   `tensorflow.python.keras` and `keras` with the classes of `tf.keras`
  keras_package.py   `import keras`
  keras_arguments.py the arguments of Keras 1 for its layers and models
  keras_1_names.py   their names
  keras_1_calls.py   what more than a name has changed
  keras_interfaces.py `keras.legacy.interfaces`
  keras_classes.py   classes of Keras that compute or save something else
  keras_configs.py   descriptions of saved Keras models
  keras_names.py     names of the variables of Keras layers
  kmeans.py          the seed of k-means
  operations.py      attributes of operations and graphs, and the operation of tf.add
  old_checkpoints.py checkpoints with the names of an earlier version of this package
  open_sessions.py   sessions that are open when the program ends
  shapes.py          dimensions given as floats
  variables.py       the losses of regularizers, and initialized_value
  unsupported.py     the error for names that are not supplied
  examples/          the reader and the network of MNIST
  batched_maps.py    map(parse).batch(n), parsed by batches
  batched_queues.py  the same where queues bring the rows
  generators/        Dataset.from_generator, read ahead
  fast/              canned Estimators with fewer operations in a step, for `--fast`
  stdlib/            modules that Python has removed since
  contrib/           `tf.contrib`
"""

import importlib
import os
import types
from collections.abc import Iterable

import estimator_bridge
from estimator_bridge.process import batch_first, removed_names
from estimator_bridge.tf1 import imports, libraries

__all__ = ["FAST_VARIABLE", "install", "install_input"]

# "yes" trains canned Estimators with fused lookups (fast/).
FAST_VARIABLE = "ESTIMATOR_BRIDGE_FAST"


def install(tf2_packages: Iterable[str] = ()) -> None:
    """Makes every module imported from now on get the 1.x view of TensorFlow, with Estimators.

    Calling it again only adds packages. TensorFlow itself is imported, and switched to 1.x
    behaviour, when the first of the program's modules imports it. That must precede the first graph
    of the process; otherwise TensorFlow raises a ValueError.

    Args:
      tf2_packages: top-level names of packages that get TensorFlow 2, in addition to those in
        `libraries.TF2_PACKAGES` and in the environment variable `ESTIMATOR_BRIDGE_TF2_PACKAGES`
        (names, comma-separated).

    Raises:
      BridgeError: as `estimator_bridge.install`, which it calls.
    """
    estimator_bridge.install()
    removed_names.install((1, 15))
    libraries.add(tf2_packages)
    if not imports.installed():
        imports.install(_build_view)


def install_input(in_graphs_only: bool = False) -> None:
    """Reads generators ahead, and parses batches of rows at once, in the TensorFlow imported here.

    Args:
      in_graphs_only: whether datasets that are made eagerly stay as they are.
    """
    from estimator_bridge.tf1 import batched_maps, generators

    generators.install(in_graphs_only)
    if batch_first.is_wanted():
        batched_maps.install(in_graphs_only)


def _build_view() -> types.ModuleType:
    # Imported first: the bridge completes TensorFlow at the end of this import.
    tensorflow = importlib.import_module("tensorflow")
    from estimator_bridge.tf1 import (
        batched_queues,
        debugger,
        error_messages,
        images,
        keras_classes,
        keras_configs,
        keras_names,
        kmeans,
        moved,
        old_checkpoints,
        open_sessions,
        operations,
        removed,
        shapes,
        variables,
        view,
    )
    from estimator_bridge.tf1.contrib import tpu_refusal
    from estimator_bridge.tf1.fast import training

    module = view.build(tensorflow)
    moved.install()
    removed.install(tensorflow.compat.v1, module)
    shapes.install()
    operations.install()
    images.install()
    variables.install()
    open_sessions.install()
    error_messages.install()
    debugger.install()
    old_checkpoints.install()
    keras_names.install()
    keras_classes.install()
    keras_configs.install()
    kmeans.install()
    install_input()
    if batch_first.is_wanted():
        batched_queues.install()
    if os.environ.get(FAST_VARIABLE) == "yes":
        training.install()
    tpu_refusal.refuse_tpu()
    return module
