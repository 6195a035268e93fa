"""Cases of tf.contrib.timeseries: readers, input_fns, and the losses of models."""

import functools
import os
import shutil
import tempfile

import tensorflow as tf
import values
from tensorflow.contrib.timeseries.python.timeseries import ar_model, input_pipeline

np, series = values.np, tf.contrib.timeseries
CASES = {}
TRAIN, EVAL = tf.estimator.ModeKeys.TRAIN, tf.estimator.ModeKeys.EVAL
ROWS = 24
NAMES = ("times", "values", "values", "note")
TYPES = (tf.int64, tf.float32, tf.float32, tf.string)


def data(rows=ROWS, features=2):
    return {"times": np.arange(rows), "values": values.array(rows, features, seed=3)}


def read(make, batches=1, order=True):
    """Returns name -> array of the features that batches of a queue have, and its summaries.

    Args:
      make: function that returns features.
      batches: int, how often to read.
      order: whether rows come in a fixed order; else they are sorted, without repetition.
    """
    with tf.Graph().as_default(), tf.Session(config=values.one_thread()) as session:
        made = make()
        features = made[0] if isinstance(made, tuple) else made
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            found = [session.run(features) for _ in range(batches)]
            tags = [tf.Summary.FromString(one) for one in session.run(summaries())]
        finally:
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=5, ignore_live_threads=True)
        result = {name: np.concatenate([one[name] for one in found]) for name in found[0]}
        if not order:
            _, places = np.unique(result["times"], axis=0, return_index=True)
            result = {name: one[places] for name, one in result.items()}
        local = [one.name for one in tf.local_variables()]
        static = {name: str(one.shape.as_list()) for name, one in features.items()}
        tags = sorted(part.tag for one in tags for part in one.value)
        return {"features": result, "tags": tags, "local": local, "static": static}


def summaries():
    return tf.get_collection(tf.GraphKeys.SUMMARIES)


def with_files(make, count=1, rows=7):
    """Returns what `make` does with the names of CSV files that are gone afterwards."""
    folder = tempfile.mkdtemp()
    try:
        names = [os.path.join(folder, f"{place}.csv") for place in range(count)]
        for place, name in enumerate(names):
            with open(name, "w") as file:
                file.write("a header\n")
                for row in range(place * rows, (place + 1) * rows):
                    file.write(f"{row},{row / 2},{row * 3},note {row}\n")
        return make(names if count > 1 else names[0])
    finally:
        shutil.rmtree(folder)


def csv(names, columns=NAMES, types=TYPES, **options):
    return series.CSVReader(names, columns, types, skip_header_lines=1, **options)


def in_full(given):
    return read(series.NumpyReader(given).read_full)


for _name, _given in {
    "multivariate": data(),
    "univariate": {"times": np.arange(5), "values": np.arange(5.0)},
    "one series": {"times": np.arange(5)[None], "values": np.ones([1, 5, 2])},
    "one record": {"times": 3, "values": 1.0},
    "real times": {"times": np.arange(4) * 1.5, "values": np.arange(4.0)},
    "more features": dict(data(), note=np.array(["a", "b"] * 12), place=np.ones([ROWS, 2, 3])),
    "lists": {"times": [1, 2, 4], "values": [[1.0], [2.0], [3.0]]},
    "no times": {"values": np.ones(3)},
    "no values": {"times": np.arange(3)},
    "other lengths": {"times": np.arange(3), "values": np.ones([4, 1])},
    "two series": {"times": np.ones([2, 3]), "values": np.ones([2, 3, 1])},
    "rank 4": {"times": np.arange(3), "values": np.ones([3, 1, 1, 2])},
}.items():
    CASES[f"NumpyReader, {_name}"] = functools.partial(in_full, _given)


def numpy_read():
    return read(series.NumpyReader(data(), read_num_records_hint=10).read, batches=4)


def numpy_whole():
    return read(series.WholeDatasetInputFn(series.NumpyReader(data())), batches=2)


CASES["NumpyReader, chunks"] = numpy_read
CASES["WholeDatasetInputFn"] = numpy_whole


def csv_case(count=1, method="read_full", batches=1, **options):
    def make(names):
        return read(lambda: getattr(csv(names, **options), method)(), batches)

    return with_files(make, count)


for _name, _options in {
    "whole": {},
    "whole of two files": {"count": 2},
    "chunks": {"method": "read", "batches": 5, "read_num_records_hint": 3},
    "default types": {"columns": ("times", "values", "a", "b"), "types": None},
    "wide types": {"types": (tf.int32, tf.float64, tf.float64, tf.string)},
    "mixed types": {"types": (tf.int64, tf.float32, tf.float64, tf.string)},
    "too few types": {"types": (tf.int64,)},
    "too few columns": {"columns": ("times", "values"), "types": None},
    "no times": {"columns": ("time", "values"), "types": None},
    "no values": {"columns": ("times", "value"), "types": None},
    "two times": {"columns": ("times", "times", "values"), "types": None},
}.items():
    CASES[f"CSVReader, {_name}"] = functools.partial(csv_case, **_options)


def csv_whole():
    # Once only: in 1.15, the end of a file may come before or after the second reading.
    return with_files(lambda names: read(series.WholeDatasetInputFn(csv(names))))


def windows(batches=40, length=ROWS, **options):
    reader = series.NumpyReader(data(length))
    given = dict(
        {"window_size": 4, "batch_size": 3, "num_threads": 1, "shuffle_seed": 5}, **options
    )
    return read(series.RandomWindowInputFn(reader, **given), batches, order=False)


CASES["WholeDatasetInputFn, CSV"] = csv_whole
for _name, _options in {
    "without jitter": {"jitter": False},
    "with jitter": {"batches": 150},
    "two threads": {"jitter": False, "num_threads": 2, "shuffle_seed": None},
    "capacity": {
        "jitter": False,
        "queue_capacity_multiplier": 30,
        "shuffle_min_after_dequeue_multiplier": 4,
    },
    "over the end": {"jitter": False, "length": 14, "batches": 60},
    "longer than the series": {"window_size": 30},
}.items():
    CASES[f"RandomWindowInputFn, {_name}"] = functools.partial(windows, **_options)


def sorted_shapes():
    function = series.RandomWindowInputFn(
        series.NumpyReader(data()), 4, 3, discard_out_of_order=False
    )
    features, labels = function()
    assert labels is None
    return {name: str(one.shape.as_list()) for name, one in features.items()}


def all_out_of_order():
    times = np.arange(ROWS)[::-1].copy()
    reader = series.NumpyReader({"times": times, "values": times * 1.0})
    function = series.RandomWindowInputFn(
        reader, 4, 3, num_threads=1, discard_consecutive_batches_limit=5
    )
    return read(function)


CASES["RandomWindowInputFn, sorted"] = sorted_shapes
CASES["RandomWindowInputFn, all out of order"] = all_out_of_order


def continuation(**options):
    evaluation = {
        "times": np.array([[3, 4, 5], [5, 6, 7]]),
        "start_tuple": (np.zeros([2, 3]), np.ones([2], np.float32)),
    }
    features, labels = series.predict_continuation_input_fn(evaluation, **options)()
    assert labels is None
    return features


for _name, _options in {
    "steps": {"steps": 3},
    "times": {"times": [[8, 9], [8, 10]]},
    "neither": {},
    "both": {"steps": 1, "times": [[8], [8]]},
    "times too early": {"times": [[5, 9], [8, 10]]},
    "times of one series": {"times": [8, 9]},
    "more features": {"steps": 2, "exogenous_features": {"x": values.array(2, 2, 3)}},
}.items():
    CASES[f"predict_continuation_input_fn, {_name}"] = functools.partial(continuation, **_options)


def keys():
    return {
        f"{kind.__name__}.{name}": getattr(kind, name)
        for kind in (series.TrainEvalFeatures, series.FilteringResults)
        for name in dir(kind)
        if name.isupper()
    }


CASES["feature keys"] = keys


def window_loss(model, mode=TRAIN, length=None):
    """Returns the loss and the predictions of an autoregressive model without statistics."""
    length = length or model.window_size
    features = {
        "times": tf.constant(np.arange(length)[None] + [[3], [8]]),
        "values": values.real(2, length, model.num_features, seed=4),
    }
    model.initialize_graph()
    with tf.variable_scope("model", use_resource=True):
        found = model.define_loss(features, mode)
    return {"loss": found.loss, "state": found.end_state, "predictions": found.predictions}


def autoregressive(kind=series.ARModel, mode=TRAIN, length=None, **options):
    given = {
        "periodicities": [5, 4],
        "input_window_size": 3,
        "output_window_size": 2,
        "num_features": 2,
        "num_time_buckets": 3,
    }
    return window_loss(kind(**dict(given, **options)), mode, length)


MIXTURE = ar_model.AnomalyMixtureARModel
for _name, _options in {
    "normal": {},
    "squares": {"loss": "squared_loss"},
    "one period": {"periodicities": 5},
    "no period": {"periodicities": None},
    "no input": {"input_window_size": 0},
    "evaluation": {"mode": EVAL, "length": 12},
    "evaluation of squares": {"mode": EVAL, "loss": "squared_loss"},
    "evaluation, too short": {"mode": EVAL, "length": 4},
    "other window": {"length": 6},
    "prediction mode": {"mode": tf.estimator.ModeKeys.PREDICT},
    "unknown loss": {"loss": "absolute"},
    "nothing to predict from": {"periodicities": [], "input_window_size": 0},
    "no output": {"output_window_size": 0},
    "no buckets": {"num_time_buckets": 0},
    "negative period": {"periodicities": [-3]},
    "hidden": {
        "prediction_model_factory": functools.partial(
            ar_model.FlatPredictionModel, hidden_layer_sizes=[4, 3]
        )
    },
    "LSTM": {
        "prediction_model_factory": functools.partial(ar_model.LSTMPredictionModel, num_units=3)
    },
    "Gaussian anomalies": {"kind": MIXTURE, "anomaly_prior_probability": 0.1},
    "Cauchy anomalies": {
        "kind": MIXTURE,
        "anomaly_prior_probability": 0.3,
        "anomaly_distribution": "cauchy",
    },
    "unknown anomalies": {
        "kind": MIXTURE,
        "anomaly_prior_probability": 0.3,
        "anomaly_distribution": "laplace",
    },
}.items():
    CASES[f"ARModel, {_name}"] = functools.partial(autoregressive, **_options)


def regressor(**options):
    given = dict({"periodicities": 3, "input_window_size": 2, "output_window_size": 1}, **options)
    series.ARRegressor(num_features=1, **given)
    return {"made": tf.constant(1)}


for _name, _options in {
    "plain": {},
    "anomalies and squares": {"anomaly_prior_probability": 0.1, "loss": "squared_loss"},
    "share of anomalies above 1": {
        "anomaly_prior_probability": 2.0,
        "anomaly_distribution": "cauchy",
    },
    "anomalies without a share": {"anomaly_distribution": "cauchy"},
    "a share without anomalies": {"anomaly_prior_probability": 0.1},
}.items():
    CASES[f"ARRegressor, {_name}"] = functools.partial(regressor, **_options)


def default_parts(**options):
    """Returns the names of the classes that a TimeSeriesRegressor takes by default."""
    model = series.ARModel(3, 2, 1, 1)
    head = series.TimeSeriesRegressor(model, **options)._model_fn.__self__
    parts = (head, head.optimizer, head.state_manager, head.input_statistics_generator)
    return {str(place): type(part).__name__ for place, part in enumerate(parts)}


CASES["TimeSeriesRegressor"] = default_parts
CASES["TimeSeriesRegressor, one shot"] = functools.partial(
    default_parts, head_type=series.OneShotPredictionHead
)


def minimum_size():
    input_pipeline.NumpyReader(data()).check_dataset_size(ROWS)
    return {"checked": tf.constant(1)}


CASES["NumpyReader, as long as a window"] = minimum_size
