"""`tf.contrib.autograph`: Python functions as graphs, which moved to tf.autograph."""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import autograph_api as _api
from estimator_bridge.private_tf import autograph_converter as _converter
from estimator_bridge.private_tf import autograph_directives as _directives
from estimator_bridge.private_tf import autograph_special_functions as _special_functions
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__all__ = ["experimental"]

__getattr__, _advice_for = _unsupported_names(globals(), default_advice="use tf.autograph")

experimental = tf.autograph.experimental
set_verbosity = tf.autograph.set_verbosity
to_code = tf.autograph.to_code
to_graph = tf.autograph.to_graph
trace = tf.autograph.trace

AutoGraphError = _api.AutoGraphError
StackTraceMapper = _api.StackTraceMapper
convert = _api.convert
do_not_convert = _api.do_not_convert
ConversionOptions = _converter.ConversionOptions
Feature = _converter.Feature
# AutoGraph looks for these functions themselves in the code that it converts.
set_element_type = _directives.set_element_type
set_loop_options = _directives.set_loop_options
stack = _special_functions.stack
