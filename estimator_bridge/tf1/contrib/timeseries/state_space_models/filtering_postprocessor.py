"""What may follow each step of a filter: the detector of anomalies of `tf.contrib.timeseries`."""

import abc

import tensorflow.compat.v1 as tf

from estimator_bridge.tf1.contrib.timeseries import math_utils as _math

__all__ = [
    "FilteringStepPostprocessor",
    "StateInterpolatingAnomalyDetector",
    "cauchy_alternative_to_gaussian",
]


class FilteringStepPostprocessor(abc.ABC):
    """Changes state and loss after each step of a filter."""

    @property
    @abc.abstractmethod
    def output_names(self):
        """Returns the names that it adds to the outputs of a step, a list."""

    @abc.abstractmethod
    def process_filtering_step(
        self, current_times, current_values, predicted_state, filtered_state, outputs
    ):
        """Returns the new state and the outputs with those that are added.

        Args:
          current_times: integers [batch].
          current_values: [batch, features].
          predicted_state: nested tensors, the state before these values.
          filtered_state: nested tensors, the state after these values.
          outputs: name -> tensor [batch, ...].
        """


def cauchy_alternative_to_gaussian(current_times, current_values, outputs):
    """Returns log-likelihoods of values that may lie far from the prediction, [batch].

    Args:
      current_times: integers [batch], not used.
      current_values: [batch, features].
      outputs: `mean` [batch, features] and `covariance` [batch, features, features].
    """
    del current_times
    scale = _math.entropy_matched_cauchy_scale(outputs["covariance"])
    each = _math.cauchy_log_prob(outputs["mean"], scale, current_values)
    return tf.reduce_sum(each, axis=1)


class StateInterpolatingAnomalyDetector(FilteringStepPostprocessor):
    """Keeps anomalies from the state, as far as a value is likely to be one.

    Args:
      anomaly_log_likelihood: function of current_times, current_values and outputs that returns the
        log-likelihoods of the values as anomalies, [batch].
      anomaly_prior_probability: float in (0, 1), the share of anomalies.
      responsibility_scaling: float, how sharply anomalies are told from others.
    """

    output_names = ["anomaly_score"]

    def __init__(
        self,
        anomaly_log_likelihood=cauchy_alternative_to_gaussian,
        anomaly_prior_probability=0.01,
        responsibility_scaling=1.0,
    ):
        self._anomaly_log_likelihood = anomaly_log_likelihood
        self._responsibility_scaling = responsibility_scaling
        self._anomaly_prior_probability = anomaly_prior_probability

    def process_filtering_step(
        self, current_times, current_values, predicted_state, filtered_state, outputs
    ):
        """Returns the state between both, and outputs with another loss and `anomaly_score`.

        Args:
          current_times: integers [batch].
          current_values: [batch, features].
          predicted_state: nested tensors, the state before these values.
          filtered_state: nested tensors, the state after these values.
          outputs: `log_likelihood` [batch] and what anomaly_log_likelihood reads.
        """
        likelihood = outputs["log_likelihood"]
        share = tf.cast(self._anomaly_prior_probability, likelihood.dtype)
        anomaly = self._anomaly_log_likelihood(
            current_times=current_times, current_values=current_values, outputs=outputs
        ) + tf.log(share)
        usual = likelihood + tf.log(1.0 - share)
        score = anomaly - usual
        trust = tf.sigmoid(-self._responsibility_scaling * score)

        def between(filtered, predicted):
            if not filtered.dtype.is_floating:
                return filtered
            part = tf.reshape(trust, [-1] + [1] * (filtered.shape.ndims - 1))
            return part * filtered + (1.0 - part) * predicted

        state = tf.nest.map_structure(between, filtered_state, predicted_state)
        loss = -(trust * usual + (1.0 - trust) * anomaly)
        return state, {**outputs, "loss": loss, "anomaly_score": score}
