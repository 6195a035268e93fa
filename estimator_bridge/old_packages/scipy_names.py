"""Attributes of sparse matrices that SciPy 1.14 removed."""

from estimator_bridge.old_packages.missing import set_missing

__all__ = ["install"]


def install() -> None:
    """Sets the missing attributes."""
    import scipy.sparse

    set_missing(
        scipy.sparse.spmatrix,
        A=property(lambda self: self.toarray()),
        H=property(lambda self: self.T.conj()),
    )
