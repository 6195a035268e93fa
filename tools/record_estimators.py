"""Lists all ready-made Estimators of the installed TensorFlow, also those without a public name.

    python tools/record_estimators.py FILE

Run it on TensorFlow 1.15.5 and on 2.x; it adds the names to FILE. It imports all modules of
tensorflow_estimator and of tf.contrib. An Estimator is a subclass of Estimator, BaseEstimator or
EstimatorV2, or a function with the name of such a class.
"""

import importlib
import inspect
import json
import os
import pkgutil
import sys

ROOTS = ("tensorflow_estimator", "tensorflow.contrib", "tensorflow_core.contrib")
BASES = {"Estimator", "BaseEstimator", "EstimatorV2"}
# Functions that return an Estimator, and are named or used like one.
ENDINGS = ("_train_in_memory", "Estimator", "Classifier", "Regressor", "WithLayerAnnotations")


def import_all():
    """Imports each module below ROOTS that can be imported; tests are left out."""
    for root in ROOTS:
        try:
            package = importlib.import_module(root)
        except ImportError:
            continue
        for found in pkgutil.walk_packages(
            package.__path__, package.__name__ + ".", lambda _: None
        ):
            if "test" in found.name or ".api." in found.name or found.name.endswith("__main__"):
                continue
            try:
                importlib.import_module(found.name)
            except BaseException as error:  # A module may even end the program.
                print(f"{found.name}: skipped, cannot be imported: {error}", file=sys.stderr)


def is_estimator(name, value):
    """Returns whether a value of a module is a ready-made Estimator.

    Args:
        name: its name in the module.
        value: the value.
    """
    if name.startswith("_") or "Metrics" in name:
        return False
    if inspect.isclass(value):
        return any(base.__name__ in BASES for base in value.__mro__[1:])
    return inspect.isfunction(value) and name.endswith(ENDINGS)


def list_estimators():
    """Returns the sorted names: a place below tf.contrib or `tf.estimator`, and the class."""
    found = set()
    for module in list(sys.modules.values()):
        where = getattr(module, "__name__", "")
        if not where.startswith(ROOTS):
            continue
        for name, value in list(vars(module).items()):
            # Where it is defined, and not where it is imported.
            if getattr(value, "__module__", None) == where and is_estimator(name, value):
                place = where.split(".contrib.")[-1].split(".")[0]
                is_contrib = ".contrib." in where
                found.add(("tf.contrib." + place if is_contrib else "tf.estimator") + "." + name)
    return sorted(found)


def main(path):
    import tensorflow as tf

    import_all()
    known = {}
    if os.path.exists(path):
        with open(path) as file:
            known = json.load(file)
    known[tf.__version__] = list_estimators()
    with open(path, "w") as file:
        json.dump(known, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
