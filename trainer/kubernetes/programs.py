"""Jobs that run a command other than trainer.task, such as trainer.predict or trainer.watch."""

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
        check: checks the flags of the command; returns the path to which it writes, None if it
            writes no file. Raises a UserError.
        words: the arguments after python -m.
        verdicts: exit statuses that are results, not failures. Such a Job is not retried.
        parts: whether several processes can share its work with --part=INDEX/COUNT.
        engine: whether it has the flag --engine.
    """

    check: Callable[[list[str]], Optional[str]]
    words: Sequence[str]
    verdicts: Sequence[int] = ()
    parts: bool = False
    engine: bool = False


class Work(NamedTuple):
    """The command of a Job, and when it runs.

    Attributes:
        command: name of a program.
        parts: number of pods that share the work.
        schedule: schedule in cron's format; None: the Job runs once.
        zone: time zone of the schedule; None: that of the cluster.
    """

    command: str
    parts: int
    schedule: Optional[str]
    zone: Optional[str]


def check_output(request: Request, program: Program) -> None:
    """Checks the flags of a command, and that its output is not deleted with the pods.

    Args:
        request: contains the flags of the command.
        program: the command.

    Raises:
        UserError: a flag is invalid, or the output would be lost.
    """
    output = program.check(request.task_flags)
    if output is not None and not storage.is_remote(output) and not is_mounted(request, output):
        raise UserError(
            f"{output}: is deleted with the container; name a gs:// address, or a folder of "
            "--volume=CLAIM:/PATH"
        )


def build(request: Request, work: Work, programs: Mapping[str, Program]) -> dict[str, Any]:
    """Returns the Job or the CronJob.

    Args:
        request: name, image, machine, and the flags of the command.
        work: the command, and when it runs.
        programs: name → the command.

    Raises:
        UserError: an option or a flag is invalid, or the output would be lost.
    """
    program = programs[work.command]
    command = " ".join(program.words)
    check_machines(request)
    check_schedule(work.schedule, work.zone)
    flags = request.task_flags
    if work.parts > 1 and not program.parts:
        raise UserError(f"--parts={work.parts}: {command} cannot be divided among pods; remove it")
    if any(word.startswith("--part=") for word in flags):
        raise UserError(
            "--part: each pod gets its own part; remove it, and give the number of pods with "
            "--parts=N before --"
        )
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
        # Relative paths of the command then refer to the claim.
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
