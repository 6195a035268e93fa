"""Runs Keras 3 in a process of its own: this one may have Keras 2 and no eager execution."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional

from estimator_bridge.errors import BridgeError
from estimator_bridge.model_files.saved_models import require_whole

from .arrays import message_of

__all__ = ["find_saved_model", "run_beside"]

TIMEOUT_SECS = 3600


def run_beside(request: dict[str, Any], module: str, folder: str) -> None:
    """Runs a module of this package on a request.

    Args:
      request: what the module reads; "model" is the Keras file.
      module: name of the module.
      folder: where the request is written.

    Raises:
      BridgeError: the process fails.
    """
    path = Path(folder) / f"{module}.json"
    path.write_text(json.dumps(request), encoding="utf-8")
    # Without the variable by which the bridge selects Keras 2 for tf.keras.
    environment = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}
    done = subprocess.run(
        [sys.executable, "-m", f"{__package__}.{module}", str(path)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECS,
        # What AutoGraph leaves among the temporary files is removed with the folder.
        env={**environment, "TF_CPP_MIN_LOG_LEVEL": "3", "TMPDIR": folder},
    )
    if done.returncode:
        raise BridgeError(f"--keras_model={request['model']}: {message_of(done.stderr)}")


def find_saved_model(options: Any) -> Optional[str]:
    """Returns the folder of the Keras model's SavedModel, or None.

    Args:
      options: parsed options of the command.

    Raises:
      BridgeError: its files are not whole.
    """
    beside: str = options.saved_model or options.keras_model[: -len(".keras")]
    if not os.path.isdir(beside):
        return None
    require_whole(Path(beside))
    return beside
