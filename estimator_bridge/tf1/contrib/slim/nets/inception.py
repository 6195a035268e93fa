"""All Inception networks of `slim.nets`."""

from estimator_bridge.tf1.contrib.slim.nets.inception_blocks import inception_arg_scope
from estimator_bridge.tf1.contrib.slim.nets.inception_v1 import (
    inception_v1,
    inception_v1_arg_scope,
    inception_v1_base,
)
from estimator_bridge.tf1.contrib.slim.nets.inception_v2 import (
    inception_v2,
    inception_v2_arg_scope,
    inception_v2_base,
)
from estimator_bridge.tf1.contrib.slim.nets.inception_v3 import (
    inception_v3,
    inception_v3_arg_scope,
    inception_v3_base,
)

__all__ = [
    "inception_arg_scope",
    "inception_v1",
    "inception_v1_arg_scope",
    "inception_v1_base",
    "inception_v2",
    "inception_v2_arg_scope",
    "inception_v2_base",
    "inception_v3",
    "inception_v3_arg_scope",
    "inception_v3_base",
]
