"""Records modules of TensorFlow 1.15.5 and the names in them: those with stand-ins under `--tf1`.

    $(python tools/parity_1x.py --environment 1.15.5) tools/record_names_of_1_15.py

Writes estimator_bridge/tf1/names_of_1_15.txt. Names of other packages' modules and of tests are
left out, and what the generated modules of operations need themselves.
"""

import importlib
import os
import types

import tensorflow as tf

TARGET = os.path.join(
    os.path.dirname(os.path.abspath(__file__)),
    *["..", "estimator_bridge", "tf1", "names_of_1_15.txt"],
)
# Below `tensorflow`.
PACKAGES = ("contrib", "examples", "python.keras", "python.layers")
OF_GENERATED = ("_InitOpDefLibrary", "_kwarg_only", "_op_def_lib", "_allowed_symbols")


def modules():
    """Returns the paths of all modules of PACKAGES below tensorflow, sorted."""
    top, found = os.path.dirname(importlib.import_module("tensorflow_core").__file__), []
    for package in PACKAGES:
        for folder, _, files in os.walk(os.path.join(top, package.replace(".", os.sep))):
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), top)
                module, kind = os.path.splitext(path.replace(os.sep, "."))
                module = module[: -len(".__init__")] if module.endswith(".__init__") else module
                if kind == ".py" and not module.endswith("_test"):
                    found.append(module)
    return sorted(found)


def names(module):
    """Returns the names in a module, sorted."""
    return [
        name
        for name in dir(module)
        if not name.startswith("__")
        and name not in OF_GENERATED
        and not name.endswith("_eager_fallback")
        and not isinstance(getattr(module, name, None), types.ModuleType)
        and type(getattr(module, name, None)).__module__ != "__future__"
    ]


def main():
    lines = []
    for path in modules():
        try:
            module = importlib.import_module("tensorflow." + path)
        except ImportError as error:
            print("left out: %s: %s" % (path, error))  # noqa: UP031
            continue
        lines.append(" ".join([path + ":"] + names(module)))
    with open(TARGET, "w") as file:
        file.write("\n".join(lines) + "\n")
    print("%d modules of TensorFlow %s" % (len(lines), tf.__version__))  # noqa: UP031


if __name__ == "__main__":
    main()
