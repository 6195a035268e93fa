"""`tf.contrib.staging`."""

from estimator_bridge.private_tf import data_flow_ops as _data_flow
from estimator_bridge.tf1.contrib.package import unsupported_names as _unsupported_names

__getattr__, _advice_for = _unsupported_names(globals())

StagingArea = _data_flow.StagingArea
