"""The storage server of the tests of trainer.storage, and what may be absent on some versions."""

import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location(
    "storage_server", Path(__file__).parents[1] / "storage" / "conftest.py"
)
_server = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_server)
_service, cloud = _server._service, _server.cloud


@pytest.fixture
def aiplatform():
    """google.cloud.aiplatform_v1, which the first and the last TensorFlow are tested with."""
    from estimator_bridge import tf

    if not tf.__version__.startswith(("2.15.", "2.21.")):
        pytest.importorskip("google.cloud.aiplatform_v1")
    from google.cloud import aiplatform_v1

    return aiplatform_v1
