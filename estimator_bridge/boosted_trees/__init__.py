"""The boosted trees of `tf.estimator`, whose operations left TensorFlow with 2.9.

The trees grow as there, node by node. What took the operations' place is NumPy in training, and
standard operations in evaluation, prediction and exports.
"""
