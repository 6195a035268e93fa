"""Pushes exports as numbered versions of a served model, and moves the labels of versions."""
