"""Datasets of arrays: read by the graph instead of held by it, and batched at once.

graph_arrays.py  arrays that a graph reads, where it would hold them as constants
row_batches.py   batches of `from_tensor_slices`, gathered at once
"""
