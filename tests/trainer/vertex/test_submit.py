"""submit, with a local server that implements the methods of the service."""

import hashlib

import pytest
from local_service import run_service
from repeated_flags import keep_last

from trainer.vertex import __main__ as vertex
from trainer.vertex import package

pytestmark = pytest.mark.newest


class Jobs:
    """The jobs of a JobService, and what becomes of them: a state each time one is looked at."""

    def __init__(self, types):
        self.types = types
        self.made = {}
        self.refusal = None
        self.states = ["PENDING", "RUNNING", "RUNNING", "SUCCEEDED"]
        self.message = ""

    def create(self, request, context):
        if self.refusal is not None:
            context.abort(*self.refusal)
        tuning = hasattr(request, "hyperparameter_tuning_job")
        job = request.hyperparameter_tuning_job if tuning else request.custom_job
        kind = "hyperparameterTuningJobs" if tuning else "customJobs"
        job.name = f"{request.parent}/{kind}/{len(self.made) + 1}"
        self.made[job.name] = job
        return job

    def get(self, request, context):
        job = self.made[request.name]
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        job.state = self.types.JobState[f"JOB_STATE_{state}"]
        job.error.message = self.message
        return job


@pytest.fixture
def service(aiplatform):
    jobs = Jobs(aiplatform)
    methods = {
        "CreateCustomJob": (aiplatform.CreateCustomJobRequest, jobs.create),
        "GetCustomJob": (aiplatform.GetCustomJobRequest, jobs.get),
        "CreateHyperparameterTuningJob": (
            aiplatform.CreateHyperparameterTuningJobRequest,
            jobs.create,
        ),
        "GetHyperparameterTuningJob": (aiplatform.GetHyperparameterTuningJobRequest, jobs.get),
    }
    with run_service("google.cloud.aiplatform.v1.JobService", methods) as jobs.endpoint:
        yield jobs


@pytest.fixture
def job(cloud, tmp_path):
    cloud.write("train.csv", b"x")
    cloud.write("eval.csv", b"x")

    def render(*words, task=()):
        path = tmp_path / "job.yaml"
        status = vertex.main(keep_last([
            "render", "--name=census", "--image=gcr.io/project/trainer:1", f"--output={path}",
            "--base_output_dir=gs://a-bucket/census", "--region=europe-west4",
            "--labels=team=risk", *words, "--", "--hparams=census",
            "--train_data=gs://a-bucket/train.csv", "--eval_data=gs://a-bucket/eval.csv",
            *task,
        ]))  # fmt: skip
        assert status == 0
        return f"--job={path}"

    return render


def _submit(service, *words):
    options = ["--project=my-project", f"--api_endpoint={service.endpoint}", "--poll_secs=0.01"]
    return vertex.main(["submit", *words, *options])


def test_a_job_is_sent_and_followed(service, job, capsys):
    path = job()
    capsys.readouterr()
    assert _submit(service, path, "--stream") == 0
    (made,) = service.made.values()
    assert made.display_name == "census" and dict(made.labels) == {"team": "risk"}
    assert made.job_spec.worker_pool_specs[0].container_spec.args[0] == "--hparams=census"
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "projects/my-project/locations/europe-west4/customJobs/1"
    assert lines[1] == (
        "https://console.cloud.google.com/ai/platform/locations/europe-west4/training/1"
        "?project=my-project"
    )
    assert [line.split()[1] for line in lines[2:]] == ["pending", "running", "succeeded"]


def test_a_search_is_sent_and_followed(service, job, capsys, aiplatform):
    assert _submit(service, job("--tuning=census"), "--stream") == 0
    (made,) = service.made.values()
    assert made.max_trial_count == 20 and made.study_spec.metrics[0].metric_id == "auc"
    assert "/hyperparameterTuningJobs/1" in capsys.readouterr().out


def test_the_error_of_a_failed_job_is_logged(service, job, capsys):
    service.states, service.message = ["RUNNING", "FAILED"], "replica chief-0\nexited with 2"
    assert _submit(service, job(), "--stream") == 1
    assert "error: replica chief-0 exited with 2" in capsys.readouterr().out


def test_rejected_jobs_print_one_line(service, job, capsys, cloud):
    import grpc

    path = job()
    for refusal, words in (
        ((grpc.StatusCode.PERMISSION_DENIED, "aiplatform.customJobs.create denied"),
         "no permission (aiplatform.customJobs.create denied); grant your account"),
        ((grpc.StatusCode.INVALID_ARGUMENT, "machine type\nnot supported"),
         "the service rejected the request: machine type not supported"),
        ((grpc.StatusCode.RESOURCE_EXHAUSTED, "quota"), "the service rejected the request: quota"),
    ):  # fmt: skip
        service.refusal = refusal
        capsys.readouterr()
        assert _submit(service, path) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert words in line
    service.refusal = grpc.StatusCode.UNAVAILABLE, "overloaded"
    assert _submit(service, path) == 75
    assert "the service is unavailable: overloaded; try again later" in capsys.readouterr().err
    capsys.readouterr()
    assert _submit(service, path, "--nosuch=1") == 2
    assert _submit(service, "--job=/no/such/job.yaml") == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_buckets_and_packages_are_checked_before_submission(service, job, capsys, cloud):
    path = job("--package=gs://a-bucket/packages/trainer-1.tar.gz")
    capsys.readouterr()
    assert _submit(service, path) == 2
    assert "gs://a-bucket/packages/trainer-1.tar.gz does not exist" in capsys.readouterr().err
    cloud.write("packages/trainer-1.tar.gz", b"x")
    assert _submit(service, path) == 0
    path = job("--base_output_dir=gs://no-such-bucket/x")
    assert _submit(service, path) == 2
    assert "there is no bucket 'no-such-bucket'" in capsys.readouterr().err
    cloud.fail("status", status=403, times=9)
    assert _submit(service, job()) == 2
    assert "no permission to list" in capsys.readouterr().err
    assert len(service.made) == 1


def test_data_and_job_dir_are_checked_before_submission(service, job, capsys, cloud):
    cloud.ask("DELETE", "/storage/v1/b/a-bucket/o/eval.csv")
    for task, words in (
        ([], "data.eval: no object matches 'gs://a-bucket/eval.csv'"),
        (["--eval_data=/gcs/a-bucket/no.csv"], "no object matches 'gs://a-bucket/no.csv'"),
        (["--eval_data=gs://no-such-bucket/x.csv"], "there is no bucket 'no-such-bucket'"),
        (["--eval_data=gs://a-bucket/train.csv", "--data.schema_file=gs://a-bucket/s.yaml"],
         "data.schema_file: no object matches"),
        (["--eval_data=gs://a-bucket/train.csv", "--job_dir=gs://no-such-bucket/x"],
         "there is no bucket 'no-such-bucket'"),
    ):  # fmt: skip
        path = job(task=task)
        capsys.readouterr()
        assert _submit(service, path) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert words in line
    assert not service.made
    # Who may start jobs, and not read what they read.
    assert _submit(service, path, "--nolook") == 0


def test_a_package_is_built_and_uploaded(cloud, tmp_path, capsys):
    output = f"--output_dir={tmp_path}"
    assert vertex.main(["package", output, "--upload=gs://no-such-bucket/x"]) == 2
    assert not list(tmp_path.glob("*.tar.gz"))
    assert vertex.main(["package", output, "--upload=gs://a-bucket/packages"]) == 0
    (stored,) = cloud.names("packages/")
    (made,) = tmp_path.glob("*.tar.gz")
    assert cloud.read(stored) == made.read_bytes()
    assert f"gs://a-bucket/{stored}" in capsys.readouterr().out
    digest = hashlib.sha256(made.read_bytes()).hexdigest()[:12]
    assert stored == f"packages/{digest}/{made.name}"
    # The same file again, and another one of the same version: nothing is overwritten.
    before = cloud.read(stored)
    address = package.upload(made, "gs://a-bucket/packages")
    assert address == f"gs://a-bucket/{stored}"
    made.write_bytes(made.read_bytes() + b"\0")
    assert package.upload(made, "gs://a-bucket/packages") != address
    assert len(cloud.names("packages/")) == 2 and cloud.read(stored) == before
