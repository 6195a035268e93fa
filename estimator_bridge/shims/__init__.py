"""Lists all shims: each supplies something that Estimators need and a TensorFlow lacks.

Each shim is in a separate module. TensorFlow is not imported before a shim is applied.
"""

import importlib
from typing import NamedTuple

__all__ = ["ALL", "Shim", "needed_by"]


class Shim(NamedTuple):
    """Something that some TensorFlow versions lack.

    Attributes:
      name: its name in the doctor's report.
      since: the first TensorFlow (major, minor) that lacks it; all later ones do too.
      why: the purpose for which Estimators need it, in one line.
      module: the module of the bridge with `apply()`, which is called once after TensorFlow's
        import; empty if there is none.
      modules: missing module -> the module that replaces it.
      trees: missing package -> the package whose modules replace its modules.
    """

    name: str
    since: tuple[int, int]
    why: str
    module: str = ""
    modules: dict[str, str] = {}
    trees: dict[str, str] = {}

    def apply(self) -> None:
        """Applies this shim to the imported TensorFlow."""
        if self.module:
            importlib.import_module(self.module).apply()


_ESTIMATOR = "tensorflow_estimator.python.estimator"

ALL = (
    Shim(
        name="export names",
        since=(2, 16),
        why="the decorator that publishes Estimator's names",
        module=f"{__name__}.export_names",
    ),
    Shim(
        name="Keras 2",
        since=(2, 16),
        why="canned Estimators are built of Keras 2 models",
        module=f"{__name__}.keras2",
    ),
    Shim(
        name="estimator_training",
        since=(2, 16),
        why="RunConfig under a distribution strategy",
        modules={
            "tensorflow.python.distribute.estimator_training": f"{__name__}.estimator_training"
        },
    ),
    Shim(
        name="evaluator strategy",
        since=(2, 16),
        why="an evaluator beside MultiWorkerMirroredStrategy",
        module=f"{__name__}.evaluator_strategy",
    ),
    Shim(
        name="sparse gradients",
        since=(2, 15),
        why="embeddings under MultiWorkerMirroredStrategy",
        module=f"{__name__}.gathered_slices",
    ),
    Shim(
        name="TPU modules",
        since=(2, 16),
        why="imported by TPUEstimator, also without a TPU",
        module=f"{__name__}.tpu_modules",
        modules={
            "tensorflow.python.tpu.session_support": f"{__name__}.tpu_modules",
            "tensorflow.python.tpu.tpu_embedding": f"{__name__}.tpu_modules",
            "tensorflow.python.tpu.tpu_embedding_gradient": f"{__name__}.tpu_modules",
            "tensorflow.python.tpu.tpu_estimator": f"{_ESTIMATOR}.tpu.tpu_estimator",
            "tensorflow.python.tpu.tpu_config": f"{_ESTIMATOR}.tpu.tpu_config",
            "tensorflow.python.tpu.tpu_context": f"{_ESTIMATOR}.tpu.tpu_context",
            "tensorflow.python.tpu.error_handling": f"{_ESTIMATOR}.tpu.error_handling",
            "tensorflow.python.tpu.util": f"{_ESTIMATOR}.tpu.util",
        },
    ),
    Shim(
        name="pandas strings",
        since=(2, 16),
        why="pandas_input_fn with text columns of pandas 3",
        module=f"{__name__}.pandas_strings",
    ),
    Shim(
        name="test case",
        since=(2, 16),
        why="assertions dropped from unittest by 3.12",
        module=f"{__name__}.test_case",
    ),
    Shim(
        name="pipeline hook",
        since=(2, 16),
        why="CheckpointInputPipelineHook of tf.data",
        module=f"{__name__}.pipeline_hook",
    ),
    Shim(
        name="tf.estimator",
        since=(2, 16),
        why="the name itself, and private paths of old code",
        module=f"{__name__}.namespaces",
        modules={
            "tensorflow.python.estimator.keras": f"{_ESTIMATOR}.keras_lib",
            # `from tensorflow.python.estimator import keras` imports this name.
            f"{_ESTIMATOR}.keras": f"{_ESTIMATOR}.keras_lib",
        },
        trees={"tensorflow.python.estimator": _ESTIMATOR},
    ),
    Shim(
        name="boosted trees",
        since=(2, 9),
        why="the three Estimators of boosted trees",
        module=f"{__name__}.boosted_trees",
    ),
)


def needed_by(version: tuple[int, ...]) -> tuple[Shim, ...]:
    """Returns the shims that a TensorFlow version needs, in the order in which they are applied.

    Args:
      version: the TensorFlow version, at least (major, minor).
    """
    return tuple(shim for shim in ALL if version[:2] >= shim.since)
