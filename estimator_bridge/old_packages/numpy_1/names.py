"""Names that NumPy 1.18 to 2.3 removed, and how its numbers print."""

import ast
import functools
import importlib.util
import inspect
import math
import pickle
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from estimator_bridge.old_packages.special_methods import add_method

__all__ = ["install"]

_EXCEPTIONS = [
    "AxisError",
    "ComplexWarning",
    "ModuleDeprecationWarning",
    "TooHardError",
    "VisibleDeprecationWarning",
]
_MODULES_OF_LIB = (
    "arraypad arraysetops function_base histograms index_tricks nanfunctions polynomial "
    "shape_base twodim_base type_check ufunclike utils"
)


# NumPy 1.25 to 2.4 still have these, and warn when they are called.
_WARNING = (
    *("alltrue", "asfarray", "cumproduct", "find_common_type", "in1d", "msort", "product"),
    *("round_", "row_stack", "sometrue", "trapz"),
)


def install() -> None:
    """Sets the names that are missing or that warn."""
    # Removed in NumPy 1.24 (the literal) and 2.0 (the others).
    aliases: dict[str, Any] = {
        "int": int,
        "float": float,
        "complex": complex,
        "object": object,
        "str": str,
        "bool": bool,
    }
    aliases.update(long=int, unicode=str, unicode_=np.str_, string_=np.bytes_, float_=np.float64)
    aliases.update(
        complex_=np.complex128, int0=np.intp, Inf=np.inf, Infinity=np.inf, NaN=np.nan, infty=np.inf
    )
    aliases.update(asscalar=lambda array: array.item(), product=np.prod, cumproduct=np.cumprod)
    aliases.update(alltrue=np.all, sometrue=np.any, round_=np.round, mat=np.asmatrix)
    aliases.update(PINF=np.inf, NINF=-np.inf, PZERO=0.0, NZERO=-0.0, bool8=np.bool_)
    aliases.update(row_stack=np.vstack, in1d=_in1d, asfarray=_asfarray, msort=_msort)
    aliases.update(longfloat=np.longdouble, singlecomplex=np.complex64, cfloat=np.complex128)
    aliases.update(alen=len, cast=_Cast(), issubsctype=np.issubdtype, loads=pickle.loads)
    aliases.update(find_common_type=_find_common_type, sctypes=_list_types())
    aliases.update(obj2sctype=_obj2sctype, maximum_sctype=_maximum_sctype, rank=np.ndim)
    aliases.update(fastCopyAndTranspose=lambda a: np.array(a).T.copy(), source=_print_source)
    # Modules that NumPy itself imported.
    aliases.update(math=math, sys=sys, warnings=warnings)
    aliases.update(uint0=np.uintp, void0=np.void, str0=np.str_, bytes0=np.bytes_, NAN=np.nan)
    aliases.update(object0=np.object_, longcomplex=np.clongdouble, clongfloat=np.clongdouble)
    aliases.update(typeDict=np.sctypeDict, issubclass_=_is_subclass, safe_eval=ast.literal_eval)
    aliases.update(format_parser=np.rec.format_parser)
    with warnings.catch_warnings():
        # NumPy 2.5 announces that it will remove this class.
        warnings.simplefilter("ignore", DeprecationWarning)
        if hasattr(np.char, "chararray"):
            aliases["chararray"] = np.char.chararray
    aliases.update(recfromtxt=_read_records, recfromcsv=_read_records_of_csv)
    for name in _EXCEPTIONS:
        aliases[name] = getattr(getattr(np, "exceptions", np), name)
    if hasattr(np, "trapezoid"):
        aliases.update(trapz=np.trapezoid)
    for name, value in aliases.items():
        # hasattr would read the name: NumPy 1.20 to 1.23 warn about some, later versions raise.
        if name not in vars(np) or name in _WARNING:
            setattr(np, name, value)
    is_new = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
    if is_new:
        # It was Python's integer; NumPy 2 gave the name to C's.
        vars(np)["long"] = int
        # 0.5 and not np.float32(0.5), as in the metrics that programs print and others parse.
        np.set_printoptions(legacy="1.25")
    if "pad" not in vars(np.lib):
        np.lib.pad = np.pad  # type: ignore[attr-defined]
    _supply_modules()
    # Removed in NumPy 2.0, tostring in 2.3; code that writes TFRecords often calls it.
    methods: dict[str, Callable[..., Any]] = {
        "tostring": lambda array, order="C": array.tobytes(order),
        "ptp": lambda array, *args, **kwargs: np.ptp(np.asarray(array), *args, **kwargs),
        "newbyteorder": lambda array, order="S": array.view(array.dtype.newbyteorder(order)),
        "itemset": _set_item,
    }
    for kind in (np.ndarray, np.generic):
        for name, method in methods.items():
            # NumPy 2.0 to 2.2 have methods that only raise an error.
            if not hasattr(kind, name) or (is_new and name != "tostring"):
                add_method(kind, name, method)
    if np.lib.NumpyVersion(np.__version__) >= "2.3.0":
        np.fromstring = _with_binary_mode(np.fromstring)


def _in1d(ar1, ar2, assume_unique=False, invert=False):
    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def _asfarray(a, dtype=None):
    dtype = np.dtype(np.float64 if dtype is None else dtype)
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _msort(a):
    return np.sort(a, axis=0)


def _is_subclass(arg1, arg2):
    try:
        return issubclass(arg1, arg2)
    except TypeError:
        return False


def _read_records(fname, **kwargs):
    # The kinds of columns are those of their values.
    kwargs.setdefault("dtype", None)
    return np.genfromtxt(fname, **kwargs).view(np.recarray)


def _read_records_of_csv(fname, **kwargs):
    return _read_records(fname, **{**_OF_CSV, **kwargs})


_OF_CSV = {"case_sensitive": "lower", "names": True, "delimiter": ","}


class _Cast(dict[Any, Any]):
    """Type -> a function that converts to it."""

    def __missing__(self, kind):
        return functools.partial(np.asarray, dtype=kind)


def _find_common_type(array_types, scalar_types):
    arrays = [np.dtype(one) for one in array_types]
    scalars = [np.dtype(one) for one in scalar_types]
    if not arrays or not scalars:
        return np.result_type(*arrays, *scalars)
    of_arrays, of_scalars = np.result_type(*arrays), np.result_type(*scalars)
    order = "buifcOSUVmM"
    # A number decides only if it is of a larger kind.
    is_larger = order.index(of_scalars.kind) > order.index(of_arrays.kind)
    return of_scalars if is_larger else of_arrays


def _list_types():
    return {
        "int": [np.int8, np.int16, np.int32, np.int64],
        "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
        "float": [np.float16, np.float32, np.float64, np.longdouble],
        "complex": [np.complex64, np.complex128, np.clongdouble],
        "others": [bool, object, bytes, str, np.void],
    }


def _obj2sctype(rep, default=None):
    try:
        return np.dtype(rep).type
    except TypeError:
        return getattr(getattr(rep, "dtype", None), "type", default)


def _maximum_sctype(t):
    kind = np.dtype(t)
    names = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
    return _list_types()[names[kind.kind]][-1] if kind.kind in names else kind.type


def _print_source(object, output=None):
    print(inspect.getsource(object), file=output or sys.stdout)


def _set_item(array, *args):
    *place, value = args
    if not place:
        array[()] = value
    elif len(place) == 1 and not isinstance(place[0], tuple):
        array.flat[place[0]] = value
    else:
        array[tuple(place[0]) if len(place) == 1 else tuple(place)] = value


def _supply_modules() -> None:
    """Modules that programs import, and that only passed on what NumPy has elsewhere."""
    compat = types.ModuleType("numpy.compat")
    vars(compat).update(
        {"unicode": str, "long": int, "asbytes": _as_bytes, "asstr": _as_text, "basestring": str}
    )
    py3k = types.ModuleType("numpy.compat.py3k")
    own = {name: value for name, value in vars(compat).items() if not name.startswith("_")}
    own.update(asunicode=_as_text, bytes=bytes, integer_types=(int,), strchar="U")
    vars(py3k).update(own)
    # A module with a path is a package.
    vars(compat).update(py3k=py3k, __path__=[])
    supplied = {"compat": compat, "compat.py3k": py3k, "testing.utils": np.testing}
    supplied.update({"fft.helper": np.fft, "linalg.linalg": np.linalg})
    # Their public functions are at the top level too.
    supplied.update({f"lib.{name}": np for name in _MODULES_OF_LIB.split()})
    for name, module in supplied.items():
        if importlib.util.find_spec(f"numpy.{name}") is None:
            sys.modules[f"numpy.{name}"] = module
            package, _, own_name = f"numpy.{name}".rpartition(".")
            setattr(sys.modules[package], own_name, module)


def _as_bytes(text):
    return text if isinstance(text, bytes) else str(text).encode("latin1")


def _as_text(text):
    return text.decode("latin1") if isinstance(text, bytes) else str(text)


def _with_binary_mode(fromstring):
    """Returns np.fromstring with its binary mode, which NumPy 2.3 removed."""

    @functools.wraps(fromstring)
    def replacing(string, dtype=float, count=-1, *, sep="", **options):
        if sep:
            return fromstring(string, dtype, count, sep=sep, **options)
        data = string.encode("latin-1") if isinstance(string, str) else string
        return np.frombuffer(data, dtype, count, **options).copy()

    return replacing
