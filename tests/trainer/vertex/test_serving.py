"""Endpoints, batch predictions and schedules, with a local server that implements the service."""

import json
import shlex

import pytest
import yaml
from local_service import run_service

from trainer.vertex import __main__ as vertex
from trainer.vertex import program

pytestmark = [pytest.mark.quick, pytest.mark.newest]
MODEL = "projects/a-project/locations/europe-west4/models/shop"
PREDICT = [
    "predict", "--name=score", f"--model={MODEL}@stable", "--data=gs://a-bucket/new/*.jsonl",
    "--output=gs://a-bucket/predictions",
]  # fmt: skip


@pytest.fixture
def types():
    return pytest.importorskip("google.cloud.aiplatform_v1")


def _end(result):
    """A long-running operation that has ended."""
    from google.longrunning import operations_pb2

    operation = operations_pb2.Operation(name="projects/1/operations/2", done=True)
    operation.response.Pack(type(result).pb(result))
    return operation


class Endpoints:
    """An EndpointService with at most one endpoint; it can be made to fail at a request."""

    def __init__(self, types):
        self.types, self.endpoint, self.log, self.fails_at = types, None, [], None

    def _note(self, context, line):
        import grpc

        self.log.append(line)
        if len(self.log) == self.fails_at:
            context.abort(grpc.StatusCode.UNAVAILABLE, "away")

    def get(self, request, context):
        import grpc

        if self.endpoint is None or self.endpoint.name != request.name:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such endpoint")
        return self.endpoint

    def create(self, request, context):
        self._note(context, f"create {request.endpoint_id}")
        self.endpoint = request.endpoint
        self.endpoint.name = f"{request.parent}/endpoints/{request.endpoint_id}"
        return _end(self.endpoint)

    def deploy(self, request, context):
        self._note(context, f"deploy {request.deployed_model.id}")
        assert request.endpoint == self.endpoint.name and not request.traffic_split
        self.endpoint.deployed_models.append(request.deployed_model)
        return _end(self.types.DeployModelResponse(deployed_model=request.deployed_model))

    def undeploy(self, request, context):
        self._note(context, f"undeploy {request.deployed_model_id}")
        left = [one for one in self.endpoint.deployed_models if one.id != request.deployed_model_id]
        self.endpoint.deployed_models = left
        return _end(self.types.UndeployModelResponse())

    def update(self, request, context):
        split = dict(request.endpoint.traffic_split)
        self._note(context, f"traffic {split}")
        assert list(request.update_mask.paths) == ["traffic_split"] and sum(split.values()) == 100
        assert set(split) <= {one.id for one in self.endpoint.deployed_models}
        self.endpoint.traffic_split = split
        return self.endpoint


@pytest.fixture
def service(types):
    made = Endpoints(types)
    methods = {
        "GetEndpoint": (types.GetEndpointRequest, made.get),
        "CreateEndpoint": (types.CreateEndpointRequest, made.create),
        "DeployModel": (types.DeployModelRequest, made.deploy),
        "UndeployModel": (types.UndeployModelRequest, made.undeploy),
        "UpdateEndpoint": (types.UpdateEndpointRequest, made.update),
    }
    with run_service("google.cloud.aiplatform.v1.EndpointService", methods) as made.address:
        yield made


def _write(path, split, **more):
    models = [{"id": number, "model": f"{MODEL}@push-{number}"} for number in split]
    value = {"displayName": "shop", "deployedModels": models, "trafficSplit": split, **more}
    path.write_text(yaml.safe_dump(value))
    return f"--deployment={path}"


@pytest.mark.long
def test_an_endpoint_is_made_to_agree_with_a_file(service, tmp_path, capsys):
    base = ["--project=a-project", "--region=europe-west4", f"--api_endpoint={service.address}"]
    logged = {"enabled": True, "samplingRate": 0.1}
    file = _write(
        tmp_path / "e.yaml", {"7": 90, "8": 10}, predictRequestResponseLoggingConfig=logged
    )
    # It is interrupted before each request in turn, and the same command completes it.
    for fails_at in (1, 2, 3, 4):
        service.endpoint, service.log, service.fails_at = None, [], fails_at
        assert vertex.main(["deploy", file, *base]) == 75
        assert vertex.main(["deploy", file, *base]) == 0
        assert dict(service.endpoint.traffic_split) == {"7": 90, "8": 10}
        assert [one.id for one in service.endpoint.deployed_models] == ["7", "8"]
    config = service.endpoint.predict_request_response_logging_config
    assert config.enabled and round(config.sampling_rate, 3) == 0.1
    name = capsys.readouterr().out.splitlines()[-1]
    assert name == "projects/a-project/locations/europe-west4/endpoints/shop"
    # The canary becomes stable: its traffic comes before the other one is taken away.
    service.log = []
    assert vertex.main(["deploy", _write(tmp_path / "e.yaml", {"8": 100}), *base]) == 0
    assert service.log == ["traffic {'8': 100}", "undeploy 7"]
    service.log = []
    assert vertex.main(["deploy", _write(tmp_path / "e.yaml", {"8": 100}), *base]) == 0
    assert not service.log


def test_a_wrong_file_prints_one_line(tmp_path, capsys, types):
    file = _write(tmp_path / "e.yaml", {"7": 100}, trafic={})
    assert vertex.main(["deploy", file, "--project=p"]) == 2
    (tmp_path / "e.yaml").write_text("displayName: shop")
    assert vertex.main(["deploy", file, "--project=p"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "not a valid Endpoint of Vertex AI" in first
    assert "displayName or deployedModels is missing" in second


def test_a_batch_prediction_fits_the_type_of_the_service(types, tmp_path, capsys):
    from google.protobuf import json_format

    path = tmp_path / "batch.json"
    machine = ["--machine=g2-standard-8", "--replicas=2,20", "--batch_size=64"]
    assert vertex.main([*PREDICT, *machine, f"--write={path}"]) == 0
    job = types.BatchPredictionJob()
    json_format.ParseDict(json.loads(path.read_text()), types.BatchPredictionJob.pb(job))
    assert job.model == f"{MODEL}@stable" and job.input_config.instances_format == "jsonl"
    assert list(job.input_config.gcs_source.uris) == ["gs://a-bucket/new/*.jsonl"]
    machine = job.dedicated_resources
    assert machine.machine_spec.accelerator_count == 1
    assert (machine.starting_replica_count, machine.max_replica_count) == (2, 20)


def test_a_batch_prediction_is_sent_and_followed(types, capsys):
    made, states = [], ["PENDING", "RUNNING", "SUCCEEDED"]

    def create(request, context):
        made.append(request.batch_prediction_job)
        made[0].name = f"{request.parent}/batchPredictionJobs/5"
        return made[0]

    def get(request, context):
        assert request.name == made[0].name
        made[0].state = types.JobState[f"JOB_STATE_{states.pop(0)}"]
        return made[0]

    methods = {
        "CreateBatchPredictionJob": (types.CreateBatchPredictionJobRequest, create),
        "GetBatchPredictionJob": (types.GetBatchPredictionJobRequest, get),
    }
    with run_service("google.cloud.aiplatform.v1.JobService", methods) as address:
        flags = ["--submit", "--stream", "--poll_secs=0.01", f"--api_endpoint={address}"]
        assert vertex.main([*PREDICT, *flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "projects/a-project/locations/europe-west4/batchPredictionJobs/5"
    assert "/batch-predictions/5?project=a-project" in lines[1]
    assert [line.split()[1] for line in lines[2:]] == ["pending", "running", "succeeded"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model=shop"], "--model=shop: write projects/"),
        (["--data=gs://a-bucket/x.csv"], "trainer.kubernetes render --command=predict"),
        (["--data=gs://a-bucket/x.jsonl,gs://a-bucket/x.tfrecord"], "one format per job"),
        (["--data=new.jsonl"], "is not written gs://"),
        (["--replicas=10"], "--replicas=10: write MINIMUM,MAXIMUM"),
        (["--replicas=3,2"], "--replicas=3,2: write START,MAXIMUM"),
        (["--machine=n1-standard-7"], "--machine=n1-standard-7: no such machine type"),
    ],
)
def test_invalid_batch_predictions_print_one_line(words, message, capsys):
    names = [word.partition("=")[0] for word in words]
    argv = [word for word in PREDICT if word.partition("=")[0] not in names]
    assert vertex.main([*argv, *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_the_watch_runs_by_the_clock(types, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    watch = ["--export=gs://a-bucket/served/7", "--requests=gs://a-bucket/logs/*"]
    render = [
        "render", "--command=watch", "--name=watch", "--image=gcr.io/a-project/trainer:1",
        "--region=europe-west4", "--service_account=run@a-project.iam.gserviceaccount.com",
        "--output=watch.yaml", "--",
    ]  # fmt: skip
    assert vertex.main([*render, *watch, "--state=watch"]) == 2
    assert vertex.main([*render, *watch, "--stat=gs://a-bucket/watch"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert "--state=watch: is deleted with the container" in first and "--stat" in second
    assert vertex.main([*render, *watch, "--state=gs://a-bucket/watch"]) == 0
    capsys.readouterr()
    schedule = [
        "schedule", "--job=watch.yaml", "--project=a-project", "--body=body.json",
        "--service_account=start@a-project.iam.gserviceaccount.com",
    ]  # fmt: skip
    assert vertex.main([*schedule, "--schedule=every night"]) == 2
    assert "--schedule=every night: write minute" in capsys.readouterr().err
    assert not (tmp_path / "body.json").exists()
    assert vertex.main([*schedule, "--schedule=0 6 * * *"]) == 0
    words = shlex.split(capsys.readouterr().out.partition(": ")[2])
    assert words[:6] == ["gcloud", "scheduler", "jobs", "create", "http", "watch"]
    address = "https://europe-west4-aiplatform.googleapis.com/v1/projects/a-project/locations"
    assert f"--uri={address}/europe-west4/customJobs" in words and "--schedule=0 6 * * *" in words
    assert "--message-body-from-file=body.json" in words
    from google.protobuf import json_format

    job = types.CustomJob()
    json_format.ParseDict(json.loads((tmp_path / "body.json").read_text()), types.CustomJob.pb(job))
    (pool,) = job.job_spec.worker_pool_specs
    assert list(pool.container_spec.command) == [*program.START, "trainer.watch"]
    assert pool.container_spec.args[-1] == "--state=gs://a-bucket/watch"
