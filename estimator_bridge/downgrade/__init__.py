"""Rewrites SavedModels and graphs so that an older TensorFlow loads them.

command.py       `python -m estimator_bridge downgrade`
addresses.py     exports at gs://, with local copies
files.py         reads and writes SavedModels, .meta files and graphs
rewrite.py       rewrites a graph: its nodes and its functions
replacements.py  operations that are replaced by others with the same result
definitions.py   compares what two versions say about an operation
operations.py    the operations of each TensorFlow version, from operations.json.gz
exports.py       rewrites what a program writes, for `run --exports_for`
proof/           loads the result in the older TensorFlow and compares its answers
"""
