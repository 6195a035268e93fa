"""The verdict of the gate that is stored in an export."""

from pathlib import Path

from trainer import storage
from trainer.export.fingerprint import EXTRA, GATE_REPORT

BLESSED, NOT_BLESSED, INCONCLUSIVE = "blessed", "not blessed", "inconclusive"
BASELINE_FAILED = "baseline does not answer"
NO_VERDICT = "none"
# Exit status of the gate, and of a push that is refused for this verdict.
STATUS = {BLESSED: 0, NOT_BLESSED: 3, INCONCLUSIVE: 4, BASELINE_FAILED: 4}


def read_verdict(export: Path, fingerprint: str) -> str:
    """Returns the verdict of an export; NO_VERDICT if there is none for exactly this export.

    Args:
        export: its folder on this machine.
        fingerprint: of the export.

    Raises:
        UserError: the file of the verdict is damaged.
    """
    report = storage.read_json(export / EXTRA / GATE_REPORT) or {}
    verdict = report.get("verdict")
    if not isinstance(verdict, str) or report.get("fingerprint") != fingerprint:
        return NO_VERDICT
    return verdict
