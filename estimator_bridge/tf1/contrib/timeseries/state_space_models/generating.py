"""Series made up by state space models: `generate` and `random_model_parameters`.

Both draw with NumPy's global random numbers, in the order of 1.15: the same seed gives its values.
"""

import numpy as np
import tensorflow.compat.v1 as tf

from estimator_bridge.private_tf import timeseries_feature_keys as _keys

__all__ = ["draw_parameters", "generate"]


def draw_parameters(model, seed):
    """Returns a random value for each parameter of a model, by its tensor.

    Args:
      model: a StateSpaceModel of one feature whose graph is initialized.
      seed: int, of NumPy's global random numbers; they go on where they are with None or 0.
    """
    _require_one_feature(model)
    if seed:
        np.random.seed(seed)
    transform = tf.convert_to_tensor(model.get_noise_transform(), dtype=model.dtype)
    size, noises = transform.shape.as_list()
    variances = 1.0 / np.random.gamma(shape=10.0, scale=10.0, size=[noises])
    found = {
        model.prior_state_mean: np.random.normal(size=[size]),
        model.state_transition_noise_covariance: np.diag(variances),
        model.prior_state_var: np.zeros([size, size]),
    }
    # A member of an ensemble has no state of its own.
    found.pop(None, None)
    if model._configuration.use_observation_noise:
        found[model._observation_noise_covariance] = [[1.0 / np.random.gamma(shape=4, scale=4)]]
    return found


def generate(model, number_of_series, series_length, parameters, seed, add_observation_noise):
    """Returns `times` [series, length] and `values` [series, length, 1], made up by a model.

    Args:
      model: a StateSpaceModel of one feature whose graph is initialized.
      number_of_series: int.
      series_length: int.
      parameters: tensor -> its value; others have their values in the default session.
      seed: int, of NumPy's global random numbers; they go on where they are with None.
      add_observation_noise: whether values have the noise of observations; None: as the model has.

    Raises:
      NotImplementedError: the model has several features.
      ValueError: there is no default session.
    """
    if seed is not None:
        np.random.seed(seed)
    _require_one_feature(model)
    session = tf.get_default_session()
    if session is None:
        raise ValueError("generate: needs a default session: `with tf.Session():`")
    if add_observation_noise is None:
        add_observation_noise = model._configuration.use_observation_noise
    given = parameters or {}

    def find(tensor):
        # A value that is given is not of the type of the model.
        return tf.convert_to_tensor(given.get(tensor, tensor))

    found = session.run(
        {
            "state": find(model.prior_state_mean),
            "noise": find(model.state_transition_noise_covariance),
            "transition": tf.convert_to_tensor(model.get_state_transition(), dtype=model.dtype),
            "transform": tf.convert_to_tensor(model.get_noise_transform(), dtype=model.dtype),
            "observation": model.get_broadcasted_observation_model(tf.range(series_length)),
            "observation_noise": find(model._observation_noise_covariance),
        },
        feed_dict=given,
    )
    deviations = np.tile(np.sqrt(np.diag(found["noise"])), [number_of_series, 1])
    state = np.tile(found["state"], [number_of_series, 1])
    values = np.zeros([number_of_series, series_length, 1])
    for step, (observation,) in enumerate(found["observation"]):
        noise = np.random.normal(loc=np.zeros_like(deviations), scale=deviations)
        state = state.dot(found["transition"].T) + noise.dot(found["transform"].T)
        value = state.dot(observation)
        if add_observation_noise:
            deviation = np.sqrt(found["observation_noise"][0, 0])
            value = np.random.normal(loc=value, scale=deviation)
        values[:, step, 0] = value
    times = np.tile(np.arange(series_length), [number_of_series, 1])
    names = _keys.TrainEvalFeatures
    return {names.TIMES: times, names.VALUES: values}


def _require_one_feature(model):
    if model.num_features != 1:
        raise NotImplementedError(
            "Generation for multivariate state space models is not currently implemented."
        )
