"""Jobs in MLflow and in Vertex AI Experiments.

MLflow writes to a store of files. With TEST_MLFLOW=http://127.0.0.1:5000 in the environment, it
writes to the server there.
"""

import json
import os
import uuid

import pytest
import yaml

from tests.support.local_service import run_service
from trainer.config.commands import run
from trainer.history.command import main
from trainer.job_layout import CONFIG, INPUTS, METRICS, METRICS_LOG

pytestmark = [pytest.mark.newest, pytest.mark.quick]
STARTED = 1767225600000  # 2026-01-01T00:00:00Z


def _write(folder, name, steps, ended=True):
    """Writes the files of a job that was evaluated at some steps."""
    job_dir = folder / name
    job_dir.mkdir(parents=True, exist_ok=True)
    config = {"job_dir": str(job_dir), "train": {"learning_rate": 0.1}, "model": {"type": "dnn"}}
    (job_dir / CONFIG).write_text(yaml.safe_dump(config))
    data = {"fingerprint": "a" * 64, "rows": 10, "files": [["/data/train.csv"]]}
    inputs = {"started": "2026-01-01T00:00:00+00:00", "data": {"train": data}, "python": "3.13"}
    if ended:
        inputs.update(ended="2026-01-01T00:01:00+00:00", secs=60.0)
    (job_dir / INPUTS).write_text(json.dumps({"runs": [inputs]}))
    lines = [{"kind": "train", "step": 1, "loss": 0.7}]
    lines += [{"kind": "eval", "step": step, "auc": 0.8 + step / 1000} for step in steps]
    (job_dir / METRICS_LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))
    best = {"best": {"step": steps[-1], "auc": 0.8 + steps[-1] / 1000}, "best_metric": "auc"}
    (job_dir / METRICS).write_text(json.dumps(best))


@pytest.fixture
def jobs(tmp_path):
    _write(tmp_path / "jobs", "a", [10, 20])
    _write(tmp_path / "jobs", "b", [10], ended=False)
    return tmp_path / "jobs"


@pytest.fixture
def export(jobs, capsys):
    def call(*flags):
        status = run(main, ["export", f"--folder={jobs}", *flags])
        out = capsys.readouterr()
        return status, out.out.splitlines(), out.err.splitlines()

    return call


@pytest.mark.long
def test_mlflow_has_each_job_once_with_its_values(jobs, export, tmp_path, monkeypatch):
    pytest.importorskip("mlflow")
    from mlflow.tracking import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = os.environ.get("TEST_MLFLOW", (tmp_path / "store").as_uri())
    name = f"test {uuid.uuid4()}"
    flags = [f"--to={uri}", f"--experiment={name}"]
    assert export(*flags) == (
        0,
        ["exported  a", "exported  b", f"experiment {name}: 2 jobs"],
        [],
    )
    # The second job goes on; the first one has not changed.
    _write(jobs, "b", [10, 20, 30])
    assert export(*flags)[1][:2] == ["unchanged a", "exported  b"]
    assert export(*flags)[1][:2] == ["unchanged a", "unchanged b"]
    client = MlflowClient(uri)
    place = client.get_experiment_by_name(name).experiment_id
    found = {each.info.run_name: each for each in client.search_runs([place])}
    assert sorted(found) == ["a", "b"]
    for each, last in zip((found["a"], found["b"]), (20, 30)):
        assert (each.info.status, each.info.start_time) == ("FINISHED", STARTED)
        assert each.info.end_time == STARTED + 60_000
        assert each.data.params == {"train.learning_rate": "0.1", "model.type": "dnn"}
        assert each.data.tags["trainer.job"] == str(jobs / each.info.run_name)
        assert each.data.tags["trainer.data.train.fingerprint"] == "a" * 64
        history = client.get_metric_history(each.info.run_id, "auc")
        steps = list(range(10, last + 1, 10))
        assert [(one.step, one.value) for one in sorted(history, key=lambda one: one.step)] == [
            (step, 0.8 + step / 1000) for step in steps
        ]
        (loss,) = client.get_metric_history(each.info.run_id, "train/loss")
        assert (loss.step, loss.value) == (1, 0.7)


@pytest.mark.long
def test_a_server_that_does_not_answer_is_a_temporary_error(export, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    status, _, errors = export("--to=http://127.0.0.1:9")
    assert status == 75 and len(errors) == 1
    assert "--to=http://127.0.0.1:9: MLflow does not answer" in errors[0]


class Metadata:
    """A MetadataService with an empty project."""

    def __init__(self, types):
        self.types, self.contexts, self.children, self.store = types, {}, {}, None

    def get_store(self, request, context):
        import grpc

        if self.store is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such store")
        return self.types.MetadataStore(name=self.store)

    def create_store(self, request, context):
        from google.longrunning import operations_pb2

        self.store = f"{request.parent}/metadataStores/{request.metadata_store_id}"
        operation = operations_pb2.Operation(name="projects/1/operations/2", done=True)
        made = self.types.MetadataStore(name=self.store)
        operation.response.Pack(type(made).pb(made))
        return operation

    def get(self, request, context):
        import grpc

        if request.name not in self.contexts:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such context")
        return self.contexts[request.name]

    def create(self, request, context):
        assert request.parent == self.store and len(request.context_id) <= 128
        made = request.context
        made.name = f"{request.parent}/contexts/{request.context_id}"
        assert made.name not in self.contexts
        self.contexts[made.name] = made
        return made

    def update(self, request, context):
        assert list(request.update_mask.paths) == ["metadata"]
        made = self.contexts[request.context.name]
        made.metadata = request.context.metadata
        return made

    def add(self, request, context):
        self.children.setdefault(request.context, set()).update(request.child_contexts)
        return self.types.AddContextChildrenResponse()


@pytest.fixture
def metadata():
    types = pytest.importorskip("google.cloud.aiplatform_v1")
    made = Metadata(types)
    methods = {
        "GetMetadataStore": (types.GetMetadataStoreRequest, made.get_store),
        "CreateMetadataStore": (types.CreateMetadataStoreRequest, made.create_store),
        "GetContext": (types.GetContextRequest, made.get),
        "CreateContext": (types.CreateContextRequest, made.create),
        "UpdateContext": (types.UpdateContextRequest, made.update),
        "AddContextChildren": (types.AddContextChildrenRequest, made.add),
    }
    with run_service("google.cloud.aiplatform.v1.MetadataService", methods) as made.address:
        yield made


def test_vertex_has_each_job_once_as_a_run_of_the_experiment(jobs, export, metadata):
    flags = ["--to=projects/p/locations/r", f"--api_endpoint={metadata.address}"]
    assert export(*flags)[:2] == (0, ["exported  a", "exported  b", "experiment jobs: 2 jobs"])
    _write(jobs, "b", [10, 20, 30])
    assert export(*flags)[1][:2] == ["unchanged a", "exported  b"]
    assert export(*flags)[1][:2] == ["unchanged a", "unchanged b"]
    store = "projects/p/locations/r/metadataStores/default"
    experiment = metadata.contexts.pop(f"{store}/contexts/jobs")
    assert experiment.schema_title == "system.Experiment"
    assert metadata.children == {experiment.name: set(metadata.contexts)}
    assert len(metadata.contexts) == 2
    for each, name, auc in zip(metadata.contexts.values(), "ab", (0.82, 0.83)):
        # google.cloud.aiplatform shows what has these names (its metadata/constants.py).
        assert each.schema_title == "system.ExperimentRun"
        assert each.name == f"{store}/contexts/jobs-{each.display_name}"
        assert each.display_name.startswith(f"{name}-")
        assert each.metadata["_metrics"]["auc"] == pytest.approx(auc)
        assert each.metadata["_params"]["train.learning_rate"] == "0.1"
        assert each.metadata["_state"] == "COMPLETE"


@pytest.mark.parametrize(
    "flags, message",
    [
        ([], "--to: not given"),
        (["--to=somewhere"], "--to=somewhere: name the tracking URI of MLflow"),
        (["--to=projects/p/locations/r", "--experiment=My Jobs"], "--experiment=My Jobs: Vertex"),
    ],
)
def test_wrong_destinations_print_one_line(export, flags, message):
    status, _, (line,) = export(*flags)
    assert status == 2 and message in line
