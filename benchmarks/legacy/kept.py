"""Stores what has been measured, so that a run that was stopped goes on where it was."""

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).resolve().parent
# Drawing the tables anew does not need new measurements.
_NOT_MEASURED = ("run.py", "kept.py", "old_tables.py")


def fingerprint() -> str:
    """Returns a text that changes with the bridge, the programs and TensorFlow."""
    digest = hashlib.sha256(importlib.metadata.version("tensorflow").encode())
    bridge = sorted((HERE.parents[1] / "estimator_bridge").rglob("*.py"))
    programs = [path for path in sorted(HERE.glob("*.py")) if path.name not in _NOT_MEASURED]
    for path in [*bridge, *programs]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Kept:
    """Measurements by name, in a file.

    Args:
      path: the file.
      anew: whether to forget what it contains. Measurements of another state of the code are
        always forgotten.
    """

    def __init__(self, path: Path, anew: bool = False):
        self._path, self._code = path, fingerprint()
        stored = json.loads(path.read_text()) if path.exists() and not anew else {}
        self._found = stored.get("measured", {}) if stored.get("code") == self._code else {}
        if self._found:
            print(f"{len(self._found)} measurements of {path} are kept (--anew: none)", flush=True)

    def get(self, name: str, measure: Callable[[], Any]) -> Any:
        """Returns a measurement, which is made and stored if it is not there.

        Args:
          name: its name.
          measure: makes it; returns what JSON can hold.
        """
        if name not in self._found:
            self._found[name] = measure()
            text = json.dumps({"code": self._code, "measured": self._found})
            # Written beside it first: a process that is killed leaves the old file.
            beside = self._path.with_suffix(".new")
            beside.write_text(text)
            beside.replace(self._path)
        return self._found[name]
