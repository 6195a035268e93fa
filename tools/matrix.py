"""Runs the tests on every supported TensorFlow, each with a Python of this machine.

    python tools/matrix.py          on the newest: lint, and the suite; on the oldest: the suite
                                    without the tests marked `newest`; on the others: the tests
                                    marked `smoke`. After an hour on the newest, the oldest runs
                                    the tests marked `smoke` or `versions` instead.
    python tools/matrix.py --full   on the newest and the oldest: the whole suite, with the tests
                                    marked `matrix`; on the others: the tests marked `smoke` or
                                    `versions`

The newest and the oldest version run one after the other, each with as many processes as `make
test` uses. Meanwhile, the next environment is installed. Many of these tests spend time waiting, so
lint and the other versions run at the same time, one after the other and with one process each.

The last lines report each version, and the total numbers of tests that passed and failed. The exit
status is 0 if nothing failed and no version was skipped.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import environment

ROOT = Path(environment.ROOT)

# Pythons for each TensorFlow, best first. Together the first choices cover every supported Python;
# 3.9 runs 2.20, its newest.
PREFERRED = {
    "2.21": ("3.13", "3.12", "3.11", "3.10"),
    "2.15": ("3.11", "3.10", "3.9"),
    "2.16": ("3.12", "3.11", "3.10", "3.9"),
    "2.17": ("3.10", "3.12", "3.11", "3.9"),
    "2.18": ("3.12", "3.11", "3.10", "3.9"),
    "2.19": ("3.11", "3.12", "3.10", "3.9"),
    "2.20": ("3.9", "3.13", "3.12", "3.11", "3.10"),
}
WHOLE_SUITE = ("2.21", "2.15")

# Seconds that one test, and all tests of the newest or another version, may take. A machine can be
# half as fast as another, and continuous integration ends after 90 minutes: after LATE_SECS, too
# little time is left for all tests of the oldest version.
TEST_SECS, NEWEST_SECS, OTHER_SECS = 450, 4500, 1800
LATE_SECS = 3600
FULL_TEST_SECS, FULL_SECS = 3600, 6 * 3600

# Seconds in which the processes of pytest print their stacks before they are killed.
SHOW_SECS = 5

# Below this much free disk an environment is removed once its tests have run.
SHORT_OF_DISK_BYTES = 20 * 2**30


def find_pythons():
    """Returns minor version -> program, for the Pythons of this machine that can make venvs.

    Looks at python3.X and python3 on PATH, then at the versions that pyenv has installed.
    """
    found = {}
    minors = sorted({python for pythons in environment.PYTHONS.values() for python in pythons})
    candidates = [f"python{python}" for python in minors] + ["python3", sys.executable]
    if shutil.which("pyenv"):
        root = _output("pyenv", "root")
        if root:
            candidates += sorted(map(str, Path(root).glob("versions/*/bin/python")))
    for candidate in candidates:
        # pyenv has shims on PATH for inactive versions too; they fail when run.
        version = _output(
            candidate,
            "-c",
            "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])",
        )
        if version in minors:
            found.setdefault(version, shutil.which(candidate) or candidate)
    return found


def _output(*command):
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, cwd=ROOT
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


class Version:
    """One TensorFlow version, its Python, and the result of its tests."""

    def __init__(self, tensorflow, pythons):
        self.tensorflow = tensorflow
        self.python = next((python for python in PREFERRED[tensorflow] if python in pythons), None)
        self.program = pythons.get(self.python)
        self.num_passed = self.num_failed = 0
        # Lines of the output that are worth repeating at the end: of a long output, the middle may
        # be lost.
        self.findings = []
        self.verdict = f"not run: no Python {' or '.join(PREFERRED[tensorflow])} on this machine"

    def install(self):
        """Installs the environment, in parallel to other tests; the output is for a failure."""
        command = ["make", "-s", "environment", *self._choice()]
        return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test(self, mark, full, write):
        """Runs `make test` and reads the counts of pytest's last line.

        Args:
          mark: pytest's expression for the tests; empty for all.
          full: whether tests that are too long for every commit are among them.
          write: is given each line of the output as it comes.
        """
        limit = FULL_TEST_SECS if full else TEST_SECS
        command = ["make", "-s", "test", *self._choice(), f"MARK={mark}", f"LIMIT={limit}"]
        if self.tensorflow not in WHOLE_SUITE:
            # In pytest's own process.
            command.append("JOBS=0")
        if self.tensorflow == WHOLE_SUITE[0]:
            command.append("ARGS=--cov --cov-report=")
        closing = reason = ""
        stacks = _Stacks()

        def read(line):
            nonlocal closing, reason
            write(line)
            closing = line if re.search(r"\d+ \w+.* in [\d.]+s", line) else closing
            reason = f", {line.strip()}" if "Required test coverage" in line else reason
            if line.startswith(("FAILED ", "ERROR ")):
                self.findings.append(line)
            stacks.read(line)

        secs = NEWEST_SECS if self.tensorflow == WHOLE_SUITE[0] else OTHER_SECS
        status = _run_group(command, FULL_SECS if full else secs, read)
        self.num_passed = _count("passed", closing)
        self.num_failed = _count("failed", closing) + _count("errors?", closing)
        if status == 0:
            self.verdict = f"{self.num_passed} passed"
        else:
            self.findings += stacks.lines
            self.verdict = f"FAILED: {self.num_failed} failed, exit status {status}{reason}"
            self.num_failed = max(self.num_failed, 1)

    def lint(self):
        """Runs `make lint` and counts a finding as one failure; the output is for a failure."""
        command = ["make", "-s", "lint", *self._choice()]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            sys.stdout.write(done.stdout.decode(errors="replace"))
            self.verdict += "; FAILED: make lint"
            self.num_failed += 1

    def remove(self):
        home = Path(environment.folder(self.tensorflow, self.python))
        shutil.rmtree(home, ignore_errors=True)

    def _choice(self):
        return f"PYTHON={self.program}", f"TF={self.tensorflow}"

    def __str__(self):
        return f"TensorFlow {environment.pinned(self.tensorflow)}, Python {self.python or '-'}"


class _Stacks:
    """Finds the stacks of stuck threads in an output, without the threads that have no work."""

    _IDLE = ("<no Python frame>", "event_file_writer.py")
    _MOST_LINES = 100

    def __init__(self):
        self._threads = []

    def read(self, line):
        if line.startswith(("Thread 0x", "Current thread 0x")):
            self._threads.append([line])
        elif self._threads and line.startswith("  "):
            self._threads[-1].append(line)

    @property
    def lines(self):
        busy = ["".join(one) for one in self._threads]
        busy = [one for one in busy if not any(word in one for word in self._IDLE)]
        return "".join(busy).splitlines(keepends=True)[: self._MOST_LINES]


def _run_group(command, secs, read):
    """Runs a command, and ends all that it started that is still there when it ends.

    Args:
      command: the words.
      secs: after so many seconds it is killed.
      read: is given each line of the output as it comes.

    Returns:
      The exit status, negative for a signal.
    """
    # Unbuffered, so that the output shows the progress.
    variables = dict(os.environ, PYTHONUNBUFFERED="1")
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )

    def wait():
        try:
            process.wait(secs)
        except subprocess.TimeoutExpired:
            read(f"\nkilled: not done after {secs} s\n")
            _signal_group(process.pid, signal.SIGABRT)
            time.sleep(SHOW_SECS)
        finally:
            _signal_group(process.pid, signal.SIGKILL)

    # What is left of the group would hold the pipe open.
    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    try:
        with process.stdout:
            for line in process.stdout:
                read(line.decode(errors="replace"))
    except BaseException:
        # Ctrl-C reaches this process only.
        _signal_group(process.pid, signal.SIGKILL)
        raise
    waiting.join()
    return process.wait()


def _signal_group(group, number):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _count(word, closing):
    found = re.search(rf"(\d+) {word}\b", closing)
    return int(found.group(1)) if found else 0


def run(versions, full, strict):
    """Installs and tests the versions; returns whether all passed."""
    begun = time.monotonic()
    runnable = [version for version in versions if version.program]
    ends = [version for version in runnable if version.tensorflow in WHOLE_SUITE]
    between = [version for version in runnable if version not in ends]
    with ThreadPoolExecutor(1) as installer, ThreadPoolExecutor(1) as aside:
        installing = [installer.submit(version.install) for version in ends]
        beside = [aside.submit(_run_aside, version, full) for version in between]
        linting = []
        for version, installation in zip(ends, installing):
            done = installation.result()
            print(f"\n=== {version}", flush=True)
            is_late = time.monotonic() - begun > LATE_SECS
            mark = _choose_mark(version.tensorflow, full, is_late)
            _run_one(version, done, mark, full, _write)
            if version.tensorflow == WHOLE_SUITE[0]:
                # The findings do not depend on TensorFlow's version.
                linting.append(aside.submit(version.lint))
        for one in beside:
            _write("".join(one.result()))
        for one in linting:
            one.result()
    print()
    for version in versions:
        print(f"{version}: {version.verdict}")
        sys.stdout.writelines(f"  {finding}" for finding in version.findings)
    num_failed = sum(version.num_failed for version in versions)
    if strict:
        num_failed += sum(not version.program for version in versions)
    print(f"{sum(version.num_passed for version in versions)} passed, {num_failed} failed")
    return num_failed == 0


def _write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def _run_aside(version, full):
    """Installs and tests a version while another runs; returns the lines of its output."""
    lines = [f"\n=== {version}\n"]
    mark = _choose_mark(version.tensorflow, full)
    _run_one(version, version.install(), mark, full, lines.append)
    return lines


def _choose_mark(tensorflow, full, is_late=False):
    """Returns pytest's expression for the tests of one version; empty for all."""
    if tensorflow not in WHOLE_SUITE:
        return "smoke or versions" if full else "smoke"
    if full:
        return ""
    if tensorflow == WHOLE_SUITE[0]:
        return "not matrix"
    chosen = "not matrix and not newest"
    return f"(smoke or versions) and {chosen}" if is_late else chosen


def _run_one(version, done, mark, full, write):
    """Runs the tests of a mark on a version whose installation is `done`; writes the output."""
    whole = version.tensorflow in WHOLE_SUITE
    if done.returncode:
        write(done.stdout.decode(errors="replace"))
        version.verdict, version.num_failed = "FAILED: could not be installed", 1
        return
    started = time.monotonic()
    version.test(mark, full, write)
    version.verdict += f" ({mark or 'all'}, {time.monotonic() - started:.0f} s)"
    if not whole and shutil.disk_usage(ROOT).free < SHORT_OF_DISK_BYTES:
        version.remove()


def main(arguments=None):
    parser = argparse.ArgumentParser(description="The tests on every supported TensorFlow.")
    parser.add_argument("--full", action="store_true", help="run the longer sets of tests")
    options = parser.parse_args(arguments)
    pythons = find_pythons()
    versions = [Version(tensorflow, pythons) for tensorflow in PREFERRED]
    # A developer's machine may lack a Python; in CI a version that could not run is a failure.
    return 0 if run(versions, options.full, strict=bool(os.environ.get("CI"))) else 1


if __name__ == "__main__":
    sys.exit(main())
