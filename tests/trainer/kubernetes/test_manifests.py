import inspect
import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from repeated_flags import keep_last

from trainer.environment.cluster_spec import parse_cluster
from trainer.kubernetes import manifests

pytestmark = pytest.mark.newest

BASE = ["render", "--name=census", "--image=example.com/trainer:1"]
TASK = ["--", "--hparams=census", "--job_dir=gs://a-bucket/jobs/census"]
CLUSTER = ["--workers=2", "--evaluator"]
IN_STEP = ["--strategy=multi_worker_mirrored"]
# Fields of a TFJob, kubeflow.org/v1, after the operator's reference.
RUN_POLICY = {
    "cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit",
    "schedulingPolicy", "suspend", "managedBy",
}  # fmt: skip
# Fields of the network of a JobSet, jobset.x-k8s.io/v1alpha2, after its examples.
NETWORK = {"enableDNSHostnames", "subdomain", "publishNotReadyAddresses"}
REPLICAS = {"PS", "Worker", "Chief", "Master", "Evaluator"}


@pytest.fixture
def client():
    """kubernetes.client, with strict deserialisation of a manifest."""
    from estimator_bridge import tf

    if not tf.__version__.startswith(("2.15.", "2.21.")):
        pytest.importorskip("kubernetes")
    from kubernetes import client

    api = client.ApiClient()

    def read(value, kind):
        if "content_type" in inspect.signature(api.deserialize).parameters:
            made = api.deserialize(json.dumps(value), kind, "application/json")
        else:
            made = api.deserialize(SimpleNamespace(data=json.dumps(value)), kind)
        # What its type does not know is left out on the way back.
        assert api.sanitize_for_serialization(made) == value
        return made

    return read


SCHEMAS = json.loads((Path(__file__).parent / "schemas.json").read_text())
PLAIN = {"str": str, "int": int, "bool": bool, "datetime": str, "float": (int, float)}


def _list_faults(value, kind, where=""):
    """Yields what does not fit a type of the published schemas, one line each."""
    kind = kind.rstrip("!")
    outer, _, inner = kind.partition(":")
    if outer == "list":
        yield from (f"{where}: no list" for _ in range(not isinstance(value, list)))
        for number, one in enumerate(value):
            yield from _list_faults(one, inner, f"{where}[{number}]")
    elif outer == "map":
        for name, one in value.items():
            yield from _list_faults(one, inner, f"{where}.{name}")
    elif kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or kind == "int" and isinstance(value, bool):
            yield f"{where}: {value!r} is no {kind}"
    elif kind.endswith(("Quantity", "IntOrString")):
        yield from (f"{where}: {value!r}" for _ in range(not isinstance(value, (str, int))))
    else:
        fields = SCHEMAS[kind]
        yield from (f"{where}.{name}: unknown" for name in value.keys() - fields.keys())
        required = {name for name, field in fields.items() if field.endswith("!")}
        yield from (f"{where}.{name}: missing" for name in required - value.keys())
        for name in value.keys() & fields.keys():
            yield from _list_faults(value[name], fields[name], f"{where}.{name}")


def _render(tmp_path, *words, task=()):
    path = tmp_path / "job.yaml"
    assert manifests.main([*BASE, f"--output={path}", *words, *TASK, *task]) == 0
    text = path.read_text()
    assert "&id" not in text
    return list(yaml.safe_load_all(text))


def test_a_cluster_as_plain_jobs(tmp_path, client):
    policy, service, *jobs = _render(
        tmp_path, *CLUSTER, "--gpus=2", "--cpu=4", "--memory=8Gi", "--namespace=ml",
        "--service_account=trainer", "--volume=claim:/mnt/job", task=IN_STEP,
    )  # fmt: skip
    made = client(service, "V1Service")
    assert made.spec.cluster_ip == "None" and made.spec.publish_not_ready_addresses
    made = [client(job, "V1Job") for job in jobs]
    assert [job.metadata.name for job in made] == [
        "census-chief",
        "census-worker",
        "census-evaluator",
    ]
    chief, worker, evaluator = made
    assert worker.spec.completions == worker.spec.parallelism == 2
    pod = worker.spec.template
    assert pod.spec.subdomain == service["metadata"]["name"]
    assert service["spec"]["selector"].items() <= pod.metadata.labels.items()
    container = pod.spec.containers[0]
    assert container.resources.limits == {"memory": "8Gi", "nvidia.com/gpu": "2"}
    assert container.resources.requests == {"memory": "8Gi", "cpu": "4"}
    assert evaluator.spec.template.spec.containers[0].resources.limits == {"memory": "8Gi"}
    assert container.volume_mounts[-1].mount_path == "/mnt/job"
    admitted = client(policy, "V1NetworkPolicy").spec
    assert admitted.policy_types == ["Ingress"]
    (source,) = admitted.ingress[0]._from
    for selector in (source.pod_selector, admitted.pod_selector):
        assert selector.match_labels.items() <= pod.metadata.labels.items()
        assert selector.match_labels == {"estimator-trainer/job": "census"}
    rules = worker.spec.pod_failure_policy.rules
    # Status 75, a temporary error, is retried like a crash.
    assert rules[0].on_exit_codes.values == [2] and len(rules) == 2 and rules[1].action == "Ignore"


def test_each_pod_finds_its_place(tmp_path):
    _, _, *jobs = _render(tmp_path, *CLUSTER, task=IN_STEP)
    places = []
    for job in jobs:
        index, config = job["spec"]["template"]["spec"]["containers"][0]["env"]
        # A variable may use those that stand before it.
        assert index["name"] in config["value"]
        for number in range(job["spec"]["completions"]):
            text = config["value"].replace(f"$({index['name']})", str(number))
            cluster = parse_cluster({"TF_CONFIG": text})
            places.append(cluster.name)
            if cluster.role != "evaluator":
                # An Indexed Job names its pods so.
                host = f"{job['metadata']['name']}-{number}.census:2222"
                assert cluster.spec[cluster.role][cluster.index] == host
    assert places == ["chief-0", "worker-0", "worker-1", "evaluator-0"]


def test_one_process_needs_no_service(tmp_path, client):
    (job,) = _render(tmp_path)
    made = client(job, "V1Job")
    assert made.spec.template.spec.containers[0].env is None
    assert made.spec.template.spec.containers[0].args[0] == "--hparams=census"


@pytest.mark.parametrize("kind", ["jobs", "tfjob"])
def test_secrets_are_read_from_a_secret(tmp_path, client, kind):
    words = ["--evaluator", "--secret=keys", f"--kind={kind}"]
    text = json.dumps(_render(tmp_path, *words, task=["--secret.key=API_KEY"]))
    wanted = {"name": "API_KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "API_KEY"}}}
    assert text.count(json.dumps(wanted)) == 2 and text.count("--secret.key=API_KEY") == 2


def test_a_pod_has_no_right_that_training_does_not_need(tmp_path, client):
    (job,) = _render(tmp_path, "--disk=50Gi", "--deadline_secs=3600", "--ttl_secs=60")
    made = client(job, "V1Job").spec
    assert (made.active_deadline_seconds, made.ttl_seconds_after_finished) == (3600, 60)
    pod = made.template.spec
    assert pod.automount_service_account_token is False and pod.share_process_namespace
    assert pod.security_context.run_as_non_root and pod.security_context.fs_group == 1000
    assert pod.security_context.seccomp_profile.type == "RuntimeDefault"
    (container,) = pod.containers
    context = container.security_context
    assert context.allow_privilege_escalation is False and context.read_only_root_filesystem
    assert context.capabilities.drop == ["ALL"]
    assert container.resources.limits == {"ephemeral-storage": "50Gi"}
    mounts = {mount.name: mount.mount_path for mount in container.volume_mounts}
    assert mounts == {"tmp": "/tmp", "cache": "/home/trainer/.cache"}
    assert {volume.name for volume in pod.volumes if volume.empty_dir is not None} == {*mounts}


def test_the_printed_command_is_quoted_for_the_shell(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert manifests.main([*BASE, "--output=a b;id.yaml", *TASK]) == 0
    command = capsys.readouterr().out.strip().partition(": ")[2]
    assert shlex.split(command) == ["kubectl", "apply", "-f", "a b;id.yaml"]


def test_a_cluster_as_a_tfjob(tmp_path, client):
    words = ("--kind=tfjob", "--deadline_secs=3600", "--ttl_secs=60")
    policy, job = _render(tmp_path, *CLUSTER, *words, task=IN_STEP)
    assert policy["kind"] == "NetworkPolicy"
    assert job["spec"]["runPolicy"]["activeDeadlineSeconds"] == 3600
    assert (job["apiVersion"], job["kind"]) == ("kubeflow.org/v1", "TFJob")
    assert set(job["spec"]) <= {"runPolicy", "successPolicy", "enableDynamicWorker",
                                "tfReplicaSpecs"}  # fmt: skip
    assert set(job["spec"]["runPolicy"]) <= RUN_POLICY
    assert job["spec"]["runPolicy"]["cleanPodPolicy"] in ("None", "Running", "All")
    replicas = job["spec"]["tfReplicaSpecs"]
    assert {name: one["replicas"] for name, one in replicas.items()} == {
        "Chief": 1,
        "Worker": 2,
        "Evaluator": 1,
    }
    assert set(replicas) <= REPLICAS
    for one in replicas.values():
        assert set(one) == {"replicas", "restartPolicy", "template"}
        # With ExitCode, status 75, a temporary error, would end the job.
        assert one["restartPolicy"] == "OnFailure"
        pod = client(one["template"], "V1PodTemplateSpec")
        assert pod.spec.restart_policy is None
        (container,) = pod.spec.containers
        assert container.name == "tensorflow" and container.env is None
        assert (container.ports[0].name, container.ports[0].container_port) == ("tfjob-port", 2222)


def test_a_cluster_as_a_jobset(tmp_path, client):
    words = ("--kind=jobset", "--deadline_secs=3600", "--ttl_secs=60", "--namespace=ml")
    policy, made = _render(tmp_path, *CLUSTER, *words, task=IN_STEP)
    assert policy["kind"] == "NetworkPolicy"
    assert (made["apiVersion"], made["kind"]) == ("jobset.x-k8s.io/v1alpha2", "JobSet")
    assert made["metadata"]["namespace"] == "ml"
    # Fields of a JobSetSpec. Without a failure policy all Jobs end with the first that fails.
    assert set(made["spec"]) == {"network", "replicatedJobs", "ttlSecondsAfterFinished"}
    assert set(made["spec"]["network"]) == NETWORK
    places = []
    for one in made["spec"]["replicatedJobs"]:
        assert set(one) == {"name", "replicas", "template"} and one["replicas"] == 1
        job = client(one["template"], "V1JobTemplateSpec").spec
        assert job.active_deadline_seconds == 3600 and job.ttl_seconds_after_finished is None
        # The controller sets it.
        assert job.template.spec.subdomain is None
        index, config = job.template.spec.containers[0].env
        for number in range(job.completions):
            text = config.value.replace(f"$({index.name})", str(number))
            cluster = parse_cluster({"TF_CONFIG": text})
            places.append(cluster.name)
            if cluster.role != "evaluator":
                # As a JobSet names its pods: JobSet, Job, number of the Job, number of the pod.
                host = (
                    f"census-{one['name']}-0-{number}.{made['spec']['network']['subdomain']}:2222"
                )
                assert cluster.spec[cluster.role][cluster.index] == host
    assert places == ["chief-0", "worker-0", "worker-1", "evaluator-0"]


FULL = [
    "--kind={kind}", "--deadline_secs=3600", "--ttl_secs=60", "--namespace=ml", "--gpus=1",
    "--cpu=2", "--memory=4Gi", "--disk=9Gi", "--service_account=me", "--secret=keys",
    "--volume=claim:/mnt/data", "--node_selector=disk=ssd", "--toleration=spot:NoSchedule",
]  # fmt: skip
KEY = ["--secret.key=KEY"]


def test_every_field_is_in_the_published_schemas(tmp_path):
    def render(kind):
        words = [word.format(kind=kind) for word in FULL]
        return _render(tmp_path, *CLUSTER, *words, task=[*IN_STEP, *KEY])[1:]

    _, *jobs = render("jobs")
    assert [
        fault for job in jobs for fault in _list_faults(job["spec"], "IoK8sApiBatchV1JobSpec")
    ] == []
    (jobset,) = render("jobset")
    assert [*_list_faults(jobset, "JobsetV1alpha2JobSet")] == []
    runtime, job = render("trainjob")
    assert [*_list_faults(runtime, "TrainerV1alpha1TrainingRuntime")] == []
    assert [*_list_faults(job, "TrainerV1alpha1TrainJob")] == []
    (tfjob,) = render("tfjob")
    for one in tfjob["spec"]["tfReplicaSpecs"].values():
        assert [*_list_faults(one["template"], "IoK8sApiCoreV1PodTemplateSpec")] == []
    # The check finds a field of another place, a wrong type, and what is missing.
    jobset["spec"]["replicatedJobs"][0].update(parallelism=1, replicas="1")
    del jobset["spec"]["replicatedJobs"][0]["name"]
    assert len([*_list_faults(jobset, "JobsetV1alpha2JobSet")]) == 3


def test_a_cluster_as_a_trainjob(tmp_path):
    words = ("--deadline_secs=3600", "--ttl_secs=60", "--namespace=ml")
    policy, runtime, job = _render(tmp_path, *CLUSTER, *words, "--kind=trainjob", task=IN_STEP)
    assert policy["kind"] == "NetworkPolicy"
    assert [each["apiVersion"] for each in (runtime, job)] == ["trainer.kubeflow.org/v1alpha1"] * 2
    assert (runtime["kind"], job["kind"]) == ("TrainingRuntime", "TrainJob")
    # A TrainJob finds a runtime of its namespace; its controller names the JobSet as the TrainJob.
    assert runtime["metadata"] == job["metadata"]
    assert job["metadata"]["namespace"] == "ml"
    assert job["spec"]["runtimeRef"]["name"] == runtime["metadata"]["name"] == "census"
    _, jobset = _render(tmp_path, *CLUSTER, *words, "--kind=jobset", task=IN_STEP)
    assert runtime["spec"] == {"template": {"spec": jobset["spec"]}}
    # With this label, Kubeflow would set the number of pods.
    assert "trainjob-ancestor-step" not in json.dumps(runtime)


@pytest.mark.parametrize("kind", ["jobs", "jobset", "trainjob", "tfjob"])
def test_a_pod_that_stores_nothing_any_more_is_ended(tmp_path, kind):
    cache = tmp_path / "a 'cache'"
    documents = _render(tmp_path, f"--kind={kind}", task=[f"--storage.cache_dir={cache}"])
    probe = _find_probe(documents)
    health = cache / "jobs" / "census-0a" / "health.json"

    def check():
        return subprocess.run(probe["exec"]["command"], capture_output=True).returncode

    # The job is being fetched.
    assert check() == 0
    health.parent.mkdir(parents=True)
    health.write_text("{}")
    assert check() == 0
    os.utime(health, (time.time() - 3700,) * 2)
    assert check() == 1
    assert probe["timeoutSeconds"] < probe["periodSeconds"]
    assert "/home/trainer/.cache" in json.dumps(_find_probe(_render(tmp_path, f"--kind={kind}")))


def test_a_job_in_a_claim_has_no_health_file(tmp_path):
    words = ["--volume=claim:/mnt/job"]
    assert _find_probe(_render(tmp_path, *words, task=["--job_dir=/mnt/job/census"])) is None


def _find_probe(value):
    """Returns the first liveness probe in nested values; None without one."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and "livenessProbe" in value:
        return value["livenessProbe"]
    return next((probe for probe in map(_find_probe, inner) if probe is not None), None)


@pytest.mark.parametrize("kind", ["jobs", "jobset", "trainjob", "tfjob"])
def test_the_nodes_are_chosen(tmp_path, client, kind):
    words = [
        "--node_selector=cloud.google.com/gke-accelerator=nvidia-l4", "--node_selector=disk=",
        "--toleration=nvidia.com/gpu:NoSchedule", "--toleration=team=risk", "--toleration=spot",
    ]  # fmt: skip
    text = json.dumps(_render(tmp_path, *CLUSTER, *words, f"--kind={kind}", task=IN_STEP))
    selector = {"cloud.google.com/gke-accelerator": "nvidia-l4", "disk": ""}
    tolerations = [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "value": "risk"},
        {"key": "spot", "operator": "Exists"},
    ]
    # Of the chief, the workers and the evaluator.
    assert text.count(json.dumps(selector)) == text.count(json.dumps(tolerations)) == 3
    pod = client({"spec": {"containers": [], "tolerations": tolerations}}, "V1PodTemplateSpec")
    assert [one.key for one in pod.spec.tolerations] == ["nvidia.com/gpu", "team", "spot"]


def test_two_values_of_a_label_are_refused(capsys):
    words = ["--node_selector=a=1", "--node_selector=a=2"]
    assert manifests.main([*BASE, *words, *TASK]) == 2
    assert "a is given twice, and a node has only one value of a label" in capsys.readouterr().err


def test_files_of_this_machine_are_noted(tmp_path, capsys):
    task = ["--train_data=/data/train.csv", "--eval_data=gs://a-bucket/eval.csv"]
    _render(tmp_path, task=task)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("note: --data.train=/data/train.csv is read in the container")
    _render(tmp_path, "--volume=claim:/data", task=task)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "words, task, message",
    [
        (["--name=Census"], [], "lower-case letters, digits and -"),
        (["--name=census\n"], [], "--name=census\\n"),
        (["--image=a b"], [], "write REGISTRY/NAME:TAG"),
        (["--image=x:1\nkind: Pod"], [], "write REGISTRY/NAME:TAG"),
        (["--namespace=ml\n"], [], "--namespace=ml\\n"),
        (["--service_account=A"], [], "the name of a ServiceAccount"),
        (["--disk=-5Gi"], [], "--disk=-5Gi"),
        (["--volume=claim:/a:/b"], [], "write CLAIM:/PATH"),
        (["--memory=8 GB"], [], "a quantity such as 8Gi"),
        (["--memory=0Gi"], [], "a quantity such as 8Gi"),
        (["--memory=8K"], [], "a quantity such as 8Gi"),
        (["--cpu=4Gi"], [], "a quantity such as 4 or 500m"),
        (["--volume=claim"], [], "write CLAIM:/PATH"),
        (["--volume=claim:/tmp/"], ["--job_dir=/tmp/x"], "has a folder of its own there"),
        (["--volume=claim:/"], ["--job_dir=/x"], "has a folder of its own there"),
        (["--node_selector=gpu"], [], "--node_selector=gpu: write KEY=VALUE"),
        (["--toleration=gpu:Never"], [], "write KEY[=VALUE][:EFFECT]"),
        (["--workers=2"], [], "2 worker(s) and no parameter server"),
        (["--workers=1", "--ps=1"], [], "--ps=1: parameter servers write parts of a checkpoint"),
        ([], ["--job_dir=/tmp/x"], "is deleted with the container"),
        (["--volume=claim:/mnt/job"], ["--job_dir=/mnt/other"], "is deleted with the container"),
        ([], ["--job_dir=gs://Bad_Bucket/x"], "is no name of a bucket"),
        ([], ["--fresh=gs://a-bucket/x"], "--fresh: a restarted pod would delete"),
        (
            [],
            ["--secret.key=API_KEY"],
            "--secret.key: the pods read this variable from a Secret; name the Secret",
        ),
        ([], ["--batchsize=3"], "did you mean --batch_size?"),
        (["--kind=pods"], [], "--kind"),
        (["--worker=2"], [], "did you mean --workers?"),
    ],
)
def test_invalid_requests_print_one_line(tmp_path, capsys, words, task, message):
    path = tmp_path / "job.yaml"
    assert manifests.main(keep_last([*BASE, f"--output={path}", *words, *TASK, *task])) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and message in line
    assert not path.exists()
