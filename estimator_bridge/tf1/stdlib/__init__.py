"""Modules that Python had in the years of TensorFlow 1.x and has dropped since: what programs used
of each.
"""

__all__ = ["MODULES"]

# Dropped by Python 3.12 (imp) and 3.13.
MODULES = ("imghdr", "imp", "pipes")
