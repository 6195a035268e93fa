"""Tries an export in a fresh process, with limits, before a model server loads it."""
