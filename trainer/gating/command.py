"""python -m trainer.gate: decides whether an export may replace the one in service.

python -m trainer.gate --candidate=jobs/new --baseline=served/flights \\
    --data=late.csv
python -m trainer.gate --candidate=jobs/new/export/best/1700000000 \\
    --baseline=latest-blessed --data='late/*.csv' --rules=rules.yaml \\
    --by=origin,carrier*month

Both exports are evaluated on the same rows. --candidate and --baseline are exports or jobs.
--baseline may also be a folder of trainer.push, which stands for its stable version, or
latest-blessed, the newest other export of the candidate's job that is blessed. Without a baseline,
the candidate is a first model: only bounds on its own values are checked. docs/release.md describes
the rules. The verdict is stored in assets.extra of the candidate: gate.json, gate.txt, gate.html.

Exit status: 0 blessed, 3 not blessed, 4 inconclusive or the baseline does not answer.
"""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from absl import flags

import estimator_bridge as bridge
from estimator_bridge.output.terminal import find_width
from trainer import storage
from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.engines.options import define_engine, read_engine
from trainer.errors import TemporaryError, UserError, require_column
from trainer.export.choose import fetch_export
from trainer.export.fingerprint import EXTRA, GATE_REPORT, fingerprint_export
from trainer.gating import report
from trainer.gating.judging import NO_BASELINE, conclude, judge
from trainer.gating.rules import METRICS, Rules, load_rules
from trainer.inputs.files import find_files
from trainer.metrics import slices
from trainer.prediction.description import describe_or_assume, load_data_config
from trainer.release.pushing import Deployment
from trainer.release.state import STABLE
from trainer.release.verdict import (
    BASELINE_FAILED,
    BLESSED,
    STATUS,
    read_verdict,
)
from trainer.reporting import html
from trainer.schema import Schema, load_schema
from trainer.storage.disk import require_folder

if TYPE_CHECKING:
    from trainer.gating.answers import Answers
    from trainer.gating.comparison import Subject
    from trainer.gating.measured import Settings

LATEST_BLESSED = "latest-blessed"


def main(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    values = parse(argv)
    if values is None:
        return 0
    bridge.set_verbosity("error")
    bridge.prefer_onednn()
    with commands.open_storage(values) as copies:
        return _run(values, copies)


def parse(argv: list[str]) -> Optional[flags.FlagValues]:
    """Returns the checked flags; None if they request only help, which has been printed.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a flag is invalid or missing.
    """
    values = arguments.parse_flags("trainer.gate", _define, argv, __doc__ or "")
    if values is None:
        return None
    arguments.require(values, "candidate", "data")
    if values.force and not (values.reason or "").strip():
        raise UserError("--force: needs a reason, which is recorded; add --reason=TEXT")
    return values


def _run(values: flags.FlagValues, copies: storage.Copies) -> int:
    schema = load_schema(values.schema) if values.schema else None
    candidate = fetch_export(values.candidate, "--candidate", copies)
    description = describe_or_assume(candidate, schema)
    schema = description.schema
    if schema.task not in METRICS:
        raise UserError(
            f"--candidate: is a {schema.task} model; name a model of the tasks {', '.join(METRICS)}"
        )
    rules = load_rules(values.rules, schema, values.threshold)
    by = _parse_by(values, rules, schema)
    engine = read_engine(values)
    baseline, error = _find_baseline(values, candidate, copies)
    data = load_data_config(candidate, commands.get_format(values))
    files = find_files(values.data, data.format, "data")
    if not storage.is_remote(copies.display_path(candidate)):
        where, remedy = f"--candidate={candidate}", "the verdict is written there; copy the export"
        require_folder(Path(candidate, EXTRA), where, remedy)
    # Imported here, because it imports TensorFlow: all other checks come first.
    from trainer.gating.answers import Question, answer
    from trainer.gating.measured import Settings
    from trainer.gating.page import build_page

    console = Console(display_path=copies.display_path)
    console.log(f"candidate {candidate}: {len(files)} file(s)")
    shown = copies.display_path(candidate)
    sliced = [METRICS[schema.task][0], *(rule.metric for rule in rules.rules)]
    settings = Settings(schema.task, values.threshold, sliced)
    question = Question(shown, description, data, settings, by, values.group or None)
    mine = answer(candidate, question, files, engine)
    theirs = None
    if baseline is not None and error is None:
        console.log(f"baseline {baseline}")
        try:
            shown = copies.display_path(baseline)
            other = Question(
                shown, describe_or_assume(baseline, schema), data, settings, candidate=question
            )
            theirs = answer(baseline, other, files, engine)
            theirs.require_rows_of(mine)
        except TemporaryError:
            raise
        except UserError as failure:
            theirs, error = None, str(failure)
    subjects = _measure(mine, theirs, settings)
    checks = judge(rules, subjects, theirs is not None)
    judged = conclude(checks)
    if judged == BLESSED and error and any(check.verdict == NO_BASELINE for check in checks):
        judged = BASELINE_FAILED
    found = report.Outcome(
        BLESSED if values.force else judged,
        judged,
        values.reason or "",
        copies.display_path(candidate),
        copies.display_path(baseline) if baseline is not None else None,
        copies.display_path(error) if error is not None else None,
        fingerprint_export(candidate),
        [file.path for file in files],
        rules,
        checks,
        subjects,
    )
    models = [one.predictions for one in (mine, theirs) if one is not None]
    page = build_page(found, schema.task, models, mine.places is not None)
    _store(found, page, candidate, copies)
    show(report.summarise(found, find_width(sys.stdout)))
    return STATUS[found.verdict]


def _measure(mine: "Answers", theirs: Optional["Answers"], settings: "Settings") -> list["Subject"]:
    from trainer.gating.comparison import compare_tallies, measure_subjects

    places = mine.places
    if places is None:
        return compare_tallies(mine, theirs, settings.seed)
    settings = settings._replace(groups=places.finish_groups())
    return measure_subjects(mine, theirs, places.finish_slices(), settings)


def _parse_by(values: flags.FlagValues, rules: Rules, schema: Schema) -> list[list[str]]:
    """Returns the columns of each slicing that --by or a rule names."""
    if values.group:
        require_column(values.group, schema.columns, "--group")
    parsed = slices.parse_by([*values.by, *(by for rule in rules.rules for by in rule.by)], schema)
    return [list(names) for names in dict.fromkeys(map(tuple, parsed))]


def _find_baseline(
    values: flags.FlagValues, candidate: str, copies: storage.Copies
) -> tuple[Optional[str], Optional[str]]:
    """Returns the local folder of the baseline, None for a first model; and its error, or None."""
    place = values.baseline
    if place == LATEST_BLESSED:
        return _find_latest_blessed(candidate, values.candidate, copies), None
    if not values.may_be_first and not storage.is_remote(place) and not Path(place).is_dir():
        raise UserError(f"--baseline={place}: no such folder; name an export, a job or a folder")
    deployment = Deployment(place, "--baseline")
    state = deployment.read()
    # Without the state file, which may have been lost, the versions of the folder are still served.
    if not state.versions and values.may_be_first and not any(deployment.list_versions().values()):
        return _find_latest_blessed(candidate, values.candidate, copies), None
    if not state.versions:
        try:
            return fetch_export(place, "--baseline", copies), None
        except UserError as error:
            return place, str(error)
    version = state.labels.get(STABLE)
    if version is None:
        return None, None
    if version in deployment.list_lost():
        return f"{place}/{version}", (
            f"version {version} of {place}, which is {STABLE}, has been removed; push its export "
            "again, or give python -m trainer.push --rollback"
        )
    local = copies.fetch(place, "--baseline", lambda name: name.startswith(f"{version}/"))
    return str(Path(local, str(version))), None


def _find_latest_blessed(candidate: str, given: str, copies: storage.Copies) -> Optional[str]:
    """Returns the newest other export of the candidate's job that is blessed."""
    match = re.fullmatch(r"(.*?)/?(export/[^/]+/\d+)?/?", given)
    job = (match.group(1) if match else "") or "."
    if storage.is_remote(given):
        job = copies.fetch(job, "--candidate", lambda name: name.startswith("export/"))
    blessed = []
    for path in Path(job).glob(f"export/*/*/{EXTRA}/{GATE_REPORT}"):
        export = path.parents[1]
        same = export.resolve() == Path(candidate).resolve()
        if not same and read_verdict(export, fingerprint_export(str(export))) == BLESSED:
            blessed.append((str((storage.read_json(path) or {}).get("time", "")), str(export)))
    return max(blessed)[1] if blessed else None


def _store(
    found: report.Outcome, page: html.Markup, candidate: str, copies: storage.Copies
) -> None:
    """Writes the reports into the export; for an export in a bucket, also there."""
    shown = found.candidate
    if storage.is_remote(shown):
        folder = copies.open_output(f"{shown}/{EXTRA}", "--candidate", is_file=False).parent
        for path in report.write_report(found, page, folder):
            copies.store_output(path)
    else:
        report.write_report(found, page, Path(candidate))


def _define(values: flags.FlagValues) -> None:
    for name, default, meaning in (
        (
            "candidate",
            None,
            "folder of the export to judge, or of a job: the newest export in its export/best, "
            "otherwise in export/final or export/latest",
        ),
        (
            "baseline",
            LATEST_BLESSED,
            "model to compare with: folder of an export, of a job or of trainer.push, or "
            "latest-blessed",
        ),
        (
            "rules",
            None,
            "YAML file of rules, see docs/release.md; unset: the main metric is at most 1% worse",
        ),
        ("schema", None, "YAML file of the schema; needed only if an export contains none"),
        (
            "group",
            None,
            "column whose rows with the same value are resampled together, such as a user; unset: "
            "each row alone",
        ),
        ("reason", None, "reason of --force, recorded in gate.json"),
    ):
        flags.DEFINE_string(name, default, meaning, flag_values=values)
    text = "data files: paths, globs and directories"
    flags.DEFINE_list("data", [], text, flag_values=values)
    text = "columns whose values are judged as slices; a*b: each pair of values is a slice"
    flags.DEFINE_list("by", [], text, flag_values=values)
    text = "for binary models: score from which a row is predicted as positive"
    flags.DEFINE_float("threshold", 0.5, text, 0, 1, flag_values=values)
    for name, meaning in (
        ("force", "bless the candidate even if a rule fails; needs --reason"),
        ("may_be_first", "use latest-blessed as long as --baseline is a folder without versions"),
    ):
        flags.DEFINE_boolean(name, False, meaning, flag_values=values)
    commands.define_format(values, "the candidate's")
    define_engine(values)
    commands.define_storage(values)
