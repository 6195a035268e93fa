"""Inputs of arrays: read by the graph instead of held by it, and batched at once.

autotuning.py      turns autotuning off where there is nothing to tune
graph_arrays.py    arrays that a graph reads, where it would hold them as constants
queued_batches.py  queues of batches, for numpy_input_fn and pandas_input_fn
row_batches.py     batches of `from_tensor_slices`, gathered at once
"""
