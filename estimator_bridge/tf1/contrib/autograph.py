"""`tf.contrib.autograph`: Python's control flow in a graph, for functions that a program marks."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import autograph_api as _api
from estimator_bridge.private_tf import autograph_converter as _converter
from estimator_bridge.private_tf import autograph_directives as _directives
from estimator_bridge.private_tf import autograph_operators as _operators
from estimator_bridge.private_tf import autograph_special_functions as _functions
from estimator_bridge.private_tf import autograph_utils as _utils
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = ["experimental"]

__getattr__, _advice_for = _unsupported_names(globals(), {}, "use tf.autograph")

experimental = tf.autograph.experimental
set_verbosity = tf.autograph.set_verbosity
trace = tf.autograph.trace
AutoGraphError = _api.AutoGraphError
ConversionOptions = _converter.ConversionOptions
Feature = _converter.Feature
StackTraceMapper = _api.StackTraceMapper
do_not_convert = _api.do_not_convert
operators = _operators
set_element_type = _directives.set_element_type
stack = _functions.stack
to_code = _api.to_code
to_graph = _api.to_graph
utils = _utils

_UNSPECIFIED = object()


def convert(recursive=False, optional_features=None, user_requested=True):
    """Returns a decorator of a function whose conditions and loops may depend on tensors.

    Args:
      recursive: whether the functions that it calls are converted too.
      optional_features: one or more of `Feature`, such as `Feature.LISTS`.
      user_requested: whether the function is converted even if AutoGraph is switched off for its
        caller.

    Returns:
      The decorator.
    """
    return _api.convert(recursive, optional_features, user_requested)


def converted_call(f, options, args, kwargs, caller_fn_scope=None):
    """Returns what a function returns once it is converted.

    Args:
      f: callable.
      options: ConversionOptions.
      args: tuple of its arguments.
      kwargs: dict of its named arguments, or None.
      caller_fn_scope: scope of the converted function that calls it, or None.
    """
    return _api.converted_call(f, args, kwargs, caller_fn_scope, options)


def set_loop_options(
    parallel_iterations=_UNSPECIFIED,
    back_prop=_UNSPECIFIED,
    swap_memory=_UNSPECIFIED,
    maximum_iterations=_UNSPECIFIED,
):
    """Has no effect, as on 1.15: the loop runs with the defaults of `tf.while_loop`.

    Args:
      parallel_iterations: not used.
      back_prop: not used.
      swap_memory: not used.
      maximum_iterations: not used.
    """
