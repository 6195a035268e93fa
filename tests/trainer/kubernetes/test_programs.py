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
        (
            "predict",
            [],
            [*PREDICT, "--output=gs://b-b-b/x.csv"],
            "give --data=FILES and --output=FOLDER",
        ),
        ("predict", [], [*PREDICT, OUTPUT, "--part=1/2"], "--parts=N before --"),
        ("predict", [], [*PREDICT, OUTPUT, "--colums=a"], "did you mean --columns"),
        ("predict", ["--workers=2"], [*PREDICT, OUTPUT], "--workers: has no effect"),
        ("predict", ["--parts=0"], [*PREDICT, OUTPUT], "--parts"),
        (
            "watch",
            ["--parts=2"],
            [*WATCH, STATE],
            "--parts=2: trainer.watch cannot be divided among pods",
        ),
        ("watch", ["--schedule=nightly"], [*WATCH, STATE], "--schedule=nightly: write minute"),
        (
            "watch",
            ["--schedule=0 24 * * *"],
            [*WATCH, STATE],
            "0 24 * * *: the hour is 24; write 0 ",
        ),
        ("watch", ["--schedule=*/5 1 1-32 * *"], [*WATCH, STATE], ": the day of the month is 32;"),
        ("watch", [], WATCH, "--state: not given"),
        ("task", ["--schedule=@daily"], ["--job_dir=gs://a-bucket/x"], "--schedule: has no effect"),
    ],
)
def test_invalid_requests_print_one_line(render, capsys, command, words, flags, message):
    status, manifest = render(command, words, flags)
    (line,) = capsys.readouterr().err.splitlines()
    assert status == 2 and manifest is None
    assert line.startswith("error: ") and message in line


def _read_application(manifest):
    """Returns the object of the operator's types, which has each field of the manifest."""
    models = pytest.importorskip("kubeflow_spark_api.models")
    made = models.SparkV1beta2SparkApplication.from_dict(manifest)
    written = made.to_dict()

    def check(value, other, place):
        if isinstance(value, dict):
            for key, inner in value.items():
                assert key in other, f"{place}.{key}"
                check(inner, other[key], f"{place}.{key}")
        else:
            assert value == other, place

    check(manifest, written, "")
    return made


def test_a_prediction_on_spark(render):
    words = ["--kind=spark-application", "--workers=4", "--cpu=2", "--memory=8Gi", "--ttl_secs=60"]
    words += ["--service_account=spark", "--namespace=ml", "--node_selector=disk=ssd"]
    words += ["--toleration=batch=yes:NoSchedule", "--backoff_limit=2", "--spark_version=4.1.0"]
    status, manifest = render("predict", words, [*PREDICT, OUTPUT])
    assert status == 0
    spec = _read_application(manifest).spec
    assert spec.main_application_file == (
        "local:///opt/venv/lib/python3.12/site-packages/trainer/engines/submitted.py"
    )
    assert spec.arguments == ["trainer.predict", *PREDICT, OUTPUT, "--engine=spark"]
    assert (spec.executor.instances, spec.executor.cores, spec.driver.cores) == (4, 2, 1)
    # The Python processes hold the model and the rows.
    assert (spec.executor.memory, spec.executor.memory_overhead) == ("1024m", "7168m")
    assert spec.driver.service_account == "spark" and spec.spark_version == "4.1.0"
    assert spec.restart_policy.on_failure_retries == 2 and spec.time_to_live_seconds == 60
    assert spec.executor.security_context.run_as_non_root
    assert spec.executor.node_selector == {"disk": "ssd"}
    assert manifest["metadata"]["namespace"] == "ml"


def test_a_claim_holds_the_predictions_of_spark(render):
    words = ["--kind=spark-application", "--volume=data:/data"]
    flags = ["--export=/data/served/7", "--data=/data/*.csv", "--output=/data/out"]
    spec = _read_application(render("predict", words, flags)[1]).spec
    assert spec.volumes[0].persistent_volume_claim.claim_name == "data"
    assert spec.executor.volume_mounts[0].mount_path == "/data"
    assert spec.driver.volume_mounts[0].mount_path == "/data"


@pytest.mark.parametrize(
    "words, flags, message",
    [
        (["--cpu=500m"], [OUTPUT], "--cpu=500m: Spark needs whole cores"),
        (["--memory=1Gi"], [OUTPUT], "--memory=1Gi: Java gets 1 GiB of it"),
        (["--gpus=1"], [OUTPUT], "--gpus: has no effect with --kind=spark-application"),
        (["--parts=3"], [OUTPUT], "--parts: has no effect with --kind=spark-application"),
        (["--spark_main=submitted.py"], [OUTPUT], "--spark_main=submitted.py: write the absolute"),
        (["--spark_version=4"], [OUTPUT], "--spark_version=4: write a version such as 4.0.1"),
        ([], ["--output=here"], "here: is deleted with the container"),
        (
            [],
            [OUTPUT, "--engine=spark"],
            "--engine=spark: remove it; --kind=spark-application sets it",
        ),
    ],
)
def test_wrong_options_of_spark(render, capsys, words, flags, message):
    status, manifest = render("predict", ["--kind=spark-application", *words], [*PREDICT, *flags])
    assert (status, manifest) == (2, None)
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


@pytest.mark.parametrize(
    "command, words, flags",
    [
        ("evaluate", ["trainer.evaluate"], ["--job_dir=gs://b/j", "--data=gs://b/d"]),
        ("gate", ["trainer.gate"], ["--candidate=gs://b/j", "--data=gs://b/d"]),
        ("infer", ["trainer.schema", "infer"],
         ["--data=gs://b/d", "--label=y", "--output=gs://b/s.yaml"]),
        ("check", ["trainer.schema", "check"], ["--schema=gs://b/s.yaml", "--data=gs://b/d"]),
    ],
)  # fmt: skip
def test_other_commands_on_spark_and_alone(render, command, words, flags):
    status, manifest = render(command, ["--kind=spark-application"], flags)
    spec = _read_application(manifest).spec
    assert status == 0 and spec.arguments == [*words, *flags, "--engine=spark"]
    # A verdict is no failure.
    retries = "Never" if command in ("gate", "check") else "OnFailure"
    assert manifest["spec"]["restartPolicy"]["type"] == retries
    (container,) = _read(render(command, [], flags)[1], "V1Job").spec.template.spec.containers
    assert container.command == ["python", "-m", *words] and container.args == flags
    if command == "infer":
        assert render(command, [], flags[:2])[0] == 2


def test_a_watch_does_not_run_on_spark(render, capsys):
    assert render("watch", ["--kind=spark-application"], [*WATCH, STATE])[0] == 2
    message = (
        "--kind=spark-application: requires --command to be one of predict, evaluate, gate, infer"
    )
    assert message in capsys.readouterr().err
    assert render("predict", ["--spark_version=4.0.0"], [*PREDICT, OUTPUT])[0] == 2
    assert "--spark_version: has no effect with --command=predict" in capsys.readouterr().err
