"""Passes over data, defined once and run here or by an engine."""
