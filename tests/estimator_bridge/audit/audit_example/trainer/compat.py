"""One place for the names that move between versions."""

from tensorflow import estimator as est  # noqa: F401
