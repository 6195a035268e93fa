"""The public names of TensorFlow 2.0 to 2.15, and what the running TensorFlow gives for each.

    python -m estimator_bridge run --as=2.4 names.py OUTPUT

writes, for each name that one of these versions had, "there", "refused: ADVICE" or "missing".
tools/record_tf2_names.py records the names.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "names"
NAMES, TABLE = HERE / "names.json.gz", HERE / "table.json"


def write(found):
    """Stores the names of each version; the same names give the same bytes."""
    versions = list(found)
    groups = {}
    for name in sorted(set().union(*found.values())):
        mask = sum(1 << place for place, one in enumerate(versions) if name in found[one])
        groups.setdefault(f"{mask:x}", []).append(name)
    text = json.dumps({"versions": versions, "names": groups}, separators=(",", ":"))
    HERE.mkdir(exist_ok=True)
    NAMES.write_bytes(gzip.compress(text.encode(), mtime=0))


def read():
    """Returns version -> its names, sorted."""
    stored = json.loads(gzip.decompress(NAMES.read_bytes()))
    return {
        version: sorted(
            name
            for mask, names in stored["names"].items()
            if int(mask, 16) >> place & 1
            for name in names
        )
        for place, version in enumerate(stored["versions"])
    }


def find(name):
    """Returns what the running TensorFlow gives for a name."""
    import tensorflow as tf

    from estimator_bridge.tf1.unsupported import NotSuppliedError, StandIn

    found = tf
    try:
        for part in name.split("."):
            found = getattr(found, part)
            if isinstance(found, StandIn):
                found()
    except NotSuppliedError as error:
        return f"refused: {str(error).partition(': ')[2]}"
    except AttributeError:
        return "missing"
    return "there"


def find_all():
    """Returns name -> state of all names."""
    return {name: find(name) for name in sorted(set().union(*read().values()))}


def run(*options):
    """Returns name -> state of all names in a process under the bridge."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "states.json"
        command = [sys.executable, "-m", "estimator_bridge", "run", *options, __file__]
        subprocess.run([*command, str(output)], check=True)
        return json.loads(output.read_text())


def write_table():
    """Writes what becomes of the names that today's TensorFlow lacks; returns what is missing."""
    names = {version: set(found) for version, found in read().items()}
    plain, table = run(), {}
    # Which names there are does not depend on the version; what they are does.
    shown = run("--as=2.4")
    for name, state in shown.items():
        if state != plain[name]:
            had = [version for version in names if name in names[version]]
            text = "supplied" if state == "there" else state
            table[name] = [f"{had[0]} to {had[-1]}", text]
    lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(table.items())]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return [name for name, state in shown.items() if state == "missing"]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(find_all()))
