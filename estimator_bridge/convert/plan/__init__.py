"""Describes a canned model as plain values, without TensorFlow objects."""
