"""Predictions of an export, for single rows and for files."""
