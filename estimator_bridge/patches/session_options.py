"""Changes the configurations of sessions before TensorFlow reads them."""

import functools
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from ..private_tf import session

__all__ = ["change"]


def change(configure: Callable[[Any, Any], None]) -> None:
    """Has each session from now on made with a changed copy of its configuration.

    Args:
      configure: changes a ConfigProto; it gets the session's target, too.
    """
    construct = session.BaseSession.__init__

    @functools.wraps(construct)
    def construct_configured(self: Any, target: Any = "", graph: Any = None, config: Any = None):
        # Another type is refused by the session.
        if config is None or isinstance(config, tf.ConfigProto):
            given, config = config, tf.ConfigProto()
            if given is not None:
                config.CopyFrom(given)
            configure(config, target)
        construct(self, target, graph, config)

    session.BaseSession.__init__ = construct_configured
