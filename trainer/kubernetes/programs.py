"""Jobs that run a command other than trainer.task: batch predictions, the watch, and others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from trainer import storage
from trainer.errors import USER_ERROR_STATUS, UserError
from trainer.kubernetes import names
from trainer.kubernetes.pods import (
    CONTAINER,
    build_failure_policy,
    build_metadata,
    build_spec,
    label_job,
    limit_time,
)
from trainer.kubernetes.request import Request, check_machines, is_mounted
from trainer.kubernetes.schedules import build_job, check_schedule

INDEX = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
INDEX_VARIABLE = "REPLICA_INDEX"


class Program(NamedTuple):
    """A command that a Job can run.

    Attributes:
        check: returns what the flags of the command write, None if nothing, or raises a UserError.
        words: what follows python -m.
        verdicts: exit statuses that are no failures: to run it again does not change them.
        parts: whether several processes can share its work, with --part=INDEX/COUNT.
        engine: whether an engine can do its work, with --engine.
    """

    check: Callable[[list[str]], Optional[str]]
    words: Sequence[str]
    verdicts: Sequence[int] = ()
    parts: bool = False
    engine: bool = False


class Work(NamedTuple):
    """What a Job shall run.

    Attributes:
        command: name of a program.
        parts: number of pods that share the work.
        schedule: in cron's format; None: once.
        zone: time zone of the schedule; None: that of the cluster.
    """

    command: str
    parts: int
    schedule: Optional[str]
    zone: Optional[str]


def check_output(request: Request, program: Program) -> None:
    """Checks the flags of a command, and that what it writes outlives the pods.

    Args:
        request: has the flags of the command.
        program: what is known of the command.

    Raises:
        UserError: a flag is invalid, or what is written would be lost.
    """
    output = program.check(request.task_flags)
    if output is not None and not storage.is_remote(output) and not is_mounted(request, output):
        raise UserError(
            f"{output}: is deleted with the container; name a gs:// address, or a folder of a "
            "--volume=CLAIM:/PATH"
        )


def build(request: Request, work: Work, programs: Mapping[str, Program]) -> dict[str, Any]:
    """Returns the Job or the CronJob.

    Args:
        request: name, image, machine, and the flags of the command.
        work: what the Job shall run.
        programs: command → what is known of it.

    Raises:
        UserError: an option or a flag is invalid, or what is written would be lost.
    """
    program = programs[work.command]
    command = " ".join(program.words)
    check_machines(request)
    check_schedule(work.schedule, work.zone)
    flags = request.task_flags
    if work.parts > 1 and not program.parts:
        raise UserError(f"--parts={work.parts}: {command} is one process; remove it")
    if any(word.startswith("--part=") for word in flags):
        raise UserError("--part: give --parts before --; each pod gets its own part")
    check_output(request, program)
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": request.image,
        "command": ["python", "-m", *program.words],
        "args": list(flags),
    }
    spec: dict[str, Any] = {}
    if work.parts > 1:
        index = {"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": INDEX}}}
        container["env"] = [index]
        container["args"].append(f"--part=$({INDEX_VARIABLE})/{work.parts}")
        spec = {
            "completionMode": "Indexed",
            "completions": work.parts,
            "parallelism": work.parts,
        }
    pod = {**build_spec(request, container, request.gpus), "restartPolicy": "Never"}
    match = names.CLAIM.fullmatch(request.volume or "")
    if match is not None:
        # Relative paths are in the claim.
        container["workingDir"] = match["path"]
    labels = label_job(request)
    spec.update(
        backoffLimit=request.backoff_limit,
        **limit_time(request),
        podFailurePolicy=build_failure_policy(sorted({USER_ERROR_STATUS, *program.verdicts})),
        template={"metadata": {"labels": labels}, "spec": pod},
    )
    metadata = build_metadata(request, request.name)
    return build_job(metadata, labels, spec, work.schedule, work.zone)
