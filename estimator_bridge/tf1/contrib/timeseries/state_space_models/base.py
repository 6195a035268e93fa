"""Linear state space models of `tf.contrib.timeseries`; their sums are in `ensembles`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib import layers as _layers
from estimator_bridge.tf1.contrib.timeseries import math_utils as _math
from estimator_bridge.tf1.contrib.timeseries import model as _model
from estimator_bridge.tf1.contrib.timeseries.state_space_models import generating as _generating
from estimator_bridge.tf1.contrib.timeseries.state_space_models import kalman_filter as _kalman
from estimator_bridge.tf1.contrib.timeseries.state_space_models.configuration import (
    DEFAULT,
)

__all__ = ["DEFAULT", "StateSpaceModel"]


class StateSpaceModel(_model.SequentialTimeSeriesModel):
    """A state that moves linearly, with normal noise, and linear observations of it.

    Its state is a tuple of mean [batch, state], covariance [batch, state, state] and time [batch].

    Args:
      configuration: StateSpaceModelConfiguration.
    """

    def __init__(self, configuration):
        self._configuration = configuration
        outputs = ["mean", "covariance", "log_likelihood"]
        if configuration.filtering_postprocessor is not None:
            outputs += configuration.filtering_postprocessor.output_names
        super().__init__(
            train_output_names=outputs,
            predict_output_names=["mean", "covariance"],
            num_features=configuration.num_features,
            normalize_features=True,
            dtype=configuration.dtype,
            exogenous_feature_columns=configuration.exogenous_feature_columns,
            exogenous_update_condition=configuration.exogenous_update_condition,
            static_unrolling_window_size_threshold=(
                configuration.static_unrolling_window_size_threshold
            ),
        )
        self._kalman_filter = None
        self.prior_state_mean = None
        self.prior_state_var = None
        self.state_transition_noise_covariance = None
        self._observation_noise_covariance = None
        self._observation_transition_tradeoff_log = None
        self._caches = None
        # Members of an ensemble have scopes of their own.
        self._variable_scope = tf.get_variable_scope()

    # What a model is.

    def get_state_transition(self):
        """Returns how a state moves, [state, state]."""
        raise NotImplementedError("A state space model needs get_state_transition.")

    def get_noise_transform(self):
        """Returns how noise enters the state, [state, noise]."""
        raise NotImplementedError("A state space model needs get_noise_transform.")

    def get_observation_model(self, times):
        """Returns what is observed: [state], [features, state] or [batch, features, state].

        Args:
          times: integers [batch].
        """
        raise NotImplementedError("A state space model needs get_observation_model.")

    def get_broadcasted_observation_model(self, times):
        """Returns what is observed, [batch, features, state].

        Args:
          times: integers [batch].
        """
        model = tf.convert_to_tensor(self.get_observation_model(times), dtype=self.dtype)
        count = tf.shape(times)[0]
        if model.shape.ndims == 1:
            return tf.tile(tf.reshape(model, [1, 1, -1]), tf.stack([count, self.num_features, 1]))
        if model.shape.ndims == 2:
            return tf.tile(model[tf.newaxis], tf.stack([count, 1, 1]))
        return model

    def transition_to_powers(self, powers):
        """Returns powers of the transition, [count, state, state].

        Args:
          powers: integers [count].
        """
        return _math.matrix_to_powers(self._transition(), powers)

    def transition_power_noise_accumulator(self, num_steps):
        """Returns the noise of so many steps, [count, state, state].

        Args:
          num_steps: integers [count].
        """
        sums = _math.power_sums_tensor(
            tf.reduce_max(num_steps) + 1, self._transition(), self._transformed_noise()
        )
        return tf.gather(sums, num_steps)

    def _transition(self):
        return tf.convert_to_tensor(self.get_state_transition(), dtype=self.dtype)

    def _transformed_noise(self):
        """Returns the noise of one step of the state, [state, state]."""
        transform = tf.convert_to_tensor(self.get_noise_transform(), dtype=self.dtype)
        noise = tf.matmul(transform, self.state_transition_noise_covariance)
        return tf.matmul(noise, transform, adjoint_b=True)

    # Variables.

    def initialize_graph(self, input_statistics=None):
        """Makes the variables.

        Args:
          input_statistics: InputStatistics, or None.
        """
        self._set_input_statistics(input_statistics)
        self._define_parameters()
        with tf.variable_scope(self._variable_scope):
            self._observation_noise_covariance = self.get_observation_noise_covariance()
        self._kalman_filter = _kalman.KalmanFilter(dtype=self.dtype)
        self.prior_state_mean, self.prior_state_var = self._make_priors()

    def _set_input_statistics(self, input_statistics=None):
        super().initialize_graph(input_statistics=input_statistics)

    def _define_parameters(self, observation_transition_tradeoff_log=None):
        """Makes the variables of the noise of the state.

        Args:
          observation_transition_tradeoff_log: variable of the ensemble, or None to make it.
        """
        with tf.variable_scope(self._variable_scope):
            if observation_transition_tradeoff_log is None:
                observation_transition_tradeoff_log = (
                    self._variable_observation_transition_tradeoff_log()
                )
            self._observation_transition_tradeoff_log = observation_transition_tradeoff_log
            self.state_transition_noise_covariance = self.get_state_transition_noise_covariance()

    def _variable_observation_transition_tradeoff_log(self):
        bias = self._configuration.transition_covariance_initial_log_scale_bias
        return tf.get_variable(
            "observation_transition_tradeoff_log_scale",
            dtype=self.dtype,
            initializer=tf.constant(-bias, dtype=self.dtype),
        )

    def _start_variance(self):
        """Returns the normalised variances at the start of the series, [features]."""
        return self._scale_variance(self._input_statistics.series_start_moments.variance)

    def get_state_transition_noise_covariance(self, minimum_initial_variance=1e-5):
        """Returns the covariance of the state's noise, [noise, noise].

        Args:
          minimum_initial_variance: float, the smallest first variance.
        """
        scale = 0.0
        if self._input_statistics is not None:
            count = tf.cast(self._input_statistics.total_observation_count, self.dtype)
            variance = tf.reduce_mean(self._start_variance(), axis=0) / count
            scale = tf.log(tf.maximum(variance, minimum_initial_variance))
        return self._transition_noise(scale - self._observation_transition_tradeoff_log)

    def _transition_noise(self, scale):
        transform = tf.convert_to_tensor(self.get_noise_transform(), dtype=self.dtype)
        return _math.variable_covariance_matrix(
            transform.shape.as_list()[1],
            "state_transition_noise",
            self.dtype,
            initial_overall_scale_log=scale,
        )

    def get_observation_noise_covariance(self, minimum_initial_variance=1e-5):
        """Returns the covariance of the observations' noise, [features, features].

        Args:
          minimum_initial_variance: float, the smallest first variance.
        """
        if not self._configuration.use_observation_noise:
            return tf.zeros(
                [self.num_features, self.num_features], self.dtype, "observation_noise_covariance"
            )
        first = None
        if self._input_statistics is not None:
            first = tf.maximum(self._start_variance(), minimum_initial_variance)
        return _math.variable_covariance_matrix(
            self.num_features,
            "observation_noise_covariance",
            self.dtype,
            initial_diagonal_values=first,
            initial_overall_scale_log=self._observation_transition_tradeoff_log,
        )

    def _make_priors(self):
        """Returns mean and covariance of the state before the series."""
        with tf.variable_scope(self._variable_scope):
            covariance = self.get_prior_covariance()
            return self.get_prior_mean(), covariance

    def get_prior_mean(self):
        """Returns the mean of the state before the series, [state]."""
        return self._prior_mean_variable()

    def _prior_mean_variable(self, initializer=None):
        with tf.variable_scope(self._variable_scope):
            return tf.get_variable(
                "prior_state_mean",
                [self._transition().shape.as_list()[0]],
                self.dtype,
                initializer=initializer,
                trainable=self._configuration.trainable_start_state,
            )

    def get_prior_covariance(self):
        """Returns the covariance of the state before the series, [state, state]."""
        with tf.variable_scope(self._variable_scope):
            size = self._transition().shape.as_list()[0]
            if not self._configuration.trainable_start_state:
                return _math.identity_matrix(size, self.dtype)
            covariance = _math.variable_covariance_matrix(size, "prior_state_var", self.dtype)
            if self._input_statistics is not None:
                largest = tf.reduce_max(self._start_variance(), axis=0)
                covariance = covariance * tf.maximum(largest, 1.0)
            return covariance

    def get_start_state(self):
        """Returns mean [state], covariance [state, state] and time before the series."""
        start = tf.constant(0, tf.int64)
        if self._input_statistics is not None:
            start = self._input_statistics.start_time
        return self.prior_state_mean, self.prior_state_var, tf.cast(start, tf.int64) - 1

    # Made-up series.

    def random_model_parameters(self, seed=None):
        """Returns a random value for each parameter, by its tensor: a feed_dict for `generate`.

        Args:
          seed: int, of NumPy's global random numbers; they go on where they are with None or 0.

        Raises:
          NotImplementedError: there are several features.
        """
        return _generating.draw_parameters(self, seed)

    def generate(
        self,
        number_of_series,
        series_length,
        model_parameters=None,
        seed=None,
        add_observation_noise=None,
    ):
        """Returns made-up series: `times` [series, length] and `values` [series, length, 1].

        Args:
          number_of_series: int.
          series_length: int.
          model_parameters: tensor -> its value; others have their values in the default session.
          seed: int, of NumPy's global random numbers; they go on where they are with None.
          add_observation_noise: bool; None: whether the model has noise of observations.

        Raises:
          NotImplementedError: there are several features.
          ValueError: there is no default session.
        """
        return _generating.generate(
            self, number_of_series, series_length, model_parameters, seed, add_observation_noise
        )

    # Steps.

    def _loss_additions(self, times, values, mode):
        prior_fn = self._configuration.covariance_prior_fn
        if mode != tf.estimator.ModeKeys.TRAIN or prior_fn is None:
            return tf.zeros([], self.dtype)
        prior = prior_fn(self.state_transition_noise_covariance)
        if self._configuration.use_observation_noise:
            prior = prior + prior_fn(self._observation_noise_covariance)
        count = tf.shape(times)[1]
        if self._input_statistics is not None and self._configuration.bayesian_prior_weighting:
            count = self._input_statistics.total_observation_count
        return -(1.0 / tf.cast(count, self.dtype)) * prior

    def _window_initializer(self, times, state):
        """Computes what each number of steps in a window does to a state, once."""
        within = tf.reshape(times[:, 1:] - times[:, :-1], [-1])
        before = tf.maximum(times[:, 0] - tf.cast(state[2], times.dtype), 0)
        steps, _ = tf.unique(tf.concat([within, before], 0))
        self._caches = (
            steps,
            self.transition_to_powers(steps),
            self.transition_power_noise_accumulator(steps),
        )

    def _imputation_step(self, current_times, state):
        mean, covariance, previous = state
        previous = tf.cast(previous, current_times.dtype)
        steps = tf.maximum(current_times - previous, 0)
        known, powers, sums = self._caches
        _, places = tf.unique(tf.concat([known, steps], 0))
        places = places[-tf.shape(steps)[0] :]
        transitions = tf.gather(powers, places)
        return (
            self._kalman_filter.predict_state_mean(mean, transitions),
            self._kalman_filter.predict_state_var(covariance, transitions, tf.gather(sums, places)),
            previous + steps,
        )

    def _prediction_step(self, current_times, state):
        mean, covariance, previous = state
        reached = tf.reduce_all(current_times <= previous)
        with tf.control_dependencies([tf.Assert(reached, ["a state is before its time"])]):
            model = self.get_broadcasted_observation_model(current_times)
        observed, observed_var = self._kalman_filter.observed_from_state(
            mean, covariance, model, self._observation_noise_covariance
        )
        return (mean, covariance, current_times), {"mean": observed, "covariance": observed_var}

    def _filtering_step(self, current_times, current_values, state, predictions):
        mean, covariance, previous = state
        reached = tf.reduce_all(tf.equal(current_times, previous))
        with tf.control_dependencies([tf.Assert(reached, ["a state is not at its time"])]):
            clipped = _math.clip_covariance(
                covariance,
                self._configuration.filtering_maximum_posterior_variance_ratio,
                self._configuration.filtering_minimum_posterior_variance,
            )
        mean, covariance, likelihood = self._kalman_filter.do_filter(
            estimated_state=mean,
            estimated_state_covariance=clipped,
            predicted_observation=predictions["mean"],
            predicted_observation_covariance=predictions["covariance"],
            observation=current_values,
            observation_model=self.get_broadcasted_observation_model(current_times),
            observation_noise=self._observation_noise_covariance,
        )
        filtered = (mean, covariance, current_times)
        outputs = {**predictions, "loss": -likelihood, "log_likelihood": likelihood}
        if self._configuration.filtering_postprocessor is None:
            return filtered, outputs
        return self._configuration.filtering_postprocessor.process_filtering_step(
            current_times=current_times,
            current_values=current_values,
            predicted_state=state,
            filtered_state=filtered,
            outputs=outputs,
        )

    def _scale_back_predictions(self, predictions):
        predictions["mean"] = self._scale_back_data(predictions["mean"])
        predictions["covariance"] = self._scale_back_variance(predictions["covariance"])
        return predictions

    def _exogenous_input_step(self, current_times, current_exogenous_regressors, state):
        values = current_exogenous_regressors
        if self._configuration.exogenous_noise_decreases:
            state = self._exogenous_noise_decreasing(current_times, values, state)
        if self._configuration.exogenous_noise_increases:
            state = self._exogenous_noise_increasing(current_times, values, state)
        return state

    def _exogenous_noise_decreasing(self, current_times, exogenous_values, state):
        """Returns the state after features that are observations of it."""
        del current_times
        mean, covariance, times = state
        size = mean.shape.as_list()[-1]
        with tf.variable_scope("exogenous_noise_decreasing_covariance"):
            noise = _math.transform_to_covariance_matrices(exogenous_values, size)
        with tf.variable_scope("exogenous_noise_decreasing_observation"):
            seen = _layers.fully_connected(exogenous_values, size, activation_fn=None)
        mean, covariance = self._kalman_filter.posterior_from_prior_state(
            prior_state=mean,
            prior_state_var=covariance,
            observation=seen,
            observation_model=_math.diagonal_matrix(tf.ones_like(mean)),
            predicted_observations=(mean, noise + covariance),
            observation_noise=noise,
        )
        return mean, covariance, times

    def _exogenous_noise_increasing(self, current_times, exogenous_values, state):
        """Returns the state moved by features, with more noise."""
        del current_times
        mean, covariance, times = state
        size = mean.shape.as_list()[-1]
        with tf.variable_scope("exogenous_noise_increasing_mean"):
            mean = mean + _layers.fully_connected(exogenous_values, size, activation_fn=None)
        with tf.variable_scope("exogenous_noise_increasing_covariance"):
            more = _math.transform_to_covariance_matrices(exogenous_values, size)
        return mean, covariance + more, times
