"""python -m trainer.push: pushes an export as the next version of a served model.

python -m trainer.push jobs/flights --to=gs://models/flights
python -m trainer.push jobs/f/export/best/1700000000 --to=served/flights \\
    --label=canary
python -m trainer.push --to=served/flights --promote
python -m trainer.push --to=served/flights --rollback
python -m trainer.push --to=served/flights --list
python -m trainer.push --to=gs://models/flights \\
    --register=projects/PROJECT/locations/REGION \\
    --serving_image=us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-15:latest

--to is the folder that TensorFlow Serving reads, on this machine or gs://. Each version is a
numbered subfolder. push.json contains the state, and models.config is the file for
--model_config_file of TensorFlow Serving. A version appears completely or not at all, and no
version is overwritten.

Only an export that trainer.gate has blessed is pushed. --force --reason=TEXT pushes any export, and
records the reason.

If several processes push at the same time, the push that started last succeeds, and the others end
with status 75.

--register uploads the versions of the folder to the model registry of Vertex AI, and sets their
aliases to the labels. It can be given alone, or together with a push, --promote or --rollback.

Exit status: 0 done; 2 wrong usage; 3 the export is not blessed; 4 the gate was inconclusive, or its
baseline did not answer; 75 a temporary error, so try again.
"""

import datetime
from pathlib import Path
from typing import Optional

from absl import flags

from estimator_bridge.model_files.saved_models import find_damage
from trainer import storage
from trainer.config import arguments, commands
from trainer.console import show
from trainer.errors import UserError
from trainer.export.choose import fetch_export
from trainer.export.fingerprint import fingerprint_export
from trainer.export.origin import read_inputs
from trainer.release import registry
from trainer.release.pushing import Deployment, Request
from trainer.release.state import LABELS, STABLE, Entry, State
from trainer.release.verdict import BLESSED, NOT_BLESSED, STATUS, read_reason, read_verdict

CHANGES = ("list", "rollback", "promote")


def main(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    remains = (
        "every version in the folder is complete; --list shows them; repeat the command to start "
        "again"
    )
    return commands.run(_main, argv, remains)


def _main(argv: list[str]) -> int:
    values = parse(argv)
    if values is None:
        return 0
    with commands.open_storage(values) as copies:
        deployment = Deployment(values.to)
        if values.list:
            none = f"{values.to}: no versions; check the path, or push an export"
            show(_describe(deployment) or none)
            return 0
        status = _change(deployment, values, copies)
        if values.register and not status:
            registry.register(
                values.to, deployment.read(), _get_options(values), show, values.rehearse
            )
        return status


def parse(argv: list[str]) -> Optional[flags.FlagValues]:
    """Returns the checked flags; None if they request only help, which has been printed.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a flag is invalid or missing.
    """
    values = arguments.parse_export_flags("trainer.push", _define, argv, __doc__ or "")
    if values is not None:
        arguments.require(values, "to")
        _check_flags(values)
    return values


def _change(deployment: Deployment, values: flags.FlagValues, copies: storage.Copies) -> int:
    if values.rollback or values.promote:
        done = deployment.roll_back() if values.rollback else deployment.promote()
        show(f"{values.to}: {done}; {_describe_labels(deployment.read())}")
    elif values.export or values.job_dir:
        return _push(deployment, values, copies)
    return 0


def _get_options(values: flags.FlagValues) -> registry.Options:
    return registry.Options(values.register, values.serving_image, values.api_endpoint)


def _check_flags(values: flags.FlagValues) -> None:
    chosen = [f"--{name}" for name in CHANGES if values[name].value]
    chosen += [f"--{name}" for name in ("export", "job_dir") if values[name].value]
    if values.register:
        registry.check(values.to, _get_options(values))
    elif values.rehearse:
        raise UserError("--rehearse: has no effect without --register; add it")
    if len(chosen) != 1 and not (values.register and not chosen):
        raise UserError(
            f"{' and '.join(chosen) + ' are' if chosen else 'no action is'} given; give one of "
            "--export, --job_dir, --promote, --rollback and --list (--help shows examples)"
        )
    if values.force and not (values.reason or "").strip():
        raise UserError("--force: give the reason with --reason=TEXT; it is recorded")


def _push(deployment: Deployment, values: flags.FlagValues, copies: storage.Copies) -> int:
    known = deployment.read().versions
    if not known:
        # Earlier versions have pushed to such folders.
        storage.refuse_job(values.to.rstrip("/"), "--to")
    export = Path(fetch_export(*arguments.get_export(values), copies))
    if not (export / storage.GRAPH).is_file():
        raise UserError(
            f"export {export}: no {storage.GRAPH} there; name the folder of a complete export"
        )
    damage = find_damage(export)
    if damage is not None:
        raise UserError(f"export {export}: {damage}")
    shown = copies.display_path(str(export))
    fingerprint = fingerprint_export(str(export))
    verdict = read_verdict(export, fingerprint)
    if verdict != BLESSED and not values.force:
        show(
            f"not pushed: the verdict of the gate on {shown} is {verdict}; run python -m "
            "trainer.gate, or push it with --force --reason=TEXT"
        )
        return STATUS.get(verdict, STATUS[NOT_BLESSED])
    source = shown if storage.is_remote(shown) else str(export.resolve())
    entry = Entry(
        export=source,
        fingerprint=fingerprint,
        verdict=verdict,
        reason=values.reason or (read_reason(export) if verdict == BLESSED else ""),
        pushed=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        inputs=read_inputs(source, copies),
    )
    label = "" if values.label == "none" else values.label
    request = Request(export, entry, label, values.name, values.base_path, values.keep)
    version = deployment.push(request)
    done = (
        "already has this export, so no version is added"
        if version in known
        else f"is complete ({verdict})"
    )
    show(f"{values.to}: version {version} {done}; {_describe_labels(deployment.read())}")
    return 0


def _describe_labels(state: State) -> str:
    return ", ".join(f"{name} is {number}" for name, number in sorted(state.labels.items())) or (
        "no version has a label"
    )


def _describe(deployment: Deployment) -> str:
    """Returns one line per version; empty if there are none."""
    state, present = deployment.read(), deployment.list_versions()
    labels = {number: name for name, number in state.labels.items()}
    lines = []
    for number in sorted({*present, *state.versions}):
        entry, complete = state.versions.get(number), present.get(number, False)
        label = labels.get(number, "")
        if entry is not None:
            reason = f' · "{entry.reason}"' if entry.reason else ""
            missing = "" if complete else " · INCOMPLETE: push this export again"
            text = f"{entry.pushed}  {entry.verdict}{reason}  {entry.export}{missing}"
        elif complete:
            text = "not pushed by this command"
        else:
            text = "incomplete: a push is running or was interrupted"
        lines.append(f"{number:>4}  {label:<7} {text}")
    if state.pending is not None and state.pending.version not in present:
        lines.append(f"{state.pending.version:>4}          a push is running or was interrupted")
    return "\n".join(lines)


def _define(values: flags.FlagValues) -> None:
    for name, meaning in (
        ("to", "folder of the versions, on this machine or gs://"),
        ("reason", "reason of the push, recorded in push.json; required with --force"),
        (
            "name",
            "name of the model in TensorFlow Serving; unset: the name of the last push, otherwise "
            "that of the folder",
        ),
        (
            "base_path",
            "path of the folder as TensorFlow Serving sees it, for example in its container; "
            "unset: the path of the last push, otherwise --to",
        ),
        (
            "register",
            "projects/PROJECT/locations/REGION: upload the versions to the model registry of "
            "Vertex AI; needs a gs:// folder and --serving_image",
        ),
        (
            "serving_image",
            "with --register: container image that serves the model, such as "
            "us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-15:latest",
        ),
        (
            "api_endpoint",
            "with --register: address of the service as HOST:PORT; unset: the public endpoint of "
            "the region",
        ),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    flags.DEFINE_enum(
        "label",
        STABLE,
        [*LABELS, "none"],
        "label of the new version; the version that had it loses it; none: keep the labels",
        flag_values=values,
    )
    flags.DEFINE_integer(
        "keep",
        None,
        "number of newest versions to keep; older ones are removed, except those with a label and "
        "the one that --rollback restores; unset: all are kept",
        1,
        flag_values=values,
    )
    for name, meaning in (
        ("force", "push an export that the gate has not blessed; needs --reason"),
        ("list", "list the versions and their labels, and change nothing"),
        ("rollback", "give the label stable back to the version that had it before"),
        ("promote", "give the label stable to the canary version"),
        (
            "rehearse",
            "with --register: print what would be sent to an empty registry, and send nothing",
        ),
    ):
        flags.DEFINE_boolean(name, False, meaning, flag_values=values)
    commands.define_storage(values)
