"""predict, deploy and schedule: what runs on Vertex AI after training."""

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


class Command(NamedTuple):
    """A command of trainer.vertex that takes no flags of trainer.task.

    Attributes:
        define: adds its flags.
        needed: flags that must be given.
        run: runs it with the parsed flags; returns the exit status.
    """

    define: Callable[[flags.FlagValues], None]
    needed: tuple[str, ...]
    run: Callable[[flags.FlagValues], int]


def parse_replicas(text: str) -> tuple[int, int]:
    """Returns the two numbers of --replicas.

    Args:
        text: LEAST,GREATEST.

    Raises:
        UserError: the text is something else.
    """
    try:
        least, greatest = (int(one) for one in text.split(","))
    except ValueError as error:
        raise UserError(f"--replicas={text}: write LEAST,GREATEST, such as 2,10") from error
    return least, greatest


def _define_strings(values: flags.FlagValues, meanings: dict[str, tuple[Any, str]]) -> None:
    for name, (default, meaning) in meanings.items():
        flags.DEFINE_string(name, default, meaning, flag_values=values)


def _define_predict(values: flags.FlagValues) -> None:
    meanings: dict[str, tuple[Any, str]] = {
        "name": (None, "name of the job"),
        "model": (None, "projects/PROJECT/locations/REGION/models/ID@stable, in the registry"),
        "output": (None, "gs:// folder for the predictions"),
        "machine": ("n1-standard-8", "machine of each replica: TYPE or TYPE:ACCELERATOR:COUNT"),
        "replicas": ("1,10", "number of replicas at the start, and greatest number"),
        "service_account": (None, "account that the job runs as"),
        "write": (None, "file for the job; unset: standard output"),
        "api_endpoint": (None, "host:port of a private endpoint; unset: the region's own"),
    }
    _define_strings(values, meanings)
    text = "gs:// files, with * in their names"
    flags.DEFINE_list("data", [], text, flag_values=values)
    text = "of --data; unset: by the names of the files"
    kinds = list(batch.FORMATS.values())
    flags.DEFINE_enum("data_format", None, kinds, text, flag_values=values)
    text = "rows of a request; unset: the service's choice"
    flags.DEFINE_integer("batch_size", None, text, 1, flag_values=values)
    flags.DEFINE_boolean("submit", False, "send the job instead of writing it", flag_values=values)
    flags.DEFINE_boolean("stream", False, "with --submit: wait, and log each state", values)
    text = "seconds between two requests"
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
        following = "the job; --submit sends it"
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
        "deployment": (None, "file that trainer.serve --render=vertex has written"),
        "project": (None, "project of the endpoint"),
        "region": ("us-central1", "region of the endpoint"),
        "api_endpoint": (None, "host:port of a private endpoint; unset: the region's own"),
    }
    _define_strings(values, meanings)


def _deploy(values: flags.FlagValues) -> int:
    """Makes an endpoint agree with a file; returns the exit status."""
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
        "job": (None, "file that render has written"),
        "project": (None, "project of the job"),
        "region": (None, "region; unset: that of render"),
        "schedule": (None, "cron's minute, hour, day, month and day of the week"),
        "time_zone": (None, "of the schedule, such as Europe/Berlin; unset: UTC"),
        "service_account": (None, "account that starts the job each time"),
        "body": (None, "file to write: what the scheduler sends"),
    }
    _define_strings(values, meanings)


def _schedule(values: flags.FlagValues) -> int:
    """Writes what Cloud Scheduler sends, and prints the command that creates its job."""
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
    "predict": Command(_define_predict, ("name", "model", "data", "output"), _predict),
    "deploy": Command(_define_deploy, ("deployment", "project"), _deploy),
    "schedule": Command(
        _define_schedule, ("job", "project", "schedule", "service_account", "body"), _schedule
    ),
}
