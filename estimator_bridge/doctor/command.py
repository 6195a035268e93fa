"""Reports the installed versions, what works with them, and what to install.

The versions are compared with the tested ones. Then small programs run as a
test.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple, Optional

from .. import versions
from ..command_line.commands import Parser
from ..shims import keras2, needed_by
from ..tf1.libraries import TF2_PACKAGES_VARIABLE

__all__ = ["Finding", "compare_builds", "examine", "main"]

_ALSO_SHOWN = ("tensorflow-estimator", "tf-keras", "keras", "numpy", "protobuf", "pyarrow")


class Finding(NamedTuple):
    """Something wrong with the installation.

    Attributes:
      what: the problem, with the version found.
      remedy: what to do, as a command where there is one.
    """

    what: str
    remedy: str


def _pip(*requirements: str) -> str:
    quoted = (f"'{r}'" if any(sign in r for sign in "<>*") else r for r in requirements)
    return "pip install " + " ".join(quoted)


def examine(found: dict[str, Optional[str]], python: tuple[int, int]) -> list[Finding]:
    """Compares the installed versions with the tested ones.

    Args:
      found: distribution -> version, or None if it is not installed; includes "tensorflow".
      python: (major, minor) of the interpreter.

    Returns:
      The problems, the most serious first; empty for a tested combination.
    """
    wanted = [f"tensorflow=={s.tensorflow}" for s in versions.SUPPORTED]
    tensorflow = found.get("tensorflow")
    if tensorflow is None:
        fits = [s for s in versions.SUPPORTED if s.python[0] <= python <= s.python[1]]
        if not fits:
            return [
                Finding(
                    f"no TensorFlow, nor one for Python {python[0]}.{python[1]}",
                    "use Python 3.9 to 3.13",
                )
            ]
        best = fits[-1]
        return [Finding("TensorFlow is not installed", _complete_set(best))]
    supported = versions.find_supported(tensorflow)
    if supported is None:
        return [
            Finding(
                f"TensorFlow {tensorflow} is not one of the tested versions",
                "install one of " + " ".join(wanted),
            )
        ]
    minor = versions.parse(tensorflow)[:2]
    findings = []
    first, last = supported.python
    if not first <= python <= last:
        findings.append(
            Finding(
                f"TensorFlow {tensorflow} has no wheel for Python {python[0]}.{python[1]}",
                "use Python {}.{} to {}.{}".format(*first, *last),
            )
        )
    estimator = found.get("tensorflow-estimator")
    if estimator != "2.15.0":
        findings.append(
            Finding(
                f"tensorflow-estimator is {estimator or 'absent'}",
                "pip install --no-deps tensorflow-estimator==2.15.0",
            )
        )
    keras = found.get("tf-keras")
    if minor >= versions.ESTIMATOR_REMOVED_IN:
        series = versions.parse(supported.tf_keras.partition("==")[2])
        if keras is None or versions.parse(keras)[:2] not in (minor, series):
            findings.append(
                Finding(
                    f"tf-keras is {keras or 'absent'}; TensorFlow {tensorflow} goes with "
                    + ".".join(map(str, series)),
                    # Without its requirement, which would add tensorflow to another build of it.
                    _pip("--no-deps", supported.tf_keras),
                )
            )
    elif versions.parse(found.get("keras") or "2")[0] != 2:
        findings.append(
            Finding(
                f"keras is {found['keras']}; TensorFlow 2.15 works with Keras 2 only",
                _pip("keras==2.15.*"),
            )
        )
    if minor <= (2, 17) and versions.parse(found.get("numpy") or "0") >= (2,):
        findings.append(
            Finding(
                f"numpy is {found['numpy']}; TensorFlow {tensorflow} needs 1.x", _pip("numpy<2")
            )
        )
    if minor == (2, 20) and versions.parse(found.get("protobuf") or "0") >= (7,):
        findings.append(
            Finding(
                f"protobuf is {found['protobuf']}; TensorFlow 2.20 uses what 7 has removed",
                _pip("protobuf<7"),
            )
        )
    return findings


def compare_builds(builds: dict[str, str]) -> list[Finding]:
    """Returns a finding if several builds of TensorFlow share one folder.

    Args:
      builds: distribution -> version.
    """
    if len(builds) < 2:
        return []
    what = " and ".join(f"{name} {version}" for name, version in builds.items())
    kept = next((name for name in builds if name != "tensorflow"), "")
    return [
        Finding(
            f"{what} are installed in the same folder, and each has overwritten files of the other",
            f"pip uninstall {' '.join(builds)}, then install one of them again, for example "
            + _pip(f"{kept}=={builds[kept]}"),
        )
    ]


def _complete_set(supported: versions.Supported) -> str:
    return _pip(f"tensorflow=={supported.tensorflow}", *supported.also) + (
        " && pip install --no-deps tensorflow-estimator==2.15.0"
    )


def _run_trials() -> list[dict[str, Any]]:
    """Trains, exports and so on in new processes; returns one record per trial."""
    program = os.path.join(os.path.dirname(__file__), "probe_1x.py")
    return [
        *_records("-m", f"{__package__}.probe"),
        *_records("-m", "estimator_bridge", "run", "--tf1", program),
    ]


def _records(*arguments: str) -> list[dict[str, Any]]:
    # A trial that is killed, because the doctor is, removes no folder of its own.
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TMPDIR": folder}
        environment.pop("TF_CONFIG", None)
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            env=environment,
            timeout=600,
        )
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        records.append(
            {"name": "the trial itself", "error": f"exit status {done.returncode}: {last}"}
        )
    return records


def main(argv: list[str]) -> int:
    """Prints the report; returns 0 if Estimators work here, else 1.

    Args:
      argv: the arguments after `doctor`.
    """
    parser = Parser(
        prog="python -m estimator_bridge doctor",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--no_trial", action="store_true", help="only compare the versions, which is fast"
    )
    options = parser.parse_args(argv)

    tensorflow = versions.installed_tensorflow()
    python = sys.version_info[:2]
    found = {name: versions.installed(name) for name in _ALSO_SHOWN}
    findings = examine({**found, "tensorflow": tensorflow}, python)
    findings += compare_builds(versions.installed_builds())
    print(f"Python {sys.version.split()[0]}, TensorFlow {tensorflow or 'absent'}")
    shown = [f"{name} {version or 'absent'}" for name, version in found.items()]
    print(f"  {', '.join(shown[:3])}\n  {', '.join(shown[3:])}")
    if tensorflow:
        _print_shims(tensorflow)
    failed = False
    if tensorflow and not options.no_trial:
        print("\nTried just now")
        for record in _run_trials():
            failed |= "error" in record
            outcome = (
                f"FAILED: {record['error']}" if "error" in record else f"{record['secs']:.1f} s"
            )
            print(f"  {record['name']:34} {outcome}")
    if tensorflow:
        _print_limits(tensorflow)
    print()
    for finding in findings:
        print(f"Wrong: {finding.what}\n  remedy: {finding.remedy}")
    if tensorflow and not findings:
        is_candidate = versions.find_supported(tensorflow) is versions.CANDIDATE
        candidate = f"The bridge's tests passed on {versions.CANDIDATE.tensorflow}, a pre-release."
        print(candidate if is_candidate else "The versions are a tested combination.")
    return 1 if failed or findings else 0


def _print_limits(tensorflow: str) -> None:
    """Prints what does not work here, and a setting for TensorFlow 1.x programs."""
    print("\nDoes not work\n  TPUs: TPUEstimator runs with use_tpu=False")
    if versions.parse(tensorflow)[:2] >= versions.ESTIMATOR_REMOVED_IN:
        print("  tf.keras as Keras 3: it is Keras 2 here; `import keras` is Keras 3")
    else:
        print("  an evaluator beside MultiWorkerMirroredStrategy: it does on 2.16 and later")
    print(
        "  parts of tf.contrib: `python -m estimator_bridge audit PATH` names them"
        f"\nWith --tf1, libraries on TensorFlow 2: {TF2_PACKAGES_VARIABLE}"
        f" ({os.environ.get(TF2_PACKAGES_VARIABLE) or 'not set'})"
    )


def _print_shims(tensorflow: str) -> None:
    shims = needed_by(versions.parse(tensorflow))
    minor = ".".join(tensorflow.split(".")[:2])
    print(f"\nShims, for what TensorFlow {minor} lacks")
    for shim in shims:
        since = "since {}.{}".format(*shim.since)
        print(f"  {shim.name:18} {since:10}  {shim.why}")
    if os.environ.get(keras2.VARIABLE):
        print(f"  {keras2.VARIABLE}={os.environ[keras2.VARIABLE]} is set in the environment")
