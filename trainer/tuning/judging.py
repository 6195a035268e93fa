"""Asks the gate about the export of a trial: its rules become constraints of the search.

The gate runs in a process of its own, as `python -m trainer.gate` does, on the evaluation files of
the trial. Its report in the export contains every check, and the latencies and the size.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple, Optional

from estimator_bridge.command_line.current_folder import list_words
from trainer import config as config_lib
from trainer import schema as schema_lib
from trainer import storage
from trainer.errors import UserError
from trainer.export.choose import find_export
from trainer.export.fingerprint import EXTRA, GATE_REPORT
from trainer.gating.judging import FAIL, FEW_GROUPS, PASS, UNDEFINED, WITHIN_NOISE
from trainer.gating.rules import load_rules, read_rules_file
from trainer.release.verdict import STATUS
from trainer.tuning.search import COSTS, Search

# A copy of the rules, in the folder of the study.
RULES = "rules.yaml"
# Folder of the exports of a trial.
EXPORTS = "export"
# Exit statuses of a gate that has judged.
STATUSES = frozenset(STATUS.values())


class Judged(NamedTuple):
    """A check that was made.

    Attributes:
        rule: number of the rule.
        violation: how far the value is beyond its bound, as a share of the bound; 0 or less: it is
            not beyond.
        text: the check in words.
    """

    rule: int
    violation: float
    text: str


def read_rules(path: str, baseline: Optional[str], config: config_lib.Config) -> Any:
    """Returns the content of a file of rules, after checking that a search can judge by it.

    Args:
        path: of the file.
        baseline: of --baseline; None: not given.
        config: of the full job.

    Raises:
        UserError: the file, a rule, or --baseline is wrong.
    """
    if not config.data.schema_file:
        raise UserError(
            "data.schema_file: not given; set --data.schema_file=FILE or --hparams=PRESET"
        )
    schema = schema_lib.load_schema(config.data.schema_file, storage.fetch_data)
    rules = load_rules(path, schema, 0.5)
    changes = [n for n, rule in enumerate(rules.rules, start=1) if rule.change is not None]
    if changes and baseline is None:
        raise UserError(
            f"--rules={path}: rule {changes[0]} compares with a baseline; name an export or a job "
            "with --baseline"
        )
    return read_rules_file(path)


def check_data(config: config_lib.Config) -> None:
    """Checks that the evaluation rows are files of their own, which the gate can read.

    Args:
        config: of the full job.

    Raises:
        UserError: they are rows of the training files.
    """
    if not config.data.eval:
        raise UserError(
            "--rules, --objectives: the gate reads the evaluation rows from files; name them with "
            "--eval_data"
        )


def build_command(search: Search, folder: Path, trial: Path) -> list[str]:
    """Returns the command that judges a trial.

    Args:
        search: what is searched.
        folder: of the study.
        trial: folder of the trial.
    """
    command = [sys.executable, *list_words("trainer.gate")]
    command.append(f"--candidate={find_export(str(trial))}")
    command.append("--data=" + ",".join(search.load_config({}).data.eval))
    if search.rules is not None:
        command.append(f"--rules={folder / RULES}")
    if search.baseline is not None:
        command.append(f"--baseline={search.baseline}")
    return command


def has_export(trial: Path) -> bool:
    """Whether a trial has exported its model.

    Args:
        trial: its folder.
    """
    return any(trial.glob(f"{EXPORTS}/*/*/{storage.GRAPH}"))


def read_report(trial: Path) -> Optional[dict[str, Any]]:
    """Returns what the gate has found; None if it has not judged the export.

    Args:
        trial: folder of the trial.
    """
    if not has_export(trial):
        return None
    return storage.read_json(Path(find_export(str(trial)), EXTRA, GATE_REPORT))


def read_costs(report: dict[str, Any]) -> dict[str, float]:
    """Returns the latencies and the size of the export.

    Args:
        report: of the gate.
    """
    metrics = report["metrics"][0]["metrics"]
    return {name: metrics[name]["candidate"] for name in COSTS}


def measure_violations(report: dict[str, Any]) -> dict[str, float]:
    """Returns rule → the greatest violation of its checks; 0 or less if it is fulfilled.

    Args:
        report: of the gate.
    """
    found: dict[str, float] = {}
    for one in _list_judged(report):
        name = f"rule {one.rule}"
        found[name] = max(found.get(name, -1.0), one.violation)
    return found


def describe_violation(report: dict[str, Any]) -> Optional[str]:
    """Returns the check that is violated most; None if there is none.

    Args:
        report: of the gate.
    """
    worst = max(_list_judged(report), key=lambda one: one.violation)
    return worst.text if worst.violation > 0 else None


def _list_judged(report: dict[str, Any]) -> list[Judged]:
    return [
        Judged(check["rule"], _measure_violation(check), _describe(check))
        for check in report["checks"]
    ]


def _measure_violation(check: dict[str, Any]) -> float:
    """Returns how far a check is beyond its bound; a check that the gate lets pass is not."""
    if check["verdict"] == UNDEFINED:
        return 1.0
    if check["verdict"] not in (PASS, FAIL, WITHIN_NOISE, FEW_GROUPS):
        # Too few rows: not judged.
        return 0.0
    difference = check["bound"] - check["value"]
    share = (difference if check["is_lower"] else -difference) / (abs(check["bound"]) or 1.0)
    return min(0.0, share) if check["verdict"] == PASS else float(share)


def _describe(check: dict[str, Any]) -> str:
    sign = ">=" if check["is_lower"] else "<="
    where = "" if check["where"] == "all rows" else f"{check['where']}: "
    value = "undefined" if check["value"] is None else f"{check['value']:.5g}"
    return f"rule {check['rule']}: {where}{check['what']} {sign} {check['bound']:g}; it is {value}"
