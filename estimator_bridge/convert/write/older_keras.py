"""Rewrites a .keras file so that an older Keras loads it.

A newer Keras writes every argument of a class into the file, and an older one refuses those that it
does not know. Arguments with their default value are left out. keras_versions.json is written by
tools/record_keras_classes.py from the published packages.
"""

import importlib
import importlib.resources
import inspect
import json
import os
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from estimator_bridge.errors import BridgeError

__all__ = ["check_version", "rewrite_for"]

_CONFIG, _METADATA = "config.json", "metadata.json"
# Keras 3.6 and older load a layer only if the inputs of all of its calls are made before it.
_ORDER, _ORDER_SINCE = "layers called at several depths", "3.7"
# Arguments that follow from others: the number of words of the vocabulary beside it.
_DERIVED = {"vocabulary_size"}


@cache
def _table() -> dict[str, Any]:
    text = importlib.resources.files(__package__).joinpath("keras_versions.json").read_text()
    table: dict[str, Any] = json.loads(text)
    return table


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def check_version(version: str) -> str:
    """Returns a version of Keras as "3.5".

    Args:
      version: "3.5" or "3.5.0".

    Raises:
      BridgeError: it is none that is known.
    """
    minor = ".".join(version.split(".")[:2])
    known = _table()["versions"]
    if minor not in known:
        raise BridgeError(f"--keras={version}: choose one of {', '.join(known)}")
    return minor


def rewrite_for(path: str, version: str) -> None:
    """Rewrites a .keras file; on an error, it is removed.

    Args:
      path: the file, which the installed Keras has written.
      version: the Keras that is to load it, from `check_version`.

    Raises:
      BridgeError: the model has what that version lacks.
    """
    beside = f"{path}.partial"
    missing: dict[str, str] = {}
    try:
        with zipfile.ZipFile(path) as source, zipfile.ZipFile(beside, "w") as target:
            for entry in source.infolist():
                data = source.read(entry)
                if entry.filename == _CONFIG:
                    config = json.loads(data)
                    _adapt(config, _numbers(version), missing)
                    is_old = _numbers(version) < _numbers(_ORDER_SINCE)
                    if is_old and not _is_in_order(config["config"].get("layers", ())):
                        missing[_ORDER] = _ORDER_SINCE
                    data = json.dumps(config).encode()
                elif entry.filename == _METADATA:
                    data = json.dumps(
                        {**json.loads(data), "keras_version": f"{version}.0"}
                    ).encode()
                target.writestr(entry, data)
        if missing:
            os.remove(path)
            raise BridgeError(_describe(version, missing))
        os.replace(beside, path)
    finally:
        if os.path.exists(beside):
            os.remove(beside)


def _describe(version: str, missing: dict[str, str]) -> str:
    needed = max(missing.values(), key=_numbers)
    names = ", ".join(f"{name} (Keras {since})" for name, since in sorted(missing.items()))
    optimizer = all(name.startswith("optimizers.") for name in missing)
    remedy = ", or add --no_optimizer" if optimizer else ""
    return f"--keras={version}: the model needs {names}; choose --keras={needed}{remedy}"


def _adapt(value: Any, version: tuple[int, ...], missing: dict[str, str]) -> None:
    """Removes arguments that a version does not know, and collects what it lacks."""
    if isinstance(value, list):
        for item in value:
            _adapt(item, version, missing)
    if not isinstance(value, dict):
        return
    module, config = value.get("module"), value.get("config")
    if isinstance(module, str) and module.startswith("keras.") and isinstance(config, dict):
        package = module.removeprefix("keras.src.").removeprefix("keras.").split(".")[0]
        name = f"{package}.{value['class_name']}"
        _move_to_calls(value, _table()["moved"].get(name, {}), version)
        for argument, since in _table()["added"].get(name, {}).items():
            if _numbers(since) <= version:
                continue
            if not argument:
                missing[name] = since
            elif argument in config and _may_go(module, value["class_name"], argument, config):
                del config[argument]
            elif argument in config:
                missing[f"{name}({argument}=)"] = since
        for derived in _DERIVED & set(config):
            del config[derived]
    for item in value.values():
        _adapt(item, version, missing)


def _is_in_order(layers: Iterable[dict[str, Any]]) -> bool:
    """Returns whether each call of a layer needs only what layers before it return."""
    made: dict[str, int] = {}
    for layer in layers:
        calls = layer.get("inbound_nodes", ())
        made[layer["name"]] = 0
        for call in calls:
            if any(made.get(name, 0) <= index for name, index in _origins(call)):
                return False
            made[layer["name"]] += 1
        # An input has no call.
        made[layer["name"]] = max(1, len(calls))
    return True


def _origins(value: Any) -> Iterator[tuple[str, int]]:
    """Yields the layer and the number of its call for each tensor of a call."""
    if isinstance(value, dict):
        if "keras_history" in value:
            name, index, _ = value["keras_history"]
            yield name, index
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _origins(item)


def _move_to_calls(value: dict[str, Any], moved: dict[str, str], version: tuple[int, ...]) -> None:
    """Gives an operation those arguments in each call that an older Keras does not keep.

    The older one takes dtype for that of a layer, and computes zeros_like(x, dtype=...) in the
    dtype of x.
    """
    for argument, since in moved.items():
        if _numbers(since) > version and argument in value["config"]:
            given = value["config"].pop(argument)
            for node in value.get("inbound_nodes", ()):
                node["kwargs"][argument] = given


def _may_go(module: str, class_name: str, argument: str, config: dict[str, Any]) -> bool:
    """Returns whether an argument has its default value, or is a name that nothing refers to."""
    if argument == "name":
        return True
    found = getattr(importlib.import_module(module), class_name)
    for one in found.__mro__:
        parameters = inspect.signature(one.__init__).parameters
        if argument in parameters:
            default = parameters[argument].default
            # An option that is off may be written as False where its default is None.
            return bool(default == config[argument] or (not default and config[argument] is False))
    return False
