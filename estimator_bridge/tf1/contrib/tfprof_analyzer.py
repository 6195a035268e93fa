"""`tf.contrib.tfprof.model_analyzer`: TensorFlow's profiler with the options of 1.15.

TensorFlow 2 builds these options with `tf.profiler.ProfileOptionBuilder`, and has dropped the
ready-made ones and the old name of `profile`.
"""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import model_analyzer as _analyzer

__all__ = [
    "ALL_ADVICE",
    "FLOAT_OPS_OPTIONS",
    "PRINT_ALL_TIMING_MEMORY",
    "TRAINABLE_VARS_PARAMS_STAT_OPTIONS",
    "Profiler",
    "advise",
    "print_model_analysis",
]

ALL_ADVICE = _analyzer.ALL_ADVICE
Profiler = _analyzer.Profiler
_DEFAULT = 0  # As on 1.15, it stands for the default options.


def _printed(options):
    """Returns options whose result is printed: contrib's options had another default."""
    return {**options, "output": "stdout"}


_BUILDER = tf.profiler.ProfileOptionBuilder
TRAINABLE_VARS_PARAMS_STAT_OPTIONS = _printed(_BUILDER.trainable_variables_parameter())
FLOAT_OPS_OPTIONS = _printed(_BUILDER.float_operation())
PRINT_ALL_TIMING_MEMORY = _printed(_BUILDER.time_and_memory())


def advise(graph, run_meta=None, tfprof_options=_DEFAULT):
    """Prints and returns advice on the performance of a graph.

    Args:
      graph: tf.Graph.
      run_meta: tf.RunMetadata of a step; optional.
      tfprof_options: the checks to make, such as ALL_ADVICE; by default all.

    Returns:
      An AdviceProto.
    """
    return _analyzer.advise(graph, run_meta, tfprof_options or ALL_ADVICE)


def print_model_analysis(
    graph, run_meta=None, op_log=None, tfprof_cmd="scope", tfprof_options=_DEFAULT
):
    """Profiles a graph: counts its parameters or floating point operations, or its time and memory.

    Args:
      graph: tf.Graph.
      run_meta: tf.RunMetadata of a step; time and memory need it.
      op_log: OpLogProto with types of operations; optional.
      tfprof_cmd: `scope`, `op`, `graph` or `code`.
      tfprof_options: dict of options, such as TRAINABLE_VARS_PARAMS_STAT_OPTIONS.

    Returns:
      A GraphNodeProto, or a MultiGraphNodeProto for `op` and `code`.
    """
    options = tfprof_options or TRAINABLE_VARS_PARAMS_STAT_OPTIONS
    return _analyzer.profile(graph, run_meta, op_log, tfprof_cmd, options)
