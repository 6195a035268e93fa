"""Compares a candidate with the model in service and decides whether it may be served."""
