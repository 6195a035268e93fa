"""Runs work on many files here, on Beam or on Spark."""
