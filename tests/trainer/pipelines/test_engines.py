"""What runs a pipeline elsewhere: kfp and Cloud Build read it, and Vertex AI gets it."""

import json
import shlex

import pytest
import yaml
from local_service import run_service

from trainer.pipelines import command

pytestmark = pytest.mark.quick
STEPS = [
    {
        "name": "check data",
        "command": "schema check",
        "flags": {"data": "gs://a-bucket/d/*.csv", "schema": "schemas/census.yaml"},
    },
    {
        "name": "train",
        "command": "task",
        "flags": {"hparams": "census", "job_dir": "gs://a-bucket/jobs/{key}", "epochs": 2},
    },
    {
        "command": "gate",
        "flags": {
            "candidate": "{train.job_dir}",
            "baseline": "gs://a-bucket/served",
            "data": "gs://a-bucket/late/*.csv",
        },
    },
    {"command": "push", "flags": {"job_dir": "{train.job_dir}", "to": "gs://a-bucket/served"}},
]
KFP = ["--kfp", "--name=nightly", "--image=example.com/ml/trainer:1", "--output=k.yaml"]
TRIGGER = [
    "--cloudbuild", "--name=nightly", "--image=example.com/ml/trainer:1", "--output=trigger.yaml",
    "--pipeline_root=gs://a-bucket/runs",
    "--service_account=builder@a-project.iam.gserviceaccount.com",
]  # fmt: skip
DATA = ["--on_data=gs://a-bucket/d/", "--topic=projects/a-project/topics/data"]
REPOSITORY = "projects/a-project/locations/europe-west4/connections/git/repositories/trainer"
# The part of a compiled pipeline that submit looks at.
COMPILED = {
    "pipelineInfo": {"name": "nightly"},
    "schemaVersion": "2.1.0",
    "root": {"dag": {"tasks": {}}},
    "deploymentSpec": {"executors": {"exec-train": {"container": {"image": "example.com/a:1"}}}},
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes the steps into p.yaml."""
    monkeypatch.chdir(tmp_path)

    def run(steps=STEPS):
        (tmp_path / "p.yaml").write_text(
            yaml.safe_dump({"folder": "runs", "steps": steps}, sort_keys=False)
        )

    run()
    return run


def test_kfp_compiles_the_steps_and_loads_them_again(write, capsys, tmp_path):
    components = pytest.importorskip("kfp.components")
    machines = ["--cpu=500m", "--memory=8Gi", "--gpus=1", "--accelerator=NVIDIA_L4"]
    assert command.main(["render", "p.yaml", *KFP, *machines, "--backoff_limit=3"]) == 0
    loaded = components.load_component_from_file("k.yaml").pipeline_spec
    assert loaded.pipeline_info.name == "nightly"
    tasks = loaded.root.dag.tasks
    # One after the other, so that a step that fails ends the run.
    assert [(name, list(task.dependent_tasks)) for name, task in sorted(tasks.items())] == [
        ("check-data", []), ("gate", ["train"]), ("push", ["gate"]), ("train", ["check-data"]),
    ]  # fmt: skip
    # The engine's own cache would not see new data.
    assert not any(task.caching_options.enable_cache for task in tasks.values())
    assert tasks["train"].retry_policy.max_retry_count == 3
    assert not tasks["gate"].HasField("retry_policy")
    executors = dict(loaded.deployment_spec["executors"])
    run = "{{$.inputs.parameters['run']}}"
    job = f"gs://a-bucket/jobs/{run}-train"
    wanted = {
        "check-data": ["trainer.schema", "check", "--data=gs://a-bucket/d/*.csv",
                       "--schema=schemas/census.yaml"],
        "train": ["trainer.task", "--hparams=census", f"--job_dir={job}", "--epochs=2"],
        "gate": ["trainer.gate", f"--candidate={job}", "--baseline=gs://a-bucket/served",
                 "--data=gs://a-bucket/late/*.csv", "--may_be_first"],
        "push": ["trainer.push", f"--job_dir={job}", "--to=gs://a-bucket/served"],
    }  # fmt: skip
    for name, words in wanted.items():
        inputs = tasks[name].inputs.parameters["run"].runtime_value.constant
        assert inputs.string_value == "{{$.pipeline_job_uuid}}"
        container = executors[f"exec-{name}"]["container"]
        assert container["image"] == "example.com/ml/trainer:1"
        assert list(container["command"]) == ["python", "-m", words[0]]
        assert list(container["args"]) == words[1:]
        assert container["resources"]["resourceMemoryLimit"] == "8Gi"
        assert ("accelerator" in container["resources"]) == (name == "train")
    printed = capsys.readouterr()
    assert "python -m trainer.pipeline submit k.yaml" in printed.out and not printed.err
    # What submit sends fits the type of the service.
    from trainer.pipelines import vertex_runs

    pytest.importorskip("google.cloud.aiplatform_v1")
    spec = vertex_runs.read_compiled("k.yaml", None)
    run = vertex_runs.Run("p", "europe-west4", "gs://a-bucket/r", None, None, None)
    vertex_runs.to_message("PipelineJob", vertex_runs.build_run(spec, run))


@pytest.mark.parametrize(
    ("words", "steps", "message"),
    [
        ([*KFP, "--queue=a"], STEPS, "--queue: has no effect with --kfp"),
        ([*KFP, "--cloudbuild"], STEPS, "--kfp and --cloudbuild: give one"),
        ([*KFP, "--memory=much"], STEPS, "--memory=much: write a quantity"),
        ([*KFP, "--memory=0.5Ti"], STEPS, "--memory=0.5Ti: kfp needs a whole number"),
        (["--name=n", "--image=a/b:1", "--topic=x"], STEPS, "--topic: has no effect without"),
        (KFP, [{"command": "task", "flags": {"job_dir": "jobs/{key}"}}], "name a gs:// address"),
    ],
)
def test_invalid_requests_print_one_line(write, capsys, words, steps, message, tmp_path):
    pytest.importorskip("kfp")
    write(steps)
    assert command.main(["render", "p.yaml", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and message in line
    assert not (tmp_path / "k.yaml").exists()


def test_files_of_this_machine_are_noted(write, capsys, tmp_path):
    pytest.importorskip("kfp")
    (tmp_path / "s.yaml").write_text("columns: {}")
    write([{"command": "schema check", "flags": {"schema": "s.yaml", "data": "gs://a-bucket/d"}}])
    assert command.main(["render", "p.yaml", *KFP]) == 0
    (note,) = capsys.readouterr().err.splitlines()
    assert note.startswith("note: step schema_check: --schema=s.yaml: is read in the container")


def _read_trigger(tmp_path):
    cloudbuild = pytest.importorskip("google.cloud.devtools.cloudbuild_v1")
    from google.protobuf import json_format

    value = yaml.safe_load((tmp_path / "trigger.yaml").read_text())
    message = cloudbuild.BuildTrigger()
    json_format.ParseDict(value, cloudbuild.BuildTrigger.pb(message))
    return message


def test_new_data_start_the_compiled_pipeline(write, tmp_path):
    assert command.main(["render", "gs://a-bucket/k.yaml", *TRIGGER, *DATA]) == 0
    trigger = _read_trigger(tmp_path)
    assert trigger.pubsub_config.topic == "projects/a-project/topics/data"
    assert trigger.service_account.startswith("projects/a-project/serviceAccounts/builder@")
    assert trigger.filter == (
        '_EVENT == "OBJECT_FINALIZE" && _BUCKET == "a-bucket" && _OBJECT.startsWith("d/")'
    )
    assert trigger.substitutions["_OBJECT"] == "$(body.message.attributes.objectId)"
    (step,) = trigger.build.steps
    assert step.name == "example.com/ml/trainer:1" and step.entrypoint == "bash"
    words = shlex.split(step.args[1])
    place = words.index("submit")
    assert words[place - 3 : place + 2] == [
        "python", "-m", "trainer.pipeline", "submit", "gs://a-bucket/k.yaml",
    ]  # fmt: skip
    assert {"--project=$PROJECT_ID", "--pipeline_root=gs://a-bucket/runs"} <= {*words}


def test_new_code_builds_the_image_that_the_pipeline_uses(write, tmp_path):
    flags = [word for word in TRIGGER if not word.startswith("--image")]
    flags += ["--image=example.com/ml/trainer", f"--on_code={REPOSITORY}", "--branch=^release$"]
    assert command.main(["render", "gs://a-bucket/k.yaml", *flags]) == 0
    trigger = _read_trigger(tmp_path)
    assert trigger.repository_event_config.repository == REPOSITORY
    assert trigger.repository_event_config.push.branch == "^release$"
    image, push, submit = trigger.build.steps
    assert list(image.args) == ["build", "--tag=example.com/ml/trainer:$COMMIT_SHA", "."]
    assert push.args[1] == submit.name == "example.com/ml/trainer:$COMMIT_SHA"
    assert "--image=example.com/ml/trainer:$COMMIT_SHA" in shlex.split(submit.args[1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give one of --on_data"),
        ([DATA[0]], "--topic and --on_data: give both"),
        ([*DATA, f"--on_code={REPOSITORY}"], "give one of --on_data"),
        ([f"--on_code={REPOSITORY}"], "write the image without a tag"),
        (["--on_code=github.com/a/b"], "--on_code=github.com/a/b: write projects/"),
        ([*DATA, "--queue=a"], "--queue: has no effect with --cloudbuild"),
    ],
)
def test_invalid_triggers_print_one_line(write, capsys, words, message):
    assert command.main(["render", "gs://a-bucket/k.yaml", *TRIGGER, *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and message in line


def test_a_compiled_pipeline_is_sent_with_another_image(write, tmp_path, capsys):
    types = pytest.importorskip("google.cloud.aiplatform_v1")
    (tmp_path / "k.yaml").write_text(yaml.safe_dump(COMPILED))
    sent = []

    def create(request, context):
        sent.append(request)
        return types.PipelineJob(name=f"{request.parent}/pipelineJobs/nightly-1")

    methods = {"CreatePipelineJob": (types.CreatePipelineJobRequest, create)}
    with run_service("google.cloud.aiplatform.v1.PipelineService", methods) as endpoint:
        status = command.main([
            "submit", "k.yaml", "--project=a-project", "--region=europe-west4",
            "--pipeline_root=gs://a-bucket/runs", "--image=example.com/a:2",
            f"--api_endpoint={endpoint}",
        ])  # fmt: skip
    assert status == 0
    name, page = capsys.readouterr().out.split()
    assert name == "projects/a-project/locations/europe-west4/pipelineJobs/nightly-1"
    assert page.endswith("/runs/nightly-1?project=a-project")
    job = json.loads(types.PipelineJob.to_json(sent[0].pipeline_job))
    assert job["displayName"] == "nightly"
    assert job["runtimeConfig"]["gcsOutputDirectory"] == "gs://a-bucket/runs"
    executor = job["pipelineSpec"]["deploymentSpec"]["executors"]["exec-train"]
    assert executor["container"]["image"] == "example.com/a:2"
    (tmp_path / "k.yaml").write_text("folder: runs")
    flags = ["--project=a-project", "--pipeline_root=gs://a-bucket/runs"]
    assert command.main(["submit", "k.yaml", *flags]) == 2
    assert "not a compiled pipeline" in capsys.readouterr().err
