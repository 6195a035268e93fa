"""The Job and the CronJob that run a pipeline are what Kubernetes accepts."""

import shlex

import pytest
import yaml

from trainer.pipelines import command

pytestmark = [pytest.mark.quick, pytest.mark.newest]
BASE = ["--name=nightly", "--image=example.com/trainer:1", "--volume=claim:/mnt/job"]
PIPELINE = {
    "folder": "history",
    "steps": [{"command": "task", "flags": {"hparams": "flights", "job_dir": "jobs/{key}"}}],
}


@pytest.fixture
def render(tmp_path, monkeypatch):
    """render(words, changes of the file) → exit status and the manifest."""
    monkeypatch.chdir(tmp_path)

    def run(*words, **changes):
        text = yaml.safe_dump({**PIPELINE, **changes})
        (tmp_path / "nightly.yaml").write_text(text)
        status = command.main(["render", "nightly.yaml", *words, "--output=job.yaml"])
        path = tmp_path / "job.yaml"
        return status, yaml.safe_load(path.read_text()) if path.exists() else None

    return run


def test_the_flags_of_the_steps_are_checked(render, capsys):
    steps = [*PIPELINE["steps"], {"command": "push", "flags": {"to": "served", "keepp": 2}}]
    assert render(*BASE, steps=steps) == (2, None)
    assert "step push: --keepp: no such flag; did you mean --keep?" in capsys.readouterr().err
    # The files that steps name are those of the claim, not those of this folder.
    flags = {"candidate": "jobs/a", "data": "x.csv", "rules": "not/here.yaml"}
    assert render(*BASE, steps=[{"command": "gate", "flags": flags}])[0] == 0


def _read(value, kind):
    """Returns the object of the client of Kubernetes, which has each field of the manifest."""
    client = pytest.importorskip("kubernetes").client
    api = client.ApiClient()
    # The arguments of the public one differ between versions of the client.
    made = api._ApiClient__deserialize(value, kind)
    assert api.sanitize_for_serialization(made) == value
    return made


def test_a_nightly_run(render, capsys):
    status, manifest = render(
        *BASE, "--schedule=30 2 * * 1-5", "--time_zone=Europe/Berlin", "--queue=night", "--gpus=1",
        "--memory=8Gi", "--toleration=spot", "--deadline_secs=7200",
    )  # fmt: skip
    assert status == 0
    printed = capsys.readouterr().out.strip().partition(": ")[2]
    assert shlex.split(printed) == ["kubectl", "apply", "-f", "job.yaml"]
    made = _read(manifest, "V1CronJob").spec
    assert (made.schedule, made.time_zone) == ("30 2 * * 1-5", "Europe/Berlin")
    # Two runs cannot use one folder.
    assert made.concurrency_policy == "Forbid"
    assert made.job_template.metadata.labels["kueue.x-k8s.io/queue-name"] == "night"
    job = made.job_template.spec
    assert job.active_deadline_seconds == 7200
    # Wrong input, and the verdicts of the gate: another run has the same end.
    assert job.pod_failure_policy.rules[0].on_exit_codes.values == [2, 3, 4]
    pod = job.template.spec
    assert pod.restart_policy == "Never" and pod.tolerations[0].key == "spot"
    (container,) = pod.containers
    assert container.command == ["python", "-m", "trainer.pipeline"]
    assert container.args == ["run", "nightly.yaml"]
    assert container.working_dir == container.volume_mounts[-1].mount_path == "/mnt/job"
    assert container.resources.limits == {"memory": "8Gi", "nvidia.com/gpu": "1"}
    assert container.security_context.read_only_root_filesystem


def test_one_run(render):
    status, manifest = render(*BASE, "--queue=night")
    job = _read(manifest, "V1Job")
    assert status == 0
    assert job.metadata.labels["kueue.x-k8s.io/queue-name"] == "night"


@pytest.mark.parametrize(
    ("words", "changes", "message"),
    [
        (BASE[:2], {}, "--volume: not given"),
        (BASE[1:], {}, "--name"),
        ([*BASE, "--schedule=every night"], {}, "--schedule=every night: write minute, hour"),
        ([*BASE, "--time_zone=Europe/Berlin"], {}, "has no effect without --schedule"),
        ([*BASE, "--schedule=@daily", "--time_zone=Berlin"], {}, "no such time zone"),
        ([*BASE, "--queue=A queue"], {}, "write the name of a LocalQueue"),
        ([*BASE, "--toleration=a:b"], {}, "write KEY[=VALUE][:EFFECT]"),
        (BASE, {"folder": "/var/history"}, "folder /var/history: is outside the claim"),
        (BASE, {"folder": "../history"}, "folder ../history: is outside the claim"),
        (
            BASE,
            {"steps": [{"command": "task", "flags": {"job_dir": "/tmp/x"}}]},
            "/tmp/x: is outside the claim",
        ),
        (BASE, {"steps": []}, "steps: the list is empty"),
    ],
)
def test_invalid_requests_print_one_line(render, capsys, words, changes, message):
    status, manifest = render(*words, **changes)
    (line,) = capsys.readouterr().err.splitlines()
    assert status == 2 and manifest is None
    assert line.startswith("error: ") and message in line


def test_the_file_of_the_pipeline_is_not_replaced(render, tmp_path, capsys):
    render(*BASE)
    before = (tmp_path / "nightly.yaml").read_text()
    capsys.readouterr()
    words = ["render", "nightly.yaml", *BASE, "--output=./nightly.yaml"]
    assert command.main(words) == 2
    message = "error: --output=./nightly.yaml: is the file of the pipeline; name another\n"
    assert capsys.readouterr().err == message
    assert (tmp_path / "nightly.yaml").read_text() == before
