"""Autoregressive models of `tf.contrib.timeseries`.

The loops over windows are those of tensorflow_estimator. Here is what 1.15 has besides: the flat
model, the mixture for anomalies, and the loss.
"""

import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import timeseries_ar_model as _ar_model
from estimator_bridge.tf1.contrib import rnn as _rnn
from estimator_bridge.tf1.contrib.timeseries import math_utils as _math

__all__ = ["ARModel", "AnomalyMixtureARModel", "FlatPredictionModel", "LSTMPredictionModel"]

_SMALLEST_VARIANCE = 1e-5


class FlatPredictionModel(tf.keras.models.Model):
    """Predicts from the flattened windows, linearly or by hidden layers.

    Args:
      num_features: int, features of the series.
      input_window_size: int, records before the prediction.
      output_window_size: int, records to predict.
      hidden_layer_sizes: list of ints, sizes of layers with ReLU; linear without.
    """

    def __init__(
        self, num_features, input_window_size, output_window_size, hidden_layer_sizes=None
    ):
        super().__init__()
        self._input_flatten = tf.keras.layers.Flatten()
        self._output_flatten = tf.keras.layers.Flatten()
        self._hidden_layers = None
        if hidden_layer_sizes:
            self._hidden_layers = tf.keras.Sequential(
                [tf.keras.layers.Dense(size, activation=tf.nn.relu) for size in hidden_layer_sizes]
            )
        count = num_features * output_window_size
        self._mean_transform = tf.keras.layers.Dense(count, name="predicted_mean")
        self._covariance_transform = tf.keras.layers.Dense(count, name="log_sigma_square")
        self._prediction_shape = [-1, output_window_size, num_features]

    def call(self, input_window_features, output_window_features):
        """Returns `mean` and `covariance`, [batch, output_window_size, num_features].

        Args:
          input_window_features: [batch, input_window_size, features].
          output_window_features: [batch, output_window_size, features].
        """
        parts = [
            flatten(one)
            for flatten, one in (
                (self._input_flatten, input_window_features),
                (self._output_flatten, output_window_features),
            )
            if 0 not in one.shape.as_list()[1:]
        ]
        hidden = tf.concat(parts, axis=1) if len(parts) > 1 else parts[0]
        if self._hidden_layers is not None:
            hidden = self._hidden_layers(hidden)
        mean = tf.reshape(self._mean_transform(hidden), self._prediction_shape)
        covariance = tf.exp(self._covariance_transform(hidden))
        return {"mean": mean, "covariance": tf.reshape(covariance, self._prediction_shape)}


class LSTMPredictionModel(tf.keras.models.Model):
    """Encodes the input window with an LSTM and decodes the output window with another.

    Args:
      num_features: int, features of the series.
      input_window_size: int, records before the prediction.
      output_window_size: int, records to predict.
      num_units: int, size of both states.
    """

    def __init__(self, num_features, input_window_size, output_window_size, num_units=128):
        super().__init__()
        self._encoder = _rnn.LSTMBlockFusedCell(num_units, name="encoder")
        self._decoder = _rnn.LSTMBlockFusedCell(num_units, name="decoder")
        self._mean_transform = tf.keras.layers.Dense(num_features, name="mean_transform")
        self._covariance_transform = tf.keras.layers.Dense(
            num_features, name="covariance_transform"
        )

    def call(self, input_window_features, output_window_features):
        """Returns `mean` and `covariance`, [batch, output_window_size, num_features].

        Args:
          input_window_features: [batch, input_window_size, features].
          output_window_features: [batch, output_window_size, features].
        """
        # The cells take the steps first.
        inputs, outputs = (
            tf.transpose(one, [1, 0, 2]) for one in (input_window_features, output_window_features)
        )
        _, state = self._encoder(inputs, dtype=self.dtype)
        decoded, _ = self._decoder(outputs, initial_state=state, dtype=self.dtype)
        decoded = tf.transpose(decoded, [1, 0, 2])
        return {
            "mean": self._mean_transform(decoded),
            "covariance": tf.exp(self._covariance_transform(decoded)),
        }


class ARModel(_ar_model.ARModel):
    """Predicts a window from the window before, and from the time within each period.

    Args:
      periodicities: int or list of ints, lengths of the cycles, in the unit of the times.
      input_window_size: int, records that a prediction depends on.
      output_window_size: int, records predicted at once.
      num_features: int, features of the series.
      prediction_model_factory: function of num_features, input_window_size and output_window_size
        that returns a tf.keras.Model of two windows.
      num_time_buckets: int, parts of a period.
      loss: NORMAL_LIKELIHOOD_LOSS or SQUARED_LOSS.
      exogenous_feature_columns: columns of features that are not predicted, or None.
    """

    def __init__(
        self,
        periodicities,
        input_window_size,
        output_window_size,
        num_features,
        prediction_model_factory=FlatPredictionModel,
        num_time_buckets=10,
        loss=_ar_model.ARModel.NORMAL_LIKELIHOOD_LOSS,
        exogenous_feature_columns=None,
    ):
        super().__init__(
            periodicities=periodicities,
            input_window_size=input_window_size,
            output_window_size=output_window_size,
            num_features=num_features,
            prediction_model_factory=prediction_model_factory,
            num_time_buckets=num_time_buckets,
            loss=loss,
            exogenous_feature_columns=exogenous_feature_columns,
        )

    def loss_op(self, targets, prediction_ops):
        """Returns the mean loss of a window, a scalar.

        Args:
          targets: normalised values, [batch, output_window_size, num_features].
          prediction_ops: `mean` and `covariance` of the same shape.
        """
        if self.loss != ARModel.NORMAL_LIKELIHOOD_LOSS:
            return super().loss_op(targets, prediction_ops)
        return -_mean(_log_likelihood(targets, prediction_ops), targets)


class AnomalyMixtureARModel(ARModel):
    """An ARModel whose values are, with some probability, anomalies of a broader distribution.

    Args:
      periodicities: int or list of ints, lengths of the cycles, in the unit of the times.
      anomaly_prior_probability: float in (0, 1), the share of anomalies.
      input_window_size: int, records that a prediction depends on.
      output_window_size: int, records predicted at once.
      num_features: int, features of the series.
      prediction_model_factory: as for ARModel.
      anomaly_distribution: GAUSSIAN_ANOMALY or CAUCHY_ANOMALY.
      num_time_buckets: int, parts of a period.
      exogenous_feature_columns: columns of features that are not predicted, or None.
    """

    GAUSSIAN_ANOMALY = "gaussian"
    CAUCHY_ANOMALY = "cauchy"

    def __init__(
        self,
        periodicities,
        anomaly_prior_probability,
        input_window_size,
        output_window_size,
        num_features,
        prediction_model_factory=FlatPredictionModel,
        anomaly_distribution=GAUSSIAN_ANOMALY,
        num_time_buckets=10,
        exogenous_feature_columns=None,
    ):
        assert 0.0 < anomaly_prior_probability < 1.0, "anomaly_prior_probability is not in (0, 1)"
        assert anomaly_distribution in (self.GAUSSIAN_ANOMALY, self.CAUCHY_ANOMALY), (
            f"anomaly_distribution {anomaly_distribution!r} is not gaussian or cauchy"
        )
        super().__init__(
            periodicities=periodicities,
            input_window_size=input_window_size,
            output_window_size=output_window_size,
            num_features=num_features,
            prediction_model_factory=prediction_model_factory,
            num_time_buckets=num_time_buckets,
            loss=ARModel.NORMAL_LIKELIHOOD_LOSS,
            exogenous_feature_columns=exogenous_feature_columns,
        )
        self._anomaly_prior_probability = anomaly_prior_probability
        self._anomaly_distribution = anomaly_distribution

    def prediction_ops(self, times, values, exogenous_regressors):
        """Returns what ARModel predicts, and `anomaly_params`, the breadth of anomalies.

        Args:
          times: int64 [batch, window].
          values: [batch, input_window_size, num_features].
          exogenous_regressors: [batch, window, size].
        """
        found = super().prediction_ops(times, values, exogenous_regressors)
        logarithm = tf.get_variable(
            "anomaly_log_param", shape=[], dtype=self.dtype, initializer=tf.zeros_initializer()
        )
        return {**found, "anomaly_params": tf.exp(logarithm)}

    def loss_op(self, targets, prediction_ops):
        """Returns the mean loss of a window, a scalar.

        Args:
          targets: normalised values, [batch, output_window_size, num_features].
          prediction_ops: what `prediction_ops` returned.
        """
        share = self._anomaly_prior_probability
        usual = _log_likelihood(targets, prediction_ops) + tf.log(1.0 - share)
        anomaly = self._anomaly_log_prob(targets, prediction_ops) + tf.log(share)
        smaller, larger = tf.minimum(usual, anomaly), tf.maximum(usual, anomaly)
        return -_mean(larger + tf.log(1.0 + tf.exp(smaller - larger)), targets)

    def _anomaly_log_prob(self, targets, prediction_ops):
        """Returns the log-likelihood of each target as an anomaly."""
        breadth = prediction_ops["anomaly_params"]
        if self._anomaly_distribution == self.GAUSSIAN_ANOMALY:
            return _log_likelihood(targets, {**prediction_ops, "covariance": breadth})
        return _math.cauchy_log_prob(targets, breadth, prediction_ops["mean"])


def _log_likelihood(targets, prediction_ops):
    """Returns the log-likelihood of each target."""
    deviation = tf.sqrt(tf.maximum(prediction_ops["covariance"], _SMALLEST_VARIANCE))
    return _math.normal_log_prob(targets, deviation, prediction_ops["mean"])


def _mean(likelihoods, targets):
    return tf.reduce_sum(likelihoods) / tf.cast(
        tf.reduce_prod(tf.shape(targets)), likelihoods.dtype
    )
