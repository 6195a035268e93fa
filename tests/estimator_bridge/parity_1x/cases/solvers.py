"""Cases of tf.contrib.solvers and integrate."""

import collections

import tensorflow as tf
import values

CASES = {}
contrib, np = tf.contrib, values.np
solvers, integrate = contrib.solvers, contrib.integrate
conjugate_gradient = solvers.linear_equations.conjugate_gradient
lanczos = solvers.lanczos


# tf.contrib.solvers.
def operator(*shape, **options):
    return solvers.util.create_operator(tf.constant(matrix(*shape, **options)))


def matrix(*shape, dtype=np.float64):
    found = np.random.RandomState(len(shape)).rand(*shape)
    if len(shape) == 1:
        found = np.random.RandomState(1).rand(*shape * 2)
        found = found @ found.T + np.eye(*shape)
    return found.astype(dtype)


def column(size, dtype=np.float64):
    return tf.constant(np.random.RandomState(2).rand(size).astype(dtype))


def jacobi():
    return solvers.util.create_operator(tf.constant(np.diag(1 / np.diag(matrix(4)))))


for _name, _function in {
    "conjugate_gradient, float32": lambda: conjugate_gradient(
        operator(4, dtype=np.float32), column(4, np.float32), max_iter=3
    ),
    "conjugate_gradient, tolerance": lambda: conjugate_gradient(operator(4), column(4), tol=0.05),
    "conjugate_gradient, max_iter": lambda: conjugate_gradient(operator(4), column(4), max_iter=2),
    "conjugate_gradient, no steps": lambda: conjugate_gradient(operator(4), column(4), max_iter=0),
    "conjugate_gradient, exact": lambda: conjugate_gradient(
        solvers.util.identity_operator(tf.eye(4, dtype=tf.float64)), column(4), x=column(4)
    ),
    "conjugate_gradient, preconditioner": lambda: conjugate_gradient(
        operator(4), column(4), jacobi(), x=tf.reverse(column(4), [0]), tol=1e-10, max_iter=2
    ),
    "conjugate_gradient, other size": lambda: conjugate_gradient(operator(4), column(3)),
    "conjugate_gradient, other dtype": lambda: conjugate_gradient(
        operator(4), column(4, np.float32)
    ),
    "cgls": lambda: solvers.least_squares.cgls(operator(5, 3), column(5), max_iter=2),
    "cgls, tolerance": lambda: solvers.least_squares.cgls(operator(5, 3), column(5), tol=0.1),
    "cgls, large tolerance": lambda: solvers.least_squares.cgls(operator(5, 3), column(5), tol=1.0),
    "cgls, wide": lambda: solvers.least_squares.cgls(operator(3, 5), column(3), max_iter=1),
    "cgls, other size": lambda: solvers.least_squares.cgls(operator(5, 3), column(4)),
    "bidiag_matmul": lambda: lanczos.bidiag_matmul(
        values.real(3, 4), values.real(3, seed=2), values.real(3, seed=3)
    ),
    "bidiag_matmul, adjoint": lambda: lanczos.bidiag_matmul(
        values.real(3, 3), values.real(3, seed=2), values.real(3, seed=3), adjoint_b=True
    ),
    "lanczos_bidiag": lambda: lanczos.lanczos_bidiag(operator(5, 3), 2, starting_vector=column(5)),
    "lanczos_bidiag, not orthogonalized": lambda: lanczos.lanczos_bidiag(
        operator(5, 4), 3, orthogonalize=False, starting_vector=column(5)
    ),
    "lanczos_bidiag, orthogonalized": lambda: lanczos.lanczos_bidiag(
        operator(6, 5), 4, starting_vector=column(6)
    ),
    "lanczos_bidiag, other size": lambda: lanczos.lanczos_bidiag(
        operator(5, 3), 2, starting_vector=column(4)
    ),
    "util.dot": lambda: solvers.util.dot(values.real(3), values.real(3, seed=2)),
    "util.dot, complex": lambda: parts(
        solvers.util.dot(tf.constant([1 + 2j, 3]), tf.constant([1 - 1j, 2j]))
    ),
    "util.l2norm": lambda: solvers.util.l2norm(values.real(3)),
    "util.l2norm_squared": lambda: solvers.util.l2norm_squared(values.real(3, 2)),
    "util.l2normalize": lambda: solvers.util.l2normalize(values.real(3)),
    "util.create_operator": lambda: applied(solvers.util.create_operator),
    "util.identity_operator": lambda: applied(solvers.util.identity_operator),
}.items():
    CASES["solvers." + _name] = _function


def parts(number):
    return {"real": tf.math.real(number), "imaginary": tf.math.imag(number)}


def applied(make):
    made = make(values.real(3, 3))
    return {
        "applied": made.apply(values.real(3, 1, seed=2)),
        "adjoint": made.apply_adjoint(values.real(3, 1, seed=3)),
        "shape": [str(made.shape), made.dtype.name, type(made).__name__, *made._fields],
    }


# tf.contrib.integrate.
TIMES = [0.0, 1.0, 2.5]


def slope(y, t):
    return -y * tf.cast(t, y.dtype)


def solved(dtype=tf.float64, function=slope, times=TIMES, **options):
    start = tf.cast(values.real(2, low=1.0, high=2.0), dtype)
    return integrate.odeint(function, start, times, full_output=True, **options)


Solution = collections.namedtuple("Solution", "y details")
for _name, _function in {
    "odeint": lambda: Solution(*solved()),
    "odeint, tolerances": lambda: Solution(*solved(rtol=1e-3, atol=1e-3)),
    "odeint, options": lambda: Solution(
        *solved(
            method="dopri5",
            options={
                **{"first_step": 0.01, "safety": 0.8, "ifactor": 5.0, "dfactor": 0.3},
                "max_num_steps": 50,
            },
        )
    ),
    "odeint, float32": lambda: integrate.odeint(
        slope, values.real(2, low=1.0, high=2.0), TIMES, 1e-4, 1e-4
    ),
    "odeint, times of float32": lambda: integrate.odeint(
        slope, values.real(2, low=1.0, high=2.0), tf.constant(TIMES), 1e-4, 1e-4
    ),
    "odeint, complex": lambda: parts(
        integrate.odeint(lambda y, t: 1j * y, tf.constant([1.0 + 0j], tf.complex128), TIMES)
    ),
    "odeint, one time": lambda: integrate.odeint(slope, 1.0, [0.0]),
    "odeint, whole times": lambda: integrate.odeint(
        lambda y, t: -y, tf.constant(1.0, tf.float64), [0, 1, 2]
    ),
    "odeint, other method": lambda: solved(method="rk4"),
    "odeint, no method": lambda: solved(options={}),
    "odeint, other option": lambda: solved(method="dopri5", options={"a": 1}),
    "odeint, max_num_steps": lambda: solved(method="dopri5", options={"max_num_steps": 2}),
    "odeint, integer y": lambda: integrate.odeint(slope, 1, TIMES),
    "odeint, integer t": lambda: integrate.odeint(slope, 1.0, tf.constant([0, 1])),
    "odeint, not increasing": lambda: integrate.odeint(slope, 1.0, [0.0, 2.0, 1.0]),
    "odeint, infinite": lambda: integrate.odeint(lambda y, t: y * y, 1.0, [0.0, 2.0]),
    "odeint, not a number": lambda: integrate.odeint(lambda y, t: y * np.nan, 1.0, [0.0, 2.0]),
    "odeint_fixed": lambda: fixed(),
    "odeint_fixed, dt": lambda: fixed(dt=0.3),
    "odeint_fixed, each dt": lambda: fixed(dt=[0.3, 0.5]),
    "odeint_fixed, one dt in a list": lambda: fixed(dt=[0.3]),
    "odeint_fixed, midpoint": lambda: fixed(method="midpoint"),
    "odeint_fixed, midpoint, dt": lambda: fixed(dt=0.3, method="midpoint"),
    "odeint_fixed, large dt": lambda: fixed(dt=5.0),
    "odeint_fixed, negative dt": lambda: fixed(dt=-1.0),
    "odeint_fixed, rank of dt": lambda: fixed(dt=[[0.1, 0.1]]),
    "odeint_fixed, other method": lambda: fixed(method="euler"),
    "odeint_fixed, not increasing": lambda: integrate.odeint_fixed(slope, 1.0, [0.0, 2.0, 1.0]),
    "odeint_fixed, rank": lambda: integrate.odeint_fixed(slope, 1.0, [[0.0, 2.0]]),
    "odeint_fixed, times": lambda: integrate.odeint_fixed(
        slope, values.real(2, low=1.0, high=2.0), values.given(TIMES)
    ),
    "odeint_fixed, integer y": lambda: integrate.odeint_fixed(slope, 1, TIMES),
    "odeint_fixed, whole times": lambda: integrate.odeint_fixed(
        lambda y, t: -y, tf.constant(1.0), [0, 1, 2]
    ),
    "odeint_fixed, times of float32 and dt": lambda: integrate.odeint_fixed(
        slope, tf.constant(1.0), tf.constant(TIMES), 0.5
    ),
    "odeint_fixed, gradients of a number": lambda: integrate.odeint_fixed(
        slope, values.real(low=1.0, high=2.0), TIMES, 0.5
    ),
}.items():
    CASES["integrate." + _name] = _function


def fixed(**options):
    return integrate.odeint_fixed(slope, values.real(2, low=1.0, high=2.0), TIMES, **options)
