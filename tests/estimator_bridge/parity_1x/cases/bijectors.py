"""Cases of tf.contrib.distributions.bijectors, of transformed and of conditional distributions."""

import functools

import numpy as np
import tensorflow as tf
import values

CASES = {}
tfd = tf.contrib.distributions
tfb = tfd.bijectors


def real(*shape, **options):
    return values.real(*shape, **options)


def positive(*shape, **options):
    return values.real(*shape, low=0.3, high=2.0, **options)


def within(*shape, **options):
    return values.real(*shape, low=0.1, high=0.9, **options)


def triangular(*batch):
    matrices = values.array(*batch, 3, 3) + 2 * np.eye(3, dtype=np.float32)
    return values.given(np.tril(matrices))


def definite():
    factor = np.tril(values.array(2, 3, 3) + 2 * np.eye(3, dtype=np.float32))
    return values.given(np.matmul(factor, np.swapaxes(factor, -2, -1)))


def increasing():
    return values.given([[0.5, 1.0, 3.0], [-2.0, -1.5, 4.0]])


def probabilities():
    return values.given([[0.2, 0.3, 0.5], [0.25, 0.25, 0.5]])


def diagonal():
    return tf.linalg.LinearOperatorDiag(positive(3, seed=4))


def inline():
    return tfb.Inline(
        forward_fn=tf.exp,
        inverse_fn=tf.log,
        inverse_log_det_jacobian_fn=lambda y: -tf.log(y),
        forward_min_event_ndims=0,
        name="exponential",
    )


class Scaled(tfb.ConditionalBijector):
    """A bijector y = x exp(amount), with the amount as a further argument."""

    def __init__(self):
        super().__init__(forward_min_event_ndims=0, name="scaled")

    def _forward(self, x, amount=0.0):
        return x * tf.exp(amount)

    def _inverse(self, y, amount=0.0):
        return y * tf.exp(-amount)

    def _inverse_log_det_jacobian(self, y, amount=0.0):
        return -amount * tf.ones_like(y)


class Shifted(tfd.ConditionalDistribution):
    """A normal distribution whose mean is a further argument."""

    def __init__(self):
        super().__init__(
            dtype=tf.float32,
            reparameterization_type=tfd.FULLY_REPARAMETERIZED,
            validate_args=False,
            allow_nan_stats=True,
            name="shifted",
        )

    def _batch_shape(self):
        return tf.TensorShape([])

    def _batch_shape_tensor(self):
        return tf.constant([], tf.int32)

    def _event_shape(self):
        return tf.TensorShape([])

    def _event_shape_tensor(self):
        return tf.constant([], tf.int32)

    def _sample_n(self, n, seed=None, loc=0.0):
        return loc + tf.random_normal([n], seed=seed)

    def _log_prob(self, x, loc=0.0):
        return -0.5 * (x - loc) ** 2

    def _cdf(self, x, loc=0.0):
        return tf.sigmoid(x - loc)


# Name -> (function that makes it, x, y, number of axes of an event before and after).
MADE = {
    "AbsoluteValue": (lambda: tfb.AbsoluteValue(), lambda: real(3), lambda: positive(3), 0, 0),
    "Affine": (lambda: tfb.Affine(), lambda: real(2, 3), lambda: real(2, 3), 1, 1),
    "Affine, shift": (
        lambda: tfb.Affine(real(3, seed=2)),
        lambda: real(2, 3),
        lambda: real(2, 3),
        1,
        1,
    ),
    "Affine, multiplier": (
        lambda: tfb.Affine(real(3, seed=2), positive()),
        lambda: real(2, 3),
        lambda: real(2, 3),
        1,
        1,
    ),
    "Affine, diagonal": (
        lambda: tfb.Affine(real(3, seed=2), scale_diag=positive(3)),
        lambda: real(2, 3),
        lambda: real(2, 3),
        1,
        1,
    ),
    "Affine, batch": (
        lambda: tfb.Affine(real(2, 3, seed=2), positive(2), scale_diag=positive(2, 3)),
        lambda: real(2, 3),
        lambda: real(4, 2, 3),
        1,
        1,
    ),
    "Affine, triangular": (
        lambda: tfb.Affine(real(3, seed=2), 0.5, scale_diag=positive(3), scale_tril=triangular()),
        lambda: real(2, 3),
        lambda: real(2, 3),
        1,
        1,
    ),
    "Affine, low rank": (
        lambda: tfb.Affine(
            scale_diag=positive(3),
            scale_perturb_factor=real(3, 2, seed=3),
            scale_perturb_diag=positive(2),
        ),
        lambda: real(2, 3),
        lambda: real(2, 3),
        1,
        1,
    ),
    "AffineLinearOperator": (
        lambda: tfb.AffineLinearOperator(real(3, seed=2), diagonal()),
        lambda: real(2, 3),
        lambda: real(2, 3),
        1,
        1,
    ),
    "AffineLinearOperator, nothing": (
        lambda: tfb.AffineLinearOperator(),
        lambda: real(2, 3),
        lambda: real(2, 3),
        1,
        1,
    ),
    "AffineScalar": (
        lambda: tfb.AffineScalar(real(3, seed=2), positive(3)),
        lambda: real(2, 3),
        lambda: real(2, 3),
        0,
        0,
    ),
    "AffineScalar, nothing": (
        lambda: tfb.AffineScalar(),
        lambda: real(2, 3),
        lambda: real(2, 3),
        1,
        1,
    ),
    "Chain": (
        lambda: tfb.Chain([tfb.Exp(), tfb.AffineScalar(1.0, 2.0), tfb.Softplus()]),
        lambda: real(2, 3),
        lambda: 4.0 + positive(2, 3),
        1,
        1,
    ),
    "Chain, other ranks": (
        lambda: tfb.Chain([tfb.TransformDiagonal(tfb.Softplus()), tfb.FillTriangular()]),
        lambda: real(2, 6),
        lambda: triangular(2),
        1,
        2,
    ),
    "Chain, shapes": (
        lambda: tfb.Chain([tfb.Reshape([2, 2], [4]), tfb.Affine(scale_diag=positive(4))]),
        lambda: real(3, 4),
        lambda: real(3, 2, 2),
        1,
        2,
    ),
    "Chain, nothing": (lambda: tfb.Chain(), lambda: real(3), lambda: real(3), 0, 0),
    "CholeskyOuterProduct": (
        lambda: tfb.CholeskyOuterProduct(),
        lambda: triangular(2),
        definite,
        2,
        2,
    ),
    "Exp": (lambda: tfb.Exp(), lambda: real(2, 3), lambda: positive(2, 3), 1, 1),
    "FillTriangular": (
        lambda: tfb.FillTriangular(),
        lambda: real(2, 6),
        lambda: triangular(2),
        1,
        2,
    ),
    "FillTriangular, upper": (
        lambda: tfb.FillTriangular(upper=True),
        lambda: real(2, 6),
        lambda: tf.matrix_transpose(triangular(2)),
        1,
        2,
    ),
    "Gumbel": (
        lambda: tfb.Gumbel(real(3, seed=2), positive(3)),
        lambda: real(2, 3),
        lambda: within(2, 3),
        0,
        0,
    ),
    "Identity": (lambda: tfb.Identity(), lambda: real(3), lambda: real(3), 0, 0),
    "Inline": (inline, lambda: real(2, 3), lambda: positive(2, 3), 1, 1),
    "Invert": (
        lambda: tfb.Invert(tfb.Sigmoid()),
        lambda: within(2, 3),
        lambda: real(2, 3),
        1,
        1,
    ),
    "Invert, other ranks": (
        lambda: tfb.Invert(tfb.FillTriangular()),
        lambda: triangular(2),
        lambda: real(2, 6),
        2,
        1,
    ),
    "Kumaraswamy": (
        lambda: tfb.Kumaraswamy(positive(3), positive(3, seed=2)),
        lambda: within(2, 3),
        lambda: within(2, 3),
        0,
        0,
    ),
    "MatrixInverseTriL": (
        lambda: tfb.MatrixInverseTriL(),
        lambda: triangular(2),
        lambda: triangular(2),
        2,
        2,
    ),
    "Ordered": (lambda: tfb.Ordered(), increasing, lambda: real(2, 3), 1, 1),
    "Permute": (
        lambda: tfb.Permute([2, 0, 1]),
        lambda: real(2, 3),
        lambda: real(2, 3),
        1,
        1,
    ),
    "PowerTransform": (
        lambda: tfb.PowerTransform(0.5),
        lambda: real(2, 3),
        lambda: positive(2, 3),
        0,
        0,
    ),
    "PowerTransform, 0": (
        lambda: tfb.PowerTransform(),
        lambda: real(2, 3),
        lambda: positive(2, 3),
        0,
        0,
    ),
    "Reshape": (
        lambda: tfb.Reshape([2, -1], [6]),
        lambda: real(4, 6),
        lambda: real(4, 2, 3),
        1,
        2,
    ),
    "ScaleTriL": (lambda: tfb.ScaleTriL(), lambda: real(2, 6), lambda: triangular(2), 1, 2),
    "ScaleTriL, Exp": (
        lambda: tfb.ScaleTriL(tfb.Exp(), None),
        lambda: real(2, 6),
        lambda: triangular(2),
        1,
        2,
    ),
    "Sigmoid": (lambda: tfb.Sigmoid(), lambda: real(2, 3), lambda: within(2, 3), 0, 0),
    "SinhArcsinh": (
        lambda: tfb.SinhArcsinh(real(3, seed=2), positive(3)),
        lambda: real(2, 3),
        lambda: real(2, 3),
        0,
        0,
    ),
    "SinhArcsinh, nothing": (
        lambda: tfb.SinhArcsinh(),
        lambda: real(2, 3),
        lambda: real(2, 3),
        0,
        0,
    ),
    "SoftmaxCentered": (
        lambda: tfb.SoftmaxCentered(),
        lambda: real(2, 2),
        probabilities,
        1,
        1,
    ),
    "Softplus": (lambda: tfb.Softplus(), lambda: real(2, 3), lambda: positive(2, 3), 0, 0),
    "Softplus, softness": (
        lambda: tfb.Softplus(positive(3, seed=2)),
        lambda: real(2, 3),
        lambda: positive(2, 3),
        0,
        0,
    ),
    "Softsign": (lambda: tfb.Softsign(), lambda: real(2, 3), lambda: within(2, 3), 0, 0),
    "Square": (lambda: tfb.Square(), lambda: positive(2, 3), lambda: positive(2, 3), 0, 0),
    "TransformDiagonal": (
        lambda: tfb.TransformDiagonal(tfb.Exp()),
        lambda: triangular(2),
        lambda: triangular(2),
        2,
        2,
    ),
}


def attributes(bijector):
    return {
        "name": bijector.name,
        "type": str(bijector.dtype),
        "constant": repr(bijector.is_constant_jacobian),
        "ndims": [bijector.forward_min_event_ndims, bijector.inverse_min_event_ndims],
        "parents": len(bijector.graph_parents),
        "validate_args": repr(bijector.validate_args),
    }


def method(name, called):
    make, x, y, before, after = MADE[name]
    bijector = make()
    if called == "forward":
        x = x()
        return {
            "jacobian": bijector.forward_log_det_jacobian(tf.identity(x), event_ndims=before),
            "y": bijector.forward(x),
        }
    if called == "inverse":
        y = y()
        return {
            "jacobian": bijector.inverse_log_det_jacobian(tf.identity(y), event_ndims=after),
            "x": bijector.inverse(y),
        }
    if called == "back":
        there = bijector.forward(x())
        return {
            "back": bijector.inverse(tf.identity(there)),
            "jacobian": bijector.inverse_log_det_jacobian(there, event_ndims=after),
            "static": there.shape.as_list(),
        }
    x, y = x(), y()
    x_event, y_event = x.shape[x.shape.ndims - before :], y.shape[y.shape.ndims - after :]
    return {
        "attributes": attributes(bijector),
        "forward": bijector.forward_event_shape(x_event).as_list(),
        "inverse": bijector.inverse_event_shape(y_event).as_list(),
        "forward tensor": bijector.forward_event_shape_tensor(x_event.as_list()),
        "inverse tensor": bijector.inverse_event_shape_tensor(y_event.as_list()),
    }


for _name in sorted(MADE):
    for _called in ("forward", "inverse", "back", "shapes"):
        CASES[f"{_name}: {_called}"] = functools.partial(method, _name, _called)

# What is checked in the session, and what when the bijector is made.
CHECKED = {
    "Affine, singular": lambda: tfb.Affine(scale_diag=[0.0, 1.0], validate_args=True).forward(
        real(2)
    ),
    "AffineLinearOperator, no operator": lambda: tfb.AffineLinearOperator(scale=3.0),
    "AffineScalar, 0": lambda: tfb.AffineScalar(scale=0.0, validate_args=True).forward(real(2)),
    "Affine, diagonal without factor": lambda: tfb.Affine(scale_perturb_diag=[1.0]),
    "Chain, not injective": lambda: tfb.Chain([tfb.AbsoluteValue()]),
    "Exp, negative": lambda: tfb.Exp(validate_args=True).inverse([-1.0]),
    "FillTriangular, length": lambda: tfb.FillTriangular().forward(real(4)),
    "Gumbel, outside": lambda: tfb.Gumbel(validate_args=True).inverse([2.0]),
    "Inline, nothing": lambda: tfb.Inline(forward_min_event_ndims=0).forward(1.0),
    "Invert, not injective": lambda: tfb.Invert(tfb.AbsoluteValue()),
    "Kumaraswamy, nothing": lambda: tfb.Kumaraswamy(),
    "Kumaraswamy, outside": lambda: tfb.Kumaraswamy(1.0, 1.0, validate_args=True).forward([2.0]),
    "MatrixInverseTriL, full": lambda: tfb.MatrixInverseTriL(validate_args=True).forward(
        [[1.0, 2.0], [3.0, 4.0]]
    ),
    "Ordered, falling": lambda: tfb.Ordered(validate_args=True).forward([2.0, 1.0]),
    "Permute, twice": lambda: tfb.Permute([1, 1]),
    "Permute, real": lambda: tfb.Permute([1.0, 0.0]),
    "PowerTransform, negative": lambda: tfb.PowerTransform(-1.0),
    "Reshape, real": lambda: tfb.Reshape([1.0]),
    "Reshape, other shape": lambda: tfb.Reshape([2, 2], [4]).forward_event_shape([3]),
    "Softplus, 0": lambda: tfb.Softplus(0.0, validate_args=True).forward(real(2)),
    "Softsign, outside": lambda: tfb.Softsign(validate_args=True).inverse([2.0]),
    "Square, negative": lambda: tfb.Square(validate_args=True).forward([-1.0]),
    "too few axes": lambda: tfb.SoftmaxCentered().forward_log_det_jacobian(real(2), 0),
}
for _name, _make in CHECKED.items():
    CASES[f"refused: {_name}"] = _make


# Flows, whose variables are loaded with numbers that depend on their names.
def made(**options):
    return tfb.masked_autoregressive_default_template([8, 8], **options)


def flow(make, called, *shape):
    bijector, x = make(), real(*shape)
    if called == "forward":
        return bijector.forward(x)
    y = x if called == "inverse" else tf.identity(x)
    if called == "inverse":
        return [bijector.inverse(y), bijector.inverse_log_det_jacobian(y, event_ndims=1)]
    return bijector.forward_log_det_jacobian(y, event_ndims=1)


FLOWS = {
    "MaskedAutoregressiveFlow": lambda: tfb.MaskedAutoregressiveFlow(made()),
    "MaskedAutoregressiveFlow, unrolled": lambda: tfb.MaskedAutoregressiveFlow(
        made(), unroll_loop=True
    ),
    "MaskedAutoregressiveFlow, shift": lambda: tfb.MaskedAutoregressiveFlow(
        made(shift_only=True), is_constant_jacobian=True
    ),
    "MaskedAutoregressiveFlow, clipped": lambda: tfb.MaskedAutoregressiveFlow(
        made(
            activation=tf.tanh,
            log_scale_min_clip=-0.05,
            log_scale_max_clip=0.05,
            log_scale_clip_gradient=True,
            name="made",
        )
    ),
    "MaskedAutoregressiveFlow, kept gradient": lambda: tfb.MaskedAutoregressiveFlow(
        made(log_scale_min_clip=-0.05, log_scale_max_clip=0.05)
    ),
    "RealNVP": lambda: tfb.RealNVP(1, tfb.real_nvp_default_template([8, 8])),
    "RealNVP, shift": lambda: tfb.RealNVP(
        2,
        tfb.real_nvp_default_template([8], shift_only=True, activation=None, name="nice"),
        is_constant_jacobian=True,
    ),
}
for _name, _make in FLOWS.items():
    for _called in ("forward", "inverse", "jacobian"):
        CASES[f"{_name}: {_called}"] = functools.partial(flow, _make, _called, 4, 3)
    CASES[f"{_name}: attributes"] = lambda make=_make: attributes(make())
CASES["RealNVP, all masked"] = lambda: FLOWS["RealNVP"]().forward(real(2, 1))
CASES["RealNVP, none masked"] = lambda: tfb.RealNVP(0, None)
for _exclusive in (False, True):
    CASES[f"masked_dense, exclusive={_exclusive}"] = lambda exclusive=_exclusive: tfb.masked_dense(
        real(2, 6),
        12,
        3,
        exclusive,
        tf.constant_initializer(0.5),
        activation=tf.tanh,
        name="masked",
    )


def initial_kernel(**options):
    out = tfb.masked_dense(tf.ones([2, 5]), 8, 2, True, tf.ones_initializer(), **options)
    assigned = tf.global_variables()[0].assign(tf.ones([5, 8]))
    with tf.control_dependencies([assigned]):
        return {"mask": tf.global_variables()[0].constraint(tf.ones([5, 8])), "out": out.shape}


CASES["masked_dense, mask"] = initial_kernel


def batch_norm(training, called, **options):
    layer = tf.layers.BatchNormalization(**options) if options else None
    bijector = tfb.BatchNormalization(layer, training=training)
    x = real(5, 3)
    if called == "attributes":
        return attributes(bijector)
    if called == "forward":
        return bijector.forward(x)
    if called == "inverse":
        updated = bijector.inverse(x)
        return [updated, bijector.inverse_log_det_jacobian(x, event_ndims=1)]
    return bijector.forward_log_det_jacobian(x, event_ndims=1)


for _training in (True, False):
    for _called in ("attributes", "forward", "inverse", "jacobian"):
        CASES[f"BatchNormalization, training={_training}: {_called}"] = functools.partial(
            batch_norm, _training, _called
        )
CASES["BatchNormalization, layer"] = functools.partial(batch_norm, True, "inverse", epsilon=0.1)
CASES["BatchNormalization, other layer"] = lambda: tfb.BatchNormalization(tf.layers.Dense(3))
CASES["BatchNormalization, renormalization"] = lambda: tfb.BatchNormalization(
    tf.layers.BatchNormalization(renorm=True)
)


# Transformed distributions.
def normal():
    return tfd.Normal(real(3), positive(3, seed=2))


TRANSFORMED = {
    "Exp": lambda: (tfd.TransformedDistribution(normal(), tfb.Exp()), positive(2, 3)),
    "affine": lambda: (
        tfd.TransformedDistribution(normal(), tfb.AffineScalar(1.0, 2.0), name="moved"),
        real(2, 3),
    ),
    "identity": lambda: (tfd.TransformedDistribution(normal()), real(2, 3)),
    "AbsoluteValue": lambda: (
        tfd.TransformedDistribution(normal(), tfb.AbsoluteValue()),
        positive(2, 3),
    ),
    "event": lambda: (
        tfd.TransformedDistribution(
            tfd.Normal(0.0, 1.0), tfb.Affine(scale_tril=triangular()), event_shape=[3]
        ),
        real(2, 3),
    ),
    "batch and event": lambda: (
        tfd.TransformedDistribution(
            tfd.Normal(0.0, 1.0),
            tfb.Affine(real(2, 3), scale_diag=positive(3)),
            batch_shape=[2],
            event_shape=[3],
        ),
        real(4, 2, 3),
    ),
    "event of a batch": lambda: (
        tfd.TransformedDistribution(
            tfd.Normal(real(2), positive(2)), tfb.AffineScalar(1.0, 2.0), event_shape=[3]
        ),
        real(4, 2, 3),
    ),
    "vector": lambda: (
        tfd.TransformedDistribution(
            tfd.MultivariateNormalDiag(real(2), positive(2)), tfb.SoftmaxCentered()
        ),
        probabilities(),
    ),
    "flow": lambda: (
        tfd.TransformedDistribution(
            tfd.MultivariateNormalDiag(tf.zeros([3])), FLOWS["MaskedAutoregressiveFlow"]()
        ),
        real(2, 3),
    ),
}


def transformed(name, called):
    distribution, y = TRANSFORMED[name]()
    if called == "shapes":
        sample = distribution.sample([4, 2], seed=3)
        return {
            "batch": distribution.batch_shape.as_list(),
            "event": distribution.event_shape.as_list(),
            "batch tensor": distribution.batch_shape_tensor(),
            "event tensor": distribution.event_shape_tensor(),
            "sample": sample.shape.as_list(),
            "name": distribution.name,
            "parameters": sorted(distribution.parameters),
            "kind": repr(distribution.reparameterization_type == tfd.FULLY_REPARAMETERIZED),
        }
    if called == "entropy":
        return distribution.entropy()
    if called == "quantile":
        return distribution.quantile(within(2, 3))
    return getattr(distribution, called)(y)


for _name in sorted(TRANSFORMED):
    for _called in ("log_prob", "prob", "cdf", "log_cdf", "quantile", "entropy", "shapes"):
        CASES[f"TransformedDistribution, {_name}: {_called}"] = functools.partial(
            transformed, _name, _called
        )
for _called in ("survival_function", "log_survival_function"):
    CASES[f"TransformedDistribution, Exp: {_called}"] = functools.partial(
        transformed, "Exp", _called
    )
CASES["TransformedDistribution, wrong batch"] = lambda: tfd.TransformedDistribution(
    normal(), tfb.Exp(), batch_shape=[3]
)
CASES["TransformedDistribution, wrong event"] = lambda: tfd.TransformedDistribution(
    tfd.MultivariateNormalDiag(real(2)), tfb.Exp(), event_shape=[3]
)
CASES["TransformedDistribution, mean"] = lambda: tfd.TransformedDistribution(
    normal(), tfb.Exp()
).mean()
CASES["TransformedDistribution, samples in the cache"] = lambda: tf.equal(
    *(lambda d: (lambda y: (d.bijector.inverse(y), d.bijector.inverse(y)))(d.sample(3)))(
        tfd.TransformedDistribution(normal(), tfb.Exp())
    )
)


def conditional(called):
    distribution = tfd.ConditionalTransformedDistribution(Shifted(), Scaled())
    options = {
        "bijector_kwargs": {"amount": values.given(0.5)},
        "distribution_kwargs": {"loc": values.given(2.0)},
    }
    if called == "sample":
        sample = distribution.sample([4, 2], seed=3, **options)
        return [tf.shape(sample), sample.shape.as_list(), distribution.name]
    return getattr(distribution, called)(real(3), **options)


for _called in ("sample", "log_prob", "prob", "cdf", "log_cdf", "survival_function"):
    CASES[f"ConditionalTransformedDistribution: {_called}"] = functools.partial(
        conditional, _called
    )
CASES["ConditionalTransformedDistribution: log_survival_function"] = functools.partial(
    conditional, "log_survival_function"
)
CASES["ConditionalDistribution"] = lambda: [
    Shifted().log_prob(real(3), loc=values.given(2.0)),
    Shifted().prob(real(3), loc=values.given(2.0)),
    Shifted().cdf(real(3), loc=values.given(2.0)),
    tf.shape(Shifted().sample([2], loc=values.given(2.0))),
]
CASES["ConditionalBijector"] = lambda: [
    Scaled().forward(real(3), amount=values.given(0.5)),
    Scaled().inverse(real(3), amount=values.given(0.5)),
    Scaled().forward_log_det_jacobian(real(3), 0, amount=values.given(0.5)),
    Scaled().inverse_log_det_jacobian(real(3), 0, amount=values.given(0.5)),
]
CASES["Chain, further arguments"] = lambda: tfb.Chain([tfb.Exp(), Scaled()]).forward(
    real(3), scaled={"amount": values.given(0.5)}
)
