"""Converts Estimators to Keras 3 models (`convert`) and compares the two (`verify`)."""
