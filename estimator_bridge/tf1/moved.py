"""Supplies private modules and names of TensorFlow that have moved since 1.x."""

import functools
import importlib
import importlib.util
import sys
import types
from collections.abc import Mapping
from typing import Any, Optional

from estimator_bridge.process.importing import ModuleSupplier, call_when_imported
from estimator_bridge.tf1 import private_keras

__all__ = ["MODULES", "NAMES", "TREES", "install"]

# Module of 1.x -> the present module. Supplied only if TensorFlow has no module of the old name.
MODULES = {
    "tensorflow.python.distribute.distribution_strategy_context": (
        "tensorflow.python.distribute.distribute_lib"
    ),
    "tensorflow.python.feature_column.dense_features": (
        "tensorflow.python.feature_column.feature_column_lib"
    ),
    "tensorflow.python.ops.spectral_ops": "tensorflow.python.ops.signal.fft_ops",
    "tensorflow.python.profiler.profile_context": "estimator_bridge.tf1.contrib.tfprof",
    "tensorflow.python.pywrap_tensorflow_internal": "tensorflow.python.pywrap_tensorflow",
    "tensorflow.python.summary.event_accumulator": (
        "tensorboard.backend.event_processing.event_accumulator"
    ),
    "tensorflow.python.training.distribute": "tensorflow.python.distribute.distribute_lib",
    "tensorflow.python.training.distribution_strategy_context": (
        "tensorflow.python.distribute.distribute_lib"
    ),
    "tensorflow.python.training.gen_training_ops": "tensorflow.python.ops.gen_training_ops",
    "tensorflow.python.training.training_ops": "tensorflow.python.ops.gen_training_ops",
    "tensorflow.tools.graph_transforms": "estimator_bridge.tf1.graph_transforms",
}

TREES = {
    "tensorflow.python.training.checkpointable": "tensorflow.python.trackable",
    "tensorflow.python.training.tracking": "tensorflow.python.trackable",
}

# Modules that have left the two trees. They are imported by the new names of the trees as well.
for _old, _new in {
    "graph_view": "tensorflow.python.checkpoint.graph_view",
    "tracking": "tensorflow.python.trackable.autotrackable",
    "util": "tensorflow.python.checkpoint.checkpoint",
}.items():
    for _tree in ("tensorflow.python.trackable", *TREES):
        MODULES[f"{_tree}.{_old}"] = _new

_FEATURE_LAYERS = {
    "DenseFeatures": "v1.keras.layers.DenseFeatures",
    "SequenceFeatures": "v1.keras.experimental.SequenceFeatures",
}

_PYWRAP = {
    "NewCheckpointReader": "v1.train.NewCheckpointReader",
    "do_quantize_training_on_graphdef": "v1.train.do_quantize_training_on_graphdef",
}

_SHAPES = "estimator_bridge.tf1.common_shapes"

# Module -> names that 1.x had in it -> their present place: a module, or a path below tf.compat.v1
# ("v1."). Only missing names are set.
NAMES = {
    "tensorflow.python.feature_column.feature_column_lib": _FEATURE_LAYERS,
    "tensorflow.python.feature_column.feature_column_v2": _FEATURE_LAYERS,
    "tensorflow.python.framework.ops": {
        "Tensor": "tensorflow.python.framework.tensor.Tensor",
        "IndexedSlices": "tensorflow.python.framework.indexed_slices.IndexedSlices",
        "convert_to_tensor_or_indexed_slices": (
            "tensorflow.python.framework.indexed_slices.convert_to_tensor_or_indexed_slices"
        ),
        "convert_n_to_tensor_or_indexed_slices": (
            "tensorflow.python.framework.indexed_slices.convert_n_to_tensor_or_indexed_slices"
        ),
        "convert_to_tensor": "v1.convert_to_tensor",
        "disable_tensor_equality": "v1.disable_tensor_equality",
        "enable_tensor_equality": "v1.enable_tensor_equality",
        "register_tensor_conversion_function": "v1.register_tensor_conversion_function",
        "register_dense_tensor_like_type": f"{__name__}.register_dense_tensor_like_type",
    },
    "tensorflow.python.distribute.distribute_lib": {
        # Until 1.11, replicas were called towers.
        "TowerContext": "tensorflow.python.distribute.distribute_lib.ReplicaContext",
        "get_cross_tower_context": (
            "tensorflow.python.distribute.distribute_lib.get_cross_replica_context"
        ),
        "get_distribution_strategy": "v1.distribute.get_strategy",
        "get_tower_context": "v1.distribute.get_replica_context",
        "has_distribution_strategy": "v1.distribute.has_strategy",
    },
    "tensorflow.python.debug.lib.debug_utils": {
        "watch_graph_with_blacklists": (
            "tensorflow.python.debug.lib.debug_utils.watch_graph_with_denylists"
        ),
    },
    "tensorflow.python.eager.function": {
        "defun": "estimator_bridge.tf1.contrib.eager.defun",
    },
    "tensorflow.python.framework.common_shapes": {
        **{
            name: f"{_SHAPES}.{name}"
            for name in (
                "get2d_conv_output_size",
                "get_conv_output_size",
                "has_fully_defined_shape",
                "no_outputs",
                "rank",
                "scalar_shape",
                "unchanged_shape",
                "unchanged_shape_with_rank",
                "unchanged_shape_with_rank_at_least",
                "unchanged_shape_with_rank_at_most",
                "unknown_shape",
            )
        },
        **dict.fromkeys(
            (
                "avg_pool_shape",
                "conv2d_shape",
                "depthwise_conv2d_native_shape",
                "matmul_shape",
                "max_pool_shape",
                "separable_conv2d_shape",
            ),
            f"{_SHAPES}.output_shapes",
        ),
    },
    "tensorflow.python.framework.graph_util": {
        "convert_variables_to_constants": "v1.graph_util.convert_variables_to_constants",
    },
    "tensorflow.python.framework.op_def_registry": {
        "get_registered_ops": f"{__name__}.get_registered_ops",
    },
    "tensorflow.python.framework.tensor_shape": {
        name: f"{__name__}.{name}" for name in ("matrix", "scalar", "vector")
    },
    "tensorflow.python.framework.tensor_util": {
        "make_ndarray": "tensorflow.python.framework.tensor_util.MakeNdarray",
    },
    "tensorflow.python.ops.array_ops": {
        "parallel_stack": "v1.parallel_stack",
        "stack": "v1.stack",
        "unstack": "v1.unstack",
    },
    "tensorflow.python.ops.gen_math_ops": {
        "bessel_i0e": "v1.math.bessel_i0e",
        "bessel_i1e": "v1.math.bessel_i1e",
    },
    "tensorflow.python.ops.math_ops": {
        "bincount_v1": "v1.math.bincount",
    },
    "tensorflow.python.ops.metrics_impl": {
        "_aggregate_across_towers": (
            "tensorflow.python.ops.metrics_impl._aggregate_across_replicas"
        ),
        "_safe_div": "v1.div_no_nan",
    },
    "tensorflow.python.ops.nn_impl": {
        "compute_average_loss": "v1.nn.compute_average_loss",
        "scale_regularization_loss": "v1.nn.scale_regularization_loss",
    },
    "tensorflow.python.ops.random_ops": {
        "random_crop": "v1.random_crop",
    },
    "tensorflow.python.ops.resource_variable_ops": {
        "_from_proto_fn": "tensorflow.python.ops.ref_variable._from_proto_fn",
        "_to_proto_fn": "tensorflow.python.ops.ref_variable._to_proto_fn",
    },
    "tensorflow.python.ops.rnn_cell_impl": {
        "_Linear": "estimator_bridge.tf1.contrib.rnn.linear.Linear",
        "_RNNCell": "v1.nn.rnn_cell.RNNCell",
        "_linear": "estimator_bridge.tf1.contrib.rnn.linear.linear",
    },
    "tensorflow.python.ops.variable_scope": {
        "disable_resource_variables": "v1.disable_resource_variables",
        "enable_resource_variables": "v1.enable_resource_variables",
        "resource_variables_enabled": "v1.resource_variables_enabled",
        "variable": "v1.Variable",
    },
    "tensorflow.python.util.tf_export": {
        "estimator_export": (
            "tensorflow_estimator.python.estimator.estimator_export.estimator_export"
        ),
    },
    "tensorflow.python.ops.variables": {
        "RefVariable": "tensorflow.python.ops.ref_variable.RefVariable",
        "VariableV1": "v1.Variable",
        "is_variable_initialized": "v1.is_variable_initialized",
    },
    "tensorflow.python.ops.control_flow_ops": {
        "Assert": "v1.Assert",
        "case": "v1.case",
        "cond": "v1.cond",
        "switch_case": "v1.switch_case",
        "while_loop": "v1.while_loop",
    },
    "tensorflow.python.data.ops.dataset_ops": {
        "Options": "v1.data.Options",
    },
    "tensorflow.python.pywrap_tensorflow": _PYWRAP,
    "tensorflow.python.pywrap_tensorflow_internal": _PYWRAP,
    "tensorflow.python.util.nest": {
        "is_sequence": "tensorflow.python.util.nest.is_nested",
    },
    "tensorflow_estimator.python.estimator.canned.dnn": {
        "_dnn_logit_fn_builder": (
            "tensorflow_estimator.python.estimator.canned.dnn.dnn_logit_fn_builder"
        ),
    },
    "tensorflow_estimator.python.estimator.canned.head": {
        "_regression_head_with_mean_squared_error_loss": (
            "tensorflow_estimator.python.estimator.canned.head._regression_head"
        ),
    },
    "tensorflow_estimator.python.estimator.canned.linear": {
        "_linear_logit_fn_builder": (
            "tensorflow_estimator.python.estimator.canned.linear.linear_logit_fn_builder"
        ),
    },
}


# Modules of the cells. Their classes are those of a remainder of Keras in TensorFlow; in 1.x they
# were those of tf.nn.rnn_cell.
_CELLS = ("tensorflow.python.ops.rnn_cell_impl", "tensorflow.python.ops.rnn_cell")
_CELLS_REMAINDER = "tensorflow.python.keras.layers.legacy_rnn.rnn_cell_impl"

# Modules that the one of the cells imported in 1.x. Programs get them by `import *`.
_CELLS_IMPORTED = {
    "activations": "tensorflow.python.keras.activations",
    "base_layer": "tensorflow.python.layers.base",
    "clip_ops": "tensorflow.python.ops.clip_ops",
    "init_ops": "tensorflow.python.ops.init_ops",
    "initializers": "tensorflow.python.keras.initializers",
    "input_spec": "tensorflow.python.keras.engine.input_spec",
    "logging": "tensorflow.python.platform.tf_logging",
    "math_ops": "tensorflow.python.ops.math_ops",
    "nn_ops": "tensorflow.python.ops.nn_ops",
    "ops": "tensorflow.python.framework.ops",
    "partitioned_variables": "tensorflow.python.ops.partitioned_variables",
    "tf_utils": "tensorflow.python.keras.utils.tf_utils",
    "tf_variables": "tensorflow.python.ops.variables",
    "trackable": "tensorflow.python.trackable.base",
    "vs": "tensorflow.python.ops.variable_scope",
}


def _exists(fullname: str) -> bool:
    try:
        return importlib.util.find_spec(fullname) is not None
    except ModuleNotFoundError:
        return False


def install() -> None:
    """Supplies the old names that this TensorFlow lacks."""
    supplier = ModuleSupplier()
    for old, new in MODULES.items():
        if not _exists(old):
            supplier.supply(old, new)
    for old, new in TREES.items():
        if not _exists(old):
            supplier.supply_tree(old, new)
    sys.meta_path.insert(0, supplier)
    for module_name, names in NAMES.items():
        call_when_imported(module_name, functools.partial(_set_missing, module_name, names))
    for module_name in _CELLS:
        call_when_imported(module_name, functools.partial(_set_cells, module_name))


def _set_missing(module_name: str, names: Mapping[str, str]) -> None:
    module = sys.modules[module_name]
    for name, home in names.items():
        if not hasattr(module, name):
            setattr(module, name, _find(home))


def _set_cells(module_name: str) -> None:
    module = sys.modules[module_name]
    cells = importlib.import_module("tensorflow").compat.v1.nn.rnn_cell
    for name in dir(cells):
        if not name.startswith("_"):
            setattr(module, name, getattr(cells, name))
    # The base class of the cells, which has no public name.
    setattr(module, "LayerRNNCell", cells.BasicLSTMCell.__bases__[0])  # noqa: B010
    for name, home in _CELLS_IMPORTED.items():
        setattr(module, name, private_keras.find(home) or importlib.import_module(home))
    remainder = vars(importlib.import_module(_CELLS_REMAINDER))
    for name, value in remainder.items():
        if isinstance(value, types.FunctionType) and not hasattr(module, name):
            setattr(module, name, value)


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Does nothing: TensorFlow 2 accepts every object that converts to a tensor.

    Args:
      tensor_type: not used.
    """


@functools.cache
def get_registered_ops() -> dict[str, Any]:
    """Returns {type: OpDef} of the operations that are registered at the first call."""
    from estimator_bridge.private_tf import op_def_pb2, pywrap_tf_session

    buffer = pywrap_tf_session.TF_GetAllOpList()
    try:
        known = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(buffer))
    finally:
        pywrap_tf_session.TF_DeleteBuffer(buffer)
    return {one.name: one for one in known.op}


def scalar() -> Any:
    """Returns the TensorShape of a scalar."""
    return _shape()


def vector(length: Optional[int]) -> Any:
    """Returns the TensorShape of a vector.

    Args:
      length: int, or None for an unknown one.
    """
    return _shape(length)


def matrix(rows: Optional[int], cols: Optional[int]) -> Any:
    """Returns the TensorShape of a matrix.

    Args:
      rows: int, or None for an unknown one.
      cols: the same for its columns.
    """
    return _shape(rows, cols)


def _shape(*sizes: Optional[int]) -> Any:
    return importlib.import_module("tensorflow").TensorShape(sizes)


def _find(home: str):
    parent, _, name = home.rpartition(".")
    if parent == "v1" or parent.startswith("v1."):
        parent = parent.replace("v1", "tensorflow.compat.v1", 1)
    head, *attributes = parent.split(".")
    module = importlib.import_module(head)
    if not parent.startswith("tensorflow.compat"):
        return getattr(importlib.import_module(parent), name)
    for attribute in [*attributes, name]:
        module = getattr(module, attribute)
    return module
