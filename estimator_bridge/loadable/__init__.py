"""Finds the versions of TensorFlow that load a model, and what keeps the others from it.

models.py      finds SavedModels, checkpoints, Transform graphs and frozen graphs below a path
graphs.py      compares a graph with the operations and kernels of each version
checkpoints.py reads what a checkpoint contains
advice.py      what to do about an operation
"""

from .graphs import find_unsupported

__all__ = ["find_unsupported"]
