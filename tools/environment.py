"""Virtual environments for the supported TensorFlow versions, one folder each under .venv/.

    python tools/environment.py [--tf=2.17] [--build]

Prints the folder of the environment for the Python that runs this program (`.venv/tf2.21-py3.13`).
With --build, the environment is first created or updated if setup.py, pyproject.toml or the
constraints have changed since it was installed.

The choice of versions uses Python 2.7 syntax, so that any Python can run it and report that it is
not supported.
"""

# ruff: noqa: UP032
import argparse
import fcntl
import glob
import hashlib
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXTRAS = "demo,test"
# The environments of the oldest and the newest TensorFlow have everything that the tests can use.
MORE_EXTRAS = {
    # kfp holds protobuf below 7, which the newest TensorFlow is tested with.
    "2.15": ",vertex,cloud-test,serving,kfp",
    "2.21": ",vertex,cloud-test,serving,mlflow,notebook,site,lint,tfx",
}

# Minor versions of Python that each TensorFlow has wheels for, newest TensorFlow first.
PYTHONS = {
    "2.21": ("3.10", "3.11", "3.12", "3.13"),
    "2.20": ("3.9", "3.10", "3.11", "3.12", "3.13"),
    "2.19": ("3.9", "3.10", "3.11", "3.12"),
    "2.18": ("3.9", "3.10", "3.11", "3.12"),
    "2.17": ("3.9", "3.10", "3.11", "3.12"),
    "2.16": ("3.9", "3.10", "3.11", "3.12"),
    "2.15": ("3.9", "3.10", "3.11"),
}
# Pre-releases: only TF=2.22 chooses this one. It takes the place of the newest release.
CANDIDATES = {"2.22": ("3.10", "3.11", "3.12", "3.13")}
NEWEST = next(iter(PYTHONS))

# Seconds between two lines about the progress, on a terminal and elsewhere.
LIVE_SECS = 0.25
PLAIN_SECS = 10


class Unfit(Exception):
    """This Python, or this choice of TensorFlow, cannot be used; the message is for the user."""


def minor(version):
    """'2.15.1' -> '2.15'; '2.15' stays."""
    return ".".join(version.split(".")[:2])


def choose_tensorflow(python, wanted=""):
    """Returns the minor TensorFlow version for a minor Python version ('3.11').

    Args:
      python: minor version of Python.
      wanted: '2.17' or '2.17.1'; empty chooses the newest that has wheels for `python`.

    Raises:
      Unfit: `python` has no supported TensorFlow, or not the wanted one.
    """
    fitting = [tf for tf, pythons in PYTHONS.items() if python in pythons]
    if not fitting:
        raise Unfit(
            "no supported TensorFlow runs on Python {}; name a Python 3.9 to 3.13 with "
            "PYTHON=/path/to/python3.12".format(python)
        )
    if not wanted:
        return fitting[0]
    tensorflow = minor(wanted)
    pythons = dict(PYTHONS, **CANDIDATES).get(tensorflow)
    if pythons is None:
        raise Unfit("TF={}: not supported; use {}".format(wanted, ", ".join(PYTHONS)))
    if python not in pythons:
        raise Unfit(
            "TensorFlow {} does not run on Python {}; set TF to {}, or PYTHON to {}".format(
                tensorflow, python, ", ".join(fitting), ", ".join(pythons)
            )
        )
    if "." in wanted[len(tensorflow) :] and wanted != pinned(tensorflow):
        raise Unfit(
            "TF={}: not supported; the supported {} is {}".format(
                wanted, tensorflow, pinned(tensorflow)
            )
        )
    return tensorflow


def constraints_file(tensorflow):
    return os.path.join(ROOT, "constraints", "tf-{}.txt".format(tensorflow))


def pinned(tensorflow):
    """Returns the full version that the constraints pin for a minor one: '2.15' -> '2.15.1'."""
    for line in _read(constraints_file(tensorflow)).splitlines():
        if line.startswith("tensorflow=="):
            return line.split("==")[1].strip()
    raise AssertionError("no tensorflow== line in {}".format(constraints_file(tensorflow)))


def release(tensorflow):
    """Returns the release over which a pre-release is installed; any other version as it is."""
    return NEWEST if tensorflow in CANDIDATES else tensorflow


def extras(tensorflow):
    return EXTRAS + MORE_EXTRAS.get(release(tensorflow), "")


def folder(tensorflow, python):
    return os.path.join(ROOT, ".venv", "tf{}-py{}".format(tensorflow, python))


def fingerprint(tensorflow):
    """Returns a text that changes when the environment must be reinstalled."""
    digest = hashlib.sha256()
    for part in (
        _read(os.path.join(ROOT, "setup.py")),
        _read(os.path.join(ROOT, "pyproject.toml")).split("[tool.")[0],
        _read(constraints_file(release(tensorflow))),
        pinned(tensorflow),
        sys.version,
        sys.executable,
        extras(tensorflow),
        # An editable install points at one checkout; a moved one needs a new install.
        ROOT,
    ):
        digest.update(hashlib.sha256(part.encode()).digest())
    return digest.hexdigest()


def build(tensorflow, python):
    """Creates or updates the environment and returns its folder.

    Raises:
      Unfit: venv or pip failed; their messages are on stderr.
    """
    home = folder(tensorflow, python)
    os.makedirs(os.path.dirname(home), exist_ok=True)
    # Parallel calls must not install into one folder; the lock is released with the process.
    with open(home + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = os.path.join(home, "installed")
        wanted = fingerprint(tensorflow)
        if os.path.exists(stamp) and _read(stamp) == wanted:
            return home
        name = os.path.relpath(home, ROOT)
        _log("{}: installing TensorFlow {}, half a minute to two".format(name, pinned(tensorflow)))
        _make_venv(home)
        _pip(home, "--upgrade", "pip")
        _install(
            home,
            "--constraint={}".format(constraints_file(release(tensorflow))),
            "--editable={}[{}]".format(ROOT, extras(tensorflow)),
        )
        if tensorflow in CANDIDATES:
            _install(home, "--no-deps", "tensorflow=={}".format(pinned(tensorflow)))
        with open(stamp, "w") as file:
            file.write(wanted)
    return home


def _make_venv(home):
    # --clear removes the files of an older or interrupted install.
    command = [sys.executable, "-m", "venv", "--clear", home]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.stderr.write(done.stdout.decode(errors="replace"))
        raise Unfit(
            "{} cannot create virtual environments; install its venv module "
            "(python3-venv on Debian and Ubuntu)".format(sys.executable)
        )


def _install(home, *arguments):
    """Installs with uv, which takes a fifth of pip's time, or with pip where uv cannot.

    uv does not read pip's settings: with an index of one's own in them, pip installs.
    """
    pip = [os.path.join(home, "bin", "python"), "-m", "pip"]
    settings = subprocess.run(pip + ["config", "list"], stdout=subprocess.PIPE).stdout.decode()
    install_uv = pip + ["install", "-qq", "--no-input", "uv"]
    if ".index-url=" not in settings and _run(home, install_uv):
        uv = [os.path.join(home, "bin", "uv"), "pip", "install", "--python", home]
        if sys.stderr.isatty():
            # It shows what it downloads.
            if subprocess.run(uv + list(arguments), stdout=sys.stderr).returncode == 0:
                return
        elif _run(home, uv + ["--quiet"] + list(arguments)):
            return
        _log("uv could not install; trying pip")
    _pip(home, *arguments)


def _run(home, command, environment=None):
    """Runs a command whose output goes to stderr; returns whether it succeeded.

    It reports how many packages are there: one line that is rewritten on a terminal, else a line
    now and then.
    """
    started = time.time()
    live = sys.stderr.isatty()
    process = subprocess.Popen(command, stdout=sys.stderr, env=environment)
    shown = ""
    while True:
        try:
            process.wait(LIVE_SECS if live else PLAIN_SECS)
            break
        except subprocess.TimeoutExpired:
            pass
        secs = time.time() - started
        line = "installing: {:.0f} s, {} packages are there".format(secs, _count(home))
        if live:
            sys.stderr.write("\r" + line.ljust(len(shown)))
            sys.stderr.flush()
            shown = line
        else:
            _log(line)
    if shown:
        sys.stderr.write("\r" + " " * len(shown) + "\r")
    return process.returncode == 0


def _count(home):
    return len(glob.glob(os.path.join(home, "lib", "python*", "site-packages", "*.dist-info")))


def _pip(home, *arguments):
    # -qq prints errors only: pip warns about settings of the machine.
    command = [os.path.join(home, "bin", "python"), "-m", "pip", "install", "-qq", "--no-input"]
    environment = dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1")
    if not _run(home, command + list(arguments), environment):
        raise Unfit("pip could not install into {}; see its messages above".format(home))


def _read(path):
    with open(path) as file:
        return file.read()


def _log(text):
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def main(arguments=None):
    parser = argparse.ArgumentParser(description="The environment for a TensorFlow version.")
    parser.add_argument(
        "--tf", default="", help="TensorFlow version; default: the newest for this Python"
    )
    text = "create the environment, or update it"
    parser.add_argument("--build", action="store_true", help=text)
    options = parser.parse_args(arguments)
    python = "{}.{}".format(*sys.version_info[:2])
    try:
        tensorflow = choose_tensorflow(python, options.tf.strip())
        home = build(tensorflow, python) if options.build else folder(tensorflow, python)
    except Unfit as problem:
        _log(str(problem))
        return 2
    print(home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
