"""The model server of the tests of serving, here too."""

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    "sandbox_serving_conftest", Path(__file__).parents[1] / "serving" / "conftest.py"
)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
serve = _module.serve
