"""`tf.contrib.saved_model`: SavedModels of Keras models."""

from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.keras_exports import export_saved_model as save_keras_model
from estimator_bridge.tf1.keras_exports import load_from_saved_model as load_keras_model

__all__ = ["load_keras_model", "save_keras_model"]

__getattr__, _advice_for = _unsupported_names(globals())
