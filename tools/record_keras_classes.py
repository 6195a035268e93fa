"""Records the classes and arguments that Keras has added since 3.5, with their first version.

    python tools/record_keras_classes.py

Writes estimator_bridge/convert/write/keras_versions.json. It fetches the wheel of each version with
pip (1 MB each), and reads its source without running it. "moved" lists the arguments that an
operation first had in each call, and later in its constructor.
"""

import ast
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "estimator_bridge/convert/write/keras_versions.json"
VERSIONS = (
    "3.5.0", "3.6.0", "3.7.0", "3.8.0", "3.9.2", "3.10.0", "3.11.3", "3.12.0", "3.13.0", "3.14.0",
    "3.15.1",
)  # fmt: skip


def read_classes(wheel):
    """Returns (package, class) → (bases, arguments of __init__, whether it passes on, of call)."""
    found = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.startswith("keras/src/") or not name.endswith(".py") or "_test" in name:
                continue
            for node in ast.parse(archive.read(name)).body:
                if isinstance(node, ast.ClassDef):
                    found[name.split("/")[2], node.name] = read_class(node)
    return found


def read_class(node):
    bases = [getattr(base, "id", None) or getattr(base, "attr", "") for base in node.bases]
    functions = {item.name: item.args for item in node.body if isinstance(item, ast.FunctionDef)}
    given = {
        name: [arg.arg for arg in (*args.args[1:], *args.kwonlyargs)]
        for name, args in functions.items()
    }
    passes_on = "__init__" not in functions or functions["__init__"].kwarg is not None
    return bases, given.get("__init__", []), passes_on, given.get("call", [])


def arguments(key, classes):
    """Returns the arguments of a class and of those to which it passes others on."""
    bases, args, passes_on, _ = classes[key]
    found = set(args)
    for base in bases if passes_on else ():
        same = [one for one in classes if one[1] == base and one != key]
        same.sort(key=lambda one: one[0] != key[0])
        if same:
            found |= arguments(same[0], classes)
    return found


def main():
    first, moved, in_calls = {}, {}, {}
    for version in VERSIONS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", folder]
            command += ["--only-binary=:all:", "--python-version=3.12", f"keras=={version}"]
            subprocess.run(command, check=True)
            classes = read_classes(next(Path(folder).glob("*.whl")))
        minor = ".".join(version.split(".")[:2])
        for key in classes:
            known = first.setdefault(".".join(key), {"": minor})
            for argument in arguments(key, classes):
                known.setdefault(argument, minor)
            _, once, _, in_call = classes[key]
            for argument in sorted(in_calls.get(key, set()) & set(once) - set(in_call)):
                moved.setdefault(".".join(key), {}).setdefault(argument, minor)
        for key, (_, once, _, in_call) in classes.items():
            in_calls.setdefault(key, set()).update(set(in_call) - set(once))
        print(f"{version}: {len(classes)} classes")
    oldest = ".".join(VERSIONS[0].split(".")[:2])
    added = {
        name: {key: since for key, since in sorted(known.items()) if since != oldest}
        for name, known in sorted(first.items())
    }
    lines = [
        # What a class has had since it exists needs no line.
        f"{json.dumps(name)}: "
        + json.dumps(
            {key: since for key, since in known.items() if not key or since != known.get("")}
        )
        for name, known in added.items()
        if known
    ]
    versions = [".".join(version.split(".")[:2]) for version in VERSIONS]
    moves = [f"{json.dumps(name)}: {json.dumps(known)}" for name, known in sorted(moved.items())]
    text = f'{{"versions": {json.dumps(versions)},\n"added": {{\n' + ",\n".join(lines) + "\n},\n"
    text += '"moved": {\n' + ",\n".join(moves) + "\n}}\n"
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
