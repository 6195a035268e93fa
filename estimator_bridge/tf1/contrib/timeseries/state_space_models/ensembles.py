"""Sums and products of state space models of `tf.contrib.timeseries`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.timeseries import math_utils as _math
from estimator_bridge.tf1.contrib.timeseries.state_space_models import base as _model

__all__ = [
    "StateSpaceCorrelatedFeaturesEnsemble",
    "StateSpaceEnsemble",
    "StateSpaceIndependentEnsemble",
]


class StateSpaceEnsemble(_model.StateSpaceModel):
    """A model whose state is that of its members, side by side.

    Args:
      ensemble_members: list of StateSpaceModels.
      configuration: StateSpaceModelConfiguration.
    """

    def __init__(self, ensemble_members, configuration):
        self._ensemble_members = ensemble_members
        super().__init__(configuration=configuration)

    def _set_input_statistics(self, input_statistics=None):
        super()._set_input_statistics(input_statistics)
        for member in self._ensemble_members:
            member._set_input_statistics(input_statistics)

    def _define_parameters(self, observation_transition_tradeoff_log=None):
        with tf.variable_scope(self._variable_scope):
            if observation_transition_tradeoff_log is None:
                observation_transition_tradeoff_log = (
                    self._variable_observation_transition_tradeoff_log()
                )
        for member in self._ensemble_members:
            member._define_parameters(observation_transition_tradeoff_log)
        super()._define_parameters(observation_transition_tradeoff_log)

    def random_model_parameters(self, seed=None):
        """Returns a random value for each parameter of the members and of the ensemble.

        Args:
          seed: int, of NumPy's global random numbers, from which each member has the next one; they
            go on where they are with None or 0.

        Raises:
          NotImplementedError: there are several features.
        """
        found = {}
        for number, member in enumerate(self._ensemble_members):
            found.update(member.random_model_parameters(seed + number if seed else None))
        return {**found, **super().random_model_parameters(seed)}

    def _loss_additions(self, times, values, mode):
        found = super()._loss_additions(times, values, mode)
        members = [one._loss_additions(times, values, mode) for one in self._ensemble_members]
        return found + tf.add_n(members)

    def _blocks(self, function, name):
        """Returns the block diagonal of what a function returns for each member."""
        blocks = [function(member) for member in self._ensemble_members]
        return _math.block_diagonal(blocks, dtype=self.dtype, name=name)

    def get_state_transition(self):
        """Returns how a state moves, [state, state]."""
        return self._blocks(lambda one: one.get_state_transition(), "ensemble_state_transition")

    def get_noise_transform(self):
        """Returns how noise enters the state, [state, noise]."""
        return self._blocks(lambda one: one.get_noise_transform(), "ensemble_noise_transform")

    def get_observation_model(self, times):
        """Returns what is observed, [batch, features, state].

        Args:
          times: integers [batch].
        """
        return self.get_broadcasted_observation_model(times)

    def get_broadcasted_observation_model(self, times):
        """Returns the sum of what members observe, [batch, features, state].

        Args:
          times: integers [batch].
        """
        parts = [one.get_broadcasted_observation_model(times) for one in self._ensemble_members]
        return tf.concat(parts, axis=2)

    def transition_to_powers(self, powers):
        """Returns powers of the transition, [count, state, state].

        Args:
          powers: integers [count].
        """
        return self._blocks(
            lambda one: one.transition_to_powers(powers), "ensemble_transition_to_powers"
        )

    def get_prior_mean(self):
        """Returns the mean of the state before the series, [state]."""
        means = [one.get_prior_mean() for one in self._ensemble_members]
        return tf.concat(means, axis=0, name="ensemble_prior_state_mean")


class StateSpaceIndependentEnsemble(StateSpaceEnsemble):
    """A sum of models whose noises are independent."""

    def transition_power_noise_accumulator(self, num_steps):
        """Returns the noise of so many steps, [count, state, state].

        Args:
          num_steps: integers [count].
        """
        return self._blocks(
            lambda one: one.transition_power_noise_accumulator(num_steps),
            "ensemble_power_noise_accumulator",
        )

    def get_prior_covariance(self):
        """Returns the covariance of the state before the series, [state, state]."""
        return self._blocks(
            lambda one: one.get_prior_covariance(), "ensemble_prior_state_covariance"
        )

    def get_state_transition_noise_covariance(self, minimum_initial_variance=1e-5):
        """Returns the covariance of the members' noise, [noise, noise].

        Args:
          minimum_initial_variance: not used; the members have their own.
        """
        del minimum_initial_variance
        return self._blocks(
            lambda one: one.state_transition_noise_covariance, "ensemble_state_transition_noise"
        )


class StateSpaceCorrelatedFeaturesEnsemble(StateSpaceEnsemble):
    """A model of each feature, with noises that are correlated.

    Args:
      ensemble_members: list of StateSpaceModels of one feature, one for each feature.
      configuration: StateSpaceModelConfiguration.

    Raises:
      ValueError: the number of members is not that of features.
    """

    def __init__(self, ensemble_members, configuration):
        if len(ensemble_members) != configuration.num_features:
            raise ValueError(
                "The number of members in a StateSpaceCorrelatedFeaturesEnsemble must equal the "
                "number of features in the time series."
            )
        super().__init__(ensemble_members, configuration)

    def transition_power_noise_accumulator(self, num_steps):
        """Returns the noise of so many steps, [count, state, state].

        Args:
          num_steps: integers [count].
        """
        if len(self._ensemble_members) == 1:
            # As in 1.15, the noise of a single feature is that of its member.
            return self._ensemble_members[0].transition_power_noise_accumulator(num_steps)
        return super().transition_power_noise_accumulator(num_steps)

    def get_broadcasted_observation_model(self, times):
        """Returns what is observed, a member for each feature, [batch, features, state].

        Args:
          times: integers [batch].
        """
        return self._blocks(
            lambda one: one.get_broadcasted_observation_model(times),
            "feature_ensemble_observation_model",
        )
