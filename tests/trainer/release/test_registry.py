"""The model registry agrees with a folder of versions, whenever a registration was interrupted."""

import itertools

import pytest
from local_service import run_service

from trainer.release import push_command
from trainer.release.pushing import Deployment, Request
from trainer.release.state import Entry

pytestmark = [pytest.mark.quick, pytest.mark.newest]
LOCATION = "projects/a-project/locations/europe-west4"
IMAGE = "us-docker.pkg.dev/vertex-ai/prediction/tf2-cpu.2-15:latest"
PLACE = "gs://a-bucket/models/shop"
FLAGS = [f"--to={PLACE}", f"--register={LOCATION}", f"--serving_image={IMAGE}"]


class Models:
    """A ModelService with one model, whose aliases each belong to one version."""

    def __init__(self, types):
        self.types, self.versions, self.requests, self.fails_at = types, [], 0, None

    def _count(self, context):
        import grpc

        self.requests += 1
        if self.requests == self.fails_at:
            context.abort(grpc.StatusCode.UNAVAILABLE, "away")

    def list(self, request, context):
        import grpc

        if not self.versions:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such model")
        assert request.name == f"{LOCATION}/models/shop"
        return self.types.ListModelVersionsResponse(models=self.versions)

    def upload(self, request, context):
        from google.longrunning import operations_pb2

        self._count(context)
        assert bool(request.parent_model) == bool(self.versions)
        model, number = request.model, str(len(self.versions) + 1)
        model.name, model.version_id = f"{LOCATION}/models/shop", number
        if not self.versions:
            model.version_aliases.append("default")
        self.versions.append(model)
        answer = self.types.UploadModelResponse(model=model.name, model_version_id=number)
        operation = operations_pb2.Operation(name="projects/1/operations/2", done=True)
        operation.response.Pack(type(answer).pb(answer))
        return operation

    def merge(self, request, context):
        self._count(context)
        number = request.name.rpartition("@")[2]
        (mine,) = (one for one in self.versions if one.version_id == number)
        for alias in request.version_aliases:
            assert alias != "-default"
            owner = next((one for one in self.versions if alias in one.version_aliases), None)
            if alias.startswith("-"):
                mine.version_aliases.remove(alias[1:])
            else:
                # The default moves; other names must have been taken from their owner.
                assert owner is None or alias == "default"
                if owner is not None:
                    owner.version_aliases.remove(alias)
                mine.version_aliases.append(alias)
        return mine

    def read(self):
        return {one.artifact_uri: sorted(one.version_aliases) for one in self.versions}


@pytest.fixture
def models():
    types = pytest.importorskip("google.cloud.aiplatform_v1")
    made = Models(types)
    methods = {
        "ListModelVersions": (types.ListModelVersionsRequest, made.list),
        "UploadModel": (types.UploadModelRequest, made.upload),
        "MergeVersionAliases": (types.MergeVersionAliasesRequest, made.merge),
    }
    with run_service("google.cloud.aiplatform.v1.ModelService", methods) as address:
        made.flag = f"--api_endpoint={address}"
        yield made


@pytest.fixture
def push(cloud, tmp_path):
    """push(label) → the version of another export in the bucket."""
    export = tmp_path / "export"
    export.mkdir()
    (export / "saved_model.pb").write_text("graph")
    contents = map(str, itertools.count())

    def run(label="stable"):
        values = {"fingerprint": next(contents), "verdict": "blessed", "reason": "a test"}
        entry = Entry(export=str(export), **values)
        return Deployment(PLACE).push(Request(export, entry, label))

    return run


@pytest.mark.long
def test_labels_become_aliases(models, push, capsys):
    push()
    push("canary")
    assert push_command.main([*FLAGS, models.flag]) == 0
    assert models.read() == {
        f"{PLACE}/1": ["default", "push-1", "stable"],
        f"{PLACE}/2": ["canary", "push-2"],
    }
    (first, _) = models.versions
    assert first.container_spec.image_uri == IMAGE
    assert first.version_description == "blessed: a test"
    assert push_command.main([*FLAGS, models.flag, "--promote"]) == 0
    assert models.read() == {
        f"{PLACE}/1": ["push-1"],
        f"{PLACE}/2": ["default", "push-2", "stable"],
    }
    assert push_command.main([*FLAGS, models.flag, "--rollback"]) == 0
    assert models.read()[f"{PLACE}/1"] == ["default", "push-1", "stable"]
    before = models.requests
    assert push_command.main([*FLAGS, models.flag]) == 0
    assert models.requests == before
    assert "is stable" in capsys.readouterr().out


@pytest.mark.long
def test_an_interrupted_registration_is_completed_by_the_next(models, push):
    push()
    push("canary")
    Deployment(PLACE).promote()
    push("canary")
    assert push_command.main([*FLAGS, models.flag]) == 0
    wanted, count = models.read(), models.requests
    for step in range(1, count + 1):
        models.versions, models.requests, models.fails_at = [], 0, step
        assert push_command.main([*FLAGS, models.flag]) == 75
        models.fails_at = None
        assert push_command.main([*FLAGS, models.flag]) == 0
        assert models.read() == wanted
    assert count >= 4


def test_a_rehearsal_needs_no_credentials(push, capsys, monkeypatch):
    pytest.importorskip("google.cloud.aiplatform_v1")
    push()
    assert push_command.main([*FLAGS, "--rehearse"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"rehearsal: {LOCATION}/models/shop@1: uploaded {PLACE}/1"
    assert second == f"rehearsal: {PLACE}/1: is stable"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--to=served", *FLAGS[1:]], "--to=served: the registry reads only buckets"),
        ([FLAGS[0], "--register=a-project", FLAGS[2]], "--register=a-project: write projects/"),
        (FLAGS[:2], "--serving_image: not given; write the image"),
        ([FLAGS[0], "--rehearse", "--list"], "--rehearse: has no effect"),
        ([*FLAGS, "--promote", "--rollback"], "--rollback and --promote are given; give one"),
    ],
)
def test_wrong_options_print_one_line(flags, message, capsys):
    assert push_command.main(flags) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
