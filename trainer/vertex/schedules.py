"""Scheduled custom jobs: Cloud Scheduler sends the request that creates the job each time."""

import shlex
from typing import NamedTuple, Optional

from trainer.errors import UserError
from trainer.kubernetes.schedules import check_schedule
from trainer.vertex.jobs import Job
from trainer.vertex.request import REGION, SERVICE_ACCOUNT

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


class Schedule(NamedTuple):
    """When a custom job is created, and where.

    Attributes:
        project: project of the custom job.
        region: region of the custom job and of the scheduler.
        schedule: schedule in cron's format.
        zone: time zone of the schedule; None: UTC.
        account: service account that creates the custom job.
    """

    project: str
    region: str
    schedule: str
    zone: Optional[str]
    account: str


def describe(job: Job, schedule: Schedule, body: str) -> str:
    """Returns the gcloud command that creates the schedule in Cloud Scheduler.

    Args:
        job: the custom job.
        schedule: when and where.
        body: file with the JSON of the custom job.

    Raises:
        UserError: an option is invalid, or the job is a hyperparameter tuning job.
    """
    if job.is_tuning:
        raise UserError(
            f"job {job.name}: is a hyperparameter tuning job, which cannot be scheduled; "
            "render it without --tuning"
        )
    check_schedule(schedule.schedule, schedule.zone)
    if not REGION.fullmatch(schedule.region):
        raise UserError(f"--region={schedule.region}: write a region such as us-central1")
    if not SERVICE_ACCOUNT.fullmatch(schedule.account):
        raise UserError(
            f"--service_account={schedule.account}: write NAME@PROJECT.iam.gserviceaccount.com"
        )
    host = f"https://{schedule.region}-aiplatform.googleapis.com"
    address = f"{host}/v1/projects/{schedule.project}/locations/{schedule.region}/customJobs"
    words = ["gcloud", "scheduler", "jobs", "create", "http", job.name]
    words += [f"--project={schedule.project}", f"--location={schedule.region}"]
    words += [f"--schedule={schedule.schedule}", f"--time-zone={schedule.zone or 'Etc/UTC'}"]
    words += [f"--uri={address}", "--http-method=POST", f"--message-body-from-file={body}"]
    words += ["--headers=Content-Type=application/json"]
    words += [f"--oauth-service-account-email={schedule.account}"]
    words += [f"--oauth-token-scope={SCOPE}"]
    return shlex.join(words)
