"""Restores the table of Estimators' public names in `tf_export`, removed by TensorFlow 2.16."""

from estimator_bridge.private_tf import tf_export

__all__ = ["apply"]

_API = "estimator"


def apply() -> None:
    """Adds the attributes in which Estimator symbols keep their public names."""
    if hasattr(tf_export, "ESTIMATOR_API_NAME"):
        return
    attributes = type(tf_export.API_ATTRS[tf_export.TENSORFLOW_API_NAME])
    tf_export.API_ATTRS[_API] = attributes("_estimator_api_names", "_estimator_api_constants")
    tf_export.API_ATTRS_V1[_API] = attributes(
        "_estimator_api_names_v1", "_estimator_api_constants_v1"
    )
    tf_export.ESTIMATOR_API_NAME = _API
