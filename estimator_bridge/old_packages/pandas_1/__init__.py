"""pandas 2 and 3 with the names, arguments and behaviour of pandas 1."""

from estimator_bridge.old_packages.pandas_1 import columns, dtypes, lookups, names

__all__ = ["install"]


def install() -> None:
    """Restores what the imported pandas lacks."""
    names.install()
    dtypes.install()
    lookups.install()
    columns.install()
