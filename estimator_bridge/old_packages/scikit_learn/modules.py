"""Modules that scikit-learn removed, or renamed to start with an underscore.

A renamed module has its own names, but those of its package where the package has them too:
these take the old arguments.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

from estimator_bridge.process.importing import ModuleSupplier

__all__ = ["install"]

_HERE = "estimator_bridge.old_packages.scikit_learn"
# Written here, in place of removed ones.
_REWRITTEN = {
    "sklearn.cross_validation": f"{_HERE}.cross_validation",
    "sklearn.grid_search": f"{_HERE}.grid_search",
    "sklearn.learning_curve": f"{_HERE}.learning_curve",
    "sklearn.lda": f"{_HERE}.discriminants",
    "sklearn.qda": f"{_HERE}.discriminants",
    "sklearn.utils.linear_assignment_": f"{_HERE}.assignment",
    "sklearn.externals.funcsigs": "inspect",
}
# Renamed to something else than the old name with an underscore before it and none after it.
_RENAMED = {
    "sklearn.cluster.hierarchical": "_agglomerative",
    "sklearn.cluster.k_means_": "_kmeans",
    "sklearn.covariance.outlier_detection": "_elliptic_envelope",
    "sklearn.cross_decomposition.cca_": "_pls",
    "sklearn.datasets.mldata": "_openml",
    "sklearn.datasets.svmlight_format": "_svmlight_format_io",
    "sklearn.decomposition.online_lda": "_lda",
    "sklearn.ensemble.gradient_boosting": "_gb",
    "sklearn.ensemble.voting_classifier": "_voting",
    "sklearn.feature_extraction.hashing": "_hash",
    "sklearn.preprocessing.imputation": "_data",
    "sklearn.mixture.gmm": "_gaussian_mixture",
}


class _RenamedModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `sklearn.metrics.classification` in `sklearn.metrics._classification`."""

    def find_spec(self, fullname, path=None, target=None):
        package, _, name = fullname.rpartition(".")
        if not package.startswith("sklearn.") or name.startswith("_"):
            return None
        renamed = _RENAMED.get(fullname, f"_{name.rstrip('_')}")
        source = importlib.util.find_spec(f"{package}.{renamed}")
        if source is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, loader_state=source.name)

    def exec_module(self, module):
        source = importlib.import_module(module.__spec__.loader_state)
        package = sys.modules[module.__name__.rpartition(".")[0]]
        own = {name: value for name, value in vars(source).items() if not name.startswith("__")}
        module.__dict__.update(own)
        for name, value in vars(package).items():
            if not name.startswith("_") and not isinstance(value, type(sys)):
                module.__dict__[name] = value


def install() -> None:
    """Lets the imports of the missing modules find them."""
    supplier = ModuleSupplier()
    for name, source in _REWRITTEN.items():
        supplier.supply(name, source)
    for name in ("joblib", "six"):
        supplier.supply_tree(f"sklearn.externals.{name}", name)
    # First, because the path finder would load the modules of joblib a second time.
    sys.meta_path.insert(0, supplier)
    sys.meta_path.append(_RenamedModules())
