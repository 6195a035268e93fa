"""Names that SciPy removed: NumPy's at its top level, windows, rules of integration, tests, ..."""

import functools
from collections.abc import Callable
from typing import Any

from estimator_bridge.old_packages import scipy_misc, scipy_optimize
from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.process.importing import call_when_imported

__all__ = ["install"]

_WINDOWS = (
    "barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential flattop "
    "gaussian general_gaussian hamming hann kaiser nuttall parzen triang tukey"
)
# The top level had those functions of numpy.lib.scimath, whose results can be complex.
_SCIMATH = ["sqrt", "log", "log2", "logn", "log10", "power", "arccos", "arcsin", "arctanh"]


def install() -> None:
    """Sets the missing names of the imported SciPy, and of its modules when they are imported."""
    import scipy

    scipy.__getattr__ = _with_numpy(scipy.__getattr__)
    call_when_imported("scipy.sparse", _sparse)
    call_when_imported("scipy.misc", scipy_misc.install)
    call_when_imported("scipy.stats", _stats)
    call_when_imported("scipy.signal", _signal)
    call_when_imported("scipy.integrate", _integrate)
    call_when_imported("scipy.linalg", _linalg)
    call_when_imported("scipy.optimize", scipy_optimize.install)
    call_when_imported("scipy.special", _special)
    call_when_imported("scipy.spatial.distance", _distance)
    call_when_imported("scipy.ndimage", scipy_misc.install_imread)


def _with_numpy(get_module: Callable[[str], Any]) -> Callable[[str], Any]:
    """Returns SciPy's `__getattr__`, which finds its modules, with the names of NumPy."""

    @functools.wraps(get_module)
    def replacing(name):
        try:
            return get_module(name)
        except AttributeError:
            import numpy as np

            if name in ("rand", "randn"):
                return getattr(np.random, name)
            if name == "ifft":
                return np.fft.ifft
            value = getattr(np.emath if name in _SCIMATH else np, name, None)
            if name.startswith("_") or value is None or isinstance(value, type(np)):
                raise
            return value

    return replacing


def _sparse() -> None:
    import scipy.sparse

    set_missing(
        scipy.sparse.spmatrix,
        A=property(lambda self: self.toarray()),
        H=property(lambda self: self.T.conj()),
    )


def _stats() -> None:
    import numpy as np
    import scipy.special
    import scipy.stats as stats

    def itemfreq(a):
        return np.array(np.unique(a, return_counts=True)).T

    def binom_test(x, n=None, p=0.5, alternative="two-sided"):
        if np.size(x) == 2:
            n, x = np.sum(x), np.ravel(x)[0]
        return stats.binomtest(int(x), int(n), p, alternative).pvalue

    def ss(a, axis=0):
        a = np.ravel(a) if axis is None else np.asarray(a)
        return np.sum(a * a, axis or 0)

    def median_absolute_deviation(
        x, axis=0, center=np.median, scale=1.4826, nan_policy="propagate"
    ):
        return stats.median_abs_deviation(x, axis, center, 1 / scale, nan_policy)

    set_missing(
        stats,
        itemfreq=itemfreq,
        binom_test=binom_test,
        ss=ss,
        median_absolute_deviation=median_absolute_deviation,
        nanmean=np.nanmean,
        nanmedian=np.nanmedian,
        nanstd=np.nanstd,
        chisqprob=lambda chisq, df: scipy.special.chdtrc(df, chisq),
        betai=scipy.special.betainc,
        frechet_r=stats.weibull_min,
        frechet_l=stats.weibull_max,
    )
    stats.mode = _with_dimensions(stats.mode)


def _with_dimensions(mode):
    """Returns scipy.stats.mode, which kept the axis along which it counts: `mode(x)[0][0]`."""

    @functools.wraps(mode)
    def replacing(a, axis=0, nan_policy="propagate", **options):
        import numpy as np

        if "keepdims" in options:
            return mode(a, axis, nan_policy, **options)
        if axis is None:
            a, axis = np.ravel(a), 0
        if np.asarray(a).dtype.kind in "OSU" and np.size(a):
            return _most_frequent(np.asarray(a), axis, type(mode([0])))
        return mode(a, axis, nan_policy, keepdims=True, **options)

    return replacing


def _most_frequent(values, axis, result):
    """Returns the mode of texts and objects, which scipy.stats.mode takes no more."""
    import numpy as np

    lines = np.moveaxis(values, axis, -1)
    shape = lines.shape[:-1]
    modes, counts = np.empty(shape, values.dtype), np.empty(shape, int)
    for place in np.ndindex(shape):
        found, count = np.unique(lines[place], return_counts=True)
        modes[place], counts[place] = found[count.argmax()], count.max()
    return result(np.expand_dims(modes, axis), np.expand_dims(counts, axis))


def _signal() -> None:
    import scipy.signal
    from scipy.signal import windows

    set_missing(scipy.signal, **{name: getattr(windows, name) for name in _WINDOWS.split()})
    set_missing(scipy.signal, hanning=windows.hann, ricker=_ricker, cwt=_cwt)


def _ricker(points, a):
    import numpy as np

    position = np.arange(points) - (points - 1.0) / 2
    height = 2 / (np.sqrt(3 * a) * np.pi**0.25)
    return height * (1 - position**2 / a**2) * np.exp(-(position**2) / (2 * a**2))


def _cwt(data, wavelet, widths, dtype=None, **options):
    import numpy as np

    if dtype is None:
        sample = np.asarray(wavelet(1, widths[0], **options))
        dtype = np.complex128 if sample.dtype.kind == "c" else np.float64
    found = np.empty((len(widths), len(data)), dtype)
    for number, width in enumerate(widths):
        kernel = wavelet(np.min([10 * width, len(data)]), width, **options)
        found[number] = np.convolve(data, np.conj(kernel[::-1]), "same")
    return found


def _integrate() -> None:
    from scipy import integrate

    def simps(y, x=None, dx=1, axis=-1, even="avg"):
        return _simpson(integrate, y, x, dx, axis, even)

    set_missing(
        integrate,
        trapz=integrate.trapezoid,
        cumtrapz=integrate.cumulative_trapezoid,
    )
    # That of SciPy 1.11 to 1.13 has another rule for an odd number of intervals.
    integrate.simps = simps


def _simpson(integrate, y, x, dx, axis, even):
    """Returns the integral; with an odd number of intervals, one has the trapezoidal rule."""
    import numpy as np

    y = np.moveaxis(np.asarray(y), axis, -1)
    if x is not None:
        x = np.asarray(x)
        x = x if x.ndim == 1 else np.moveaxis(x, axis, -1)
    if y.shape[-1] % 2:
        return integrate.simpson(y, x=x, dx=dx)
    if even not in ("avg", "first", "last"):
        raise ValueError("Parameter 'even' must be 'avg', 'last', or 'first'.")

    def part(rule, where):
        return rule(y[..., where], x=None if x is None else x[..., where], dx=dx)

    first = part(integrate.simpson, slice(None, -1)) + part(integrate.trapezoid, slice(-2, None))
    last = part(integrate.trapezoid, slice(None, 2)) + part(integrate.simpson, slice(1, None))
    return {"avg": (first + last) / 2, "first": first, "last": last}[even]


def _linalg() -> None:
    import numpy as np
    import scipy.linalg

    def pinv2(a, cond=None, rcond=None, return_rank=False, check_finite=True):
        tolerance = cond if rcond is None else rcond
        return scipy.linalg.pinv(
            a, rtol=tolerance, return_rank=return_rank, check_finite=check_finite
        )

    set_missing(scipy.linalg, pinv2=pinv2, tril=np.tril, triu=np.triu, kron=np.kron)


def _special() -> None:
    import scipy.special as special

    set_missing(special, sph_harm=lambda m, n, theta, phi: special.sph_harm_y(n, m, phi, theta))


def _distance() -> None:
    from scipy.spatial import distance

    def wminkowski(u, v, p, w):
        import numpy as np

        return distance.minkowski(np.multiply(w, u), np.multiply(w, v), p)

    set_missing(distance, matching=distance.hamming, wminkowski=wminkowski)
