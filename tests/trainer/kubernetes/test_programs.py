"""Jobs of predict and watch are what Kubernetes accepts, and their flags are checked."""

import inspect
import json
from types import SimpleNamespace

import pytest
import yaml

from trainer.kubernetes import manifests
from trainer.kubernetes.__main__ import PROGRAMS

pytestmark = [pytest.mark.quick, pytest.mark.newest]
BASE = ["render", "--name=nightly", "--image=example.com/trainer:1", "--output=job.yaml"]
PREDICT = ["--export=gs://a-bucket/served/7", "--data=gs://a-bucket/new/*.csv"]
OUTPUT = "--output=gs://a-bucket/predictions"
WATCH = ["--export=gs://a-bucket/served/7", "--requests=gs://a-bucket/logs/*"]
STATE = "--state=gs://a-bucket/watch"


@pytest.fixture
def render(tmp_path, monkeypatch):
    """render(command, words, flags) → exit status and the manifest."""
    monkeypatch.chdir(tmp_path)

    def run(command, words, flags):
        argv = [*BASE, f"--command={command}", *words, "--", *flags]
        status = manifests.main(argv, PROGRAMS)
        path = tmp_path / "job.yaml"
        return status, yaml.safe_load(path.read_text()) if path.exists() else None

    return run


def _read(value, kind):
    """Returns the object of the client of Kubernetes, which has each field of the manifest."""
    api = pytest.importorskip("kubernetes.client").ApiClient()
    if "content_type" in inspect.signature(api.deserialize).parameters:
        made = api.deserialize(json.dumps(value), kind, "application/json")
    else:
        made = api.deserialize(SimpleNamespace(data=json.dumps(value)), kind)
    assert api.sanitize_for_serialization(made) == value
    return made


def test_the_files_of_a_prediction_are_divided(render):
    status, manifest = render("predict", ["--parts=10", "--cpu=4"], [*PREDICT, OUTPUT])
    job = _read(manifest, "V1Job").spec
    assert status == 0
    assert (job.completion_mode, job.completions, job.parallelism) == ("Indexed", 10, 10)
    assert job.pod_failure_policy.rules[0].on_exit_codes.values == [2]
    (container,) = job.template.spec.containers
    assert container.command == ["python", "-m", "trainer.predict"]
    assert container.args == [*PREDICT, OUTPUT, "--part=$(REPLICA_INDEX)/10"]
    (variable,) = container.env
    assert variable.name == "REPLICA_INDEX"
    assert "job-completion-index" in variable.value_from.field_ref.field_path
    status, manifest = render("predict", [], [*PREDICT, OUTPUT])
    assert _read(manifest, "V1Job").spec.completions is None


def test_a_watch_runs_by_the_clock(render):
    words = ["--schedule=@daily", "--time_zone=Europe/Berlin", "--volume=claim:/mnt/watch"]
    status, manifest = render("watch", words, [*WATCH, "--state=/mnt/watch/state", "--by=origin"])
    made = _read(manifest, "V1CronJob").spec
    assert status == 0 and made.schedule == "@daily" and made.concurrency_policy == "Forbid"
    job = made.job_template.spec
    # Red and yellow stay what they are when the watch runs again.
    assert job.pod_failure_policy.rules[0].on_exit_codes.values == [2, 3, 4]
    (container,) = job.template.spec.containers
    assert container.command[-1] == "trainer.watch" and container.args[-1] == "--by=origin"
    assert container.working_dir == "/mnt/watch"


@pytest.mark.parametrize(
    ("command", "words", "flags", "message"),
    [
        ("predict", [], [*PREDICT, "--output=predictions"], "is deleted with the container"),
        ("predict", [], [*PREDICT, "--output=gs://b-b-b/x.csv"], "a folder as --output"),
        ("predict", [], [*PREDICT, OUTPUT, "--part=1/2"], "give --parts before --"),
        ("predict", [], [*PREDICT, OUTPUT, "--colums=a"], "did you mean --columns"),
        ("predict", ["--workers=2"], [*PREDICT, OUTPUT], "--workers: has no effect"),
        ("predict", ["--parts=0"], [*PREDICT, OUTPUT], "--parts"),
        ("watch", ["--parts=2"], [*WATCH, STATE], "--parts=2: trainer.watch is one process"),
        ("watch", ["--schedule=nightly"], [*WATCH, STATE], "--schedule=nightly: write minute"),
        ("watch", [], WATCH, "--state: not given"),
        ("task", ["--schedule=@daily"], ["--job_dir=gs://a-bucket/x"], "--schedule: has no effect"),
    ],
)
def test_invalid_requests_print_one_line(render, capsys, command, words, flags, message):
    status, manifest = render(command, words, flags)
    (line,) = capsys.readouterr().err.splitlines()
    assert status == 2 and manifest is None
    assert line.startswith("error: ") and message in line
