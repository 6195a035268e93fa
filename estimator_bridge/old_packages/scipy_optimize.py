"""Arguments and options of `scipy.optimize` that SciPy removed, and names of its modules."""

import functools
import importlib.util
import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["install"]

_PRINTING = ("iprint", "disp")
# The arguments behind the start.
_ORDER = (
    "fprime args approx_grad bounds m factr pgtol epsilon iprint maxfun maxiter disp callback maxls"
)
# Method -> option -> its name today.
_RENAMED = {
    "tnc": {"maxiter": "maxfun"},
    "nelder-mead": {"xtol": "xatol", "ftol": "fatol"},
}
# Old module -> the module that has its contents.
_MOVED = {
    "cobyla": "_cobyla_py",
    "lbfgsb": "_lbfgsb_py",
    "linesearch": "_linesearch",
    "minpack": "_minpack_py",
    "nonlin": "_nonlin",
    "optimize": "_optimize",
    "slsqp": "_slsqp_py",
    "tnc": "_tnc",
    "zeros": "_zeros_py",
}


def install() -> None:
    """Restores them in the imported module."""
    from scipy import optimize

    for old, new in _MOVED.items():
        if importlib.util.find_spec(f"scipy.optimize.{new}") is not None:
            _fill(f"scipy.optimize.{old}", f"scipy.optimize.{new}")
    printing = inspect.signature(optimize.fmin_l_bfgs_b).parameters.get("iprint")
    # SciPy 1.15 no longer prints, and deprecated the arguments; 1.18 removed them.
    is_silent = printing is None or printing.default != -1
    if is_silent:
        optimize.fmin_l_bfgs_b = _without_printing(optimize.fmin_l_bfgs_b)
        vars(importlib.import_module("scipy.optimize.lbfgsb")).update(
            fmin_l_bfgs_b=optimize.fmin_l_bfgs_b
        )
    optimize.nnls = _with_positions(optimize.nnls)
    optimize.minimize = _with_options(optimize.minimize, is_silent)


def _fill(old: str, new: str) -> None:
    """Sets the private names, too, which the module of the old name does not pass on."""
    space = vars(importlib.import_module(old))
    for name, value in vars(importlib.import_module(new)).items():
        if not name.startswith("__"):
            space.setdefault(name, value)


def _without_printing(original: Callable[..., Any]) -> Callable[..., Any]:
    names = _ORDER.split()

    @functools.wraps(original)
    def fmin_l_bfgs_b(func: Any, x0: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"fmin_l_bfgs_b takes at most {len(names) + 2} arguments")
        kwargs.update(zip(names, args))
        for name in _PRINTING:
            kwargs.pop(name, None)
        return original(func, x0, **kwargs)

    return fmin_l_bfgs_b


def _with_positions(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def nnls(A: Any, b: Any, maxiter: Any = None, **options: Any) -> Any:
        return original(A, b, maxiter=maxiter, **options)

    return nnls


def _with_options(original: Callable[..., Any], is_silent: bool) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def minimize(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        options, method = given.get("options"), given.get("method")
        if not options:
            return original(*args, **kwargs)
        if method is None and given.get("bounds") is not None and not given.get("constraints"):
            method = "l-bfgs-b"
        method = method.lower() if isinstance(method, str) else None
        names = _RENAMED.get(method or "", {})
        dropped = _PRINTING if method == "l-bfgs-b" and is_silent else ()
        given["options"] = {
            names.get(name, name): value for name, value in options.items() if name not in dropped
        }
        return original(**given)

    return minimize
