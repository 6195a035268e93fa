"""The commands predict, deploy and schedule of trainer.vertex."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from absl import flags

from trainer.config import commands
from trainer.errors import UserError
from trainer.vertex import batch, endpoints, jobs, schedules, submit
from trainer.vertex.connection import Connection, to_message
from trainer.vertex.machines import parse_machine
from trainer.vertex.request import LOCATION, REGION

_ENDPOINT = (
    "address of the service as HOST:PORT, for a private endpoint; unset: the public endpoint of "
    "the region"
)
_PREDICT = """python -m trainer.vertex predict --name=NAME --model=MODEL \\
    --data=FILES --output=OUT

Writes a batch prediction job for a model of the model registry, as JSON. With --submit, sends it.
The service reads JSON lines and TFRecord files; for CSV and Parquet, use trainer.kubernetes render
--command=predict.

  python -m trainer.vertex predict --name=score \\
      --model=projects/PROJECT/.../models/ID@stable \\
      --data=gs://BUCKET/new/*.jsonl --output=gs://BUCKET/predictions \\
      --submit"""
_DEPLOY = """python -m trainer.vertex deploy --deployment=FILE --project=PROJECT ...

Creates an endpoint, or changes it, so that it has the models and the traffic split of a file. If
the command is interrupted, repeat it.

  python -m trainer.vertex deploy --deployment=endpoint.yaml \\
      --project=PROJECT"""
_SCHEDULE = """python -m trainer.vertex schedule --job=FILE --project=PROJECT --schedule=CRON \\
    --service_account=ACCOUNT --body=FILE ...

Writes the request that creates a custom job, and prints the gcloud command with which Cloud
Scheduler sends this request repeatedly. It sends nothing itself.

  python -m trainer.vertex schedule --job=job.yaml --project=PROJECT \\
      --schedule='0 6 * * *' --service_account=ACCOUNT --body=body.json"""


class Command(NamedTuple):
    """A command of trainer.vertex that has no flags after --.

    Attributes:
        usage: first part of its --help.
        define: adds its flags.
        needed: flags that must be given.
        run: runs it with the parsed flags; returns the exit status.
    """

    usage: str
    define: Callable[[flags.FlagValues], None]
    needed: tuple[str, ...]
    run: Callable[[flags.FlagValues], int]


def parse_replicas(text: str) -> tuple[int, int]:
    """Returns the two numbers of --replicas.

    Args:
        text: MINIMUM,MAXIMUM.

    Raises:
        UserError: the text has another form.
    """
    try:
        least, greatest = (int(one) for one in text.split(","))
    except ValueError as error:
        raise UserError(f"--replicas={text}: write MINIMUM,MAXIMUM, such as 2,10") from error
    return least, greatest


def _define_strings(values: flags.FlagValues, meanings: dict[str, tuple[Any, str]]) -> None:
    for name, (default, meaning) in meanings.items():
        flags.DEFINE_string(name, default, meaning, flag_values=values)


def _define_predict(values: flags.FlagValues) -> None:
    meanings: dict[str, tuple[Any, str]] = {
        "name": (None, "name of the job"),
        "model": (
            None,
            "model of the model registry, and an alias of its version: "
            "projects/PROJECT/locations/REGION/models/ID@stable",
        ),
        "output": (None, "gs:// folder for the predictions"),
        "machine": (
            "n1-standard-8",
            "machine of each replica: TYPE or TYPE:ACCELERATOR:COUNT, such as "
            "n1-standard-8:NVIDIA_TESLA_T4:1",
        ),
        "replicas": ("1,10", "number of replicas at the start, and maximum number"),
        "service_account": (
            None,
            "service account that the job runs as: NAME@PROJECT.iam.gserviceaccount.com; unset: "
            "the agent of the service",
        ),
        "write": (None, "without --submit: file for the job; unset: standard output"),
        "api_endpoint": (None, _ENDPOINT),
    }
    _define_strings(values, meanings)
    text = "gs:// files to predict; * in a name matches any characters"
    flags.DEFINE_list("data", [], text, flag_values=values)
    text = "format of --data; unset: by the file names, such as .jsonl or .tfrecord.gz"
    kinds = list(batch.FORMATS.values())
    flags.DEFINE_enum("data_format", None, kinds, text, flag_values=values)
    text = "rows per request to a replica; unset: the service chooses"
    flags.DEFINE_integer("batch_size", None, text, 1, flag_values=values)
    text = "send the job to Vertex AI instead of writing it"
    flags.DEFINE_boolean("submit", False, text, flag_values=values)
    text = (
        "with --submit: wait until the job ends, and print each change of its state; exit status 1 "
        "if it fails"
    )
    flags.DEFINE_boolean("stream", False, text, values)
    text = "with --stream: seconds between two requests for the state"
    flags.DEFINE_float("poll_secs", submit.POLL_SECS, text, 0.01, flag_values=values)


def _predict(values: flags.FlagValues) -> int:
    """Writes or sends a batch prediction job; returns the exit status."""
    job = batch.build(
        batch.Options(
            name=values.name,
            model=values.model,
            data=values.data,
            format=values.data_format,
            output=values.output,
            machine=parse_machine(values.machine, "--machine"),
            replicas=parse_replicas(values.replicas),
            batch_size=values.batch_size,
            service_account=values.service_account,
        )
    )
    if not values.submit:
        following = "next, repeat the command with --submit to send the job"
        commands.write_result(json.dumps(job, indent=2) + "\n", values.write, following)
        return 0
    match = LOCATION.match(values.model)
    assert match is not None
    service = submit.Service(match["project"], match["region"], values.api_endpoint)
    name = service.create_prediction(to_message("BatchPredictionJob", job))
    print(name)
    print(service.link(name))
    return 0 if not values.stream or service.follow(name, _log, values.poll_secs) else 1


def _log(line: str) -> None:
    print(line, flush=True)


def _define_deploy(values: flags.FlagValues) -> None:
    meanings = {
        "deployment": (None, "file of the endpoint that trainer.serve --render=vertex has written"),
        "project": (None, "ID of the Google Cloud project"),
        "region": ("us-central1", "Google Cloud region of the endpoint"),
        "api_endpoint": (None, _ENDPOINT),
    }
    _define_strings(values, meanings)


def _deploy(values: flags.FlagValues) -> int:
    """Changes an endpoint as a file describes it; returns the exit status."""
    if not REGION.fullmatch(values.region):
        raise UserError(f"--region={values.region}: write a region such as us-central1")
    wanted = endpoints.read_endpoint(values.deployment)
    connection = Connection(
        "EndpointServiceClient", values.project, values.region, values.api_endpoint
    )
    print(endpoints.deploy(wanted, connection, _log))
    return 0


def _define_schedule(values: flags.FlagValues) -> None:
    meanings = {
        "job": (None, "job file that render has written"),
        "project": (None, "ID of the Google Cloud project"),
        "region": (None, "region of the job and of the scheduler; unset: the one in the job file"),
        "schedule": (
            None,
            "minute, hour, day of the month, month and day of the week of cron, such as "
            "'0 6 * * *' for 6:00 each day",
        ),
        "time_zone": (None, "time zone of --schedule, such as Europe/Berlin; unset: UTC"),
        "service_account": (
            None,
            "service account that creates the job each time: NAME@PROJECT.iam.gserviceaccount.com",
        ),
        "body": (None, "JSON file to write: the request that Cloud Scheduler sends each time"),
    }
    _define_strings(values, meanings)


def _schedule(values: flags.FlagValues) -> int:
    """Writes the request for Cloud Scheduler, and prints the gcloud command of the schedule."""
    job = jobs.read_job(values.job)
    submit.parse_resource(job)
    when = schedules.Schedule(
        values.project,
        values.region or job.region,
        values.schedule,
        values.time_zone,
        values.service_account,
    )
    command = schedules.describe(job, when, values.body)
    text = json.dumps(job.to_resource(), indent=2) + "\n"
    commands.write_result(text, values.body, command)
    return 0


COMMANDS = {
    "predict": Command(_PREDICT, _define_predict, ("name", "model", "data", "output"), _predict),
    "deploy": Command(_DEPLOY, _define_deploy, ("deployment", "project"), _deploy),
    "schedule": Command(
        _SCHEDULE,
        _define_schedule,
        ("job", "project", "schedule", "service_account", "body"),
        _schedule,
    ),
}
