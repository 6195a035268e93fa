"""The storage server of the storage tests, here too."""

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    "release_storage_conftest", Path(__file__).parents[1] / "storage" / "conftest.py"
)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
_service, cloud = _module._service, _module.cloud
