"""scikit-learn 1.x with the names, arguments and attributes of 0.17 to 0.24."""

from estimator_bridge.old_packages.scikit_learn import (
    arguments,
    attributes,
    modules,
    names,
    parameters,
)
from estimator_bridge.process.importing import call_when_imported

__all__ = ["install"]


def install() -> None:
    """Restores what scikit-learn lacks, in each of its modules when it is imported."""
    modules.install()
    call_when_imported("sklearn.base", arguments.install_set_params)
    arguments.install()
    for steps in (parameters.BY_MODULE, names.BY_MODULE, attributes.BY_MODULE):
        for module, step in steps.items():
            call_when_imported(module, step)
