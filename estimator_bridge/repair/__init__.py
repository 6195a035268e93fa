"""Rewrites models whose operations today's TensorFlow no longer computes.

command.py       `python -m estimator_bridge repair`
operations.py    which operations are replaced, and by what
buckets.py       BoostedTreesBucketize
contrib.py       buckets, beams and crosses of tf.contrib
trees.py         the ensembles of boosted trees and their quantiles
bodies.py        puts a traced function in the place of a node
graphs.py        frozen graphs and TF-Hub 1.x modules become SavedModels with signatures
proof.py         compares a replacement with the mathematics of what it replaces, bit by bit
contrib_proof.py the same for the operations of tf.contrib
"""
