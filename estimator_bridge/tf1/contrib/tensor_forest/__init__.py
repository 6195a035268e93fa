"""`tf.contrib.tensor_forest`: random forests that grow from batches."""

import sys as _sys

from estimator_bridge.tf1.contrib.package import PrivatePath as _PrivatePath
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names
from estimator_bridge.tf1.contrib.tensor_forest import (
    data_ops,
    eval_metrics,
    random_forest,
    tensor_forest,
)

__all__ = ["data_ops", "eval_metrics", "random_forest", "tensor_forest"]

__getattr__, _advice_for = _unsupported_names(
    globals(),
    dict.fromkeys(
        ("model_ops", "stats_ops", "tensor_forest_ops"),
        "use tensor_forest.RandomForestGraphs, which has no operations of its own",
    ),
)

client = _PrivatePath("tf.contrib.tensor_forest.client", _sys.modules[__name__])
CoreTensorForestEstimator = random_forest.CoreTensorForestEstimator
MultiForestMultiHeadEstimator = random_forest.MultiForestMultiHeadEstimator
TensorForestEstimator = random_forest.TensorForestEstimator
