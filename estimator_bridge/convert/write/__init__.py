"""Writes a plan as a Keras 3 module, model and SavedModel."""
