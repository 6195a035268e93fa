"""State space models under the name of their module in 1.15."""

from estimator_bridge.tf1.contrib.timeseries.state_space_models.base import StateSpaceModel
from estimator_bridge.tf1.contrib.timeseries.state_space_models.configuration import (
    StateSpaceModelConfiguration,
)
from estimator_bridge.tf1.contrib.timeseries.state_space_models.ensembles import (
    StateSpaceCorrelatedFeaturesEnsemble,
    StateSpaceEnsemble,
    StateSpaceIndependentEnsemble,
)

__all__ = [
    "StateSpaceCorrelatedFeaturesEnsemble",
    "StateSpaceEnsemble",
    "StateSpaceIndependentEnsemble",
    "StateSpaceModel",
    "StateSpaceModelConfiguration",
]
