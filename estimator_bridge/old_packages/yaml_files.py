"""yaml.load(file) without a loader, which PyYAML 6 requires."""

import functools
import inspect

__all__ = ["install"]


def install() -> None:
    """Gives the functions of the imported yaml that require a loader the default of PyYAML 5."""
    import yaml

    for name in ("load", "load_all"):
        function = getattr(yaml, name)
        if inspect.signature(function).parameters["Loader"].default is inspect.Parameter.empty:
            setattr(yaml, name, _with_loader(function, yaml.FullLoader))


def _with_loader(function, default):
    @functools.wraps(function)
    def replacing(stream, Loader=default):
        return function(stream, Loader)

    return replacing
