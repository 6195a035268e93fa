"""State managers of `tf.contrib.timeseries`: where the state before a chunk comes from."""

from estimator_bridge.private_tf import timeseries_state_management as _state_management

__all__ = ["FilteringOnlyStateManager", "PassthroughStateManager"]

FilteringOnlyStateManager = _state_management.FilteringOnlyStateManager
PassthroughStateManager = _state_management.PassthroughStateManager
