"""`tf.contrib` of TensorFlow 1.x: the parts that Estimator trainers used.

A package is imported on first use. The code follows the documented behaviour of TensorFlow 1.15.
Variable and scope names match 1.x, so that old checkpoints load.
"""

import functools
import importlib

from estimator_bridge.tf1.unsupported import StandIn

_SUPPORTED = frozenset(
    [
        "autograph",
        "batching",
        "bayesflow",
        "boosted_trees",
        "checkpoint",
        "cloud",
        "cluster_resolver",
        "compiler",
        "constrained_optimization",
        "crf",
        "cudnn_rnn",
        "data",
        "deprecated",
        "distribute",
        "distributions",
        "eager",
        "estimator",
        "factorization",
        "feature_column",
        "framework",
        "gan",
        "graph_editor",
        "grid_rnn",
        "hooks",
        "image",
        "input_pipeline",
        "integrate",
        "kernel_methods",
        "layers",
        "learn",
        "legacy_seq2seq",
        "linear_optimizer",
        "lookup",
        "losses",
        "memory_stats",
        "metrics",
        "mixed_precision",
        "model_pruning",
        "nccl",
        "nn",
        "opt",
        "optimizer_v2",
        "periodic_resample",
        "predictor",
        "proto",
        "quantize",
        "recurrent",
        "resampler",
        "rnn",
        "saved_model",
        "seq2seq",
        "slim",
        "solvers",
        "sparsemax",
        "staging",
        "stateless",
        "summary",
        "tensor_forest",
        "tensorboard",
        "text",
        "tfprof",
        "timeseries",
        "tpu",
        "training",
        "util",
    ]
)

# Packages that tf.compat.v1 still has, and the remedy for names that only tf.contrib had.
_ALIASES = {
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
    "receptive_field": "it became the package receptivefield; training does not need it",
    "copy_graph": "use tf.import_graph_def",
    "all_reduce": (
        "distribution strategies choose the all-reduce now: "
        "tf.distribute.MirroredStrategy(cross_device_ops=...)"
    ),
    "coder": "it became the package tensorflow-compression",
    "ffmpeg": "use the package tensorflow-io",
    "kafka": "use the package tensorflow-io",
    "meta_graph_transform": "use tf.import_graph_def, and tf.graph_util.extract_sub_graph",
    "tensorrt": "use tf.experimental.tensorrt of a TensorFlow built with TensorRT",
    "bigtable": "use the packages google-cloud-bigtable or tensorflow-io",
    "decision_trees": "use the package ydf",
    "fused_conv": "use tf.nn.conv2d, tf.nn.bias_add and the activation; XLA fuses them",
    "hadoop": "use the package tensorflow-io, or write the sequence files as TFRecord files",
    "ignite": "use the package tensorflow-io",
    "kinesis": "use the package tensorflow-io",
    "labeled_tensor": "use plain tensors, and keep the names of their axes in the program",
    "libsvm": "parse the lines with tf.strings.split, or use the package tensorflow-io",
    "mpi": "use tf.distribute, or the package horovod",
    "mpi_collectives": "use tf.distribute, or the package horovod",
    "nearest_neighbor": "use a library of nearest neighbours, such as scann or faiss",
    "quantization": "use tf.quantization",
    "reduce_slice_ops": "use tf.math.segment_sum and its relatives",
    "remote_fused_graph": "use the delegates of tf.lite",
    "rpc": "call the service in tf.py_function, or before training",
    "session_bundle": "use tf.saved_model; session bundles were its format before 1.0",
    "specs": "write the layers with tf.layers",
    "stat_summarizer": "use tf.profiler",
    "testing": "read event files with tf.train.summary_iterator",
    "verbs": "use tf.distribute; gRPC replaced the transport",
}


@functools.cache
def _alias(name):
    from estimator_bridge.tf1.contrib.package import PackageAlias

    alias = PackageAlias(name, _ALIASES[name])
    if name == "keras":
        from estimator_bridge.tf1.private_keras import KerasParent

        # Programs of 1.0 to 1.3 import tensorflow.contrib.keras.python.keras.
        for private in ("api", "python"):
            setattr(alias, private, KerasParent(f"{alias.__name__}.{private}"))
    return alias


def __getattr__(name):
    if name in _SUPPORTED:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _ALIASES:
        return _alias(name)
    if name in _UNSUPPORTED:
        return StandIn(f"tf.contrib.{name}", _UNSUPPORTED[name])
    raise AttributeError(f"module 'tensorflow.contrib' has no attribute {name!r}")


def __dir__():
    return sorted(_SUPPORTED | set(_ALIASES))
