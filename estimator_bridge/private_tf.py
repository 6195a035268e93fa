"""Loads TensorFlow's private modules, each on first use. No other module imports them.

    from estimator_bridge.private_tf import basic_session_run_hooks

Importing this module does not import TensorFlow. A name is loaded when it is first imported from
here or read as an attribute, because some names exist only in some versions, or only with the shims
installed. A module that is imported while the shims are applied must use only names that exist
without the shims.
"""

import importlib
from typing import Any, NamedTuple, Optional

__all__ = ["NAMES", "Private", "load"]

# The first TensorFlow (major, minor) that the bridge supports, and the next one.
_FIRST, _LAST = (2, 15), (2, 22)


class Private(NamedTuple):
    """Where a private name is, and on which TensorFlow versions.

    Attributes:
      path: the full name of the module.
      native: the first and the last TensorFlow (major, minor) that provides it without the shims;
        None means that every supported version does.
      shims: names of the shims (`shims.ALL`) that provide it on later versions.
    """

    path: str
    native: Optional[tuple[tuple[int, int], tuple[int, int]]] = None
    shims: tuple[str, ...] = ()

    def is_native(self, version: tuple[int, ...]) -> bool:
        """Returns whether a TensorFlow version provides the name without the shims.

        Args:
          version: the TensorFlow version, at least (major, minor).
        """
        first, last = self.native or (_FIRST, _LAST)
        return first <= version[:2] <= last

    def is_provided(self, version: tuple[int, ...]) -> bool:
        """Returns whether a TensorFlow version has the name once the bridge is installed.

        Args:
          version: the TensorFlow version, at least (major, minor).
        """
        first, _ = self.native or (_FIRST, _LAST)
        return self.is_native(version) or (bool(self.shims) and version[:2] > first)


def _tensorflow(module: str) -> Private:
    return Private(f"tensorflow.python.{module}")


def _estimator(module: str) -> Private:
    """Returns the place of a module of tensorflow_estimator, which needs shims from 2.16 on."""
    return Private(
        f"tensorflow_estimator.python.estimator.{module}",
        native=(_FIRST, (2, 15)),
        shims=("export names", "estimator_training", "TPU modules"),
    )


# The name here → the private module.
NAMES: dict[str, Private] = {
    "autograph_api": _tensorflow("autograph.impl.api"),
    "autograph_converter": _tensorflow("autograph.core.converter"),
    "autograph_directives": _tensorflow("autograph.lang.directives"),
    "autograph_loader": _tensorflow("autograph.pyct.loader"),
    "autograph_operators": _tensorflow("autograph.operators"),
    "autograph_special_functions": _tensorflow("autograph.lang.special_functions"),
    "autograph_utils": _tensorflow("autograph.utils"),
    # Sessions and their hooks.
    "basic_session_run_hooks": _tensorflow("training.basic_session_run_hooks"),
    "checkpoint_management": _tensorflow("checkpoint.checkpoint_management"),
    "checkpoint_ops": _tensorflow("training.checkpoint_ops"),
    "checkpoint_utils": _tensorflow("training.checkpoint_utils"),
    "evaluation": _tensorflow("training.evaluation"),
    "errors_impl": _tensorflow("framework.errors_impl"),
    "monitored_session": _tensorflow("training.monitored_session"),
    "saved_model_builder": _tensorflow("saved_model.builder_impl"),
    "saved_model_export_utils": _tensorflow("saved_model.model_utils.export_utils"),
    "saved_model_save": _tensorflow("saved_model.save"),
    "saver": _tensorflow("training.saver"),
    "variables": _tensorflow("ops.variables"),
    "writer_cache": _tensorflow("summary.writer.writer_cache"),
    "config_pb2": Private("tensorflow.core.protobuf.config_pb2"),
    "rewriter_config": Private("tensorflow.core.protobuf.rewriter_config_pb2"),
    "session": _tensorflow("client.session"),
    "session_manager": _tensorflow("training.session_manager"),
    "session_run_hook": _tensorflow("training.session_run_hook"),
    "training_util": _tensorflow("training.training_util"),
    # Graphs and their operations.
    "backprop": _tensorflow("eager.backprop"),
    "eager_context": _tensorflow("eager.context"),
    "clustering_ops": _tensorflow("ops.clustering_ops"),
    "confusion_matrix": _tensorflow("ops.confusion_matrix"),
    "custom_gradient": _tensorflow("ops.custom_gradient"),
    "data_flow_ops": _tensorflow("ops.data_flow_ops"),
    "distributions_bijector": _tensorflow("ops.distributions.bijector_impl"),
    "distributions_identity": _tensorflow("ops.distributions.identity_bijector"),
    "distributions_util": _tensorflow("ops.distributions.util"),
    "embedding_ops": _tensorflow("ops.embedding_ops"),
    "error_interpolation": _tensorflow("framework.error_interpolation"),
    "feature_column": _tensorflow("feature_column.feature_column"),
    "feature_column_v2": _tensorflow("feature_column.feature_column_v2"),
    "feature_column_v2_types": _tensorflow("feature_column.feature_column_v2_types"),
    "gen_training_ops": _tensorflow("ops.gen_training_ops"),
    "gen_nccl_ops": _tensorflow("ops.gen_nccl_ops"),
    "gen_nn_ops": _tensorflow("ops.gen_nn_ops"),
    "graph_io": _tensorflow("framework.graph_io"),
    "init_ops": _tensorflow("ops.init_ops"),
    "lookup_ops": _tensorflow("ops.lookup_ops"),
    "meta_graph": _tensorflow("framework.meta_graph"),
    "metrics_impl": _tensorflow("ops.metrics_impl"),
    "moving_averages": _tensorflow("training.moving_averages"),
    "nccl_ops": _tensorflow("ops.nccl_ops"),
    "attr_value_pb2": Private("tensorflow.core.framework.attr_value_pb2"),
    "op_callbacks": _tensorflow("framework.op_callbacks"),
    "op_def_library": _tensorflow("framework.op_def_library"),
    "op_def_pb2": Private("tensorflow.core.framework.op_def_pb2"),
    "op_def_registry": _tensorflow("framework.op_def_registry"),
    "pywrap_tf_session": _tensorflow("client.pywrap_tf_session"),
    "tf_stack": _tensorflow("util.tf_stack"),
    "traceback_utils": _tensorflow("util.traceback_utils"),
    "ops": _tensorflow("framework.ops"),
    "ref_variable": _tensorflow("ops.ref_variable"),
    "resources": _tensorflow("ops.resources"),
    "resource_variable_ops": _tensorflow("ops.resource_variable_ops"),
    "rnn": _tensorflow("ops.rnn"),
    "rnn_grad": _tensorflow("ops.rnn_grad"),
    "smart_cond": _tensorflow("framework.smart_cond"),
    "sparse_tensor": _tensorflow("framework.sparse_tensor"),
    "sparse_ops": _tensorflow("ops.sparse_ops"),
    "summary_ops_v2": _tensorflow("ops.summary_ops_v2"),
    "tensor_bundle_pb2": Private("tensorflow.core.protobuf.tensor_bundle_pb2"),
    "tensor_spec": _tensorflow("framework.tensor_spec"),
    "tensor_shape": _tensorflow("framework.tensor_shape"),
    "tensor_util": _tensorflow("framework.tensor_util"),
    "variable_scope": _tensorflow("ops.variable_scope"),
    "tpu_training_loop": _tensorflow("tpu.training_loop"),
    "weights_broadcast_ops": _tensorflow("ops.weights_broadcast_ops"),
    # Objects in checkpoints.
    "autotrackable": _tensorflow("trackable.autotrackable"),
    "checkpoint": _tensorflow("checkpoint.checkpoint"),
    "checkpoint_util": _tensorflow("checkpoint.util"),
    "data_structures": _tensorflow("trackable.data_structures"),
    "graph_view": _tensorflow("checkpoint.graph_view"),
    "python_state": _tensorflow("trackable.python_state"),
    "trackable_base": _tensorflow("trackable.base"),
    "trackable_object_graph_pb2": Private("tensorflow.core.protobuf.trackable_object_graph_pb2"),
    # Input pipelines.
    "batch_op": _tensorflow("data.ops.batch_op"),
    "data_experimental": _tensorflow("data.experimental"),
    "data_nest": _tensorflow("data.util.nest"),
    "from_generator_op": _tensorflow("data.ops.from_generator_op"),
    "from_tensor_slices_op": _tensorflow("data.ops.from_tensor_slices_op"),
    "from_tensors_op": _tensorflow("data.ops.from_tensors_op"),
    "script_ops": _tensorflow("ops.script_ops"),
    "data_options": _tensorflow("data.ops.options"),
    "dataset_ops": _tensorflow("data.ops.dataset_ops"),
    "experimental_iterator_ops": _tensorflow("data.experimental.ops.iterator_ops"),
    "iterator_ops": _tensorflow("data.ops.iterator_ops"),
    "map_op": _tensorflow("data.ops.map_op"),
    # Clusters and devices.
    "collective_all_reduce_strategy": _tensorflow("distribute.collective_all_reduce_strategy"),
    "collective_ops": _tensorflow("ops.collective_ops"),
    "cross_device_utils": _tensorflow("distribute.cross_device_utils"),
    "device_lib": _tensorflow("client.device_lib"),
    "model_analyzer": _tensorflow("profiler.model_analyzer"),
    "tfprof_logger": _tensorflow("profiler.tfprof_logger"),
    "timeline": _tensorflow("client.timeline"),
    "distribute_config": _tensorflow("distribute.distribute_config"),
    "distribute_coordinator": _tensorflow("distribute.distribute_coordinator"),
    "distribute_coordinator_context": _tensorflow("distribute.distribute_coordinator_context"),
    "distribute_lib": _tensorflow("distribute.distribute_lib"),
    "server_lib": _tensorflow("training.server_lib"),
    # Utilities.
    "deprecation": _tensorflow("util.deprecation"),
    "lazy_loader": _tensorflow("util.lazy_loader"),
    "nest": _tensorflow("util.nest"),
    "test_util": _tensorflow("framework.test_util"),
    "tf_decorator": _tensorflow("util.tf_decorator"),
    "tf_export": _tensorflow("util.tf_export"),
    "tf_logging": _tensorflow("platform.tf_logging"),
    # The modules behind tf.data.experimental and tf.compat.v1.tpu.experimental.
    "api_data_experimental": Private("tensorflow._api.v2.data.experimental"),
    "api_v1_data_experimental": Private("tensorflow._api.v2.compat.v1.data.experimental"),
    "api_v1_tpu_experimental": Private("tensorflow._api.v2.compat.v1.tpu.experimental"),
    "api_v2_data_experimental": Private("tensorflow._api.v2.compat.v2.data.experimental"),
    # Estimators.
    "estimator_api": _estimator("api._v2.estimator"),
    "estimator_early_stopping": _estimator("early_stopping"),
    "estimator_estimator": _estimator("estimator"),
    "estimator_export": _estimator("export.export"),
    "estimator_feeding": _estimator("inputs.queues.feeding_functions"),
    "estimator_feeding_queue_runner": _estimator("inputs.queues.feeding_queue_runner"),
    "estimator_head": _estimator("canned.head"),
    "estimator_optimizers": _estimator("canned.optimizers"),
    "estimator_rnn": _estimator("canned.rnn"),
    "estimator_run_config": _estimator("run_config"),
    "estimator_saved_model": _estimator("canned.saved_model_estimator"),
    "estimator_util": _estimator("util"),
    "estimator_sdca": _estimator("canned.linear_optimizer.python.utils.sdca_ops"),
    **{
        f"timeseries_{name}": _estimator(f"canned.timeseries.{name}")
        for name in (
            *("ar_model", "estimators", "feature_keys", "head", "math_utils", "model"),
            *("model_utils", "saved_model_utils", "state_management"),
        )
    },
    # Keras 2, in a separate package.
    "keras2_optimizers": Private("tf_keras.src.optimizers"),
}


def load(name: str) -> Any:
    """Returns a private module, imported now if it has not been.

    `from estimator_bridge.private_tf import NAME` does the same. Use this function for a module
    that is imported only for its side effects.

    Args:
      name: a key of `NAMES`.
    """
    module = importlib.import_module(NAMES[name].path)
    globals()[name] = module
    return module


def __getattr__(name: str) -> Any:
    if name not in NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
