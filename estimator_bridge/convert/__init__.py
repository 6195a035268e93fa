"""From Estimators to Keras 3: `convert` writes the Keras model, `verify` proves that nothing
changed.
"""
