"""Cases of tf.contrib.distributions; what is random is compared by its shape and type."""

import functools

import tensorflow as tf
import values

CASES = {}
tfd = tf.contrib.distributions


def real(*shape, **options):
    return values.real(*shape, **options)


def positive(*shape, **options):
    return values.real(*shape, low=0.3, high=2.0, **options)


def within(*shape, **options):
    return values.real(*shape, low=0.1, high=0.9, **options)


def triangular():
    return values.given([[1.5, 0.0], [-0.7, 0.5]])


# Name -> (function that makes it, points at which it is evaluated).
MADE = {
    "Bernoulli": (lambda: tfd.Bernoulli(real(3)), [[0, 1, 1], [1, 0, 1]]),
    "Bernoulli, probs": (lambda: tfd.Bernoulli(probs=within(3)), [[0, 1, 1]]),
    "Beta": (lambda: tfd.Beta(positive(3), positive(3, seed=2)), [[0.2, 0.5, 0.9]]),
    "Categorical": (lambda: tfd.Categorical(real(3, 4)), [0, 3, 2]),
    "Categorical, probs": (
        lambda: tfd.Categorical(probs=tf.nn.softmax(real(3, 4))),
        [[0, 3, 2], [1, 1, 1]],
    ),
    "Deterministic": (lambda: tfd.Deterministic([1.0, 2.0]), [1.0, 3.0]),
    "Dirichlet": (lambda: tfd.Dirichlet(positive(2, 3)), [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]),
    "DirichletMultinomial": (
        lambda: tfd.DirichletMultinomial([4.0, 5.0], positive(2, 3)),
        [[1.0, 1.0, 2.0], [0.0, 2.0, 3.0]],
    ),
    "Exponential": (lambda: tfd.Exponential(positive(3)), [[0.5, 1.0, 2.0]]),
    "Gamma": (lambda: tfd.Gamma(positive(3), positive(3, seed=2)), [[0.5, 1.0, 2.0]]),
    "Independent": (
        lambda: tfd.Independent(tfd.Normal(real(3, 2), positive(3, 2)), 1),
        [[0.1, 0.2], [0.3, -0.4], [1.0, 2.0]],
    ),
    "Laplace": (lambda: tfd.Laplace(real(3), positive(3)), [[0.5, -1.0, 2.0]]),
    "Logistic": (lambda: tfd.Logistic(real(3), positive(3)), [[0.5, -1.0, 2.0]]),
    "Mixture": (
        lambda: tfd.Mixture(
            tfd.Categorical(real(3, 2)),
            [
                tfd.Normal(real(3, seed=2), positive(3)),
                tfd.Normal(real(3, seed=3), 1.0 + real(3) / 2),
            ],
        ),
        [0.5, -1.0, 0.2],
    ),
    "MixtureSameFamily": (
        lambda: tfd.MixtureSameFamily(
            tfd.Categorical(real(3, 2)), tfd.Normal(real(3, 2, seed=2), positive(3, 2))
        ),
        [0.5, -1.0, 0.2],
    ),
    "Multinomial": (
        lambda: tfd.Multinomial([4.0, 5.0], real(2, 3)),
        [[1.0, 1.0, 2.0], [0.0, 2.0, 3.0]],
    ),
    "MultivariateNormalDiag": (
        lambda: tfd.MultivariateNormalDiag(real(3, 2), positive(2)),
        [[0.1, 0.2], [0.3, -0.4], [1.0, 2.0]],
    ),
    "MultivariateNormalDiag, unit": (
        lambda: tfd.MultivariateNormalDiag(real(3, 2)),
        [[0.1, 0.2], [0.3, -0.4], [1.0, 2.0]],
    ),
    "MultivariateNormalDiag, both": (
        lambda: tfd.MultivariateNormalDiag(real(3, 2), positive(2), positive(3)),
        [[0.1, 0.2], [0.3, -0.4], [1.0, 2.0]],
    ),
    "MultivariateNormalDiag, multiplier": (
        lambda: tfd.MultivariateNormalDiag(real(3, 2), scale_identity_multiplier=positive(3)),
        [[0.1, 0.2], [0.3, -0.4], [1.0, 2.0]],
    ),
    "MultivariateNormalDiagWithSoftplusScale": (
        lambda: tfd.MultivariateNormalDiagWithSoftplusScale(real(3, 2), real(2, seed=2)),
        [[0.1, 0.2], [0.3, -0.4], [1.0, 2.0]],
    ),
    "MultivariateNormalFullCovariance": (
        lambda: tfd.MultivariateNormalFullCovariance(
            real(3, 2), tf.matmul(triangular(), triangular(), transpose_b=True)
        ),
        [[0.1, 0.2], [0.3, -0.4], [1.0, 2.0]],
    ),
    "MultivariateNormalTriL": (
        lambda: tfd.MultivariateNormalTriL(real(3, 2), triangular()),
        [[0.1, 0.2], [0.3, -0.4], [1.0, 2.0]],
    ),
    "Normal": (lambda: tfd.Normal(real(3), positive(3)), [[0.5, -1.0, 2.0], [0.0, 9.0, -9.0]]),
    "NormalWithSoftplusScale": (
        lambda: tfd.NormalWithSoftplusScale(real(3), real(3, seed=2)),
        [[0.5, -1.0, 2.0]],
    ),
    "OneHotCategorical": (lambda: tfd.OneHotCategorical(real(2, 3)), [[0, 1, 0], [1, 0, 0]]),
    "Poisson": (lambda: tfd.Poisson(positive(3)), [[0.0, 1.0, 4.0]]),
    "RelaxedOneHotCategorical": (
        lambda: tfd.RelaxedOneHotCategorical(0.7, real(2, 3)),
        [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]],
    ),
    "StudentT": (
        lambda: tfd.StudentT(positive(3), real(3), positive(3, seed=2)),
        [[0.5, -1.0, 2.0]],
    ),
    "Uniform": (lambda: tfd.Uniform(real(3), 2.0 + real(3)), [[0.5, -1.0, 9.0]]),
}
STATISTICS = ("entropy", "mean", "mode", "stddev", "variance")
OF_POINTS = ("cdf", "log_cdf", "log_prob", "log_survival_function", "prob", "survival_function")


def method(name, called):
    make, points = MADE[name]
    distribution = make()
    if called == "sample":
        return {
            "sample": tf.shape(distribution.sample([4, 2], seed=3)),
            "one": tf.shape(distribution.sample(seed=3)),
            "type": distribution.dtype.name,
        }
    if called == "shapes":
        return {
            "batch": distribution.batch_shape.as_list(),
            "event": distribution.event_shape.as_list(),
            "batch tensor": distribution.batch_shape_tensor(),
            "event tensor": distribution.event_shape_tensor(),
            "kind": repr(distribution.reparameterization_type == tfd.FULLY_REPARAMETERIZED),
            "scalar": [distribution.is_scalar_batch(), distribution.is_scalar_event()],
            "name": distribution.name,
        }
    if called in STATISTICS:
        return getattr(distribution, called)()
    return getattr(distribution, called)(tf.constant(points, distribution.dtype))


for _name in sorted(MADE):
    for _called in ("sample", "shapes", *STATISTICS, *OF_POINTS):
        CASES[f"{_name}: {_called}"] = functools.partial(method, _name, _called)

PAIRS = [
    ("Normal", "NormalWithSoftplusScale"),
    ("MultivariateNormalTriL", "MultivariateNormalDiag"),
]
PAIRS += [(name, name) for name in sorted(MADE) if "Mixture" not in name]
for _first, _second in PAIRS:
    CASES[f"kl_divergence, {_first}, {_second}"] = lambda first=_first, second=_second: (
        tfd.kl_divergence(MADE[first][0](), MADE[second][0]())
    )
for _q in (0.0, 30.0, 50.0, 99.0, [10.0, 80.0]):
    CASES[f"percentile, {_q}"] = lambda q=_q: tfd.percentile(real(5, 4), q)
for _how in ("lower", "higher", "nearest", "linear"):
    CASES[f"percentile, {_how}"] = lambda how=_how: tfd.percentile(
        real(5, 4), 30.0, axis=0, interpolation=how, keep_dims=True
    )
CASES["softplus_inverse"] = lambda: tfd.softplus_inverse(
    values.given([1e-8, 1e-3, 0.5, 3.0, 20.0, 100.0])
)
for _method in ("cdf", "log_cdf", "survival_function"):
    CASES[f"Poisson between integers: {_method}"] = functools.partial(
        lambda method: getattr(tfd.Poisson(positive(3)), method)([0.5, -0.5, 1.75]), _method
    )
