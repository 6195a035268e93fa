"""Trainers of time series, which go on from checkpoint files of 1.15."""

import shutil
import tempfile

import tensorflow as tf
import values
from tensorflow.contrib.timeseries.python.timeseries import estimators

np, series = values.np, tf.contrib.timeseries
CASES = {}
LENGTH, BATCH, AHEAD = 48, 4, 7


def case(function):
    """Adds a function from a folder to a job to the cases."""
    CASES[function.__name__] = function
    return function


def config(folder):
    return tf.estimator.RunConfig(
        folder, 1, save_summary_steps=25, session_config=values.one_thread()
    )


def observed(length, features, seed=1):
    """Returns times [length] and values [length, features] with two periods and a trend."""
    times = np.arange(length)
    waves = [np.sin(times * (0.9 - 0.35 * place)) + 0.03 * times for place in range(features)]
    noise = values.array(length, features, seed=seed, low=-0.2, high=0.2)
    waves = np.round(np.stack(waves, 1).astype(np.float32) * 256) / 256
    return times, values.nudged(waves + noise)


def extra(length):
    """Returns features that are not predicted: name -> array [length, 1]."""
    times = np.arange(length)[:, None]
    return {
        "warm": np.round(np.cos(times * 0.4).astype(np.float32) * 64) / 64,
        "day": np.array(["mon", "tue", "wed"])[times % 3],
    }


def extra_columns():
    day = tf.feature_column.categorical_column_with_hash_bucket("day", 5)
    return [
        tf.feature_column.numeric_column("warm"),
        tf.feature_column.embedding_column(
            day, 2, initializer=tf.truncated_normal_initializer(seed=1)
        ),
    ]


class SeriesJob:
    """Trains on windows in a fixed order, evaluates the whole series and predicts what follows.

    Args:
      estimator: a TimeSeriesRegressor.
      features: int, features of the series.
      window: int, records of a window.
      with_extra: whether there are features that are not predicted.
      exported: whether a SavedModel is stored and answered by the other TensorFlow too.
    """

    def __init__(self, estimator, features, window, with_extra=False, exported=False):
        self.estimator, self.window, self.exported = estimator, window, exported
        times, observations = observed(LENGTH, features)
        self.data = {"times": times, "values": observations}
        self.later = {}
        if with_extra:
            whole = extra(LENGTH + AHEAD)
            self.data.update({name: one[:LENGTH] for name, one in whole.items()})
            self.later = {name: one[None, LENGTH:] for name, one in whole.items()}
        self.request = None

    def windows(self):
        starts = np.arange(0, LENGTH - self.window + 1, 3)
        rows = {
            name: np.stack([one[start : start + self.window] for start in starts])
            for name, one in self.data.items()
        }
        dataset = tf.data.Dataset.from_tensor_slices(rows).repeat().batch(BATCH)
        return dataset.map(lambda row: (row, {}))

    def train(self, last_step):
        self.estimator.train(self.windows, max_steps=last_step)

    def whole(self):
        return series.WholeDatasetInputFn(series.NumpyReader(self.data))()

    def answers(self):
        evaluation = self.estimator.evaluate(self.whole, steps=1)
        found = {"eval " + name: one for name, one in evaluation.items() if name != "start_tuple"}
        found.update(parts("eval start_tuple", evaluation["start_tuple"]))
        predict_fn = series.predict_continuation_input_fn(
            evaluation, steps=AHEAD, exogenous_features=self.later
        )
        (row,) = tuple(self.estimator.predict(predict_fn, yield_single_examples=False))
        found.update({"predict " + name: one for name, one in row.items()})
        found.update(self.continued(evaluation))
        self.request = {
            "times": self.data["times"][None],
            **{name: one[None] for name, one in self.data.items() if name != "times"},
            **parts("model_state_", evaluation["start_tuple"]),
        }
        return found

    def continued(self, evaluation):
        """Returns what an export filters and predicts by saved_model_utils."""
        utils, top = series.saved_model_utils, tempfile.mkdtemp()
        first = {name: one[:30] for name, one in self.data.items()}
        second = {name: one[30:] for name, one in self.data.items()}
        try:
            folder = self.save(top)
            with tf.Graph().as_default(), tf.Session(config=values.one_thread()) as session:
                loaded = tf.saved_model.loader.load(session, ["serve"], folder)
                cold = utils.cold_start_filter(loaded, session, first)
                warm = utils.filter_continuation(cold, loaded, session, second)
                after = utils.predict_continuation(
                    warm, loaded, session, steps=AHEAD, exogenous_features=self.later
                )
                again = utils.predict_continuation(
                    evaluation, loaded, session, steps=AHEAD, exogenous_features=self.later
                )
        finally:
            shutil.rmtree(top)
        return {
            f"{kind} {name}": one
            for kind, results in (("cold", cold), ("warm", warm), ("after", after), ("on", again))
            for name, one in results.items()
        }

    def save(self, folder):
        receiver_fn = self.estimator.build_raw_serving_input_receiver_fn()
        exported = self.estimator.export_savedmodel(folder, receiver_fn, strip_default_attrs=True)
        return tf.compat.as_str(exported)

    def export(self, folder):
        return self.save(folder) if self.exported else None


def parts(name, state):
    """Returns name and number -> array of a nested state."""
    flat = tf.contrib.framework.nest.flatten(state)
    return {f"{name}{place:02d}": one for place, one in enumerate(flat)}


@case
def ar(folder):
    model = series.ARRegressor([12, 7], 6, 4, 2, config=config(folder))
    return SeriesJob(model, 2, 10, exported=True)


@case
def ar_with_hidden_layers_anomalies_and_extra(folder):
    model = series.ARRegressor(
        periodicities=7,
        input_window_size=5,
        output_window_size=2,
        num_features=1,
        exogenous_feature_columns=extra_columns(),
        num_time_buckets=3,
        hidden_layer_sizes=[4, 3],
        anomaly_prior_probability=0.1,
        anomaly_distribution="cauchy",
        optimizer=tf.train.AdamOptimizer(0.01),
        config=config(folder),
    )
    return SeriesJob(model, 1, 7, with_extra=True)


@case
def ar_with_gaussian_anomalies(folder):
    model = series.ARRegressor(
        [6],
        2,
        5,
        1,
        anomaly_prior_probability=0.2,
        anomaly_distribution="gaussian",
        config=config(folder),
    )
    return SeriesJob(model, 1, 7)


@case
def ar_by_squares_of_time_alone(folder):
    model = series.ARRegressor([7, 9], 0, 3, 2, loss="squared_loss", config=config(folder))
    return SeriesJob(model, 2, 3)


@case
def lstm_auto_regressor(folder):
    model = estimators.LSTMAutoRegressor(
        [12], 6, 3, num_features=2, num_timesteps=3, num_units=3, config=config(folder)
    )
    return StatelessJob(model, 2, 9)


class StatelessJob(SeriesJob):
    """Exports a model that gets the records before its prediction as tf.Example, and no state."""

    def answers(self):
        found = self.estimator.evaluate(self.whole, steps=1)
        self.request = {"examples": np.array([self.example(place) for place in (0, 5)])}
        return {"eval " + name: one for name, one in found.items()}

    def example(self, start):
        times = self.data["times"][start : start + 16]
        observations = self.data["values"][start : start + 9].reshape(-1)
        example = tf.train.Example()
        example.features.feature["times"].int64_list.value.extend(times.tolist())
        example.features.feature["values"].float_list.value.extend(observations.tolist())
        return example.SerializeToString()

    def export(self, folder):
        receiver_fn = self.estimator.build_one_shot_parsing_serving_input_receiver_fn(9, AHEAD)
        return self.estimator.export_savedmodel(folder, receiver_fn, strip_default_attrs=True)
