"""Runs answers.py in two Pythons, on the export and on its rewritten copy, and compares."""

import base64
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Optional

import numpy as np

from ...errors import BridgeError
from ...versions import parse
from ..files import Export
from .made_up_rows import Signature

__all__ = ["compare_answers", "decode", "find_interpreter", "prove"]

_PROGRAM = str(Path(__file__).with_name("answers.py"))
# Two versions add the terms of a sum in another order: relative from 1 on, absolute below.
_TOLERANCE = 1e-5
_SECONDS = 600


def find_interpreter(python: str, version: Optional[str]) -> str:
    """Returns the path of a Python that has a TensorFlow version.

    Args:
      python: its path, or its name on PATH.
      version: the version of TensorFlow that it must have, "1.15"; None: any.

    Raises:
      BridgeError: there is no such program, or it has another TensorFlow or none.
    """
    path = shutil.which(python)
    if path is None:
        raise BridgeError(f"--with={python}: no such program")
    done = _run(os.path.abspath(path), [])
    found = done.stdout.split()[-1] if done.stdout.split() else ""
    if done.returncode or not parse(found):
        reason = (done.stderr.strip().splitlines() or ["it prints no version"])[-1]
        raise BridgeError(f"--with={python}: cannot import TensorFlow: {reason}")
    if version is not None and parse(found)[:2] != parse(version)[:2]:
        raise BridgeError(f"--with={python}: has TensorFlow {found}, not {version}")
    return os.path.abspath(path)


def _run(python: str, args: list[str]) -> "subprocess.CompletedProcess[str]":
    """Runs answers.py in a Python, on the processor and without kernels that round otherwise."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0"}
    if python != sys.executable:
        # They hold packages for this Python.
        for name in ("PYTHONPATH", "PYTHONHOME"):
            environment.pop(name, None)
    try:
        return subprocess.run(
            [python, _PROGRAM, *args],
            capture_output=True,
            text=True,
            errors="replace",
            env=environment,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise BridgeError(f"{python}: no answer after {_SECONDS} seconds") from error


def _answer(python: str, kind: str, path: Path, requests: list[Signature]) -> list[Any]:
    """Returns what an export answers in a Python: for each attempt, `outputs` or `error`.

    Args:
      python: the Python, which has TensorFlow.
      kind: the kind of the export.
      path: the export.
      requests: attempts for each signature.

    Raises:
      BridgeError: it does not load.
    """
    flat = [attempt for signature in requests for attempt in signature.attempts]
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "requests.json"), Path(folder, "answers.json")
        asked.write_text(json.dumps(flat))
        done = _run(python, [kind, str(path.resolve()), str(asked), str(answered)])
        if done.returncode:
            text = done.stdout if done.returncode == 3 else done.stderr
            reason = (text.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise BridgeError(f"{python} does not load it: {reason}")
        answers: list[Any] = json.loads(answered.read_text())
    return answers


def decode(value: Any) -> np.ndarray:
    """Returns the array of a value of a request or an answer; strings as objects.

    Args:
      value: an object with dtype, shape and values.
    """
    values = value["values"]
    if value["dtype"] == "bytes":
        array = np.array([base64.b64decode(one) for one in values] + [None], object)[:-1]
    else:
        array = np.array(values, value["dtype"])
    return array.reshape(value["shape"])


def prove(
    export: Export,
    path: Path,
    python: str,
    requests: list[Signature],
    original: str = sys.executable,
) -> list[str]:
    """Loads a rewritten export in another TensorFlow, and compares the answers.

    Args:
      export: the original.
      path: the rewritten copy.
      python: the Python that has the other TensorFlow.
      requests: attempts for each signature, from `make_requests`; the first that the original
        answers counts.
      original: the Python in which the original is loaded.

    Returns:
      What was compared, one line each.

    Raises:
      BridgeError: it does not load, or an answer differs.
    """
    asked = any(signature.attempts for signature in requests)
    ours = _answer(original, export.kind, export.path, requests) if asked else []
    theirs = _answer(python, export.kind, path, requests)
    findings = [f"loaded by {python}"]
    position = 0
    for name, attempts in requests:
        pairs = list(zip(attempts, ours[position:], theirs[position:]))
        position += len(attempts)
        findings.append(_judge(f"signature {name}", pairs))
    return findings


def _judge(name: str, pairs: list[tuple[Any, Any, Any]]) -> str:
    """Compares the answers to the attempts for one signature; returns the finding."""
    if not pairs:
        return f"{name}: not compared; an input is not a dense tensor"
    for request, here, there in pairs:
        if "error" in here:
            continue
        if "error" in there:
            raise BridgeError(f"{name}: only the rewritten copy fails: {there['error']}")
        difference = compare_answers(name, here["outputs"], there["outputs"])
        shapes = [value["shape"] for value in request["inputs"].values() if value["shape"]]
        rows = max((shape[0] for shape in shapes), default=1)
        outputs = len(here["outputs"])
        return f"{name}: rows {rows}, outputs {outputs}, largest difference {difference:.1e}"
    return f"{name}: not compared; the original answers no made-up rows: {pairs[-1][1]['error']}"


def compare_answers(name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """Returns the largest difference between two answers.

    Args:
      name: the signature, for the message.
      ours: output → object of answers.py, of the original.
      theirs: the same of the rewritten copy.

    Returns:
      The largest difference of the numbers, relative from 1 on.

    Raises:
      BridgeError: the answers differ, by more than rounding for floating-point numbers.
    """
    largest = 0.0
    for key in sorted({*ours, *theirs}):
        one, other = ours.get(key), theirs.get(key)
        if one is None or other is None:
            raise BridgeError(f"{name}: output {key} is in one answer only")
        if (one["dtype"], one["shape"]) != (other["dtype"], other["shape"]):
            raise BridgeError(f"{name}: output {key} has another type or shape")
        is_float = "float" in one["dtype"] or "complex" in one["dtype"]
        for a, b in zip(one["values"], other["values"]):
            difference = _difference(a, b) if is_float else float(a != b)
            if not difference <= _TOLERANCE:
                raise BridgeError(f"{name}: output {key} is {_shown(one, b)} for {_shown(one, a)}")
            largest = max(largest, difference)
    return largest


def _difference(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b) / max(1.0, abs(a))


def _shown(output: Any, value: Any) -> str:
    if output["dtype"] == "bytes":
        return repr(base64.b64decode(value)[:40])
    return repr(value)
