"""Cases of tf.contrib.signal and tf.contrib.linalg, and of what tf.signal and tf.linalg add."""

import functools

import tensorflow as tf
import values

CASES = {}
contrib, np = tf.contrib, values.np
signal = contrib.signal

# tf.contrib.signal.
CASES.update(
    {
        "signal.frame": lambda: signal.frame(values.real(2, 9), 4, 2),
        "signal.frame, padded": lambda: signal.frame(values.real(2, 9), 4, 3, True, -1.0),
        "signal.frame, axis": lambda: signal.frame(values.real(7, 2), 3, 2, axis=0, name="mine"),
        "signal.frame, too long": lambda: signal.frame(values.real(3), 4, 2),
        "signal.hamming_window": lambda: signal.hamming_window(8),
        "signal.hamming_window, odd": lambda: signal.hamming_window(7, periodic=False),
        "signal.hann_window": lambda: signal.hann_window(8),
        "signal.hann_window, type": lambda: signal.hann_window(5, False, tf.float64),
        "signal.hann_window, one": lambda: signal.hann_window(1),
        "signal.overlap_and_add": lambda: signal.overlap_and_add(values.real(2, 3, 4), 2),
        "signal.linear_to_mel_weight_matrix": lambda: signal.linear_to_mel_weight_matrix(5, 9),
        "signal.linear_to_mel_weight_matrix, edges": lambda: signal.linear_to_mel_weight_matrix(
            4, 17, 8000, 80.0, 3800.0, tf.float64
        ),
        "signal.linear_to_mel_weight_matrix, wrong": lambda: signal.linear_to_mel_weight_matrix(
            4, 17, 8000, 80.0, 4800.0
        ),
        "signal.mfccs_from_log_mel_spectrograms": lambda: signal.mfccs_from_log_mel_spectrograms(
            values.real(2, 3, 8)
        ),
        "signal.stft": lambda: parts(signal.stft(values.real(2, 20), 8, 4)),
        "signal.stft, options": lambda: parts(
            signal.stft(values.real(20), 6, 3, 8, functools.partial(signal.hamming_window), True)
        ),
        "signal.inverse_stft": lambda: signal.inverse_stft(
            signal.stft(values.real(2, 20), 8, 4), 8, 4
        ),
        "signal.inverse_stft, window": lambda: signal.inverse_stft(
            *(signal.stft(values.real(20), 8, 4), 8, 4),
            window_fn=signal.inverse_stft_window_fn(4),
        ),
        "signal.inverse_stft_window_fn": lambda: signal.inverse_stft_window_fn(
            3, functools.partial(signal.hann_window, periodic=True)
        )(8, tf.float32),
    }
)


def parts(found):
    return {"real": tf.real(found), "imaginary": tf.imag(found)}


# tf.contrib.linalg of earlier versions is tf.linalg.
linalg = getattr(contrib, "linalg", tf.linalg)


def positive(size=3, seed=1):
    """Returns a symmetric, positive definite matrix."""
    root = values.array(size, size, seed=seed)
    return tf.constant(values.nudged((root @ root.T + 2 * np.eye(size)).astype(np.float32)))


OPERATORS = {
    "LinearOperatorDiag": lambda: linalg.LinearOperatorDiag(values.real(3, low=0.5)),
    "LinearOperatorIdentity": lambda: linalg.LinearOperatorIdentity(3),
    "LinearOperatorScaledIdentity": lambda: linalg.LinearOperatorScaledIdentity(3, 2.5),
    "LinearOperatorZeros": lambda: linalg.LinearOperatorZeros(3),
    "LinearOperatorFullMatrix": lambda: linalg.LinearOperatorFullMatrix(positive()),
    "LinearOperatorLowerTriangular": lambda: linalg.LinearOperatorLowerTriangular(positive()),
    "LinearOperatorToeplitz": lambda: linalg.LinearOperatorToeplitz([3.0, 1, 0.5], [3.0, -1, 0]),
    "LinearOperatorAdjoint": lambda: linalg.LinearOperatorAdjoint(
        linalg.LinearOperatorLowerTriangular(positive())
    ),
    "LinearOperatorInversion": lambda: linalg.LinearOperatorInversion(
        linalg.LinearOperatorFullMatrix(positive(), is_non_singular=True)
    ),
    "LinearOperatorComposition": lambda: linalg.LinearOperatorComposition(
        [
            linalg.LinearOperatorFullMatrix(positive()),
            linalg.LinearOperatorDiag(values.real(3, low=0.5)),
        ]
    ),
    "LinearOperatorBlockDiag": lambda: linalg.LinearOperatorBlockDiag(
        [linalg.LinearOperatorFullMatrix(positive(2)), linalg.LinearOperatorIdentity(1)]
    ),
    "LinearOperatorKronecker": lambda: linalg.LinearOperatorKronecker(
        [linalg.LinearOperatorFullMatrix(positive(3)), linalg.LinearOperatorIdentity(1)]
    ),
    "LinearOperatorLowRankUpdate": lambda: linalg.LinearOperatorLowRankUpdate(
        linalg.LinearOperatorDiag([2.0, 3.0, 4.0]), values.real(3, 1)
    ),
}


def operated(name):
    made = OPERATORS[name]()
    x = values.real(3, 2, seed=5)
    found = {
        "dense": made.to_dense(),
        "product": made.matmul(x),
        "adjoint": made.matmul(x, adjoint=True),
        "trace": made.trace(),
        "shape": str(made.shape),
        "is": isinstance(made, linalg.LinearOperator),
    }
    if name != "LinearOperatorZeros":
        found.update(solution=made.solve(x), determinant=made.determinant())
    return found


for _name in OPERATORS:
    CASES["linalg." + _name] = functools.partial(operated, _name)
for _count, _shape in (("", [4]), ("2D", [2, 3]), ("3D", [2, 1, 2])):
    CASES["linalg.LinearOperatorCirculant" + _count] = lambda count=_count, shape=_shape: parts(
        getattr(linalg, "LinearOperatorCirculant" + count)(
            tf.cast(values.real(*shape, low=0.5), tf.complex64)
        ).to_dense()
    )

FUNCTIONS = {
    "adjoint": lambda: linalg.adjoint(values.real(2, 3)),
    "band_part": lambda: linalg.band_part(values.real(3, 4), 1, 0),
    "cholesky": lambda: linalg.cholesky(positive()),
    "cholesky_solve": lambda: linalg.cholesky_solve(linalg.cholesky(positive()), values.real(3, 2)),
    "cross": lambda: linalg.cross(values.real(2, 3), values.real(2, 3, seed=2)),
    "det": lambda: linalg.det(positive()),
    "diag": lambda: linalg.diag(values.real(3)),
    "diag_part": lambda: linalg.diag_part(values.real(3, 3)),
    "eigh": lambda: {"values": linalg.eigh(positive())[0]},
    "eigvalsh": lambda: linalg.eigvalsh(positive()),
    "einsum": lambda: linalg.einsum("ij,jk->ik", values.real(2, 3), values.real(3, 2, seed=2)),
    "expm": lambda: linalg.expm(positive()),
    "eye": lambda: linalg.eye(2, 3),
    "global_norm": lambda: linalg.global_norm([values.real(2), values.real(3)]),
    "inv": lambda: linalg.inv(positive()),
    "l2_normalize": lambda: linalg.l2_normalize(values.real(2, 3), 1),
    "logdet": lambda: linalg.logdet(positive()),
    "lstsq": lambda: linalg.lstsq(values.real(4, 2), values.real(4, 1, seed=2), 0.1),
    "matmul": lambda: linalg.matmul(values.real(2, 3), values.real(2, 3, seed=2), transpose_b=True),
    "matvec": lambda: linalg.matvec(values.real(2, 3), values.real(3, seed=2)),
    "norm": lambda: [linalg.norm(values.real(2, 3), order) for order in ("euclidean", 1, np.inf)],
    "qr": lambda: {"size": tf.abs(linalg.qr(values.real(3, 2)).r)},
    "set_diag": lambda: linalg.set_diag(values.real(3, 3), values.real(3, seed=2)),
    "slogdet": lambda: list(linalg.slogdet(positive())),
    "solve": lambda: linalg.solve(positive(), values.real(3, 2), adjoint=True),
    "sqrtm": lambda: linalg.sqrtm(positive()),
    "svd": lambda: linalg.svd(values.real(3, 2), compute_uv=False),
    "tensor_diag": lambda: linalg.tensor_diag(values.real(2)),
    "tensor_diag_part": lambda: linalg.tensor_diag_part(values.real(2, 2)),
    "tensordot": lambda: linalg.tensordot(values.real(2, 3), values.real(3, 2, seed=2), 1),
    "trace": lambda: linalg.trace(values.real(3, 3)),
    "transpose": lambda: linalg.transpose(values.real(2, 3)),
    "triangular_solve": lambda: linalg.triangular_solve(positive(), values.real(3, 2), lower=True),
    "tridiagonal_solve": lambda: linalg.tridiagonal_solve(
        values.real(3, 4, low=1.0, high=2.0) * [[1.0], [5.0], [1.0]], values.real(4, seed=2)
    ),
}
for _name, _make in FUNCTIONS.items():
    CASES["linalg." + _name] = _make
# Newer signals are tf.signal's.
newer = tf.signal
for _name in ("dct", "idct"):
    for _type in (2, 3):
        CASES[f"signal.{_name}, {_type}"] = lambda name=_name, kind=_type: getattr(newer, name)(
            values.real(2, 5), kind, norm="ortho"
        )
for _name in ("rfft", "rfft2d", "fft", "ifft", "fft2d", "ifft2d"):
    CASES["signal." + _name] = lambda name=_name: parts(
        getattr(newer, name)(
            values.real(4, 6)
            if name.startswith("r")
            else tf.complex(values.real(4, 6), values.real(4, 6, seed=2))
        )
    )
CASES["signal.irfft"] = lambda: newer.irfft(newer.rfft(values.real(2, 6)))
