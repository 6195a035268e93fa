"""What runs TensorFlow Serving itself is rendered, and fits the types of Kubernetes."""

import inspect
import json
import shlex
from types import SimpleNamespace

import pytest
import yaml

from trainer.release.pushing import Deployment, Request
from trainer.release.state import Entry
from trainer.serving import command

pytestmark = [pytest.mark.quick, pytest.mark.newest]
KINDS = {
    "Deployment": "V1Deployment",
    "Service": "V1Service",
    "HorizontalPodAutoscaler": "V2HorizontalPodAutoscaler",
    "PodDisruptionBudget": "V1PodDisruptionBudget",
}


@pytest.fixture
def folder(tmp_path):
    """A folder with a pushed version, as the server sees it in /models/shop."""
    export = tmp_path / "export"
    (export / "assets.extra").mkdir(parents=True)
    (export / "saved_model.pb").write_text("graph")
    (export / "assets.extra/sandbox.json").write_text(json.dumps({"peak_mib": 700}))
    entry = Entry(export=str(export), fingerprint="x", verdict="blessed")
    request = Request(export, entry, name="shop", base_path="/models/shop")
    Deployment(str(tmp_path / "served")).push(request)
    return str(tmp_path / "served")


def test_kubernetes_manifests_fit_the_types_of_the_client(folder, tmp_path):
    client = pytest.importorskip("kubernetes.client")
    api, output = client.ApiClient(), tmp_path / "serving.yaml"
    flags = ["--render=kubernetes", "--volume=models:/models", f"--output={output}"]
    assert command.main([folder, *flags, "--namespace=ml", "--replicas=3,7"]) == 0
    made = {}
    for value in yaml.safe_load_all(output.read_text()):
        kind, text = KINDS[value["kind"]], json.dumps(value)
        if "content_type" in inspect.signature(api.deserialize).parameters:
            read = api.deserialize(text, kind, "application/json")
        else:
            read = api.deserialize(SimpleNamespace(data=text), kind)
        # What its type does not know is left out on the way back.
        assert api.sanitize_for_serialization(read) == value
        assert read.metadata.namespace == "ml" and read.metadata.name == "shop"
        made[value["kind"]] = read
    assert set(made) == set(KINDS)
    pod = made["Deployment"].spec.template
    container = pod.spec.containers[0]
    assert made["Service"].spec.selector.items() <= pod.metadata.labels.items()
    assert "--model_config_file=/models/shop/models.config" in container.args
    assert container.readiness_probe.http_get.path == "/v1/models/shop/labels/stable/metadata"
    # The stable version, and one that is being loaded.
    assert container.resources.limits == {"memory": "1536Mi"}
    assert container.volume_mounts[-1].read_only and pod.spec.security_context.run_as_user
    scaled = made["HorizontalPodAutoscaler"].spec
    assert (scaled.min_replicas, scaled.max_replicas) == (3, 7)
    assert scaled.scale_target_ref.name == made["Deployment"].metadata.name


# Fields of a route's rule and of a backend, gateway.networking.k8s.io/v1, after its reference.
RULE = {"name", "matches", "filters", "backendRefs", "timeouts", "retry", "sessionPersistence"}
BACKEND = {"group", "kind", "name", "namespace", "port", "weight", "filters"}


def test_the_canary_gets_a_share_of_the_requests(folder, tmp_path):
    client = pytest.importorskip("kubernetes.client")
    api, output = client.ApiClient(), tmp_path / "serving.yaml"
    flags = ["--render=kubernetes", "--volume=models:/models", f"--output={output}"]
    assert command.main([folder, *flags, "--canary=10", "--gateway=public"]) == 0
    documents = list(yaml.safe_load_all(output.read_text()))
    routes = [one for one in documents if one["kind"] in ("HTTPRoute", "GRPCRoute")]
    deployments = [
        api._ApiClient__deserialize(one, "V1Deployment")
        for one in documents
        if one["kind"] == "Deployment"
    ]
    configs = {}
    for made in deployments:
        (container,) = made.spec.template.spec.containers
        (configs[made.metadata.name],) = (
            word for word in container.args if word.startswith("--model_config_file=")
        )
        # An answer without a label or a version comes from the only one that is loaded.
        assert container.readiness_probe.http_get.path == "/v1/models/shop/metadata"
        assert container.resources.limits == {"memory": "1536Mi"}
    assert configs == {
        "shop": "--model_config_file=/models/shop/models-stable.config",
        "shop-canary": "--model_config_file=/models/shop/models-canary.config",
    }
    services = {one["metadata"]["name"] for one in documents if one["kind"] == "Service"}
    for route, port in zip(routes, (8501, 8500)):
        assert route["apiVersion"] == "gateway.networking.k8s.io/v1"
        assert route["spec"]["parentRefs"] == [{"name": "public"}]
        (rule,) = route["spec"]["rules"]
        assert set(rule) <= RULE
        backends = rule["backendRefs"]
        assert [(one["name"], one["weight"]) for one in backends] == [
            ("shop", 90),
            ("shop-canary", 10),
        ]
        assert all(set(one) <= BACKEND and one["port"] == port for one in backends)
        assert {one["name"] for one in backends} == services


def test_an_endpoint_fits_the_type_of_the_service(folder, tmp_path, capsys):
    types = pytest.importorskip("google.cloud.aiplatform_v1")
    from google.protobuf import json_format

    output, location = tmp_path / "endpoint.yaml", "projects/a-project/locations/europe-west4"
    flags = ["--render=vertex", f"--registry={location}", "--machine=n1-standard-4"]
    flags += ["--log_table=bq://a-project.logs.shop", "--sampling_rate=0.1", "--replicas=3,7"]
    assert command.main([folder, *flags, "--canary=10"]) == 2
    assert "has no canary" in capsys.readouterr().err
    entry = Entry(export="x", fingerprint="x", verdict="blessed")
    Deployment(folder).push(Request(tmp_path / "export", entry, label="canary"))
    assert command.main([folder, *flags, "--canary=10", f"--output={output}"]) == 0
    made = types.Endpoint()
    json_format.ParseDict(yaml.safe_load(output.read_text()), types.Endpoint.pb(made))
    assert made.display_name == "shop" and dict(made.traffic_split) == {"1": 90, "2": 10}
    stable, canary = made.deployed_models
    assert (stable.id, stable.model) == ("1", f"{location}/models/shop@push-1")
    assert (canary.id, canary.model) == ("2", f"{location}/models/shop@push-2")
    machine = stable.dedicated_resources
    assert machine.machine_spec.machine_type == "n1-standard-4"
    assert (machine.min_replica_count, machine.max_replica_count) == (3, 7)
    logged = made.predict_request_response_logging_config
    assert logged.enabled and logged.bigquery_destination.output_uri == "bq://a-project.logs.shop"
    for wrong, message in (
        (["--registry=a-project"], "--registry=a-project: write projects/"),
        (["--machine=huge"], "--machine=huge: no such machine type"),
        (["--log_table=logs"], "--log_table=logs: write bq://"),
        (["--replicas=0,1"], "--replicas=0,1: write MINIMUM,MAXIMUM"),
    ):
        name = wrong[0].partition("=")[0]
        kept = [flag for flag in flags if flag.partition("=")[0] != name]
        assert command.main([folder, *kept, *wrong]) == 2
        assert message in capsys.readouterr().err


def test_docker_mounts_the_folder_where_models_config_expects_it(folder, capsys):
    assert command.main([folder, "--render=docker", "--image=tensorflow/serving:2.19.1"]) == 0
    words = shlex.split(capsys.readouterr().out)
    assert f"--volume={folder}:/models/shop:ro" in words
    place = words.index("tensorflow/serving:2.19.1")
    assert words[place + 1 :] == [
        "--port=8500",
        "--rest_api_port=8501",
        "--model_config_file=/models/shop/models.config",
        "--model_config_file_poll_wait_seconds=10",
        "--allow_version_labels_for_unavailable_models",
    ]


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ([], "--volume: the models are in /models/shop"),
        (["--volume=models:/other"], "which is not in /other"),
        (["--volume=models"], "write CLAIM:/PATH"),
        (["--volume=models:/models", "--replicas=3"], "MINIMUM,MAXIMUM"),
        (["--volume=models:/models", "--replicas=3,2"], "--replicas=3,2: write MINIMUM,MAXIMUM"),
        (["--volume=models:/models", "--memory=much"], "write a quantity"),
        (["--volume=models:/models", "--canary=10"], "--canary and --gateway: give both"),
    ],
)
def test_wrong_options_are_named(folder, flags, reason, capsys):
    assert command.main([folder, "--render=kubernetes", *flags]) == 2
    error = capsys.readouterr().err
    assert reason in error and len(error.splitlines()) == 1


def test_without_a_stable_version_or_a_measurement_nothing_is_rendered(folder, tmp_path, capsys):
    assert command.main([str(tmp_path), "--render=docker"]) == 2
    assert "no version is stable" in capsys.readouterr().err
    (tmp_path / "served/1/assets.extra/sandbox.json").unlink()
    flags = ["--render=kubernetes", "--volume=models:/models"]
    assert command.main([folder, *flags]) == 2
    assert "has no measurement" in capsys.readouterr().err
    assert command.main([folder, *flags, "--memory=2Gi"]) == 0
