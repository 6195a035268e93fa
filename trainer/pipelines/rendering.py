"""Renders a pipeline as a Job of Kubernetes, or as a CronJob that runs it on a schedule."""

from pathlib import Path, PurePosixPath
from typing import Any, Optional

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
from trainer.pipelines.definition import Pipeline
from trainer.release.verdict import STATUS

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def render(
    file: str,
    pipeline: Pipeline,
    request: Request,
    schedule: Optional[str],
    zone: Optional[str],
    queue: Optional[str],
) -> dict[str, Any]:
    """Returns the manifest.

    Args:
        file: a file, or the name of a pipeline that is installed with the trainer.
        pipeline: content of the file.
        request: name, image and machine of the job.
        schedule: schedule in cron's format; None: the job runs once.
        zone: time zone of the schedule; None: that of the cluster.
        queue: name of a LocalQueue of Kueue; None: no queue.

    Raises:
        UserError: an option is invalid, or an output of the pipeline would be lost.
    """
    check_machines(request)
    check_schedule(schedule, zone)
    if queue and not names.SUBDOMAIN.fullmatch(queue):
        raise UserError(f"--queue={queue}: write the name of a LocalQueue")
    claim = names.CLAIM.fullmatch(request.volume or "")
    if claim is None:
        raise UserError(
            "--volume: not given; name a claim CLAIM:/PATH, in which the pipeline keeps its "
            "history and its jobs"
        )
    _check_paths(file, pipeline, request)
    container = {
        "name": CONTAINER,
        "image": request.image,
        "command": ["python", "-m", "trainer.pipeline"],
        "args": ["run", file],
        # The paths in the file are relative to this folder.
        "workingDir": claim["path"],
    }
    spec = {**build_spec(request, container, request.gpus), "restartPolicy": "Never"}
    # A verdict is not a failure, so it is not retried.
    final = sorted({USER_ERROR_STATUS, *STATUS.values()} - {0})
    job = {
        "backoffLimit": request.backoff_limit,
        **limit_time(request),
        "podFailurePolicy": build_failure_policy(final),
        "template": {"metadata": {"labels": label_job(request)}, "spec": spec},
    }
    labels = {**label_job(request), **({QUEUE_LABEL: queue} if queue else {})}
    return build_job(build_metadata(request, request.name), labels, job, schedule, zone)


def _check_paths(file: str, pipeline: Pipeline, request: Request) -> None:
    paths = [("folder", pipeline.folder)]
    paths += [("output", path) for step in pipeline.steps for path in step.list_outputs()]
    if Path(file).is_file():
        paths.append(("FILE", file))
    for name, path in paths:
        outside = PurePosixPath(path).is_absolute() and not is_mounted(request, path)
        if not storage.is_remote(path) and (outside or ".." in PurePosixPath(path).parts):
            raise UserError(
                f"{name} {path}: is outside the claim {request.volume}; name a path in the claim, "
                "or relative to it"
            )
