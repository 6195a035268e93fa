import shlex

import pytest
import yaml
from repeated_flags import keep_last

from trainer.errors import UserError
from trainer.vertex import __main__ as vertex
from trainer.vertex import jobs, program
from trainer.vertex.machines import BUILT_IN, Machine, parse_machine
from trainer.vertex.submit import parse_resource

pytestmark = pytest.mark.newest

IMAGE = "europe-west4-docker.pkg.dev/project/repo/trainer:1"
DATA = ["--train_data=gs://a-bucket/train.csv", "--eval_data=gs://a-bucket/eval.csv"]
BASE = [
    "render",
    "--name=census",
    f"--image={IMAGE}",
    "--base_output_dir=gs://a-bucket/census",
]
TASK = ["--", "--hparams=census", *DATA]
WORKERS = ["--workers=2", "--strategy"]


def _render(tmp_path, *words, task=()):
    path = tmp_path / "job.yaml"
    assert vertex.main([*BASE, f"--output={path}", *words, *TASK, *task]) == 0
    return path


def test_a_minimal_job(tmp_path, aiplatform):
    path = _render(tmp_path)
    assert yaml.safe_load(path.read_text()) == {
        "workerPoolSpecs": [
            {
                "machineSpec": {"machineType": "n1-standard-8"},
                "replicaCount": "1",
                "containerSpec": {
                    "imageUri": IMAGE,
                    "command": [*program.START, "trainer.task"],
                    "args": ["--hparams=census", *DATA],
                },
            }
        ],
        "baseOutputDirectory": {"outputUriPrefix": "gs://a-bucket/census"},
    }
    first = shlex.split(path.read_text().splitlines()[0])
    assert first[:5] == ["#", "gcloud", "ai", "custom-jobs", "create"]
    assert f"--config={path}" in first and "--display-name=census" in first
    made = parse_resource(jobs.read_job(str(path)))
    assert made.display_name == "census"
    assert made.job_spec.worker_pool_specs[0].container_spec.image_uri == IMAGE


@pytest.mark.parametrize("words", [[], ["--tuning=census"]])
def test_a_job_is_encrypted_with_a_key_of_the_project(tmp_path, aiplatform, capsys, words):
    key = "projects/p/locations/us-central1/keyRings/ring/cryptoKeys/key"
    path = _render(tmp_path, f"--kms_key={key}", *words)
    # Without a service account, the job may do what the service may.
    assert capsys.readouterr().err.count("note: --service_account: not given") == 1
    assert f"--kms-key={key}" in shlex.split(path.read_text().splitlines()[0])
    assert parse_resource(jobs.read_job(str(path))).encryption_spec.kms_key_name == key
    for wrong, message in ((key.replace("us-", "eu-"), "one region"), ("key", "write projects/")):
        assert vertex.main([*BASE, f"--kms_key={wrong}", *TASK]) == 2
        assert message in capsys.readouterr().err


def test_all_options_of_a_job(tmp_path, aiplatform):
    path = _render(
        tmp_path,
        "--region=europe-west4",
        "--workers=3",
        "--evaluator",
        "--machine=n1-standard-16:NVIDIA_TESLA_T4:2",
        "--worker_machine=g2-standard-24",
        "--evaluator_machine=e2-standard-4",
        "--service_account=trainer@project.iam.gserviceaccount.com",
        "--network=projects/123/global/networks/default",
        "--tensorboard=projects/123/locations/europe-west4/tensorboards/456",
        "--nfs=10.0.0.2:/share:/mnt/nfs/share",
        "--labels=team=risk,stage=trial",
        "--spot",
        "--timeout_secs=7200",
        "--restart_job",
        task=["--strategy=multi_worker_mirrored"],
    )
    job = jobs.read_job(str(path))
    assert (job.region, job.labels) == ("europe-west4", {"team": "risk", "stage": "trial"})
    made = parse_resource(job)
    spec = made.job_spec
    pools = spec.worker_pool_specs
    assert [pool.replica_count for pool in pools] == [1, 3, 0, 1]
    types = aiplatform.types.AcceleratorType
    assert pools[0].machine_spec.accelerator_type == types.NVIDIA_TESLA_T4
    assert pools[0].machine_spec.accelerator_count == 2
    assert pools[1].machine_spec.accelerator_type == types.NVIDIA_L4
    assert pools[3].machine_spec.machine_type == "e2-standard-4"
    assert not pools[2].container_spec.image_uri
    assert pools[1].nfs_mounts[0].mount_point == "share"
    assert spec.scheduling.strategy == aiplatform.Scheduling.Strategy.SPOT
    assert spec.scheduling.timeout.total_seconds() == 7200
    assert spec.scheduling.restart_job_on_worker_restart
    assert spec.service_account.startswith("trainer@") and spec.network.endswith("/default")
    assert spec.tensorboard.endswith("/456") and dict(made.labels)["team"] == "risk"


def test_parameter_servers_keep_the_place_of_absent_workers(tmp_path, aiplatform):
    path = tmp_path / "job.yaml"
    flags = ["--ps=2", "--network=projects/1/global/networks/n", "--nfs=10.0.0.2:/x:/mnt/nfs/x"]
    task = ["--job_dir=/mnt/nfs/x/job", *TASK[1:]]
    assert vertex.main([*BASE, f"--output={path}", *flags, "--", *task]) == 0
    pools = yaml.safe_load(path.read_text())["workerPoolSpecs"]
    assert pools[1] == {} and pools[2]["replicaCount"] == "2"
    made = parse_resource(jobs.read_job(str(path)))
    assert [pool.replica_count for pool in made.job_spec.worker_pool_specs] == [1, 0, 2]


def test_a_python_package_on_an_executor_image(tmp_path, aiplatform):
    package = "gs://a-bucket/packages/estimator_trainer-0.1.0.tar.gz"
    made = parse_resource(jobs.read_job(str(_render(tmp_path, f"--package={package}"))))
    spec = made.job_spec.worker_pool_specs[0].python_package_spec
    assert list(spec.package_uris) == [package] and spec.python_module == "trainer.task"
    assert spec.executor_image_uri == IMAGE and spec.args[0] == "--hparams=census"


@pytest.mark.parametrize("name", ["census", "flights"])
def test_a_search_over_a_shipped_space(tmp_path, aiplatform, name):
    path = _render(tmp_path, f"--tuning={name}")
    job = jobs.read_job(str(path))
    made = parse_resource(job)
    assert made.max_trial_count == job.max_trials > made.parallel_trial_count > 0
    study = made.study_spec
    rate = next(one for one in study.parameters if one.parameter_id == "learning_rate")
    assert rate.double_value_spec.min_value < rate.double_value_spec.max_value
    assert rate.scale_type == aiplatform.StudySpec.ParameterSpec.ScaleType.UNIT_LOG_SCALE
    layers = next(one for one in study.parameters if one.parameter_id == "hidden_units")
    assert "64,32" in layers.categorical_value_spec.values
    assert made.trial_job_spec.worker_pool_specs[0].container_spec.image_uri == IMAGE
    assert "hp-tuning-jobs create" in path.read_text().splitlines()[0]
    assert f"--max-trial-count={job.max_trials}" in path.read_text().splitlines()[0]


@pytest.mark.parametrize(
    "words, task, message",
    [
        (["--machine=n1-standart-8"], [], "did you mean n1-standard-8?"),
        (["--machine=n1-standard-5"], [], "--machine=n1-standard-5: no such machine type"),
        (["--machine=n1-standard-8:NVIDIA_TESLA_T5"], [], "did you mean NVIDIA_TESLA_T4?"),
        (["--machine=n1-standard-8:NVIDIA_TESLA_T4:3"], [], "can be added 1, 2, 4 times"),
        (["--machine=n1-standard-96:NVIDIA_TESLA_T4:1"], [], "at most 48 vCPUs"),
        (["--machine=n2-standard-8:NVIDIA_TESLA_T4"], [], "only be added to n1 machines"),
        (["--machine=n1-standard-8:NVIDIA_L4"], [], "only in the machine types g2-standard-4"),
        (["--machine=a2-highgpu-1g:NVIDIA_TESLA_A100:2"], [], "always has 1 NVIDIA_TESLA_A100"),
        (["--machine=z9-standard-x:NVIDIA_TESLA_T4"], [], "only be added to n1 machines"),
        (["--machine=cloud-tpu"], [], "has TPUs"),
        (["--machine=ct5lp-hightpu-4t"], [], "has TPUs"),
        (["--machine=n1-standard-8:TPU_V3:8"], [], "has TPUs"),
        (["--machine=n1-standard-8:NVIDIA_TESLA_T4:x"], [], "not a number of accelerators"),
        (["--machine=n1-standard-8:NVIDIA_TESLA_T4:²"], [], "not a number of accelerators"),
        (["--base_output_dir=gs://Bad_Bucket/x"], [], "'Bad_Bucket' is no name of a bucket"),
        (["--base_output_dir=/tmp/x"], [], "is not written gs://"),
        (["--package=gs://a-bucket/x.whl"], [], "not a source distribution"),
        (["--image=Not An Image"], [], "--image=Not An Image: write the name of an image"),
        (["--region=here"], [], "--region=here: write a region"),
        (["--service_account=me"], [], "write NAME@PROJECT.iam"),
        (["--network=default"], [], "projects/NUMBER/global/networks/NAME"),
        (["--tensorboard=projects/1/locations/asia-east1/tensorboards/2"], [],
         "use one region for both"),
        (["--tensorboard=projects/1/locations/us-central1/tensorboards/2"], [],
         "--tensorboard: needs --service_account"),
        (["--labels=Team=x"], [], "--labels: Team=x"),
        (["--labels=team"], [], "'team' is not a label; write KEY=VALUE"),
        (["--timeout_secs=9999999"], [], "write 1 to 604800 seconds"),
        (["--nfs=10.0.0.2:/x:/elsewhere"], [], "SERVER:/PATH:/mnt/nfs/POINT"),
        (["--nfs=10.0.0.2:/x:/mnt/nfs/x"], [], "through your own network; set --network"),
        (["--workers=2"], [], "2 worker(s) and no parameter server"),
        (["--workers=2"], ["--strategy=mirrored"], "runs on one machine and the cluster has 2"),
        (["--workers=1", "--ps=1"], ["--strategy=multi_worker_mirrored"], "does not use the 1"),
        ([], ["--strategy=parameter_server"], "this job is one process"),
        ([], ["--strategy=tpu"], "TPU runtime"),
        (["--workers=1", "--ps=1"], [], "--ps=1: parameter servers write parts of a checkpoint"),
        (["--machine=g2-standard-48"], [], "uses only one accelerator of each machine"),
        ([], ["--batchsize=3"], "--batchsize: no such flag; did you mean --batch_size?"),
        ([], ["--batch_size=none"], "--train.batch_size"),
        ([], ["--hparams=censsus"], "did you mean census?"),
        ([], ["--train_data=data/train.csv"], "is on this machine, where the job cannot read it"),
        ([], ["--train_data=gs://x/y"], "'x' is no name of a bucket"),
        ([], ["--fresh=gs://a-bucket/census"], "--fresh: a restarted process would delete"),
        ([], ["--job_dir=/tmp/x"], "--job_dir=/tmp/x: is deleted with the container"),
        ([], ["--job_dir=gs://Bad_b/x"], "'Bad_b' is no name of a bucket"),
        (["--evaluator"], ["--job_dir=/gcs/a-bucket/x"], "write gs://a-bucket/x"),
        ([], ["--train_data=/mnt/nfs/x/y.csv"], "is not mounted; add --nfs"),
        ([], ["--warm_start=gs://B/x"], "'B' is no name of a bucket"),
        (["--restart_job", "--disable_retries"], [], "remove one of them"),
        (["--tuning=censsus"], [], "did you mean census?"),
        (["--as=2.30"], [], "--as: no such TensorFlow to run as: '2.30'"),
        (["--tuning=census"], ["--dropout=0.1"], "dropout is in the search space and also given"),
        (["--nmae=x"], [], "did you mean --name?"),
        (["--name=a\nserviceAccount: b"], [], "contains a character that cannot be printed"),
    ],
)  # fmt: skip
def test_invalid_requests_print_one_line(tmp_path, capsys, words, task, message):
    path = tmp_path / "job.yaml"
    assert vertex.main(keep_last([*BASE, f"--output={path}", *words, *TASK, *task])) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and message in line
    assert not path.exists()


def test_a_mount_of_the_bucket_serves_one_machine(tmp_path):
    path = _render(tmp_path, task=["--job_dir=/gcs/a-bucket/x"])
    assert "--job_dir=/gcs/a-bucket/x" in path.read_text()


def test_files_needed_in_the_container_are_reported(tmp_path, capsys, make):
    schema = make.yaml(tmp_path / "own.yaml", make.schema_values())
    account = "--service_account=trainer@project.iam.gserviceaccount.com"
    _render(tmp_path, account, task=[f"--data.schema_file={schema}"])
    assert capsys.readouterr().err == (
        f"note: --data.schema_file={schema} is read in the container: it must exist there, under "
        "this path\n"
    )


def test_render_prints_no_messages_of_tensorflow(run_module):
    # In a process of its own: what TensorFlow writes while it loads is not seen otherwise.
    words = [*BASE, "--output=/no/such/folder/job.yaml", "--workers=1"]
    done = run_module("trainer.vertex", *words, *TASK, "--strategy=multi_worker_mirrored")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: --output=/no/such/folder/job.yaml")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"metric": None}, "metric: not given"),
        ({"goal": "best"}, "write maximize or minimize"),
        ({"parameters": {}}, "parameters: none given"),
        ({"parameters": {"learning_rat": [1, 2]}}, "did you mean learning_rate?"),
        ({"parameters": {"learning_rate": 3}}, "write {min: .., max: ..}"),
        ({"parameters": {"learning_rate": {"min": 1, "max": 0}}}, "min 1 is not below max 0"),
        ({"parameters": {"learning_rate": {"min": 0, "max": 1, "scale": "log"}}}, "above 0"),
        ({"parameters": {"learning_rate": {"min": 0, "max": 1, "step": 1}}}, "no key 'step'"),
        ({"parameters": {"learning_rate": {"min": "a", "max": 1}}}, "min: got 'a'"),
        ({"parameters": {"batch_size": {"min": 0.5, "max": 2}}}, "would fail"),
        ({"parameters": {"batch_size": {"min": 0.5, "max": 2, "integer": True}}}, "whole numbers"),
        ({"parameters": {"optimizer": ["adam", "adamm"]}}, "would fail"),
        ({"algorithm": "best"}, "write random or grid"),
        ({"max_trials": 0}, "max_trials: got 0"),
        ({"parallel_trials": 9}, "lower it to 4"),
        ({"trials": 9}, "no key 'trials'"),
    ],
)
def test_invalid_search_spaces_print_one_line(tmp_path, capsys, make, change, message):
    space = {
        "metric": "auc",
        "goal": "maximize",
        "max_trials": 4,
        "parameters": {"learning_rate": {"min": "1e-3", "max": 0.1, "scale": "log"}},
    }
    path = make.yaml(tmp_path / "space.yaml", {**space, **change})
    assert vertex.main([*BASE, f"--tuning={path}", *TASK]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and str(path) in line


def test_every_machine_with_built_in_accelerators_is_accepted():
    for name, (accelerator, count) in BUILT_IN.items():
        assert parse_machine(name, "--machine") == Machine(name, accelerator, count)
        assert parse_machine(f"{name}:{accelerator}:{count}", "--machine").count == count
    # A family that nobody here has heard of is the service's to judge.
    assert parse_machine("z9-standard-8", "--machine").machine_type == "z9-standard-8"


def test_a_file_without_a_job_is_an_error(tmp_path):
    (tmp_path / "x.yaml").write_text("a: 1\n")
    with pytest.raises(UserError, match="not a job file, because workerPoolSpecs is missing"):
        jobs.read_job(str(tmp_path / "x.yaml"))
    with pytest.raises(UserError, match="No such file"):
        jobs.read_job(str(tmp_path / "y.yaml"))


@pytest.mark.parametrize(
    "first",
    ["# gcloud ai 'create", "# gcloud --max-trial-count=many", "# gcloud --display-name=\\"],
)
def test_a_damaged_first_line_of_a_job_is_an_error(tmp_path, first):
    path = _render(tmp_path)
    rest = path.read_text().partition("\n")[2]
    path.write_text(f"{first}\n{rest}")
    with pytest.raises(UserError, match="the first line is not the gcloud command") as caught:
        jobs.read_job(str(path))
    assert "\n" not in str(caught.value)


def test_the_name_of_the_file_stays_in_the_comment(tmp_path, capsys):
    path = tmp_path / "job\nserviceAccount: b\n.yaml"
    assert vertex.main([*BASE, f"--output={path}", *TASK]) == 2
    assert "name another file" in capsys.readouterr().err and not path.exists()


def test_unknown_fields_of_the_service_are_an_error(tmp_path, aiplatform):
    path = _render(tmp_path)
    path.write_text(path.read_text() + "tensorboad: x\n")
    with pytest.raises(UserError, match="not a valid CustomJob of Vertex AI: .*tensorboad"):
        parse_resource(jobs.read_job(str(path)))
