"""pandas 2 and 3 with the names, arguments and behaviour of pandas 1."""

from estimator_bridge.old_packages.pandas_1 import (
    aggregation,
    arguments,
    columns,
    dates,
    dtypes,
    frequencies,
    functions,
    grouping,
    joins,
    lookups,
    modules,
    names,
    old_methods,
    older_methods,
    reading,
    reductions,
    removed_arguments,
)

__all__ = ["install"]


def install() -> None:
    """Restores what the imported pandas lacks."""
    import pandas as pd

    version = int(pd.__version__.partition(".")[0])
    names.install()
    if version < 2:
        return
    dtypes.install(version)
    if version >= 3:
        lookups.install()
        columns.install()
    removed_arguments.install()
    frequencies.install()
    dates.install()
    reading.install()
    joins.install()
    grouping.install()
    reductions.install()
    aggregation.install()
    old_methods.install()
    older_methods.install()
    functions.install()
    # Last, so that it names the arguments for all others.
    arguments.install()
    modules.install()
