"""Cases of the less common names of tf.contrib.distributions, of bayesflow and sparsemax."""

import functools

import numpy as np
import tensorflow as tf
import values

CASES = {}
tfd = tf.contrib.distributions
monte_carlo = tf.contrib.bayesflow.monte_carlo


def real(*shape, **options):
    return values.real(*shape, **options)


def positive(*shape, **options):
    return values.real(*shape, low=0.3, high=2.0, **options)


def within(*shape, **options):
    return values.real(*shape, low=0.1, high=0.9, **options)


def factor():
    return values.given([[1.5, 0.0], [-0.7, 0.5]])


def autoregressive():
    return tfd.Autoregressive(
        lambda x: tfd.Independent(tfd.Normal(0.5 * tf.cumsum(x, -1, exclusive=True), 1.0), 1),
        tf.zeros([2, 3]),
    )


COUNTS = [[0.0, 1.0, 3.0], [2.0, 0.5, 1.0]]
REALS = [[0.5, -1.0, 2.0], [0.0, 3.0, -4.0]]
POSITIVES = [[0.5, 1.0, 2.0], [0.1, 3.0, 0.2]]
PARTS = [[0.2, 0.5, 0.9], [0.1, 0.3, 0.6]]
PAIRS = [[0.1, 0.2], [0.3, -0.4], [1.0, 2.0]]
# Name -> (function that makes it, points at which it is evaluated).
MADE = {
    "Autoregressive": (autoregressive, [[0.1, 0.2, 0.3], [-0.4, 1.0, 0.5]]),
    "BatchReshape": (
        lambda: tfd.BatchReshape(tfd.Normal(real(6), positive(6)), [2, 3]),
        REALS,
    ),
    "BatchReshape, vectors": (
        lambda: tfd.BatchReshape(tfd.MultivariateNormalDiag(real(3, 2), positive(3, 2)), [3, 1]),
        [[pair] for pair in PAIRS],
    ),
    "BetaWithSoftplusConcentration": (
        lambda: tfd.BetaWithSoftplusConcentration(real(3), real(3, seed=2)),
        PARTS,
    ),
    "Binomial": (lambda: tfd.Binomial([4.0, 5.0, 6.0], real(3)), COUNTS),
    "Binomial, probs": (lambda: tfd.Binomial(5.0, probs=within(3)), COUNTS),
    "Cauchy": (lambda: tfd.Cauchy(real(3), positive(3)), REALS),
    "Chi2": (lambda: tfd.Chi2(positive(3)), POSITIVES),
    "Chi2WithAbsDf": (lambda: tfd.Chi2WithAbsDf([-2.5, 1.5, 3.0]), POSITIVES),
    "ExpRelaxedOneHotCategorical": (
        lambda: tfd.ExpRelaxedOneHotCategorical(positive(2), real(2, 3)),
        np.log([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]),
    ),
    "ExponentialWithSoftplusRate": (lambda: tfd.ExponentialWithSoftplusRate(real(3)), POSITIVES),
    "GammaWithSoftplusConcentrationRate": (
        lambda: tfd.GammaWithSoftplusConcentrationRate(real(3), real(3, seed=2)),
        POSITIVES,
    ),
    "Geometric": (lambda: tfd.Geometric(real(3)), COUNTS),
    "Geometric, probs": (lambda: tfd.Geometric(probs=within(3)), COUNTS),
    "HalfNormal": (lambda: tfd.HalfNormal(positive(3)), REALS),
    "InverseGamma": (
        lambda: tfd.InverseGamma(3.0 * positive(3), positive(3, seed=2)),
        POSITIVES,
    ),
    "InverseGammaWithSoftplusConcentrationRate": (
        lambda: tfd.InverseGammaWithSoftplusConcentrationRate(3.0 + real(3), real(3, seed=2)),
        POSITIVES,
    ),
    "Kumaraswamy": (lambda: tfd.Kumaraswamy(positive(3), positive(3, seed=2)), PARTS),
    "Kumaraswamy, mode": (lambda: tfd.Kumaraswamy([2.0, 3.0, 1.5], 4.0), PARTS),
    "LaplaceWithSoftplusScale": (
        lambda: tfd.LaplaceWithSoftplusScale(real(3), real(3, seed=2)),
        REALS,
    ),
    "MultivariateNormalDiagPlusLowRank": (
        lambda: tfd.MultivariateNormalDiagPlusLowRank(
            real(3, 2), positive(2), scale_perturb_factor=real(2, 1, seed=2)
        ),
        PAIRS,
    ),
    "MultivariateNormalDiagPlusLowRank, all": (
        lambda: tfd.MultivariateNormalDiagPlusLowRank(
            real(2),
            positive(2),
            positive(),
            scale_perturb_factor=real(2, 2, seed=2),
            scale_perturb_diag=positive(2),
        ),
        PAIRS,
    ),
    "MultivariateNormalDiagPlusLowRank, multiplier": (
        lambda: tfd.MultivariateNormalDiagPlusLowRank(
            real(2), scale_identity_multiplier=positive(), scale_perturb_factor=real(2, 1, seed=2)
        ),
        PAIRS,
    ),
    "MultivariateNormalTriL, no loc": (
        lambda: tfd.MultivariateNormalTriL(scale_tril=factor()),
        PAIRS,
    ),
    "NegativeBinomial": (lambda: tfd.NegativeBinomial([4.0, 0.5, 6.0], real(3)), COUNTS),
    "NegativeBinomial, probs": (lambda: tfd.NegativeBinomial(5.0, probs=within(3)), COUNTS),
    "PoissonLogNormalQuadratureCompound": (
        lambda: tfd.PoissonLogNormalQuadratureCompound(real(3), 0.5 * positive(3)),
        [[0.0, 1.0, 3.0], [2.0, 5.0, 1.0]],
    ),
    "PoissonLogNormalQuadratureCompound, Gauss-Hermite": (
        lambda: tfd.PoissonLogNormalQuadratureCompound(
            real(3),
            positive(3),
            quadrature_size=4,
            quadrature_fn=tfd.quadrature_scheme_lognormal_gauss_hermite,
        ),
        [[0.0, 1.0, 3.0], [2.0, 5.0, 1.0]],
    ),
    "QuantizedDistribution": (
        lambda: tfd.QuantizedDistribution(tfd.Normal(real(3), positive(3)), -2.0, 3.0),
        [[-2.0, 1.0, 3.0], [0.0, -1.0, 2.5]],
    ),
    "QuantizedDistribution, no limits": (
        lambda: tfd.QuantizedDistribution(tfd.Normal(real(3), positive(3))),
        [[-2.0, 1.0, 3.0], [0.0, -1.0, 0.5]],
    ),
    "RelaxedBernoulli": (lambda: tfd.RelaxedBernoulli(positive(3), real(3)), PARTS),
    "RelaxedBernoulli, probs": (lambda: tfd.RelaxedBernoulli(0.5, probs=within(3)), PARTS),
    "SinhArcsinh": (
        lambda: tfd.SinhArcsinh(real(3), positive(3), real(3, seed=2), positive(3, seed=2)),
        REALS,
    ),
    "SinhArcsinh, nothing": (lambda: tfd.SinhArcsinh(real(3), positive(3)), REALS),
    "SinhArcsinh, Laplace": (
        lambda: tfd.SinhArcsinh(
            real(3), positive(), tailweight=2.0, distribution=tfd.Laplace(0.0, 1.0)
        ),
        REALS,
    ),
    "StudentTWithAbsDfSoftplusScale": (
        lambda: tfd.StudentTWithAbsDfSoftplusScale([-3.5, 4.0, 5.0], real(3), real(3, seed=2)),
        REALS,
    ),
    "VectorDeterministic": (
        lambda: tfd.VectorDeterministic([[1.0, 2.0], [0.1, 0.2]], 0.1, 0.01),
        [[1.0, 2.11], [0.1, 0.5]],
    ),
    "VectorExponentialDiag": (
        lambda: tfd.VectorExponentialDiag(-2.0 + real(3, 2), positive(2)),
        PAIRS,
    ),
    "VectorExponentialDiag, multiplier": (
        lambda: tfd.VectorExponentialDiag(-2.0 + real(3, 2), scale_identity_multiplier=positive(3)),
        PAIRS,
    ),
    "VectorLaplaceDiag": (lambda: tfd.VectorLaplaceDiag(real(3, 2), positive(2)), PAIRS),
    "VectorLaplaceDiag, no loc": (
        lambda: tfd.VectorLaplaceDiag(scale_diag=positive(3, 2)),
        PAIRS,
    ),
    "VectorSinhArcsinhDiag": (
        lambda: tfd.VectorSinhArcsinhDiag(
            real(3, 2), positive(2), skewness=real(seed=2), tailweight=positive(seed=3)
        ),
        PAIRS,
    ),
    "VectorSinhArcsinhDiag, unit": (
        lambda: tfd.VectorSinhArcsinhDiag(real(3, 2), tailweight=positive(2)),
        PAIRS,
    ),
    "WishartCholesky": (
        lambda: tfd.WishartCholesky(4.5, factor()),
        [[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 3.0]]],
    ),
    "WishartCholesky, factors": (
        lambda: tfd.WishartCholesky(4.5, factor(), cholesky_input_output_matrices=True),
        [[[2.0, 0.0], [0.5, 1.0]], [[1.0, 0.0], [-0.3, 3.0]]],
    ),
    "WishartCholesky, batch": (
        lambda: tfd.WishartCholesky([2.5, 5.0], tf.stack([factor(), 2.0 * factor()])),
        [[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 3.0]]],
    ),
    "WishartFull": (
        lambda: tfd.WishartFull(4.5, values.given([[2.0, 0.5], [0.5, 1.0]])),
        [[[2.0, 0.5], [0.5, 1.0]], [[1.0, -0.3], [-0.3, 3.0]]],
    ),
}
STATISTICS = ("covariance", "entropy", "mean", "mode", "stddev", "variance")
OF_POINTS = ("cdf", "log_cdf", "log_prob", "log_survival_function", "prob", "survival_function")


def attempt(function):
    """Returns a result, or the kind of error."""
    try:
        return function()
    except (NotImplementedError, ValueError) as error:
        return type(error).__name__


def method(name, called):
    make, points = MADE[name]
    distribution = make()
    if called == "shapes":
        sample = attempt(lambda: tf.shape(distribution.sample([4, 2], seed=3)))
        return {
            "sample": sample,
            "one": attempt(lambda: tf.shape(distribution.sample(seed=3))),
            "type": distribution.dtype.name,
            "batch": distribution.batch_shape.as_list(),
            "event": distribution.event_shape.as_list(),
            "batch tensor": distribution.batch_shape_tensor(),
            "event tensor": distribution.event_shape_tensor(),
            "kind": repr(distribution.reparameterization_type == tfd.FULLY_REPARAMETERIZED),
            "scalar": [distribution.is_scalar_batch(), distribution.is_scalar_event()],
            "name": distribution.name,
            "parameters": sorted(distribution.parameters),
            "copy": type(distribution.copy()).__name__,
        }
    if called == "statistics":
        return {one: attempt(getattr(distribution, one)) for one in STATISTICS}
    points = tf.constant(points, distribution.dtype)
    if called == "log_prob":
        return distribution.log_prob(points)
    methods = {one: getattr(distribution, one) for one in OF_POINTS}
    return {one: attempt(functools.partial(call, points)) for one, call in methods.items()}


for _name in sorted(MADE):
    for _called in ("shapes", "statistics", "log_prob", "points"):
        CASES[f"{_name}: {_called}"] = functools.partial(method, _name, _called)
for _name in ("Cauchy", "HalfNormal", "Kumaraswamy", "SinhArcsinh", "RelaxedBernoulli"):
    CASES[f"{_name}: quantile"] = lambda name=_name: attempt(
        lambda: MADE[name][0]().quantile(tf.constant(PARTS))
    )
for _name in ("WishartCholesky", "WishartCholesky, batch", "WishartFull"):
    CASES[f"{_name}: further"] = lambda name=_name: (
        lambda d: [
            d.mean_log_det(),
            d.log_normalization(),
            d.scale(),
            d.dimension,
            d.df,
            d.scale_operator.to_dense(),
        ]
    )(MADE[name][0]())
CASES["parameters"] = lambda: [
    MADE["Binomial"][0]().total_count,
    MADE["Binomial"][0]().probs,
    MADE["Geometric"][0]().probs,
    MADE["NegativeBinomial, probs"][0]().logits,
    MADE["RelaxedBernoulli"][0]().probs,
    MADE["RelaxedBernoulli"][0]().temperature,
    MADE["ExpRelaxedOneHotCategorical"][0]().probs,
    MADE["ExpRelaxedOneHotCategorical"][0]().event_size,
    MADE["SinhArcsinh"][0]().tailweight,
    MADE["SinhArcsinh"][0]().scale,
    MADE["VectorSinhArcsinhDiag"][0]().scale.to_dense(),
    MADE["MultivariateNormalDiagPlusLowRank"][0]().scale.to_dense(),
    MADE["PoissonLogNormalQuadratureCompound"][0]().mixture_distribution.probs,
    MADE["PoissonLogNormalQuadratureCompound"][0]().distribution.rate,
    MADE["Chi2"][0]().df,
]
for _first, _second in (
    ("MultivariateNormalDiagPlusLowRank", "MultivariateNormalTriL, no loc"),
    ("MultivariateNormalTriL, no loc", "MultivariateNormalDiagPlusLowRank"),
    ("Chi2", "GammaWithSoftplusConcentrationRate"),
    ("InverseGamma", "InverseGamma"),
    ("HalfNormal", "HalfNormal"),
):
    CASES[f"kl_divergence, {_first}, {_second}"] = lambda first=_first, second=_second: (
        tfd.kl_divergence(MADE[first][0](), MADE[second][0]())
    )
REFUSED = {
    "Binomial, too many": lambda: tfd.Binomial(2.0, 0.5, validate_args=True).log_prob(3.0),
    "Binomial, neither": lambda: tfd.Binomial(2.0),
    "Cauchy, mean": lambda: tfd.Cauchy(0.0, 1.0, allow_nan_stats=False).mean(),
    "Cauchy, scale": lambda: tfd.Cauchy(0.0, -1.0, validate_args=True).entropy(),
    "Geometric, fraction": lambda: tfd.Geometric(0.5, validate_args=True).log_prob(0.5),
    "InverseGamma, mean": lambda: tfd.InverseGamma(0.5, 1.0, allow_nan_stats=False).mean(),
    "InverseGamma, variance": lambda: tfd.InverseGamma([1.5, 3.0], 1.0).variance(),
    "MultivariateNormalTriL, nothing": lambda: tfd.MultivariateNormalTriL(),
    "MultivariateNormalDiag, nothing": lambda: tfd.MultivariateNormalDiag(),
    "NegativeBinomial, negative": lambda: tfd.NegativeBinomial(
        2.0, 0.5, validate_args=True
    ).log_prob(-1.0),
    "QuantizedDistribution, limits": lambda: tfd.QuantizedDistribution(
        tfd.Normal(0.0, 1.0), 0.5, 2.0, validate_args=True
    ).cdf(1.0),
    "BatchReshape, size": lambda: tfd.BatchReshape(
        tfd.Normal(real(6), 1.0), [2, 2], validate_args=True
    ),
    "BatchReshape, broadcast": lambda: tfd.BatchReshape(tfd.Normal(real(6), 1.0), [2, 3]).log_prob(
        real(1, 3)
    ),
    "Autoregressive, steps": lambda: tfd.Autoregressive(
        lambda x: tfd.Normal(x, 1.0), tf.zeros([2]), num_steps=0
    ),
    "WishartCholesky, df": lambda: tfd.WishartCholesky(1.0, factor()),
    "WishartCholesky, mode": lambda: tfd.WishartCholesky(2.5, factor()).mode(),
    "WishartFull, not symmetric": lambda: tfd.WishartFull(
        3.0, [[2.0, 0.5], [0.1, 1.0]], validate_args=True
    ).mean(),
    "VectorDeterministic, scalar": lambda: tfd.VectorDeterministic(1.0, validate_args=True),
}
for _name, _make in REFUSED.items():
    CASES[f"refused: {_name}"] = _make


# Functions.
CASES["fill_triangular"] = lambda: [
    tfd.fill_triangular(real(2, 6)),
    tfd.fill_triangular(real(6), upper=True),
    tfd.fill_triangular_inverse(real(2, 3, 3)),
    tfd.fill_triangular_inverse(real(3, 3), upper=True),
]
CASES["matrix_diag_transform"] = lambda: [
    tfd.matrix_diag_transform(real(2, 3, 3), tf.nn.softplus),
    tfd.matrix_diag_transform(real(2, 2)),
]
CASES["tridiag"] = lambda: [
    tfd.tridiag(real(2, 3), real(2, 3, seed=2), real(2, 3, seed=3)),
    tfd.tridiag(diag=real(3)),
]
CASES["reduce_weighted_logsumexp"] = lambda: [
    tfd.reduce_weighted_logsumexp(real(3, 4), positive(3, 4), axis=1),
    tfd.reduce_weighted_logsumexp(real(3, 4), keep_dims=True, axis=[0]),
    tfd.reduce_weighted_logsumexp(real(3, 4), real(3, 4, seed=2), return_sign=True),
]
CASES["SeedStream"] = lambda: [
    str([stream() for _ in range(3)])
    for stream in (
        tfd.SeedStream(3, "salt"),
        tfd.SeedStream(None, salt="x"),
        tfd.SeedStream(tfd.SeedStream(5, "a"), "b"),
    )
]
for _options in (
    {},
    {"axis": 0},
    {"max_lags": 2},
    {"max_lags": 9, "center": False},
    {"normalize": False},
):
    CASES[f"auto_correlation, {_options}"] = lambda options=_options: tfd.auto_correlation(
        real(3, 6), **options
    )
CASES["auto_correlation, complex"] = lambda: tf.real(
    tfd.auto_correlation(tf.complex(real(6), real(6, seed=2)))
)


def variable(name):
    return tf.get_variable(name, initializer=tf.zeros([3]), trainable=False)


def moving(name):
    value = tf.constant(values.array(3))
    if name == "exp":
        changed = variable("log_mean_exp")
        updated = tfd.assign_log_moving_mean_exp(changed, value, 0.9)
        return [tf.identity(changed.read_value())], [tf.group(updated)]
    if name == "assigned":
        mean, variance = variable("mean"), variable("variance")
        updated = tfd.assign_moving_mean_variance(mean, variance, value, 0.9)
    else:
        updated = tfd.moving_mean_variance(value, 0.9, name=name)
        variance, mean = tf.global_variables()
    return [tf.identity(one.read_value()) for one in (mean, variance)], [tf.group(*updated)]


for _name in ("exp", "assigned", None, "moving"):
    CASES[f"moving, {_name}"] = functools.partial(moving, _name)
CASES["moving_mean_variance, collections"] = lambda: [
    tf.group(*tfd.moving_mean_variance(real(3), 0.9, collections=["mine"])),
    [one.name for one in tf.get_collection("mine")],
]
CASES["moving_mean_variance, whole"] = lambda: tfd.moving_mean_variance(tf.constant([1]), 0.9)
for _name in ("posterior", "predictive"):
    CASES[f"normal_conjugates_known_scale_{_name}"] = lambda name=_name: (
        lambda d: [d.loc, d.scale]
    )(
        getattr(tfd, f"normal_conjugates_known_scale_{name}")(
            tfd.Normal(real(3), positive(3)),
            positive(3, seed=2),
            real(3, seed=3),
            tf.constant(4),
        )
    )
CASES["normal_conjugates, no normal"] = lambda: tfd.normal_conjugates_known_scale_posterior(
    tfd.Beta(1.0, 1.0), tf.constant(1.0), tf.constant(1.0), tf.constant(1)
)
for _name in ("lognormal_gauss_hermite", "lognormal_quantiles"):
    CASES[f"quadrature_scheme_{_name}"] = lambda name=_name: getattr(
        tfd, f"quadrature_scheme_{name}"
    )(real(3), positive(3), 4)
for _name in ("softmaxnormal_gauss_hermite", "softmaxnormal_quantiles"):
    CASES[f"quadrature_scheme_{_name}"] = lambda name=_name: getattr(
        tfd, f"quadrature_scheme_{name}"
    )(real(3, 2), positive(3, 2), 4)
CASES["quadrature, scalar"] = lambda: tfd.quadrature_scheme_softmaxnormal_quantiles(
    real(2), positive(), 4
)
CASES["expectation"] = lambda: [
    monte_carlo.expectation(tf.square, real(5, 3)),
    monte_carlo.expectation(tf.square, real(5, 3), axis=None, keep_dims=True),
    monte_carlo.expectation(
        tf.square,
        real(5, 3, seed=2),
        tfd.Normal(real(3, seed=3), positive(3)).log_prob,
        use_reparametrization=False,
    ),
]
CASES["expectation, no log_prob"] = lambda: monte_carlo.expectation(
    tf.square, real(5), use_reparametrization=False
)
for _name, _function in (("", tf.sin), ("_logspace", tf.square)):
    CASES[f"expectation_importance_sampler{_name}"] = lambda name=_name, function=_function: (
        getattr(monte_carlo, f"expectation_importance_sampler{name}")(
            function,
            tfd.Normal(real(3), positive(3)).log_prob,
            tfd.Normal(real(3, seed=2), 1.0),
            z=real(6, 3, seed=3),
        )
    )
CASES["expectation_importance_sampler, both"] = lambda: monte_carlo.expectation_importance_sampler(
    tf.sin, tf.sin, tfd.Normal(0.0, 1.0), z=real(3), n=3
)
sparsemax, sparsemax_loss = tf.contrib.sparsemax.sparsemax, tf.contrib.sparsemax.sparsemax_loss


def losses(logits, labels):
    return sparsemax_loss(logits, sparsemax(logits), labels)


NAN, INF = float("nan"), float("inf")
CASES["sparsemax"] = lambda: sparsemax(3.0 * real(5, 4))
CASES["sparsemax, unusual"] = lambda: sparsemax(
    tf.constant([[1.0, NAN, 2.0], [INF, 0.0, 1.0], [-INF, 0.0, 0.5], [-INF, -INF, -INF]])
)
CASES["sparsemax, double"] = lambda: sparsemax(real(5, 4, dtype=np.float64))
CASES["sparsemax_loss"] = lambda: losses(3.0 * real(5, 4), tf.one_hot([0, 1, 2, 3, 1], 4))
CASES["sparsemax_loss, shares"] = lambda: losses(3.0 * real(5, 4), tf.nn.softmax(real(5, 4)))
CASES["sparsemax_loss, infinite"] = lambda: losses(
    tf.constant([[-INF, 0.0, 0.5], [-INF, 0.0, 0.5]]), tf.constant([[0.0, 1.0, 0.0], [1.0, 0, 0]])
)
