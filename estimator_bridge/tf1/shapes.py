"""Accepts shapes as in 1.x: a dimension may be a float that is a whole number."""

import functools

import numpy as np

__all__ = ["install"]


@functools.cache
def install() -> None:
    """Makes dimensions accept floats such as `16 / 2`, which programs for Python 2 often use.

    A float that is not a whole number raises ValueError, as in 1.x; 2.x refuses every float.
    """
    from estimator_bridge.private_tf import tensor_shape

    construct = tensor_shape.Dimension.__init__

    @functools.wraps(construct)
    def construct_from_number(self, value):
        if isinstance(value, (float, np.floating)):
            whole = int(value)
            if whole != value:
                raise ValueError(f"Ambiguous dimension: {value}")
            value = whole
        construct(self, value)

    tensor_shape.Dimension.__init__ = construct_from_number
