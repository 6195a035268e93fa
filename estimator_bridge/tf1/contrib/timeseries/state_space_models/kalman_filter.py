"""The Kalman filter of `tf.contrib.timeseries`."""

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.timeseries import math_utils as _math

__all__ = ["KalmanFilter"]


class KalmanFilter:
    """Infers the state of linear models with normal noise from observations.

    Args:
      dtype: type of all numbers.
      simplified_posterior_covariance_computation: whether the covariance after an observation is
        computed by the shorter formula, which is less stable.
    """

    def __init__(self, dtype=tf.float32, simplified_posterior_covariance_computation=False):
        self._simplified_posterior_covariance_computation = (
            simplified_posterior_covariance_computation
        )
        self.dtype = dtype

    def do_filter(
        self,
        estimated_state,
        estimated_state_covariance,
        predicted_observation,
        predicted_observation_covariance,
        observation,
        observation_model,
        observation_noise,
    ):
        """Returns mean and covariance after an observation, and its log-likelihood, [batch].

        Args:
          estimated_state: mean before the observation, [batch, state].
          estimated_state_covariance: [batch, state, state].
          predicted_observation: mean of the prediction, [batch, features].
          predicted_observation_covariance: [batch, features, features].
          observation: [batch, features].
          observation_model: [batch, features, state].
          observation_noise: [features, features] or [batch, features, features].
        """
        # Rounding makes a covariance asymmetric.
        symmetric = 0.5 * (
            predicted_observation_covariance
            + tf.transpose(predicted_observation_covariance, [0, 2, 1])
        )
        symmetric = tf.verify_tensor_all_finite(symmetric, "predicted covariance")
        smallest = tf.reduce_min(_math.diagonal_part(symmetric))
        positive = tf.Assert(smallest >= 0.0, ["a predicted variance is negative", smallest])
        with tf.control_dependencies([positive]):
            root = tf.cholesky(symmetric)
        likelihood = _math.mvn_tril_log_prob(predicted_observation, root, observation)
        mean, covariance = self.posterior_from_prior_state(
            prior_state=estimated_state,
            prior_state_var=estimated_state_covariance,
            observation=observation,
            observation_model=observation_model,
            predicted_observations=(predicted_observation, predicted_observation_covariance),
            observation_noise=observation_noise,
        )
        return mean, covariance, likelihood

    def predict_state_mean(self, prior_state, transition_matrices):
        """Returns the mean some steps later, [batch, state].

        Args:
          prior_state: [batch, state].
          transition_matrices: the transition to the power of the steps, [batch, state, state].
        """
        return tf.squeeze(tf.matmul(transition_matrices, prior_state[..., tf.newaxis]), [-1])

    def predict_state_var(self, prior_state_var, transition_matrices, transition_noise_sums):
        """Returns the covariance some steps later, [batch, state, state].

        Args:
          prior_state_var: [batch, state, state].
          transition_matrices: the transition to the power of the steps, [batch, state, state].
          transition_noise_sums: the noise of these steps, [batch, state, state].
        """
        moved = tf.matmul(
            tf.matmul(transition_matrices, prior_state_var), transition_matrices, adjoint_b=True
        )
        return moved + transition_noise_sums

    def posterior_from_prior_state(
        self,
        prior_state,
        prior_state_var,
        observation,
        observation_model,
        predicted_observations,
        observation_noise,
    ):
        """Returns mean [batch, state] and covariance [batch, state, state] after an observation.

        Args:
          prior_state: [batch, state].
          prior_state_var: [batch, state, state].
          observation: [batch, features].
          observation_model: [batch, features, state].
          predicted_observations: mean and covariance of the prediction.
          observation_noise: [features, features] or [batch, features, features].
        """
        predicted, predicted_var = predicted_observations
        # The transposed gain, [batch, features, state].
        gain = tf.matrix_solve(
            predicted_var,
            tf.matmul(observation_model, prior_state_var, adjoint_b=True),
            adjoint=True,
        )
        surprise = (observation - predicted)[..., tf.newaxis]
        mean = prior_state + tf.squeeze(tf.matmul(gain, surprise, adjoint_a=True), [-1])
        seen = tf.matmul(gain, observation_model, adjoint_a=True)
        left = _math.identity_matrix(tf.shape(seen)[1], seen.dtype)[tf.newaxis] - seen
        if self._simplified_posterior_covariance_computation:
            return mean, tf.matmul(left, prior_state_var)
        if observation_noise.shape.ndims == 2:
            noise = _math.batch_times_matrix(gain, observation_noise, adj_x=True)
        else:
            noise = tf.matmul(gain, observation_noise, adjoint_a=True)
        kept = tf.matmul(left, tf.matmul(left, prior_state_var), adjoint_b=True)
        return mean, kept + tf.matmul(noise, gain)

    def observed_from_state(self, state_mean, state_var, observation_model, observation_noise):
        """Returns mean [batch, features] and covariance of an observation.

        Args:
          state_mean: [batch, state].
          state_var: [batch, state, state].
          observation_model: [batch, features, state].
          observation_noise: [features, features] or [batch, features, features].
        """
        mean = tf.squeeze(
            tf.matmul(state_mean[:, tf.newaxis], observation_model, adjoint_b=True), [1]
        )
        covariance = tf.matmul(
            tf.matmul(observation_model, state_var), observation_model, adjoint_b=True
        )
        return mean, covariance + observation_noise
