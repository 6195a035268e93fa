"""What docs/cluster.md says of scaling follows from the constants that it says were measured."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def scaling():
    spec = importlib.util.spec_from_file_location("scaling", ROOT / "benchmarks" / "scaling.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_document_has_what_its_constants_give(scaling):
    ((constants, part),) = scaling.PART.findall(scaling.DOCUMENT.read_text(encoding="utf-8"))
    assert scaling.describe(scaling.Constants(**json.loads(constants))) == part


def test_measured_constants_are_written_into_the_document(scaling, tmp_path, monkeypatch):
    path = tmp_path / "cluster.md"
    path.write_text(scaling.DOCUMENT.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(scaling, "DOCUMENT", path)
    scaling.write(scaling.Constants(1e-4, 2e-6, 1e-3, 1e-9, 1e-9, 1e-3, 8, "2.15.1"))
    text = path.read_text(encoding="utf-8")
    assert "measured on 8 cores" in text and "TensorFlow 2.15.1" in text
    assert text.count("scaling ends") == 1 and "## How it scales" in text


def test_the_model(scaling):
    cost = scaling.Constants(1e-3, 0.0, 1e-3, 0.0, 0.0, 1e-3, 2, "")
    # Steps of 2.1 ms, and a server that begins an exchange every ms: two workers and a bit.
    assert scaling.count_useful_workers(cost, 0.0) == 3
    alone, two = (scaling.rate_asynchronous(cost, 512, 0.0, n, 1) for n in (1, 2))
    assert two == pytest.approx(2 * alone) == pytest.approx(2 * 512 / 2.1e-3)
    # A ring of two has two rounds of 0.1 ms.
    assert scaling.rate_synchronous(cost, 512, 0.0, 2) == pytest.approx(2 * 512 / 1.2e-3)
