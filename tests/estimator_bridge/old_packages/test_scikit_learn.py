"""scikit-learn under the bridge: estimators copy and print as they did, and messages help."""

import json
import os
import re
import subprocess
from importlib import resources
from pathlib import Path

import measured
import pytest

CHECKS = Path(__file__).with_name("check_scikit_learn.py")
NAMES = re.findall(r"^def check_(\w+)", CHECKS.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_check(name):
    root = str(CHECKS.parents[3])
    command = measured.python(CHECKS, name)
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]


def test_orders_name_each_argument_once():
    text = resources.files("estimator_bridge.old_packages.scikit_learn").joinpath("orders.json")
    for orders in json.loads(text.read_text(encoding="utf-8")).values():
        for order in orders.values():
            names = [name for name in order.split() if name != "|"]
            assert len(names) == len(set(names)) and all(name.isidentifier() for name in names)
