"""The arguments, defaults and members of TensorFlow's public names, in the TensorFlow that runs.

    python surface.py NAMES OUTPUT       (an original, Python 3.8 or later)
    python -m estimator_bridge run --as=2.4 surface.py NAMES OUTPUT

NAMES is a JSON list of names below `tf`.
"""

import inspect
import json
import os
import sys

PARITY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "parity_1x")
sys.path.insert(0, PARITY)
import signatures  # noqa: E402

# Members of every object, or of modules that hold no state of a program.
UNREAD = ("mro", "from_bytes", "to_bytes")


def of_class(path, kind):
    """Yields (path, signature) of a class and its public members; "property" for those."""
    yield path, signatures.read(kind.__init__)
    for name in dir(kind):
        if name.startswith("_") or name in UNREAD:
            continue
        owner = next((base for base in inspect.getmro(kind) if name in vars(base)), None)
        if owner is None or owner in (object, dict, list, tuple, int, Exception, BaseException):
            continue
        member = vars(owner)[name]
        if isinstance(member, (staticmethod, classmethod)):
            yield path + "." + name, signatures.read(member.__func__)
        elif callable(member):
            yield path + "." + name, signatures.read(member)
        else:
            yield path + "." + name, "property"


def read(names):
    """Returns path -> signature of all names and their public members."""
    import tensorflow as tf

    found = {}
    for name in names:
        value = tf
        try:
            for part in name.split("."):
                value = getattr(value, part)
        except Exception:
            continue
        if inspect.isclass(value):
            # Messages and enumerations have the members of their definitions.
            if not hasattr(value, "DESCRIPTOR"):
                found.update(of_class(name, value))
        elif callable(value):
            found[name] = signatures.read(value)
    return {path: one for path, one in found.items() if one is not None}


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        listed = json.load(file)
    with open(sys.argv[2], "w") as file:
        json.dump(read(listed), file, sort_keys=True)
