"""Modules and options of pandas under the names of versions 0.16 to 1.5."""

import functools
import io
import os
import sys

from estimator_bridge.old_packages.missing import set_missing
from estimator_bridge.process.importing import ModuleSupplier

__all__ = ["install"]

_MODULES = {
    "pandas.core.categorical": "pandas.core.arrays.categorical",
    "pandas.core.datetools": "pandas.tseries.offsets",
    "pandas.core.format": "pandas.io.formats.format",
    "pandas.core.index": "pandas",
    "pandas.core.indexes.numeric": "pandas",
    "pandas.core.tools.merge": "pandas",
    "pandas.io.json.normalize": "pandas.io.json._normalize",
    "pandas.io.pickle": "pandas",
    "pandas.lib": "pandas._libs.lib",
    "pandas.parser": "pandas._libs.parsers",
    "pandas.plotting._converter": "pandas.plotting._matplotlib.converter",
    "pandas.stats": "pandas",
    "pandas.stats.moments": "pandas",
    "pandas.tools.merge": "pandas",
    "pandas.tools.plotting": "pandas.plotting",
    "pandas.tseries.converter": "pandas.plotting._matplotlib.converter",
    "pandas.tseries.index": "pandas",
    "pandas.tseries.period": "pandas",
    "pandas.tseries.resample": "pandas",
    "pandas.tseries.tdi": "pandas",
    "pandas.tseries.timedeltas": "pandas",
    "pandas.tseries.tools": "pandas",
    "pandas.tslib": "pandas._libs.tslibs",
    "pandas.util.testing": "pandas._testing",
}
_TREES = {
    "pandas.computation": "pandas.core.computation",
    "pandas.formats": "pandas.io.formats",
    "pandas.indexes": "pandas.core.indexes",
    "pandas.tools": "pandas.core.reshape",
    "pandas.types": "pandas.core.dtypes",
}
_REMOVED_OPTIONS = ("height", "line_width", "mpl_style", "repr", "escape", "longtable")


def install() -> None:
    """Supplies the modules and what is missing in today's."""
    import pandas as pd
    from pandas import api, core, errors

    supplier = ModuleSupplier()
    for names, supply in ((_MODULES, supplier.supply), (_TREES, supplier.supply_tree)):
        for old, new in names.items():
            if not _has_file(old):
                supply(old, new)
    sys.meta_path.insert(0, supplier)

    libs = sys.modules["pandas._libs"]
    set_missing(pd, tools=core.reshape, lib=libs.lib, tslib=libs.tslibs)
    set_missing(core.reshape, plotting=pd.plotting)
    set_missing(
        libs.lib, Timestamp=pd.Timestamp, Timedelta=pd.Timedelta, isscalar=libs.lib.is_scalar
    )
    set_missing(libs.parsers, CParserError=errors.ParserError)
    set_missing(pd.io.common, CParserError=errors.ParserError, EmptyDataError=errors.EmptyDataError)
    set_missing(pd.io.json, json_normalize=pd.json_normalize)
    set_missing(
        errors,
        SettingWithCopyWarning=type("SettingWithCopyWarning", (Warning,), {}),
        SettingWithCopyError=type("SettingWithCopyError", (ValueError,), {}),
    )
    set_missing(
        api.types,
        is_categorical=api.types.is_categorical_dtype
        if hasattr(api.types, "is_categorical_dtype")
        else _is_categorical,
    )
    checks = {name: getattr(api.types, name) for name in dir(api.types) if name.startswith("is_")}
    set_missing(
        core.common,
        isnull=pd.isnull,
        notnull=pd.notnull,
        PandasError=Exception,
        SettingWithCopyWarning=errors.SettingWithCopyWarning,
        SettingWithCopyError=errors.SettingWithCopyError,
        AbstractMethodError=errors.AbstractMethodError,
        **checks,
    )
    set_missing(
        pd.compat,
        BytesIO=io.BytesIO,
        StringIO=io.StringIO,
        cStringIO=io.StringIO,
        PY2=False,
        PY3=True,
        filter=filter,
        map=map,
        range=range,
        zip=zip,
        reduce=functools.reduce,
        iteritems=lambda values: iter(values.items()),
        itervalues=lambda values: iter(values.values()),
        lfilter=lambda *args: list(filter(*args)),
        lmap=lambda *args: list(map(*args)),
        lrange=lambda *args: list(range(*args)),
        lzip=lambda *args: list(zip(*args)),
        long=int,
        string_types=(str,),
        text_type=str,
        unichr=chr,
        u=str,
    )
    _set_options()
    _share_readers()


def _has_file(name):
    import pandas as pd

    path = os.path.join(pd.__path__[0], *name.split(".")[1:])
    return os.path.exists(path) or os.path.exists(path + ".py")


def _is_categorical(values):
    import pandas as pd

    return isinstance(getattr(values, "dtype", values), pd.CategoricalDtype)


def _share_readers():
    """Sets the functions that are wrapped by now in the modules that have them too."""
    import pandas as pd

    for name, module in (
        ("csv", "parsers"),
        ("table", "parsers"),
        ("fwf", "parsers"),
        ("json", "json"),
        ("excel", "excel"),
    ):
        setattr(sys.modules[f"pandas.io.{module}"], f"read_{name}", getattr(pd, f"read_{name}"))


def _set_options():
    """Options for printing have short names, and those that were removed have no effect."""
    import pandas as pd

    config = sys.modules["pandas._config.config"]
    function = config.set_option

    @functools.wraps(function)
    def set_option(*args, **kwargs):
        pairs = []
        for name, value in zip(args[::2], args[1::2]):
            name = _find_option(name)
            if name is None:
                continue
            if name == "display.max_colwidth" and value == -1:
                value = None
            pairs += [name, value]
        if pairs or not args or len(args) % 2:
            function(*(pairs if len(args) % 2 == 0 else args), **kwargs)

    config.set_option = pd.set_option = set_option
    if hasattr(config, "_set_option"):
        # pandas 2 calls it for `pd.options.display.max_colwidth = -1`.
        config._set_option = set_option


def _find_option(name):
    """Returns the name of the option, or None for one of printing that was removed."""
    import pandas as pd

    known = dir(pd.options.display)
    short = str(name).rpartition(".")[2]
    if short in known and name in (short, f"display.{short}"):
        return f"display.{short}"
    return None if str(name).startswith("display.") and short in _REMOVED_OPTIONS else name
