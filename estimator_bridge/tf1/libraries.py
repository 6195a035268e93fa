"""The packages whose modules get TensorFlow 2 while a program of TensorFlow 1.x runs."""

import os
from collections.abc import Iterable

__all__ = ["TF2_PACKAGES", "TF2_PACKAGES_VARIABLE", "add", "has"]

# An environment variable with further packages of TF2_PACKAGES, comma-separated.
TF2_PACKAGES_VARIABLE = "ESTIMATOR_BRIDGE_TF2_PACKAGES"

TF2_PACKAGES = frozenset(
    [
        "absl",
        "astunparse",
        "apache_beam",
        "array_record",
        "bigdl",
        "datasets",
        "estimator_bridge",
        "etils",
        "flatbuffers",
        "flax",
        "gast",
        "google",
        "grpc",
        "h5py",
        "horovod",
        "importlib",
        "jax",
        "jaxlib",
        "joblib",
        "keras",
        "keras_core",
        "keras_cv",
        "keras_hub",
        "keras_nlp",
        "keras_tuner",
        "ml_dtypes",
        "mlflow",
        "numpy",
        "onnx",
        "opt_einsum",
        "orbax",
        "pandas",
        "pickle",
        "pkg_resources",
        "pyarrow",
        "pytest",
        "_pytest",
        "ray",
        "runpy",
        "scipy",
        "seqio",
        "setuptools",
        "shap",
        "sklearn",
        "tensorboard",
        "tensorboard_plugin_profile",
        "tensorboardX",
        "tensorflow",
        "tensorflow_addons",
        "tensorflow_data_validation",
        "tensorflow_datasets",
        "tensorflow_decision_forests",
        "tensorflow_estimator",
        "tensorflow_federated",
        "tensorflow_graphics",
        "tensorflow_hub",
        "tensorflow_io",
        "tensorflow_io_gcs_filesystem",
        "tensorflow_metadata",
        "tensorflow_model_analysis",
        "tensorflow_model_optimization",
        "tensorflow_probability",
        "tensorflow_recommenders",
        "tensorflow_serving",
        "tensorflow_text",
        "tensorflow_transform",
        "tf_agents",
        "tf_keras",
        "tf_slim",
        "tfx",
        "tfx_bsl",
        "torch",
        "transformers",
        "typeguard",
        "wandb",
        "wrapt",
    ]
)

_packages = set(TF2_PACKAGES)


def add(packages: Iterable[str]) -> None:
    """Adds packages whose modules get TensorFlow 2.

    Args:
      packages: top-level package names.
    """
    _packages.update(packages)
    named = os.environ.get(TF2_PACKAGES_VARIABLE, "")
    _packages.update(name.strip() for name in named.split(",") if name.strip())


def has(module: str) -> bool:
    """Returns whether a module belongs to one of the packages.

    Args:
      module: its full name.
    """
    return module.partition(".")[0] in _packages
