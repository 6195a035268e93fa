"""The verdict of the gate that is stored in an export."""

from pathlib import Path

from trainer import storage
from trainer.export.fingerprint import EXTRA, GATE_REPORT

BLESSED, NOT_BLESSED, INCONCLUSIVE = "blessed", "not blessed", "inconclusive"
BASELINE_FAILED = "baseline does not answer"
NO_VERDICT = "none"
# Verdict → exit status of the gate, and of a push that is refused because of this verdict.
STATUS = {BLESSED: 0, NOT_BLESSED: 3, INCONCLUSIVE: 4, BASELINE_FAILED: 4}


def read_verdict(export: Path, fingerprint: str) -> str:
    """Returns the verdict of the gate on an export.

    Args:
        export: folder of the export on this machine.
        fingerprint: fingerprint of the export.

    Returns:
        The verdict; NO_VERDICT if there is none for an export with this fingerprint.

    Raises:
        UserError: the file of the verdict is damaged.
    """
    report = storage.read_json(export / EXTRA / GATE_REPORT) or {}
    verdict = report.get("verdict")
    if not isinstance(verdict, str) or report.get("fingerprint") != fingerprint:
        return NO_VERDICT
    return verdict


def read_reason(export: Path) -> str:
    """Returns why the gate blessed an export in spite of its rules; "" if it did not.

    Args:
        export: folder of the export on this machine.

    Raises:
        UserError: the file of the verdict is damaged.
    """
    report = storage.read_json(export / EXTRA / GATE_REPORT) or {}
    return str(report.get("reason") or "") if report.get("forced") else ""
