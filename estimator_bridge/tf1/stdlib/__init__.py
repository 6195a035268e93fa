"""Modules that Python had at the time of TensorFlow 1.x and has removed since.

They contain the names that programs used.
"""

__all__ = ["MODULES"]

# Removed by Python 3.12 (imp) and 3.13.
MODULES = ("imghdr", "imp", "pipes")
