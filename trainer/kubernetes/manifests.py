"""python -m trainer.kubernetes: writes the Kubernetes manifests that run a command.

  python -m trainer.kubernetes render --name=census --image=IMAGE --workers=2 \\
      --evaluator --output=census.yaml -- --hparams=census \\
      --strategy=multi_worker_mirrored --job_dir=gs://BUCKET/jobs/census \\
      --train_data=gs://... --eval_data=gs://...

The flags of the command that the pods run follow after --. render checks them and sends nothing to
the cluster; `kubectl apply -f census.yaml` does.

By default, the pods run trainer.task, as one process or as a cluster. --kind chooses the objects:

  jobs      an Indexed Job for each role, and a headless Service; needs only
            Kubernetes
  jobset    a JobSet with the same Jobs; if one of them fails, the others are
            stopped
  trainjob  a TrainJob of Kubeflow Trainer, which creates such a JobSet
  tfjob     a TFJob of Kubeflow's older training operator, which sets TF_CONFIG
            itself

--command=predict, evaluate, gate, infer, check or watch writes one Job, or a CronJob with
--schedule. With --kind=spark-application, a SparkApplication runs the command on several executors;
this is not possible for watch.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any, Optional

from absl import flags

from estimator_bridge.output.terminal import quote_command
from trainer.config import arguments, commands
from trainer.errors import USER_ERROR_STATUS, UserError
from trainer.kubernetes import security, spark
from trainer.kubernetes.command_line import define_pod, read_request
from trainer.kubernetes.documents import to_yaml
from trainer.kubernetes.pods import (
    TTL,
    build_failure_policy,
    build_metadata,
    build_template,
    label_job,
    limit_time,
)
from trainer.kubernetes.programs import (
    INDEX,
    INDEX_VARIABLE,
    Program,
    Work,
    build,
    check_output,
)
from trainer.kubernetes.request import (
    HOST,
    JOBSET_HOST,
    PORT,
    ROLES,
    Request,
    check,
    list_addresses,
    list_inside,
)

TFJOB_ROLES = {"chief": "Chief", "worker": "Worker", "ps": "PS", "evaluator": "Evaluator"}
# Flags of a cluster, and flags of a Job of another command.
CLUSTER_FLAGS = ("secret", "kind", "workers", "ps", "evaluator")
JOB_FLAGS = ("parts", "schedule", "time_zone")
SPARK_FLAGS = ("spark_version", "spark_python", "spark_main")


def main(argv: list[str], programs: Optional[Mapping[str, Program]] = None) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the command and its arguments.
        programs: commands other than trainer.task that a Job can run.
    """
    return commands.run(lambda argv: _main(argv, programs or {}), argv)


def _main(argv: list[str], programs: Mapping[str, Program]) -> int:
    given = arguments.read_render(argv, __doc__)
    if given is None:
        return 0
    ours, task_flags = arguments.split_task_flags(given)
    values = arguments.parse_flags(
        "trainer.kubernetes render",
        lambda values: _define(values, ["task", *programs]),
        ours,
        __doc__,
        stray_hint=arguments.TASK_FLAGS_HINT,
    )
    if values is None:
        return 0
    arguments.require(values, "name", "image")
    is_cluster, is_spark = values.command == "task", values.kind == spark.KIND
    _refuse_unused(values, is_cluster, is_spark)
    if is_spark:
        program = programs.get(values.command)
        if program is None or not program.engine:
            able = ", ".join(name for name, one in programs.items() if one.engine)
            raise UserError(f"--kind={spark.KIND}: requires --command to be one of {able}")
        request = read_request(values, {}, task_flags)
        check_output(request, program)
        runtime = spark.Runtime(values.spark_version, values.spark_python, values.spark_main)
        documents = [spark.build_application(request, program, values.workers or 2, runtime)]
    elif is_cluster:
        documents = _build_cluster(values, task_flags)
    else:
        work = Work(values.command, values.parts, values.schedule, values.time_zone)
        documents = [build(read_request(values, {}, task_flags), work, programs)]
    following = quote_command("kubectl", "apply", "-f", str(values.output))
    commands.write_result(to_yaml(documents), values.output, following)
    return 0


def _refuse_unused(values: flags.FlagValues, is_cluster: bool, is_spark: bool) -> None:
    """Checks that no flag without an effect is given."""
    unused = [*(JOB_FLAGS if is_cluster or is_spark else ())]
    unused += () if is_cluster else CLUSTER_FLAGS
    unused += () if is_spark else SPARK_FLAGS
    for name in unused:
        if values[name].present and not (is_spark and name in ("kind", "workers")):
            what = f"--kind={values.kind}" if is_spark else f"--command={values.command}"
            raise UserError(f"--{name}: has no effect with {what}; remove it")


def _build_cluster(values: flags.FlagValues, task_flags: list[str]) -> list[dict[str, Any]]:
    counts = {
        "chief": 1,
        "worker": values.workers,
        "ps": values.ps,
        "evaluator": int(values.evaluator),
    }
    request = read_request(values, counts, task_flags)
    check(request)
    for line in list_inside(request):
        print(f"note: {line}", file=sys.stderr)
    documents = BUILDERS[values.kind](request)
    if list_addresses(request):
        # The policy must exist before the pods start.
        metadata = build_metadata(request, request.name)
        documents.insert(0, security.build_policy(metadata, label_job(request)))
    return documents


def _define(values: flags.FlagValues, programs: list[str]) -> None:
    define_pod(values)
    text = "command that the pods run, with its flags after --; infer and check: trainer.schema"
    flags.DEFINE_enum("command", "task", programs, text, flag_values=values)
    text = "with --command=predict: number of pods that share the files"
    flags.DEFINE_integer("parts", 1, text, 1, flag_values=values)
    for name, text in (
        (
            "schedule",
            "not with --command=task: run repeatedly, at the minute, hour, day of the month, month "
            "and day of the week of cron, such as '0 6 * * *' for 6:00 each day; unset: run once",
        ),
        (
            "time_zone",
            "time zone of --schedule, such as Europe/Berlin; unset: that of the cluster's "
            "controller, mostly UTC",
        ),
    ):
        flags.DEFINE_string(name, None, text, flag_values=values)
    text = (
        "name of the Secret whose keys are the environment variables that flags "
        "--secret.NAME=VARIABLE of trainer.task refer to"
    )
    flags.DEFINE_string("secret", None, text, flag_values=values)
    kinds = [*BUILDERS, spark.KIND]
    text = "kind of objects, see above"
    flags.DEFINE_enum("kind", "jobs", kinds, text, flag_values=values)
    text = (
        "number of workers besides the chief. With --kind=spark-application: number of executors; "
        "0 stands for 2"
    )
    flags.DEFINE_integer("workers", 0, text, 0, flag_values=values)
    packages = "/opt/venv/lib/python3.12/site-packages"
    for name, default, text in (
        ("spark_version", "4.0.1", "SparkApplication: version of Spark in the image"),
        (
            "spark_python",
            "/opt/venv/bin/python",
            "SparkApplication: path of the Python in the image that has this package",
        ),
        (
            "spark_main",
            f"{packages}/trainer/engines/submitted.py",
            "SparkApplication: path of trainer/engines/submitted.py in the image",
        ),
    ):
        flags.DEFINE_string(name, default, text, flag_values=values)
    flags.DEFINE_integer("ps", 0, "number of parameter servers", 0, flag_values=values)
    text = "add a pod that evaluates each checkpoint, so that the chief does not"
    flags.DEFINE_boolean("evaluator", False, text, flag_values=values)


def build_jobs(request: Request) -> list[dict[str, Any]]:
    """Returns a headless Service and one Indexed Job per role.

    Args:
        request: the options of render.
    """
    documents: list[dict[str, Any]] = [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": build_metadata(request, f"{request.name}-{role}"),
            "spec": {**_build_job(request, role, HOST), **limit_time(request)},
        }
        for role in ROLES
        if request.counts[role]
    ]
    for document in documents:
        document["spec"]["template"]["spec"]["subdomain"] = request.name
    if not list_addresses(request):
        return documents
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": build_metadata(request, request.name),
        "spec": {
            "clusterIP": "None",
            "selector": label_job(request),
            # The processes connect to each other before any of them is ready.
            "publishNotReadyAddresses": True,
            "ports": [{"name": "grpc", "port": PORT}],
        },
    }
    return [service, *documents]


def _build_job(request: Request, role: str, host: str) -> dict[str, Any]:
    """Returns the JobSpec of a role, without its time limits."""
    count = request.counts[role]
    addresses = list_addresses(request, host)
    environment: list[dict[str, Any]] = []
    if addresses:
        place = {"type": role, "index": f"$({INDEX_VARIABLE})"}
        config = json.dumps({"cluster": addresses, "task": place})
        environment = [
            {"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": INDEX}}},
            {"name": "TF_CONFIG", "value": config},
        ]
    template = build_template(request, role, environment)
    # The Job replaces a failed pod by a new pod with the same index and the same host name.
    template["spec"]["restartPolicy"] = "Never"
    return {
        "completionMode": "Indexed",
        "completions": count,
        "parallelism": count,
        "backoffLimit": request.backoff_limit,
        "podFailurePolicy": build_failure_policy([USER_ERROR_STATUS]),
        "template": template,
    }


def build_jobset(request: Request) -> list[dict[str, Any]]:
    """Returns a JobSet with one Indexed Job per role.

    Its controller creates the headless Service. Without a failure policy, the JobSet fails when the
    first Job fails, and stops the others.

    Args:
        request: the options of render.
    """
    return [
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": build_metadata(request, request.name),
            "spec": _build_jobset_spec(request),
        }
    ]


def _build_jobset_spec(request: Request) -> dict[str, Any]:
    limits = limit_time(request)
    kept = {name: limits.pop(name) for name in [TTL] if name in limits}
    return {
        "network": {
            "enableDNSHostnames": True,
            "subdomain": request.name,
            # The processes connect to each other before any of them is ready.
            "publishNotReadyAddresses": True,
        },
        # The limit is that of the JobSet: its controller would create a deleted Job again.
        **kept,
        "replicatedJobs": [
            {
                "name": role,
                "replicas": 1,
                "template": {
                    "metadata": {"labels": label_job(request)},
                    "spec": {**_build_job(request, role, JOBSET_HOST), **limits},
                },
            }
            for role in ROLES
            if request.counts[role]
        ],
    }


def build_trainjob(request: Request) -> list[dict[str, Any]]:
    """Returns a TrainingRuntime and the TrainJob that runs it.

    The controller creates the JobSet of the runtime, with the name of the TrainJob. The runtime has
    no framework policy, and its Jobs have no labels of Kubeflow's own roles. The controller
    therefore changes neither the number of pods nor their environment.

    Args:
        request: the options of render.
    """
    metadata = build_metadata(request, request.name)
    group, version = "trainer.kubeflow.org", "v1alpha1"
    return [
        # A TrainJob is rejected if its runtime does not exist yet.
        {
            "apiVersion": f"{group}/{version}",
            "kind": "TrainingRuntime",
            "metadata": metadata,
            "spec": {"template": {"spec": _build_jobset_spec(request)}},
        },
        {
            "apiVersion": f"{group}/{version}",
            "kind": "TrainJob",
            "metadata": metadata,
            "spec": {
                "runtimeRef": {
                    "apiGroup": group,
                    "kind": "TrainingRuntime",
                    "name": request.name,
                }
            },
        },
    ]


def build_tfjob(request: Request) -> list[dict[str, Any]]:
    """Returns a TFJob; the operator sets TF_CONFIG.

    Args:
        request: the options of render.
    """
    return [
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": "TFJob",
            "metadata": build_metadata(request, request.name),
            "spec": {
                "runPolicy": {
                    "cleanPodPolicy": "None",
                    "backoffLimit": request.backoff_limit,
                    **limit_time(request),
                },
                "tfReplicaSpecs": {
                    TFJOB_ROLES[role]: {
                        "replicas": request.counts[role],
                        "restartPolicy": "OnFailure",
                        "template": build_template(request, role, []),
                    }
                    for role in ROLES
                    if request.counts[role]
                },
            },
        }
    ]


BUILDERS = {
    "jobs": build_jobs,
    "jobset": build_jobset,
    "trainjob": build_trainjob,
    "tfjob": build_tfjob,
}
