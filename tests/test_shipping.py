"""Dockerfile, its lock files and cloudbuild.yaml, held against what reads them."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from estimator_bridge import versions
from trainer.vertex import program

pytestmark = pytest.mark.newest

ROOT = Path(__file__).resolve().parent.parent
VARIANTS = ("cpu", "gpu")
BUILDS = ("Dockerfile", "cloudbuild.yaml")
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "*.egg-info", "jobs")


def _pins(variant):
    text = (ROOT / "docker" / f"{variant}.lock").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    pin = re.compile(r"([\w.-]+)==([\w.+!]+)( +--hash=sha256:[0-9a-f]{64})+")
    matches = [pin.fullmatch(line) for line in lines]
    assert all(matches), "make lock: a line without a version or a hash"
    return dict(match.group(1, 2) for match in matches)


def _instructions():
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    return [line.split(None, 1) for line in lines if line and not line.startswith("#")]


def _run(*command, **options):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=900, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_linter_finds_nothing_in_the_dockerfile():
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.skip("hadolint is not installed")
    assert _run(linter, ROOT / "Dockerfile") == ""


def test_the_image_runs_the_trainer_and_not_as_root():
    instructions = _instructions()
    last = len(instructions) - 1 - [name for name, _ in instructions][::-1].index("FROM")
    final = dict(instructions[last:])
    assert final["USER"] == "1000"
    assert json.loads(final["ENTRYPOINT"])[-3:] == ["python", "-m", "trainer.task"]


@pytest.mark.parametrize("where", ["the image", "Vertex AI"])
def test_the_first_process_of_a_container_loses_no_sigterm(where):
    """Not even one that arrives while Python starts."""
    (entry,) = (json.loads(words) for name, words in _instructions() if name == "ENTRYPOINT")
    space = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"]
    if subprocess.run([*space, *entry[:2], "true"], capture_output=True).returncode:
        pytest.skip("no PID namespaces here, or no such env")
    command = entry if where == "the image" else [*program.START, program.TRAINING]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with subprocess.Popen([*space, *command], env={**os.environ, "PATH": path}) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (first := children.read_text().split()):
            time.sleep(0.001)
        while Path(f"/proc/{first[0]}/comm").read_text().strip() in ("unshare", "env", "sh"):
            time.sleep(0.001)
        os.kill(int(first[0]), signal.SIGTERM)
        assert process.wait(60) == 143


def test_what_the_image_copies_is_there_and_let_through():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    for name, words in _instructions():
        if name == "COPY" and "--from" not in words:
            for source in words.split()[:-1]:
                for variant in VARIANTS:
                    path = source.replace("${VARIANT}", variant)
                    assert (ROOT / path).exists(), path
                    through = {f"!{path}", f"!{Path(path).parent}/*{Path(path).suffix}"}
                    assert through & set(ignored), path


STEP = re.compile(r"(?m)^    name: (.*)$")
BASE = re.compile(r"(?m)^(?:ARG BASE=|  _BASE: )(.*)$")


def test_the_base_image_is_named_by_its_digest():
    named = {BASE.search((ROOT / name).read_text()).group(1) for name in BUILDS}
    assert len(named) == 1, "make pin-base-image"
    assert re.fullmatch(r"python:3\.12-slim@sha256:[0-9a-f]{64}", named.pop())
    steps = STEP.findall((ROOT / "cloudbuild.yaml").read_text())
    pythons = [image for image in steps if image.startswith("python:")]
    assert len(steps) == 3 and len(pythons) == 2
    assert all(re.fullmatch(r"python:3\.12@sha256:[0-9a-f]{64}", image) for image in pythons)


@pytest.mark.parametrize(
    "program, output, said",
    [
        ("docker", "sha256:" + "0a" * 32, None),
        ("crane", "sha256:" + "0a" * 32, None),
        (
            "docker",
            "no such image",
            "gcr.io/cloud-builders/docker: docker found no digest: no such image; check the tag",
        ),
        (None, "", "gcr.io/cloud-builders/docker: getting its digest needs docker or crane"),
    ],
)
def test_the_base_image_is_pinned(tmp_path, program, output, said):
    (tmp_path / "tools").mkdir()
    (tmp_path / "bin").mkdir()
    for name in ["tools/pin_base_image.py", *BUILDS]:
        shutil.copy(ROOT / name, tmp_path / name)
    before = {name: (tmp_path / name).read_text() for name in BUILDS}
    if program is not None:
        script = tmp_path / "bin" / program
        script.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\necho "{output}"\n')
        script.chmod(0o755)
    # The environment has these programs alone.
    done = subprocess.run(
        [sys.executable, tmp_path / "tools" / "pin_base_image.py"],
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
    )
    after = {name: (tmp_path / name).read_text() for name in BUILDS}
    if said is not None:
        assert done.returncode == 1 and after == before
        assert said in done.stderr
        return
    images = ["gcr.io/cloud-builders/docker", "python:3.12", "python:3.12-slim"]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[-1] for line in asked] == images
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"{image}@{output}" for image in images]
    steps = STEP.findall(after["cloudbuild.yaml"])
    assert steps == [f"{images[place]}@{output}" for place in (1, 1, 0)]
    for name in BUILDS:
        assert BASE.search(after[name]).group(1) == f"python:3.12-slim@{output}"
        assert len(after[name].splitlines()) == len(before[name].splitlines())


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_lock_has_all_that_the_package_needs(variant):
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    text = (ROOT / "setup.py").read_text()
    block = text.partition("REQUIRED = [")[2].partition("\n]")[0]
    needed = [Requirement(word) for word in re.findall(r'"([^"]+)"', block)]
    assert len(needed) > 8
    pins = {canonicalize_name(name): version for name, version in _pins(variant).items()}
    for one in needed:
        version = pins.get(canonicalize_name(one.name))
        assert version is not None, f"make lock: {one.name} is missing"
        assert one.specifier.contains(version), f"make lock: {one} and not {version}"
    assert any(name.startswith("nvidia-") for name in pins) == (variant == "gpu")


def test_both_images_have_the_same_versions():
    cpu, gpu = _pins("cpu"), _pins("gpu")
    assert {name: gpu.get(name) for name in cpu} == cpu


def test_cloud_build_takes_the_build():
    from estimator_bridge import tf

    if not tf.__version__.startswith(("2.15.", "2.21.")):
        pytest.importorskip("google.cloud.devtools.cloudbuild_v1")
    from google.cloud.devtools import cloudbuild_v1
    from google.protobuf import json_format

    text = (ROOT / "cloudbuild.yaml").read_text()
    values = yaml.safe_load(text)
    build = cloudbuild_v1.Build()
    json_format.ParseDict(values, cloudbuild_v1.Build.pb(build))
    assert [step.id for step in build.steps] == ["test", "package", "image"]
    assert list(build.steps[2].wait_for) == ["test"]
    assert build.options.logging == cloudbuild_v1.BuildOptions.LoggingMode.CLOUD_LOGGING_ONLY
    assert build.artifacts.objects.location == "gs://${_BUCKET}/packages/${BUILD_ID}"
    # Substitutions: each that is used has a default, and each default is used.
    assert all(re.fullmatch(r"_[A-Z0-9_]+", name) for name in build.substitutions)
    used = set(re.findall(r"\$\{?(\w+)\}?", text))
    assert used - {"PROJECT_ID", "BUILD_ID"} == set(build.substitutions)
    (image,) = build.images
    assert f"--tag={image}" in build.steps[2].args
    built = [part for part in build.steps[2].args if part.startswith("--build-arg=")]
    assert built == [f"--build-arg={name}=${{_{name}}}" for name in ("VARIANT", "BASE")]
    for name in ("VARIANT", "BASE"):
        default = f"ARG {name}={build.substitutions[f'_{name}']}\n"
        assert default in (ROOT / "Dockerfile").read_text()
    assert build.substitutions["_TAG"] == "${BUILD_ID}"


def _list_below(name, found):
    """The distributions here that one needs, and itself: name → distribution."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    key = canonicalize_name(name)
    if key in found:
        return found
    with contextlib.suppress(metadata.PackageNotFoundError):
        found[key] = metadata.distribution(name)
        for text in found[key].requires or ():
            one = Requirement(text)
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                _list_below(one.name, found)
    return found


@pytest.fixture
def prebuilt(tmp_path):
    """A Python in which only this TensorFlow and what it needs are installed: to pip, at least."""
    _run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "image")
    (folder,) = (tmp_path / "image").glob("lib/python*/site-packages")
    for one in _list_below("tensorflow", {}).values():
        # pip goes by their metadata; the gigabyte beside it is not needed to see what it would do.
        shutil.copytree(one._path, folder / one._path.name)
    return tmp_path / "image" / "bin" / "python"


@pytest.mark.matrix
def test_an_installed_tensorflow_stays_as_it_is(prebuilt, tmp_path):
    # As on an image that has its own TensorFlow, and neither tf-keras nor what else we need.
    report, copy = tmp_path / "report.json", tmp_path / "source"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
    pip = [sys.executable, "-m", "pip", "--python", prebuilt, "install", "--dry-run", "--quiet"]
    _run(*pip, "--report", report, copy)
    items = [one["metadata"] for one in json.loads(report.read_text())["install"]]
    made = {one["name"].replace("_", "-"): one["version"] for one in items}
    there = metadata.version("tensorflow")
    assert made["tf-keras"].split(".")[:2] == there.split(".")[:2]
    kept = {"tensorflow", "keras", "numpy", "protobuf", "grpcio", "ml-dtypes", "h5py"}
    assert not kept & set(made), made


METADATA = (
    "import sys; from setuptools import build_meta; "
    "print(build_meta.prepare_metadata_for_build_wheel(sys.argv[1]))"
)


def _read_requirements(python, source, target, **more):
    """Returns the requirements that begin with t, as setup.py states them for a Python."""
    target.mkdir()
    environment = {n: v for n, v in os.environ.items() if n != "PIP_BUILD_TRACKER"}
    _run(python, "-c", METADATA, target, cwd=source, env={**environment, **more})
    (path,) = target.glob("*.dist-info/METADATA")
    lines = path.read_text().splitlines()
    return {
        line for line in lines if line.startswith("Requires-Dist: t") and "extra ==" not in line
    }


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    copy = tmp_path_factory.mktemp("copy") / "source"
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
    return copy


def test_the_requirements_are_held_where_pip_builds_and_nowhere_else(source, tmp_path):
    needed = _read_requirements(sys.executable, source, tmp_path / "free")
    held = _read_requirements(sys.executable, source, tmp_path / "held", PIP_BUILD_TRACKER="x")
    there = metadata.version("tensorflow")
    series = ".".join(there.split(".")[:2])
    assert {
        "Requires-Dist: tensorflow<2.22,>=2.15.1",
        "Requires-Dist: tf-keras<2.22,>=2.15",
    } <= needed
    assert {
        f"Requires-Dist: tensorflow=={there}",
        f"Requires-Dist: tf-keras=={series}.*",
    } <= held


def test_nothing_is_required_that_adds_a_second_tensorflow(source, tmp_path):
    _run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "image")
    (folder,) = (tmp_path / "image").glob("lib/python*/site-packages")
    (folder / "tensorflow_cpu-2.18.1.dist-info").mkdir()
    (folder / "tensorflow_cpu-2.18.1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: tensorflow-cpu\nVersion: 2.18.1\n"
    )
    setuptools = str(Path(metadata.distribution("setuptools").locate_file("")))
    held = _read_requirements(
        tmp_path / "image" / "bin" / "python",
        source,
        tmp_path / "made",
        PIP_BUILD_TRACKER="x",
        PYTHONPATH=setuptools,
    )
    names = {re.match(r"Requires-Dist: ([\w-]+)", line).group(1) for line in held}
    assert names == {"tensorboard", "tensorflow-estimator"}


@pytest.mark.matrix
@pytest.mark.parametrize("tensorflow", [one.tensorflow for one in versions.SUPPORTED])
@pytest.mark.parametrize("kind", ["wheel", "source"])
def test_one_command_installs_what_fits_a_tensorflow(kind, tensorflow, source, tmp_path):
    package = source
    if kind == "wheel":
        # Not by pip, which would hold the TensorFlow of this environment.
        build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
        _run(sys.executable, "-c", build, tmp_path, cwd=source)
        (package,) = tmp_path.glob("*.whl")
    supported = next(one for one in versions.SUPPORTED if one.tensorflow == tensorflow)
    for python in supported.python:
        compile_ = [sys.executable, "-m", "uv", "pip", "compile", "-q", "--no-header", "-"]
        compile_ += ["--no-annotate", f"--python-version={python[0]}.{python[1]}"]
        done = subprocess.run(
            compile_,
            input=f"tensorflow=={tensorflow}\nestimator-trainer @ {package.as_uri()}\n",
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        found = dict(re.findall(r"^([\w-]+)==([\d.]+)", done.stdout, re.MULTILINE))
        series = tensorflow.rpartition(".")[0]
        assert found["tensorflow"] == tensorflow
        assert found["tf-keras"].startswith(f"{series}.")
        if int(found["numpy"].split(".")[0]) < 2:
            assert int(found["pyarrow"].split(".")[0]) < 26


@pytest.mark.matrix
def test_the_images_install_steps_run(tmp_path):
    python = next(
        (
            found
            for found in map(shutil.which, ("python3.12",))
            if found and subprocess.run([found, "-c", "import ensurepip"]).returncode == 0
        ),
        None,
    ) or next(map(str, Path.home().glob(".pyenv/versions/3.12*/bin/python")), None)
    if python is None:
        pytest.skip("there is no Python 3.12 here")
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=LEFT_OUT)
    _run(python, "-m", "venv", tmp_path / "venv")
    pip = [tmp_path / "venv" / "bin" / "python", "-m", "pip", "-q", "--no-input"]
    _run(*pip, "install", "--no-deps", "--require-hashes", "-r", ROOT / "docker" / "cpu.lock")
    wheels = tmp_path / "wheels"
    _run(*pip, "wheel", "--no-deps", "--no-build-isolation", f"--wheel-dir={wheels}", source)
    _run(*pip, "install", "--no-deps", "--no-index", *wheels.glob("*.whl"))
    _run(*pip, "check")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    python = tmp_path / "venv" / "bin" / "python"
    assert "--job_dir" in _run(python, "-m", "trainer.task", "--help", cwd=elsewhere)
    rows = "x,c,y\n" + "".join(f"{i % 7},{'ab'[i % 2]},{int(i % 7 > 3)}\n" for i in range(60))
    (elsewhere / "rows.csv").write_text(rows)
    schema = "columns: {x: {type: float}, c: {type: string, vocabulary: [a, b]}, "
    schema += "y: {type: int, use: []}}\n"
    (elsewhere / "schema.yaml").write_text(schema + "label: {column: y, num_classes: 2}\n")
    text = _run(
        python, "-m", "trainer.task", "--model=linear", "--train_steps=10", "--job_dir=job",
        "--data.schema_file=schema.yaml", "--train_data=rows.csv", "--eval_data=rows.csv",
        cwd=elsewhere,
    )  # fmt: skip
    assert "Summary of job" in text
