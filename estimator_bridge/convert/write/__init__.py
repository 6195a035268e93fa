"""Writes a plan as a Keras 3 module, a Keras model and a SavedModel."""
