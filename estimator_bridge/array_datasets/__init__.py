"""Datasets of arrays: read by the graph instead of held by it, and batched at once.

autotuning.py    turns autotuning off where there is nothing to tune
graph_arrays.py  arrays that a graph reads, where it would hold them as constants
row_batches.py   batches of `from_tensor_slices`, gathered at once
"""
