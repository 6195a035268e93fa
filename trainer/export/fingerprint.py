"""The fingerprint of an export: equal if and only if the exports compute the same."""

import hashlib
from pathlib import Path

from trainer import storage

EXTRA = "assets.extra"
# In assets.extra, written by other commands than the one that exports.
GATE_REPORT = "gate.json"
GATE_SUMMARY = "gate.txt"
GATE_PAGE = "gate.html"
SANDBOX_REPORT = "sandbox.json"
WARM_UP_REQUESTS = "tf_serving_warmup_requests"
_ADDED = {f"{EXTRA}/{name}" for name in (GATE_REPORT, GATE_SUMMARY, GATE_PAGE)}
_ADDED |= {f"{EXTRA}/{name}" for name in (SANDBOX_REPORT, WARM_UP_REQUESTS)}
_ADDED |= {"fingerprint.pb"}


def fingerprint_export(export: str) -> str:
    """Returns a hash of the graph, the variables and the assets of a SavedModel.

    Args:
        export: folder of the SavedModel.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(export).rglob("*")):
        name = path.relative_to(export).as_posix()
        if path.is_file() and name not in _ADDED:
            digest.update(name.encode())
            storage.add_content(digest, path)
    return digest.hexdigest()
