"""`tf.contrib.distributions`, compared with SciPy, NumPy and samples."""

import numpy as np
import pytest
import scipy.special
import scipy.stats
import tensorflow as tf

tfd = tf.contrib.distributions
RANDOM = np.random.RandomState(0)
LOC = RANDOM.normal(size=[3, 2]).astype(np.float32)
TRIL = np.array([[1.5, 0.0], [-0.7, 0.5]], np.float32)
POINTS = RANDOM.normal(size=[4, 3, 2]).astype(np.float32)


def normals():
    covariance = TRIL.dot(TRIL.T)
    return {
        "tril": (tfd.MultivariateNormalTriL(LOC, TRIL), covariance),
        "full": (tfd.MultivariateNormalFullCovariance(LOC, covariance), covariance),
        "diag": (tfd.MultivariateNormalDiag(LOC, [2.0, 0.5]), np.diag([4.0, 0.25])),
        "same": (
            tfd.MultivariateNormalDiag(LOC, scale_identity_multiplier=3.0),
            np.diag([9.0, 9.0]),
        ),
        "unit": (tfd.MultivariateNormalDiag(LOC), np.eye(2)),
    }


@pytest.mark.parametrize("kind", ["tril", "full", "diag", "same", "unit"])
def test_multivariate_normal_distributions(run, kind):
    found, covariance = normals()[kind]
    other = tfd.MultivariateNormalTriL(LOC[::-1], TRIL)
    assert found.batch_shape.as_list() == [3] and found.event_shape.as_list() == [2]
    samples, log_prob, entropy, divergence, variance = run(
        [
            found.sample(20000, seed=3),
            found.log_prob(POINTS),
            found.entropy(),
            tfd.kl_divergence(found, other),
            found.variance(),
        ]
    )
    references = [scipy.stats.multivariate_normal(mean, covariance) for mean in LOC]
    wanted = np.stack([one.logpdf(POINTS[:, i]) for i, one in enumerate(references)], 1)
    np.testing.assert_allclose(log_prob, wanted, rtol=1e-4)
    np.testing.assert_allclose(entropy, [one.entropy() for one in references], rtol=1e-4)
    # As in 1.15, without the batch of `loc`.
    np.testing.assert_allclose(variance, np.diag(covariance), rtol=1e-4)
    assert samples.shape == (20000, 3, 2)
    np.testing.assert_allclose(samples.mean(0), LOC, atol=0.1)
    np.testing.assert_allclose(np.cov(samples[:, 1].T), covariance, atol=0.3)
    # The KL divergence in closed form.
    inverse = np.linalg.inv(TRIL.dot(TRIL.T))
    away = LOC[::-1] - LOC
    closed = np.trace(inverse.dot(covariance)) - 2 + np.einsum("bi,ij,bj->b", away, inverse, away)
    closed += np.log(np.linalg.det(TRIL.dot(TRIL.T)) / np.linalg.det(covariance))
    np.testing.assert_allclose(divergence, closed / 2, rtol=1e-3, atol=1e-5)


def test_mixtures(run):
    weights = np.array([0.2, 0.5, 0.3], np.float32)
    means, scales = np.array([-3.0, 0.0, 4.0], np.float32), np.array([0.5, 1, 2], np.float32)
    parts = [tfd.Normal(mean, scale) for mean, scale in zip(means, scales)]
    cat = tfd.Categorical(probs=weights)
    mixture = tfd.Mixture(cat, parts)
    family = tfd.MixtureSameFamily(cat, tfd.Normal(means, scales))
    vectors = tfd.MixtureSameFamily(
        tfd.Categorical(probs=[[0.2, 0.5, 0.3]] * 2),
        tfd.MultivariateNormalDiag(tf.tile(means[None, :, None], [2, 1, 4]), tf.ones([2, 3, 4])),
    )
    several = tfd.Mixture(cat, [tfd.MultivariateNormalDiag([m, -m], [1.0, 1.0]) for m in means])
    x = np.linspace(-5, 8, 20).astype(np.float32)
    mean, square = weights.dot(means), weights.dot(scales**2 + means**2)
    log_prob = np.log(
        sum(w * scipy.stats.norm(m, s).pdf(x) for w, m, s in zip(weights, means, scales))
    )
    for one in (mixture, family):
        assert one.batch_shape.as_list() == [] and one.event_shape.as_list() == []
        got, samples, moments = run(
            [one.log_prob(x), one.sample(20000, seed=1), [one.mean(), one.variance()]]
        )
        np.testing.assert_allclose(got, log_prob, rtol=1e-4)
        np.testing.assert_allclose(moments, [mean, square - mean**2], rtol=1e-4)
        assert samples.mean() == pytest.approx(mean, abs=0.1)
        assert samples.std() == pytest.approx(np.sqrt(square - mean**2), abs=0.1)
    got, sample, center = run(
        [vectors.log_prob(tf.ones([5, 2, 4])), vectors.sample(6), vectors.mean()]
    )
    wanted = np.log(sum(w * scipy.stats.norm(m, 1).pdf(1) ** 4 for w, m in zip(weights, means)))
    np.testing.assert_allclose(got, np.full([5, 2], wanted), rtol=1e-4)
    assert sample.shape == (6, 2, 4)
    np.testing.assert_allclose(center, np.full([2, 4], mean), rtol=1e-5)
    sample, bound, center = run([several.sample(7), several.entropy_lower_bound(), several.mean()])
    assert sample.shape == (7, 2) and bound == pytest.approx(np.log(2 * np.pi) + 1, rel=1e-5)
    np.testing.assert_allclose(center, [mean, -mean], rtol=1e-5)
    with pytest.raises(TypeError, match="Categorical"):
        tfd.Mixture(parts[0], parts)


def test_independent_axes(run):
    images = tfd.Independent(tfd.Bernoulli(logits=tf.zeros([5, 4, 3])), 2)
    assert images.batch_shape.as_list() == [5] and images.event_shape.as_list() == [4, 3]
    vector = tfd.Independent(tfd.Normal(LOC, 2.0))
    other = tfd.Independent(tfd.Normal(LOC + 1, 2.0))
    got = run(
        [
            images.log_prob(images.sample(2)),
            vector.log_prob(POINTS),
            vector.entropy(),
            tfd.kl_divergence(vector, other),
            images.batch_shape_tensor(),
            images.event_shape_tensor(),
        ]
    )
    np.testing.assert_allclose(got[0], np.full([2, 5], -12 * np.log(2)), rtol=1e-5)
    np.testing.assert_allclose(got[1], scipy.stats.norm(LOC, 2).logpdf(POINTS).sum(-1), rtol=1e-4)
    np.testing.assert_allclose(got[2], 2 * scipy.stats.norm(0, 2).entropy() * np.ones(3), rtol=1e-5)
    np.testing.assert_allclose(got[3], np.full(3, 2 / 8), rtol=1e-4)
    assert got[4].tolist() == [5] and got[5].tolist() == [4, 3]


def test_univariate_distributions(run):
    rates = np.array([0.5, 3.0], np.float32)
    poisson, logged = tfd.Poisson(rates), tfd.Poisson(log_rate=np.log(rates))
    counts = np.array([[0, 2], [1, 7]], np.float32)
    logistic = tfd.Logistic(1.0, [2.0, 3.0])
    same = tfd.Deterministic([1.0, 2.0], atol=0.1)
    found = run(
        [
            [one.log_prob(counts) for one in (poisson, logged)],
            poisson.sample(20000, seed=1),
            logistic.log_prob(counts),
            logistic.cdf(counts),
            [logistic.entropy(), logistic.stddev()],
            logistic.sample(20000, seed=1),
            same.prob([1.05, 2.5]),
            same.sample(3),
            tfd.softplus_inverse(tf.nn.softplus([-9.0, 0.5, 40.0])),
            tfd.NormalWithSoftplusScale(0.0, 1.0).stddev(),
            tfd.BernoulliWithSigmoidProbs([-1.0]).mean(),
        ]
    )
    np.testing.assert_allclose(found[0], [scipy.stats.poisson(rates).logpmf(counts)] * 2, rtol=1e-4)
    np.testing.assert_allclose(found[1].mean(0), rates, atol=0.1)
    reference = scipy.stats.logistic(1, [2, 3])
    np.testing.assert_allclose(found[2], reference.logpdf(counts), rtol=1e-4)
    np.testing.assert_allclose(found[3], reference.cdf(counts), rtol=1e-4)
    np.testing.assert_allclose(found[4], [reference.entropy(), reference.std()], rtol=1e-4)
    np.testing.assert_allclose(found[5].std(0), reference.std(), rtol=0.05)
    np.testing.assert_allclose(found[6], [1, 0])
    np.testing.assert_array_equal(found[7], [[1, 2]] * 3)
    np.testing.assert_allclose(found[8], [-9, 0.5, 40], rtol=1e-3)
    np.testing.assert_allclose(found[9], np.log1p(np.e), rtol=1e-5)
    np.testing.assert_allclose(found[10], [1 / (1 + np.e)], rtol=1e-5)


def test_categorical_vector_distributions(run):
    probs = np.array([[0.2, 0.5, 0.3], [0.0, 0.9, 0.1]], np.float32)
    hot = tfd.OneHotCategorical(probs=probs)
    soft = tfd.RelaxedOneHotCategorical(0.5, probs=[0.2, 0.5, 0.3])
    hard = tfd.RelaxedOneHotCategorical(0.01, logits=np.log([[0.2, 0.5, 0.3]]).astype(np.float32))
    place = tf.constant([0.2, 0.3, 0.5])
    found = run(
        [
            hot.sample(20000, seed=1),
            hot.log_prob([[0, 0, 1], [0, 1, 0]]),
            hot.mode(),
            tfd.kl_divergence(tfd.OneHotCategorical([0.0, 0.0]), tfd.OneHotCategorical([0.0, 1.0])),
            hard.sample(20000, seed=1),
            soft.log_prob(place),
        ]
    )
    assert found[0].dtype == np.int32 and (found[0].sum(-1) == 1).all()
    np.testing.assert_allclose(found[0].mean(0), probs, atol=0.02)
    np.testing.assert_allclose(found[1], np.log([0.3, 0.9]), rtol=1e-4)
    np.testing.assert_array_equal(found[2], [[0, 1, 0], [0, 1, 0]])
    other = np.array([1, np.e]) / (1 + np.e)
    assert found[3] == pytest.approx(np.sum(0.5 * np.log(0.5 / other)), rel=1e-4)
    np.testing.assert_allclose(found[4].sum(-1), np.ones([20000, 1]), rtol=1e-5)
    np.testing.assert_allclose(found[4].mean(0), probs[:1], atol=0.02)
    # Maddison et al. (2016), equation 10.
    x, a, t = np.array([0.2, 0.3, 0.5]), probs[0].astype(float), 0.5
    density = scipy.special.gamma(3) * t**2 * np.prod(a * x ** (-t - 1) / np.sum(a * x**-t))
    assert found[5] == pytest.approx(np.log(density), rel=1e-4)


@pytest.mark.parametrize("q", [0, 30.0, 50.0, 100])
@pytest.mark.parametrize("axis", [None, 1, -1, [0, 2]])
def test_percentile(run, q, axis):
    x = RANDOM.permutation(60).reshape([3, 4, 5]).astype(np.float32)
    axes = tuple(axis) if isinstance(axis, list) else axis
    for kind in ("lower", "higher", "nearest"):
        if kind == "nearest":  # At a tie, 1.15 rounds the place from the largest value.
            wanted = -np.percentile(-x, 100 - q, axis=axes, method=kind, keepdims=True)
        else:
            wanted = np.percentile(x, q, axis=axes, method=kind, keepdims=True)
        got = run(tfd.percentile(x, q, axis, None if kind == "nearest" else kind, keep_dims=True))
        np.testing.assert_array_equal(got, wanted)
    assert run(tfd.percentile(x, q, axis)).ndim == np.percentile(x, q, axis=axes).ndim
    with pytest.raises(ValueError, match="linear"):
        tfd.percentile(x, q, interpolation="linear")


def made_of_arguments():
    probs, two = np.array([0.3, 0.7], np.float32), np.array([1.0, 2.0], np.float32)
    components = tfd.Normal(two, two)
    return {
        "MultivariateNormalTriL": dict(loc=LOC, scale_tril=TRIL),
        "MultivariateNormalFullCovariance": dict(loc=LOC, covariance_matrix=TRIL.dot(TRIL.T)),
        "MultivariateNormalDiag": dict(loc=LOC, scale_diag=two, scale_identity_multiplier=None),
        "MultivariateNormalDiagWithSoftplusScale": dict(loc=LOC, scale_diag=two),
        "NormalWithSoftplusScale": dict(loc=two, scale=two),
        "Independent": dict(distribution=components, reinterpreted_batch_ndims=None),
        "Mixture": dict(
            cat=tfd.Categorical(probs=probs),
            components=[tfd.Normal(0.0, 1.0), tfd.Normal(3.0, 1.0)],
            use_static_graph=False,
        ),
        "MixtureSameFamily": dict(
            mixture_distribution=tfd.Categorical(probs=probs), components_distribution=components
        ),
        "BernoulliWithSigmoidProbs": dict(p=two, dtype=tf.int32),
        "Deterministic": dict(loc=two, atol=None, rtol=None),
        "Logistic": dict(loc=two, scale=two),
        "OneHotCategorical": dict(logits=None, probs=probs, dtype=tf.int32),
        "Poisson": dict(rate=two, log_rate=None),
        "RelaxedOneHotCategorical": dict(temperature=0.5, logits=None, probs=probs, dtype=None),
    }


@pytest.mark.parametrize("kind", sorted(made_of_arguments()))
def test_a_distribution_is_made_of_its_parameters(run, kind):
    arguments = made_of_arguments()[kind]
    found = getattr(tfd, kind)(**arguments)
    given = dict(found.parameters)
    assert not given.pop("validate_args")
    assert given.pop("name") == (None if kind == "Independent" else kind)
    assert given.pop("allow_nan_stats", True)
    assert set(given) == set(arguments)
    assert all(given[name] is arguments[name] for name in arguments)
    points = found.sample(3, seed=1)
    if kind == "RelaxedOneHotCategorical":
        points = np.array([[0.2, 0.8]], np.float32)
    one, other = run([found.log_prob(points), found.copy().log_prob(points)])
    np.testing.assert_array_equal(one, other)
