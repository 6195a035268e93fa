"""python -m trainer.sandbox: tests an export in a new process, as a model server would load it.

python -m trainer.sandbox jobs/flights
python -m trainer.sandbox jobs/f/export/best/1700000000 \\
    --baseline=served/flights/7 --memory_mib=2000 --timeout_secs=120
python -m trainer.sandbox served/flights/7 --with=old/bin/python \\
    --server=http://127.0.0.1:8501/v1/models/flights/versions/7 \\
    --server=grpc://127.0.0.1:8500/flights

Every signature is queried with generated rows in its format (tf.Example, tensors or CSV): with
missing values, with unknown words, and in batches of 1, 64 and 1024 rows. The command prints each
failure in one line, the median and the 99th percentile of the latencies, and the peak memory.

The result is stored in assets.extra of the export: sandbox.json, and if nothing failed,
tf_serving_warmup_requests. TensorFlow Serving runs these requests when it loads the model.

Exit status: 0 if nothing failed, 3 if something did.
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from absl import flags

from estimator_bridge.output.terminal import find_width, format_table
from trainer import storage
from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.errors import UserError
from trainer.export.choose import fetch_export
from trainer.export.fingerprint import EXTRA, SANDBOX_REPORT, WARM_UP_REQUESTS, fingerprint_export
from trainer.export.serving_api import require_serving_api
from trainer.prediction.description import ExportDescription, find_description, load_data_config
from trainer.sandboxing.elsewhere import find_python, load_elsewhere
from trainer.sandboxing.process import Limits, Trial, run_probe
from trainer.sandboxing.servers import check_address
from trainer.schema import Statistics, dump_statistics, load_schema
from trainer.storage.disk import require_folder

FAILED_STATUS = 3


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
    pythons = require_programs(values)
    with (
        commands.open_storage(values) as copies,
        tempfile.TemporaryDirectory(prefix="sandbox-") as folder,
    ):
        return _run(values, pythons, Path(folder, WARM_UP_REQUESTS), copies)


def parse(argv: list[str]) -> Optional[flags.FlagValues]:
    """Returns the checked flags; None if they request only help, which has been printed.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a flag is invalid or missing.
    """
    values = arguments.parse_export_flags("trainer.sandbox", _define, argv, __doc__ or "")
    if values is not None:
        arguments.require_one(values, "export=FOLDER", "job_dir=FOLDER")
        for address in values.server:
            check_address(address)
    return values


def require_programs(values: flags.FlagValues) -> list[str]:
    """Checks that what the flags need is installed; returns the paths of --with.

    Args:
        values: the checked flags.

    Raises:
        UserError: a package or a Python is missing.
    """
    if values.warm_up:
        require_serving_api("warm-up requests", ", or add --nowarm_up")
    if any(check_address(address)["grpc"] for address in values.server):
        require_serving_api("requests over gRPC")
    return [find_python(python) for python in values["with"].value or ()]


def _run(
    values: flags.FlagValues, pythons: Sequence[str], requests: Path, copies: storage.Copies
) -> int:
    export = fetch_export(*arguments.get_export(values), copies)
    other = fetch_export(values.baseline, "--baseline", copies) if values.baseline else None
    for folder in (export, other):
        if folder is not None and not Path(folder, storage.GRAPH).is_file():
            raise UserError(
                f"export {folder}: no {storage.GRAPH} there; name the folder of a complete export"
            )
    shown = copies.display_path(export)
    console = Console(display_path=copies.display_path)
    extra = Path(export, EXTRA)
    if storage.is_remote(shown):
        extra = copies.open_output(f"{shown}/{EXTRA}", "--export", is_file=False)
    require_folder(extra, f"export {shown}", "the report is written there; copy the export")
    warm_up = requests if values.warm_up else None
    console.log(f"testing {export}")
    trial = _try(export, values, warm_up, values.server)
    compared: list[str] = []
    for python in pythons:
        console.log(f"loading the export with {python}")
        lines, failure = load_elsewhere(export, python)
        compared += [f"{python}: {line}" for line in lines]
        if failure is not None:
            trial.failures.append(f"{python}: {failure}")
    baseline = None
    if other is not None:
        console.log(f"testing {values.baseline}")
        baseline = _try(other, values, None)
    report = {
        "export": shown,
        "fingerprint": fingerprint_export(export),
        "verdict": "failed" if trial.failures else "passed",
        **trial._asdict(),
        "elsewhere": compared,
        "baseline": baseline._asdict() if baseline is not None else None,
    }
    _store(report, extra, warm_up if not trial.failures else None, copies)
    show("\n".join([_describe(shown, trial, baseline), *compared]))
    return FAILED_STATUS if trial.failures else 0


def _try(
    export: str, values: flags.FlagValues, warm_up: Optional[Path], servers: Sequence[str] = ()
) -> Trial:
    found = find_description(export)
    if found is None:
        if not values.schema:
            raise UserError(
                f"export {export}: no schema in its assets.extra; name one with --schema=FILE"
            )
        found = ExportDescription(load_schema(values.schema), Statistics(0, {}))
    request = {
        "export": export,
        "schema": found.schema.model_dump(mode="json"),
        "statistics": dump_statistics(found.statistics),
        "delimiter": load_data_config(export, {"delimiter": None}).delimiter,
        "warm_up": str(warm_up) if warm_up is not None else None,
        "servers": list(servers),
    }
    return run_probe(request, Limits(values.memory_mib, values.timeout_secs))


def _store(
    report: dict[str, Any], extra: Path, warm_up: Optional[Path], copies: storage.Copies
) -> None:
    path, requests = extra / SANDBOX_REPORT, extra / WARM_UP_REQUESTS
    try:
        extra.mkdir(exist_ok=True)
        if warm_up is None:
            # If a warm-up request failed, the server would not load the model.
            requests.unlink(missing_ok=True)
        else:
            with storage.replaced(requests) as temporary:
                shutil.copyfile(warm_up, temporary)
        storage.write_json(path, report)
    except OSError as error:
        raise UserError(f"{extra}: cannot be written: {error.strerror}") from error
    for one in (path, requests):
        if one.exists():
            copies.store_output(one)


def _describe(shown: str, trial: Trial, baseline: Optional[Trial]) -> str:
    """Returns the failures, the table of latencies and the memory, as text."""
    lines = [f"failed: {failure}" for failure in trial.failures]
    theirs = (
        {(one["signature"], one["batch"]): one for one in baseline.latencies} if baseline else {}
    )
    table = [["signature", "rows", "p50 ms", "p99 ms"]]
    table[0] += ["baseline's p50, p99"] if baseline else []
    for one in trial.latencies:
        row = [one["signature"], str(one["batch"]), f"{one['p50_ms']:.2f}", f"{one['p99_ms']:.2f}"]
        other = theirs.get((one["signature"], one["batch"]))
        others = f"{other['p50_ms']:.2f}, {other['p99_ms']:.2f}" if other else ""
        table.append([*row, others] if baseline else row)
    if trial.latencies:
        lines += format_table(table, width=find_width(sys.stdout))
    if trial.peak_mib is not None:
        text = f"loaded in {trial.load_secs:.2f} s; peak memory {trial.peak_mib:,} MiB"
        if baseline is not None and baseline.peak_mib is not None:
            text += f", the baseline {baseline.peak_mib:,} MiB"
        lines.append(text)
    if trial.oldest is not None:
        lines.append(f"its operations exist in TensorFlow {trial.oldest} and later")
    for failure in baseline.failures if baseline else ():
        lines.append(f"the baseline failed: {failure}")
    return "\n".join([f"{'failed' if trial.failures else 'passed'}: {shown}", *lines])


def _define(values: flags.FlagValues) -> None:
    for name, meaning in (
        ("baseline", "another export, tested for comparison; unset: none"),
        ("schema", "YAML file of the schema; needed only if the export contains none"),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)
    text = "memory limit of the process, MiB; the process is killed above it"
    flags.DEFINE_integer("memory_mib", 4096, text, 1, flag_values=values)
    text = "time limit of the process, seconds; the process is killed after it"
    flags.DEFINE_float("timeout_secs", 300.0, text, 0.01, flag_values=values)
    text = (
        "write assets.extra/tf_serving_warmup_requests, which needs the package "
        "tensorflow-serving-api; --nowarm_up: do not"
    )
    flags.DEFINE_boolean("warm_up", True, text, flag_values=values)
    text = (
        "running TensorFlow Serving that must return the same predictions: http://HOST:8501/v1/"
        "models/NAME or grpc://HOST:8500/NAME, also with /versions/N"
    )
    flags.DEFINE_multi_string("server", [], text, flag_values=values)
    text = "Python of another environment, whose TensorFlow must be able to load the export"
    flags.DEFINE_multi_string("with", [], text, flag_values=values)
    commands.define_storage(values)
