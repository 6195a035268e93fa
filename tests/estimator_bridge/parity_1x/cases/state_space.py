"""Cases of the state space models of tf.contrib.timeseries, and what they are made of."""

import functools

import tensorflow as tf
import values
from tensorflow.contrib.timeseries.python.timeseries import ar_model, state_management
from tensorflow.contrib.timeseries.python.timeseries import math_utils as maths
from tensorflow.contrib.timeseries.python.timeseries import model as sequential
from tensorflow.contrib.timeseries.python.timeseries.state_space_models import (
    filtering_postprocessor,
    kalman_filter,
    level_trend,
    periodic,
    state_space_model,
    structural_ensemble,
    varma,
)

np, real = values.np, values.real
CASES = {}
TRAIN, EVAL = tf.estimator.ModeKeys.TRAIN, tf.estimator.ModeKeys.EVAL
Configuration = state_space_model.StateSpaceModelConfiguration


def case(name):
    """Adds a function to the cases."""

    def add(function):
        CASES[name] = function
        return function

    return add


def covariance(*shape, **options):
    """Returns positive definite matrices [..., N, N]."""
    root = real(*shape, **options)
    return tf.matmul(root, root, transpose_b=True) + tf.eye(shape[-1])


@case("block_diagonal")
def block_diagonal():
    return maths.block_diagonal([real(3, 2, 1), real(3, 1, 2, seed=2), real(3, 2, 2, seed=3)])


@case("powers")
def powers():
    steps = tf.constant([0, 1, 2, 7, 12])
    return {
        "batch": maths.batch_matrix_pow(real(5, 2, 2), steps),
        "one": maths.matrix_to_powers(real(3, 3, seed=2), steps),
        "sums": maths.power_sums_tensor(4, real(2, 2, seed=3), real(2, 2, seed=4)),
    }


@case("batch_times_matrix")
def products():
    batch, matrix = real(3, 2, 4), real(4, 3, seed=2)
    return {
        "plain": maths.batch_times_matrix(batch, matrix),
        "adj_x": maths.batch_times_matrix(batch, real(2, 3, seed=3), adj_x=True),
        "adj_y": maths.batch_times_matrix(batch, real(3, 4, seed=3), adj_y=True),
        "matrix first": maths.matrix_times_batch(real(3, 2, seed=4), batch),
        "matrix adj_x": maths.matrix_times_batch(real(2, 3, seed=4), batch, adj_x=True),
        "matrix adj_y": maths.matrix_times_batch(matrix, real(3, 5, 3, seed=5), adj_y=True),
    }


@case("densities")
def densities():
    loc, scale, x = real(3), real(3, seed=2, low=0.2, high=2.0), real(3, seed=3)
    root = tf.cholesky(covariance(4, 3, 3, seed=4))
    return {
        "normal": maths.normal_log_prob(loc, scale, x),
        "cauchy": maths.cauchy_log_prob(loc, scale, x),
        "several": maths.mvn_tril_log_prob(real(4, 3, seed=5), root, real(4, 3, seed=6)),
        "matched": maths.entropy_matched_cauchy_scale(covariance(2, 3, 3, seed=7)),
        "prior": maths.log_noninformative_covariance_prior(covariance(3, 3, seed=8)),
    }


@case("covariances")
def covariances():
    first = real(3, seed=2, low=0.5, high=2.0)
    return {
        "positive": maths.sign_magnitude_positive_definite(real(3, 3), 0.5, -0.5),
        "batch": maths.sign_magnitude_positive_definite(real(2, 3, 3), real(2), real(2, seed=3)),
        "clipped": maths.clip_covariance(covariance(2, 3, 3), 1.5, 1.2),
        "plain": maths.variable_covariance_matrix(2, "plain", tf.float32),
        "variable": maths.variable_covariance_matrix(3, "full", tf.float32, first, 0.3),
        "transformed": maths.transform_to_covariance_matrices(real(4, 3), 2),
    }


def filtered(noise, **options):
    kalman = kalman_filter.KalmanFilter(**options)
    mean, variance = real(2, 3), covariance(2, 3, 3, seed=2)
    model = real(2, 2, 3, seed=3)
    transition = real(2, 3, 3, seed=4)
    mean = kalman.predict_state_mean(mean, transition)
    variance = kalman.predict_state_var(variance, transition, covariance(2, 3, 3, seed=5))
    seen, seen_variance = kalman.observed_from_state(mean, variance, model, noise())
    after = kalman.do_filter(
        estimated_state=mean,
        estimated_state_covariance=variance,
        predicted_observation=seen,
        predicted_observation_covariance=seen_variance,
        observation=real(2, 2, seed=6),
        observation_model=model,
        observation_noise=noise(),
    )
    return {"mean": mean, "variance": variance, "seen": seen, "after": after}


CASES["KalmanFilter"] = functools.partial(filtered, lambda: covariance(2, 2, seed=7))
CASES["KalmanFilter, noise of each"] = functools.partial(
    filtered, lambda: covariance(2, 2, 2, seed=7)
)
CASES["KalmanFilter, simplified"] = functools.partial(
    filtered,
    lambda: covariance(2, 2, seed=7),
    simplified_posterior_covariance_computation=True,
)


def statistics(features, dtype=tf.float32):
    def moments(seed):
        return maths.Moments(
            real(features, seed=seed, dtype=dtype.as_numpy_dtype),
            real(features, seed=seed + 1, low=0.5, high=3.0, dtype=dtype.as_numpy_dtype),
        )

    return maths.InputStatistics(
        series_start_moments=moments(21),
        overall_feature_moments=moments(31),
        start_time=tf.constant(2, tf.int64),
        total_observation_count=tf.constant(40, tf.int64),
    )


def model_parts(make, features=1, known=True):
    """Returns the parts of a model, and its noise after some steps."""
    model = make()
    model.initialize_graph(statistics(features) if known else None)
    steps = tf.constant([0, 1, 2, 5, 11, 24], tf.int64)
    times = tf.constant([3, 4], tf.int64)
    return {
        "transition": tf.convert_to_tensor(model.get_state_transition()),
        "noise": tf.convert_to_tensor(model.get_noise_transform()),
        "observation": model.get_broadcasted_observation_model(times),
        "powers": model.transition_to_powers(steps),
        "sums": model.transition_power_noise_accumulator(steps),
        "start": [one for one in model.get_start_state()],
        "prior": model._loss_additions(tf.zeros([2, 5]), None, TRAIN),
    }


def scoped(name, make):
    with tf.variable_scope(name):
        return make()


def independent():
    inner = Configuration(num_features=2, use_observation_noise=False)
    members = [
        scoped("one", lambda: level_trend.AdderStateSpaceModel(configuration=inner)),
        scoped("two", lambda: varma.VARMA(2, 1, configuration=inner)),
    ]
    return state_space_model.StateSpaceIndependentEnsemble(members, Configuration(num_features=2))


def correlated(count):
    inner = Configuration(use_observation_noise=False)
    members = [
        scoped(str(place), lambda: periodic.CycleStateSpaceModel(3, configuration=inner))
        for place in range(count)
    ]
    return state_space_model.StateSpaceCorrelatedFeaturesEnsemble(
        members, Configuration(num_features=2)
    )


adder, cycle = level_trend.AdderStateSpaceModel, periodic.CycleStateSpaceModel
MODELS = {
    "adder": (adder, 1),
    "adder without noise of the level": (lambda: adder(use_level_noise=False), 1),
    "adder of two": (lambda: adder(configuration=Configuration(num_features=2)), 2),
    "adder, start trained": (
        lambda: adder(configuration=Configuration(trainable_start_state=True)),
        1,
    ),
    "adder, options": (
        lambda: adder(
            configuration=Configuration(
                bayesian_prior_weighting=False,
                use_observation_noise=False,
                transition_covariance_initial_log_scale_bias=-2.0,
            )
        ),
        1,
    ),
    "adder without prior": (
        lambda: adder(configuration=Configuration(covariance_prior_fn=tf.trace)),
        1,
    ),
    "varma": (lambda: varma.VARMA(2, 1, configuration=Configuration(num_features=2)), 2),
    "varma 0, 3": (lambda: varma.VARMA(0, 3), 1),
    "varma 3, 0": (lambda: varma.VARMA(3, 0), 1),
    "cycle": (lambda: cycle(4), 1),
    "cycle of two steps": (lambda: cycle(2), 1),
    "resolution, real period": (lambda: periodic.ResolutionCycleModel(5, 7.5), 1),
    "resolution, whole period": (lambda: periodic.ResolutionCycleModel(5, 10), 1),
    "resolution, short period": (lambda: periodic.ResolutionCycleModel(5, 3), 1),
    "resolution, even": (lambda: periodic.ResolutionCycleModel(4, 3), 1),
    "independent": (independent, 2),
    "correlated": (functools.partial(correlated, 2), 2),
    "correlated, too few": (functools.partial(correlated, 1), 2),
    "structural": (
        lambda: structural_ensemble.StructuralEnsemble(
            [3, 4], 1, 1, configuration=Configuration(num_features=2)
        ),
        2,
    ),
    "structural of one": (lambda: structural_ensemble.StructuralEnsemble(3, 0, 0), 1),
    "resolutions": (
        lambda: structural_ensemble.MultiResolutionStructuralEnsemble([3, 5], 1, 0, [4, 2.5]),
        1,
    ),
    "resolutions, other count": (
        lambda: structural_ensemble.MultiResolutionStructuralEnsemble([3, 5], 1, 0, [4]),
        1,
    ),
}
for _name, (_make, _features) in MODELS.items():
    CASES[f"model, {_name}"] = functools.partial(model_parts, _make, _features)
CASES["model, no statistics"] = functools.partial(
    model_parts, MODELS["structural"][0], 2, known=False
)


def generated(make, features=1, known=True, given=True, seed=3, noise=None, length=5):
    """Returns made-up parameters of a model, and series with them and with a seed of their own."""
    model = make()
    model.initialize_graph(statistics(features) if known else None)
    drawn = model.random_model_parameters(seed=seed)
    found = {"drawn": [np.asarray(one) for one in drawn.values()]}
    if given is None:
        return found
    with tf.Session(config=values.one_thread()) as session:
        session.run(tf.global_variables_initializer())
        found["series"] = model.generate(
            2, length, drawn if given else None, seed=5, add_observation_noise=noise
        )
    return found


inner = Configuration(use_observation_noise=False)
for _name, _make in {
    "adder": adder,
    "adder, slope only": lambda: adder(use_level_noise=False),
    "double": lambda: adder(configuration=Configuration(dtype=tf.float64)),
    "varma": lambda: varma.VARMA(2, 1),
    "cycle": lambda: cycle(4),
    "resolution": lambda: periodic.ResolutionCycleModel(5, 7.5),
    "sum": lambda: state_space_model.StateSpaceIndependentEnsemble(
        [
            scoped("one", lambda: adder(configuration=inner)),
            scoped("two", lambda: varma.VARMA(2, 1, configuration=inner)),
        ],
        Configuration(),
    ),
    "structural": lambda: structural_ensemble.StructuralEnsemble([3, 4], 1, 1),
}.items():
    CASES[f"generate, {_name}"] = functools.partial(generated, _make)
for _name, _options in {
    "no parameters": {"given": False},
    "no statistics": {"known": False, "given": False},
    "seed 0": {"seed": 0, "given": None},
    "without noise": {"noise": False},
    "noise asked for": {"make": lambda: adder(configuration=inner), "noise": True},
    "several features": {
        "make": lambda: adder(configuration=Configuration(num_features=2)),
        "features": 2,
    },
    "no steps": {"length": 0},
    "member with noise": {
        "make": lambda: state_space_model.StateSpaceIndependentEnsemble([adder()], Configuration())
    },
}.items():
    CASES[f"generate, {_name}"] = functools.partial(generated, **dict({"make": adder}, **_options))


def not_generated():
    """Returns what an autoregressive model generates: nothing."""
    model = ar_model.ARModel(2, 2, 2, 1)
    return {"found": [repr(model.random_model_parameters(seed=1)), repr(model.generate(2, 3))]}


CASES["generate, autoregressive"] = not_generated
CASES["generate, any model"] = lambda: Running().generate(2, 3)


def chunk(features, length=4, seed=11):
    times = np.arange(length) * np.array([[1], [2]]) + [[5], [4]]
    return {"times": tf.constant(times), "values": real(2, length, features, seed=seed)}


def window(mode=TRAIN, features=2, more=None, static=True, **options):
    """Returns the loss of a window, its state, and predictions from there."""
    model = adder(
        configuration=Configuration(
            num_features=features,
            static_unrolling_window_size_threshold=10 if static else None,
            **options,
        )
    )
    model.initialize_graph(statistics(features))
    later = more(2) if more else {}
    data = dict(chunk(features), **(more(4) if more else {}))
    found = model.define_loss(data, mode)
    times = tf.constant([[20, 23], [30, 31]], tf.int64)
    with tf.variable_scope(tf.get_variable_scope(), reuse=True):
        predicted = model.predict(dict(later, times=times, start_tuple=found.end_state))
    return {
        "loss": found.loss,
        "state": found.end_state,
        "filtered": found.predictions,
        "predicted": predicted,
    }


def extra(length):
    return {"x": real(2, length, 3, seed=12)}


COLUMNS = [tf.feature_column.numeric_column("x", shape=3)]
detector = filtering_postprocessor.StateInterpolatingAnomalyDetector
for _name, _options in {
    "training": {},
    "evaluation": {"mode": EVAL},
    "one feature": {"features": 1},
    "in a loop": {"static": False},
    "anomalies": {"filtering_postprocessor": detector(anomaly_prior_probability=0.2)},
    "extra": {"more": extra, "exogenous_feature_columns": COLUMNS},
    "extra that is observed": {
        "more": extra,
        "exogenous_feature_columns": COLUMNS,
        "exogenous_noise_decreases": True,
    },
    "extra at some times": {
        "more": extra,
        "exogenous_feature_columns": COLUMNS,
        "exogenous_update_condition": lambda times, features: tf.equal(times % 2, 0),
    },
}.items():
    CASES[f"window, {_name}"] = functools.partial(window, **_options)


class Running(sequential.SequentialTimeSeriesModel):
    """Keeps a sum of what it has seen."""

    def __init__(self):
        super().__init__(train_output_names=["mean"], predict_output_names=["mean"], num_features=1)

    def get_start_state(self):
        return tf.constant([0.5, 0.25]), tf.constant(1, tf.int64)

    def _filtering_step(self, current_times, current_values, state, predictions):
        loss = tf.reduce_sum(tf.square(current_values - predictions["mean"]), axis=1)
        return (0.5 * state[0] + current_values, current_times), dict(predictions, loss=loss)

    def _prediction_step(self, current_times, state):
        return (state[0], current_times), {"mean": state[0][:, :1]}

    def _imputation_step(self, current_times, state):
        return state

    def _exogenous_input_step(self, current_times, current_exogenous_regressors, state):
        return state


def managed(manager, mode=TRAIN, initialized=True, **more):
    model = Running()
    model.initialize_graph(statistics(1) if initialized else None)
    if initialized:
        manager.initialize_graph(model, model._input_statistics)
    found = manager.define_loss(model, dict(chunk(1), **more), mode)
    return {"loss": found.loss, "state": found.end_state, "predictions": found.predictions}


Chaining = state_management.ChainingStateManager
for _name, _make in {
    "chaining": lambda: managed(Chaining(state_saving_interval=3)),
    "chaining in evaluation": lambda: managed(Chaining(), EVAL),
    "chaining, in checkpoints": lambda: managed(Chaining(checkpoint_state=True)),
    "chaining, not initialized": lambda: managed(Chaining(), initialized=False),
    "chaining, state given": lambda: managed(Chaining(), start_tuple=1),
    "chaining, state given in evaluation": lambda: managed(
        Chaining(), EVAL, start_tuple=(real(2, 2), tf.constant([1, 1], tf.int64))
    ),
    "pass through": lambda: managed(state_management.PassthroughStateManager()),
    "pass through, state given": lambda: managed(
        state_management.PassthroughStateManager(), start_tuple=1
    ),
}.items():
    CASES[f"state, {_name}"] = _make


def chained_twice():
    """Returns what the second of two steps has found in the tables of the first."""
    model, manager = Running(), Chaining(state_saving_interval=3)
    model.initialize_graph(statistics(1))
    manager.initialize_graph(model, model._input_statistics)
    found = manager.define_loss(model, chunk(1), TRAIN)
    return {"loss": found.loss, "state": found.end_state}, [found.loss.op]


CASES["state, chained twice"] = chained_twice
