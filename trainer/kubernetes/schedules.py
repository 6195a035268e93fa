"""Jobs that a CronJob starts on a schedule."""

import re
import zoneinfo
from typing import Any, Optional

from trainer.errors import UserError, nearest

# The numbers of each part. Sunday is 0; some services take 7 too.
_RANGES = {
    "minute": (0, 59),
    "hour": (0, 23),
    "day of the month": (1, 31),
    "month": (1, 12),
    "day of the week": (0, 7),
}
# Minute, hour, day of the month, month and day of the week, or a name such as @daily.
_FIELD = r"[\dA-Za-z*?,/#-]+"
_NAMES = "hourly|daily|midnight|weekly|monthly|yearly|annually"
SCHEDULE = re.compile(rf"@({_NAMES})|{_FIELD}( {_FIELD}){{4}}")


def check_schedule(schedule: Optional[str], zone: Optional[str]) -> None:
    """Checks a schedule.

    Args:
        schedule: schedule in cron's format; None: there is none.
        zone: its time zone; None: the default of the service that runs it.

    Raises:
        UserError: one of them is invalid.
    """
    if schedule is not None and not SCHEDULE.fullmatch(schedule):
        raise UserError(
            f"--schedule={schedule}: write minute, hour, day of the month, month and day of the "
            "week, such as '30 2 * * *', or a name such as @daily"
        )
    if schedule is not None and not schedule.startswith("@"):
        for (part, (first, last)), text in zip(_RANGES.items(), schedule.split()):
            for number in re.findall(r"(?<![/#\w])\d+", text):
                if not first <= int(number) <= last:
                    raise UserError(
                        f"--schedule={schedule}: the {part} is {number}; write {first} to {last}"
                    )
    if zone is None:
        return
    if schedule is None:
        raise UserError(f"--time_zone={zone}: has no effect without --schedule; add it")
    known = zoneinfo.available_timezones()
    if known and zone not in known:
        raise UserError(
            f"--time_zone={zone}: no such time zone{nearest(zone, known)}; write one such as "
            "Europe/Berlin"
        )


def build_job(
    metadata: dict[str, Any],
    labels: dict[str, str],
    spec: dict[str, Any],
    schedule: Optional[str],
    zone: Optional[str],
) -> dict[str, Any]:
    """Returns a Job, or the CronJob that starts it on a schedule.

    Args:
        metadata: metadata of the Job or CronJob.
        labels: labels of the Job.
        spec: the JobSpec.
        schedule: schedule in cron's format; None: the job runs once.
        zone: time zone of the schedule; None: that of the cluster.
    """
    if schedule is None:
        metadata = {**metadata, "labels": labels}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": metadata,
        "spec": {
            "schedule": schedule,
            **({"timeZone": zone} if zone else {}),
            # If two runs used one folder, the second would end with a temporary error.
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
