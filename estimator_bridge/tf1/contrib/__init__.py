"""`tf.contrib` of TensorFlow 1.x: the parts that Estimator trainers used.

A package is imported on first use. The code follows the documented behaviour of TensorFlow 1.15.
Variable and scope names match 1.x, so that old checkpoints load.
"""

import functools
import importlib

from estimator_bridge.tf1.unsupported import GENERAL_ADVICE, StandIn

_SUPPORTED = frozenset(
    [
        "cluster_resolver",
        "compiler",
        "crf",
        "cudnn_rnn",
        "data",
        "distribute",
        "distributions",
        "eager",
        "estimator",
        "factorization",
        "feature_column",
        "framework",
        "hooks",
        "image",
        "layers",
        "learn",
        "legacy_seq2seq",
        "lookup",
        "losses",
        "metrics",
        "mixed_precision",
        "nn",
        "opt",
        "predictor",
        "rnn",
        "seq2seq",
        "slim",
        "staging",
        "stateless",
        "summary",
        "tensorboard",
        "tpu",
        "training",
        "util",
    ]
)

# Packages that tf.compat.v1 still has, and the remedy for names that only tf.contrib had.
_ALIASES = {
    "autograph": "use tf.autograph",
    "keras": "use tf.keras",
    "lite": "use tf.lite",
    "linalg": "use the classes of tf.linalg, such as tf.linalg.LinearOperatorComposition",
    "signal": "use tf.signal",
}

_ADDONS = (
    "it moved to TensorFlow Addons, which is discontinued; copy the functions you need into your "
    "program"
)
_UNSUPPORTED = {
    "all_reduce": (
        "distribution strategies choose the all-reduce now: "
        "tf.distribute.MirroredStrategy(cross_device_ops=...)"
    ),
    "batching": "use tf.nondifferentiable_batch_function",
    "boosted_trees": "boosted trees left TensorFlow; use the package tensorflow-decision-forests",
    "checkpoint": "use tf.train.Checkpoint",
    "coder": "it became the package tensorflow-compression",
    "ffmpeg": "use the package tensorflow-io",
    "gan": "it became the package tensorflow-gan",
    "graph_editor": (
        "it has no successor; rewrite the GraphDef (tf.import_graph_def with input_map)"
    ),
    "grid_rnn": "it has no successor; write the cell as a tf.nn.rnn_cell.RNNCell",
    "kafka": "use the package tensorflow-io",
    "kernel_methods": (
        "it has no successor; write the random Fourier features with tf.cos and tf.matmul"
    ),
    "linear_optimizer": (
        "use tf.estimator.LinearClassifier with tf.estimator.experimental.LinearSDCA"
    ),
    "meta_graph_transform": "use tf.import_graph_def, and tf.graph_util.extract_sub_graph",
    "model_pruning": "use the package tensorflow-model-optimization",
    "nccl": (
        "distribution strategies choose the all-reduce now: "
        "tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce())"
    ),
    "quantize": "use the package tensorflow-model-optimization",
    "resampler": _ADDONS,
    "saved_model": "use tf.keras.models.save_model and load_model, or tf.saved_model",
    "sparsemax": _ADDONS,
    "tensor_forest": "use the package tensorflow-decision-forests",
    "tensorrt": "use tf.experimental.tensorrt of a TensorFlow built with TensorRT",
    "text": "it became the package tensorflow-text",
    "timeseries": "use a custom model_fn, or the package tensorflow-probability (tfp.sts)",
}

# Packages without a specific remedy.
_UNSUPPORTED_WITHOUT_ADVICE = frozenset(
    [
        "bayesflow",
        "bigtable",
        "cloud",
        "constrained_optimization",
        "copy_graph",
        "decision_trees",
        "deprecated",
        "fused_conv",
        "hadoop",
        "ignite",
        "input_pipeline",
        "integrate",
        "kinesis",
        "labeled_tensor",
        "libsvm",
        "memory_stats",
        "mpi",
        "nearest_neighbor",
        "optimizer_v2",
        "periodic_resample",
        "proto",
        "quantization",
        "receptive_field",
        "recurrent",
        "reduce_slice_ops",
        "remote_fused_graph",
        "rpc",
        "session_bundle",
        "solvers",
        "specs",
        "stat_summarizer",
        "testing",
        "tfprof",
        "verbs",
    ]
)


@functools.cache
def _alias(name):
    from estimator_bridge.tf1.contrib.package import PackageAlias

    return PackageAlias(name, _ALIASES[name])


def __getattr__(name):
    if name in _SUPPORTED:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _ALIASES:
        return _alias(name)
    if name in _UNSUPPORTED:
        return StandIn(f"tf.contrib.{name}", _UNSUPPORTED[name])
    if name in _UNSUPPORTED_WITHOUT_ADVICE:
        return StandIn(f"tf.contrib.{name}", GENERAL_ADVICE)
    raise AttributeError(f"module 'tensorflow.contrib' has no attribute {name!r}")


def __dir__():
    return sorted(_SUPPORTED | set(_ALIASES))
