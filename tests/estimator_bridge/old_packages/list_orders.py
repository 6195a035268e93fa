"""Prints the arguments of scikit-learn's public classes and functions, in order, as JSON.

PYTHON_OF_0.21.3 list_orders.py > 21.json
PYTHON_OF_0.19.2 list_orders.py 21.json > scikit_learn/orders.json
"""

import importlib
import inspect
import json
import sys

MODULES = """base calibration cluster compose covariance cross_decomposition datasets decomposition
discriminant_analysis dummy ensemble feature_extraction feature_extraction.image
feature_extraction.text feature_selection gaussian_process impute isotonic kernel_approximation
kernel_ridge linear_model manifold metrics metrics.pairwise mixture model_selection multiclass
multioutput naive_bayes neighbors neural_network pipeline preprocessing random_projection
semi_supervised svm tree utils utils.class_weight utils.validation"""


def list_orders(module):
    """Returns the name and the arguments of each callable that a module defines or exports."""
    names = getattr(module, "__all__", None)
    for name in sorted(names or [name for name in vars(module) if not name.startswith("_")]):
        value = getattr(module, name, None)
        if not getattr(value, "__module__", "").startswith("sklearn"):
            continue
        if names is None and value.__module__ != module.__name__:
            continue
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if inspect.isclass(value):
            initialize = getattr(value.__init__, "deprecated_original", value.__init__)
            if initialize is object.__init__:
                continue
            parameters = list(inspect.signature(initialize).parameters.values())[1:]
        else:
            parameters = list(inspect.signature(value).parameters.values())
        order = [one.name for one in parameters if one.kind == one.POSITIONAL_OR_KEYWORD]
        if order and not any(one.kind == one.VAR_POSITIONAL for one in parameters):
            yield name, " ".join(order)


def main(newer=None):
    """Prints the orders; those of a newer version take precedence. Only its arguments
    have positions; those that it no longer has are after a bar."""
    found = {}
    for name in MODULES.split():
        try:
            module = importlib.import_module("sklearn." + name)
        except ImportError:
            continue
        found["sklearn." + name] = dict(list_orders(module))
    if newer is not None:
        with open(newer) as file:
            for module, orders in json.load(file).items():
                known = found.setdefault(module, {})
                for name, order in orders.items():
                    gone = [one for one in known.get(name, "").split() if one not in order.split()]
                    known[name] = " ".join([order, "|", *gone] if gone else [order])
    print(json.dumps(found, indent=0, sort_keys=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
