"""Functions that take lists of different lengths, which NumPy before 1.24 made arrays of objects.

They convert lists inside NumPy, where the restored `numpy.array` does not act.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from estimator_bridge.old_packages.numpy_1.arrays import is_caught
from estimator_bridge.old_packages.special_methods import add_method

__all__ = ["install"]

_FUNCTIONS = """
all alltrue amax amin any append apply_along_axis argmax argmin argpartition argsort argwhere
array_split asarray_chkfinite ascontiguousarray asfortranarray atleast_1d atleast_2d atleast_3d
average broadcast_arrays broadcast_to compress convolve copy copyto count_nonzero cumprod cumproduct
cumsum delete diag diagflat diff ediff1d einsum empty_like expand_dims extract flatnonzero flip
flipud full full_like histogram histogram_bin_edges imag in1d insert intersect1d iscomplex
iscomplexobj isin isreal isrealobj ix_ kron lexsort linspace logspace max may_share_memory mean
meshgrid min min_scalar_type moveaxis nan_to_num nanargmax nanargmin nancumsum nanmax nanmin nansum
ndim nonzero ones_like outer pad partition poly polyadd polyder polydiv polyint polymul polysub
polyval prod product ptp quantile ravel real real_if_close repeat require resize roll searchsorted
setdiff1d setxor1d shape shares_memory size sometrue sort split squeeze std sum swapaxes take
tensordot tile transpose trapz tril trim_zeros triu union1d unique vander var where zeros_like
"""
# Lists of such lists.
_JOINING = "concatenate hstack vstack row_stack dstack column_stack stack fliplr rot90 select"
# They write a part before they fail, or catch the error.
_FIRST = "savez savez_compressed array_equal array_equiv"


def install() -> None:
    """Makes the functions take such lists, if the installed NumPy refuses them."""
    if np.lib.NumpyVersion(np.__version__) < "1.24.0":
        return
    space = vars(np)
    for name in _FUNCTIONS.split():
        if name in space:
            space[name] = _take_lists(space[name], _as_objects)
    for name in _JOINING.split():
        space[name] = _take_lists(space[name], _with_objects)
    for name in _FIRST.split():
        space[name] = _convert_first(space[name])
    np.save = _save(np.save)
    np.testing.assert_array_equal = _take_lists(np.testing.assert_array_equal, _as_objects)
    np.random.permutation = _take_lists(np.random.permutation, _as_objects)
    method = _take_lists(np.random.RandomState.permutation, _as_objects)
    add_method(np.random.RandomState, "permutation", method)


def _as_objects(value: Any) -> Any:
    """Returns an array of a list that makes one of objects; any other value as it is."""
    if not isinstance(value, (list, tuple)):
        return value
    made = np.asanyarray(value)
    return made if made.dtype == object else value


def _with_objects(value: Any) -> Any:
    return list(map(_as_objects, value)) if isinstance(value, (list, tuple)) else value


def _take_lists(original: Callable[..., Any], convert: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compute(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except ValueError as error:
            if "inhomogeneous" not in str(error) or is_caught():
                raise
            named = {name: convert(value) for name, value in kwargs.items()}
            return original(*map(convert, args), **named)

    return compute


def _convert_first(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compute(*args: Any, **kwargs: Any) -> Any:
        named = {name: _as_objects(value) for name, value in kwargs.items()}
        return original(*map(_as_objects, args), **named)

    return compute


def _save(original: Callable[..., Any]) -> Callable[..., Any]:
    # `fix_imports` has had no effect for long, and NumPy 2.5 lacks it.
    @functools.wraps(original)
    def save(file: Any, arr: Any, allow_pickle: bool = True, fix_imports: bool = True) -> None:
        original(file, _as_objects(arr), allow_pickle)

    return save
