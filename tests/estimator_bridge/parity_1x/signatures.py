"""Signatures of the public names of tf.contrib, read in the running TensorFlow."""

import dis
import importlib
import inspect

SIMPLE = (bool, int, float, str, bytes, type(None))
MISSING = "<none>"


def default_of(parameter):
    """Returns a text for a default that is equal in both TensorFlows where the default is."""
    value = parameter.default
    if value is inspect.Parameter.empty:
        return MISSING
    if isinstance(value, tuple) and all(isinstance(part, SIMPLE) for part in value):
        return repr(value)
    if isinstance(value, SIMPLE):
        # 1 and 1.0 are the same default.
        return repr(float(value)) if type(value) in (int, float) else repr(value)
    if hasattr(value, "as_datatype_enum"):
        return value.name
    return "<object>"


def read(function):
    """Returns [[name, kind, default]] of a function, without self and cls, or None."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    if parameters and parameters[0].name in ("self", "cls", "_cls"):
        parameters = parameters[1:]
    kinds = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [[one.name, kinds.get(one.kind, ""), default_of(one)] for one in parameters]


def assigned_in_init(value):
    """Yields the names of the attributes that the constructors of a class assign."""
    for base in inspect.getmro(value):
        # A decorated constructor is the wrapper of the one that assigns them.
        code = getattr(inspect.unwrap(vars(base).get("__init__")), "__code__", None)
        for instruction in dis.get_instructions(code) if code else ():
            if instruction.opname == "STORE_ATTR" and not instruction.argval.startswith("_"):
                yield instruction.argval


def of_class(path, value, native):
    """Yields (path, signature) of a constructor and of the public methods and properties."""
    if not issubclass(value, BaseException):
        # Keras' layers have a __new__ that takes anything.
        yield path, read(value.__new__ if value.__init__ is object.__init__ else value.__init__)
    if not native:
        # 1.15 has them as properties.
        for name in assigned_in_init(value):
            yield path + "." + name, "property"
    for name in dir(value):
        if name.startswith("_"):
            continue
        owner = next(base for base in inspect.getmro(value) if name in vars(base))
        if native and "contrib" not in owner.__module__:
            continue  # Inherited from TensorFlow's own classes.
        member = vars(owner)[name]
        if inspect.isdatadescriptor(member):
            yield path + "." + name, "property"
        elif isinstance(member, (staticmethod, classmethod)):
            yield path + "." + name, read(member.__func__)
        elif callable(member):
            yield path + "." + name, read(member)


def of_module(path, module, native):
    """Yields (path, signature) of the functions and constructors that a module defines."""
    for name in sorted(vars(module)):
        value = vars(module)[name]
        # Names from other modules are no part of it: they have paths of their own.
        defined = getattr(value, "__module__", None) == module.__name__
        if name.startswith("_") or not callable(value) or (native and not defined):
            continue
        yield path + "." + name, read(value.__init__ if inspect.isclass(value) else value)


def of_value(path, value, native):
    """Returns pairs (path, signature) of a name."""
    if inspect.ismodule(value):
        return of_module(path, value, native)
    if native and "contrib" not in (getattr(value, "__module__", "") or ""):
        return []  # From outside tf.contrib.
    if inspect.isclass(value):
        return of_class(path, value, native)
    return [(path, read(value))] if callable(value) else []


def of_names(contrib, names, native):
    """Returns path -> signature of all names and their public methods.

    Args:
      contrib: tf.contrib.
      names: package -> names in it.
      native: whether this is TensorFlow 1.15; what it has from outside tf.contrib is left out.
    """
    found = {}
    for package, listed in sorted(names.items()):
        module = getattr(contrib, package, None)
        if module is None:  # tf.contrib.hooks is not there until it is imported.
            try:
                module = importlib.import_module("tensorflow.contrib." + package)
            except ImportError:  # A name of earlier versions, such as tf.contrib.linalg.
                continue
        for name in listed:
            found.update(of_value(package + "." + name, getattr(module, name, None), native))
    return {path: signature for path, signature in found.items() if signature is not None}
