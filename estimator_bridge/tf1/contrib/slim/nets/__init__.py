"""`tf.contrib.slim.nets`: networks with published checkpoints.

The names of variables and end points are those of 1.x, so that the checkpoints load.
"""

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.slim.nets import (
    inception,
    inception_v1,
    inception_v2,
    inception_v3,
    resnet_utils,
    resnet_v1,
    resnet_v2,
    vgg,
)

_MOVED = "it is in the package tf-slim (tf_slim.nets); or keep the network's code in the program"

__all__ = [
    "inception",
    "inception_v1",
    "inception_v2",
    "inception_v3",
    "resnet_utils",
    "resnet_v1",
    "resnet_v2",
    "vgg",
]

__getattr__, _advice_for = _unsupported_names(
    globals(), dict.fromkeys(("alexnet", "overfeat"), _MOVED)
)
