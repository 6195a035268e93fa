"""Audits mutated programs: no file costs the rest of the audit."""

import random
from pathlib import Path

import pytest
from fuzzing import mutate_bytes

from estimator_bridge.audit import audit

pytestmark = [pytest.mark.newest, pytest.mark.quick]

PROGRAMS = sorted((Path(__file__).parents[1] / "legacy").rglob("*.py"))
GOOD = "import tensorflow as tf\n\nmodel = tf.estimator.LinearClassifier([])\n"
IMPORT = b"import tensorflow as tf"
# What takes the place of the import, in programs that import each other.
IMPORTS = [
    b"from tensorflow import *",
    b"from absent import *",
    b"from .m1 import *\nfrom .m2 import *",
    b"import m3 as tf",
    b"import tensorflow.contrib as tf",
]
# Not of the programs themselves, but of files that lie beside them.
ENDS = [
    b"",
    b"\nx = " + b"(" * 3000 + b"tf" + b")" * 3000,
    b"\nx = tf" + b".a" * 3000,
    b"\n%matplotlib inline\nprint 'a'\n",
]


def mutate(data, rng):
    data = data.replace(IMPORT, rng.choice([IMPORT, *IMPORTS])) + rng.choice(ENDS)
    kind = rng.random()
    if kind < 0.1:
        return data.decode().encode("utf-16")
    return mutate_bytes(data, rng) if kind < 0.6 else data


@pytest.mark.parametrize("seed", range(10))
def test_no_file_costs_the_rest(seed, tmp_path):
    rng = random.Random(seed)
    for number in range(20):
        folder = tmp_path / rng.choice(["", "pkg", "pkg/sub", "tensorflow", "a b"])
        folder.mkdir(parents=True, exist_ok=True)
        name = f"m{number}.{rng.choice(['py', 'py', 'ipynb'])}"
        (folder / name).write_bytes(mutate(rng.choice(PROGRAMS).read_bytes(), rng))
    (tmp_path / "zz_good.py").write_text(GOOD)
    report = audit(str(tmp_path))
    found = [one.symbol.name for one in report.findings if one.path == "zz_good.py"]
    assert found == ["tf.estimator.LinearClassifier"]
