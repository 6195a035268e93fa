"""The trees of `tf.contrib.boosted_trees`, which left TensorFlow with 1.15.

They grow as in 1.14, node by node, by other rules than those of `tf.estimator`: rows are counted
and not batches, boundaries of numbers are made anew for each layer, and a tree has one weight.
"""
