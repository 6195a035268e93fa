"""Filters and predicts with an exported time series model: `saved_model_utils`."""

import numpy as np

from estimator_bridge.private_tf import timeseries_saved_model_utils as _saved_model_utils

__all__ = ["cold_start_filter", "filter_continuation", "predict_continuation"]

# The module removes the names that its docstring does not list, this one too, and needs it.
_saved_model_utils.numpy = np

canonicalize_numpy_data = _saved_model_utils._canonicalize_numpy_data
cold_start_filter = _saved_model_utils.cold_start_filter
filter_continuation = _saved_model_utils.filter_continuation
predict_continuation = _saved_model_utils.predict_continuation
