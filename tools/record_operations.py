"""Records the operations and kernels of each TensorFlow version.

    python tools/record_operations.py [--work=FOLDER]

Writes estimator_bridge/downgrade/operations.json.gz. It fetches a wheel of each version with pip,
and loads only its libraries, with the Python version of the wheel (pythonX.Y on PATH, or installed
by pyenv). Nothing is installed. If a wheel or a Python is missing, an error names it and no table
is written. The wheels take 4 GB; --work keeps the results for another run. This needs the
environment of `make environment`.
"""

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "estimator_bridge/downgrade/operations.json.gz"
# Version, Python of the wheel, distribution. tensorflow-cpu has the same operations.
WHEELS = (
    ("1.13.2", "3.7", "tensorflow"),
    ("1.14.0", "3.7", "tensorflow"),
    ("1.15.5", "3.7", "tensorflow"),
    ("2.0.4", "3.7", "tensorflow"),
    ("2.1.4", "3.7", "tensorflow-cpu"),
    ("2.2.3", "3.8", "tensorflow-cpu"),
    ("2.3.4", "3.8", "tensorflow-cpu"),
    ("2.4.4", "3.8", "tensorflow-cpu"),
    ("2.5.3", "3.9", "tensorflow-cpu"),
    ("2.6.5", "3.9", "tensorflow-cpu"),
    ("2.7.4", "3.9", "tensorflow-cpu"),
    ("2.8.4", "3.10", "tensorflow-cpu"),
    ("2.9.3", "3.10", "tensorflow-cpu"),
    ("2.10.1", "3.10", "tensorflow-cpu"),
    ("2.11.1", "3.10", "tensorflow-cpu"),
    ("2.12.1", "3.11", "tensorflow-cpu"),
    ("2.13.1", "3.11", "tensorflow-cpu"),
    ("2.14.1", "3.11", "tensorflow-cpu"),
    ("2.15.1", "3.11", "tensorflow-cpu"),
    ("2.16.2", "3.11", "tensorflow-cpu"),
    ("2.17.1", "3.11", "tensorflow-cpu"),
    ("2.18.1", "3.11", "tensorflow-cpu"),
    ("2.19.1", "3.11", "tensorflow-cpu"),
    ("2.20.0", "3.11", "tensorflow-cpu"),
    ("2.21.0", "3.11", "tensorflow-cpu"),
)
PLATFORMS = ("manylinux1", "manylinux2010", "manylinux2014", "manylinux_2_17", "manylinux_2_27")
# Loaded in this order, as far as a version has them.
LIBRARIES = (
    "libtensorflow_framework.so*",
    "libtensorflow_cc.so*",
    "_pywrap_tensorflow_internal.so",
)
# The libraries of tf.contrib, which it loads when it is imported.
CONTRIB = "contrib/**/python/ops/_*.so"
# Prints a line of JSON (version, numbers of the types that have a size, lengths of what follows),
# then two serialised OpLists, without and with tf.contrib, and the serialised KernelList.
READ = """
import ctypes, json, os, sys
class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]
def content(call, *args):
    call.restype = ctypes.POINTER(Buffer)
    buffer = call(*args).contents
    return ctypes.string_at(buffer.data, buffer.length)
number = int(sys.argv[1])
for name in sys.argv[2:2 + number]:
    library = ctypes.CDLL(name, mode=os.RTLD_LAZY | os.RTLD_GLOBAL)
library.TF_Version.restype = ctypes.c_char_p
library.TF_DataTypeSize.restype = ctypes.c_size_t
library.TF_NewStatus.restype = ctypes.c_void_p
types = [number for number in range(1, 100) if library.TF_DataTypeSize(number)]
own = content(library.TF_GetAllOpList)
status = library.TF_NewStatus()
kernels = content(library.TF_GetAllRegisteredKernels, ctypes.c_void_p(status))
for name in sys.argv[2 + number:]:
    library.TF_LoadLibrary(name.encode(), ctypes.c_void_p(status))
parts = [own, content(library.TF_GetAllOpList), kernels]
header = json.dumps([library.TF_Version().decode(), types, list(map(len, parts))]).encode()
sys.stdout.buffer.write(header + b"\\n" + b"".join(parts))
"""
# Strings, resources and variants have no size; every version knows them.
UNSIZED_TYPES = [7, 20, 21]
# Devices of kernels that run without an accelerator.
CPU = ("CPU", "DEFAULT")


def find_python(minor):
    """Returns the path of a Python, '3.7'."""
    found = [shutil.which(f"python{minor}")]
    found += sorted(map(str, Path.home().glob(f".pyenv/versions/{minor}.*/bin/python")))
    for path in filter(None, found):
        # pyenv puts programs on PATH that only say that this version is not the chosen one.
        if subprocess.run([path, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0:
            return path
    raise SystemExit(
        f"no Python {minor} found; put python{minor} on PATH, or install it with pyenv"
    )


def fetch(version, python, distribution, work):
    """Returns the folder with the libraries of a version."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", work / "wheel"]
    command += ["--only-binary=:all:", f"--python-version={python}", f"{distribution}=={version}"]
    command += [f"--platform={platform}_x86_64" for platform in PLATFORMS]
    subprocess.run(command, check=True)
    (wheel,) = (work / "wheel").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        wanted = [name for name in archive.namelist() if ".so" in Path(name).suffixes]
        archive.extractall(work / "libraries", wanted)
    shutil.rmtree(work / "wheel")
    return work / "libraries"


def read(version, python, distribution, work):
    """Returns what READ prints for a version."""
    kept = work / f"{version}.ops"
    if not kept.exists():
        program = find_python(python)
        with tempfile.TemporaryDirectory(dir=work) as folder:
            libraries = fetch(version, python, distribution, Path(folder))
            found = [str(path) for name in LIBRARIES for path in sorted(libraries.rglob(name))]
            contrib = [str(path) for path in sorted(libraries.rglob(CONTRIB))]
            command = [program, "-c", READ, str(len(found)), *found, *contrib]
            done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            kept.write_bytes(done.stdout)
    return kept.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", help="folder that keeps the results for another run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(options.work or temporary)
        work.mkdir(parents=True, exist_ok=True)
        write([read(*wheel, work) for wheel in WHEELS])


def write(outputs):
    """Writes the table: for each operation, its definition from each version that changes it on."""
    from tensorflow.core.framework import kernel_def_pb2, op_def_pb2

    versions, types, operations, kernels, contrib = [], [], {}, {}, {}
    for number, output in enumerate(outputs):
        header, _, content = output.partition(b"\n")
        version, sized, (own_size, all_size, _) = json.loads(header)
        versions.append(version)
        types.append(sorted([*sized, *UNSIZED_TYPES]))
        own = op_def_pb2.OpList.FromString(content[:own_size]).op
        every = op_def_pb2.OpList.FromString(content[own_size : own_size + all_size]).op
        listed = kernel_def_pb2.KernelList.FromString(content[own_size + all_size :]).kernel
        texts = {op.name: op.SerializeToString(deterministic=True).hex() for op in map(plain, own)}
        record(operations, texts, number, "")
        record(kernels, {one.op: 1 for one in listed if one.device_type in CPU}, number, 0)
        for name in sorted({op.name for op in every} - set(texts)):
            contrib.setdefault(name, []).append(number)
        print(f"{version}: {len(texts)} operations")
    table = {
        "versions": versions,
        "types": types,
        "operations": dict(sorted(operations.items())),
        "kernels": dict(sorted((name, one) for name, one in kernels.items() if name in operations)),
        "contrib": contrib,
    }
    data = json.dumps(table, separators=(",", ":")).encode()
    with open(TARGET, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(data)
    print(f"{TARGET.name}: {len(operations)} operations, {TARGET.stat().st_size:,} bytes")


def record(table, found, number, absent):
    """Adds to a table name → [[number of a version, what it has from then on], ...]."""
    for name in {*table, *found}:
        changes = table.setdefault(name, [])
        value = found.get(name, absent)
        if value != (changes[-1][1] if changes else absent):
            changes.append([number, value])


def plain(op):
    """Removes what does not decide whether a graph loads, such as texts; returns the rest."""
    for field in ("summary", "description", "deprecation", "control_output"):
        op.ClearField(field)
    for arg in (*op.input_arg, *op.output_arg):
        for field in ("description", "experimental_full_type", "handle_data"):
            arg.ClearField(field)
    for attr in op.attr:
        attr.ClearField("description")
    return op


if __name__ == "__main__":
    main()
