"""Sends a job to the service and follows its state."""

import time
from collections.abc import Callable
from typing import Any, Optional

from trainer.vertex.connection import Connection, to_message
from trainer.vertex.jobs import Job

POLL_SECS = 15.0
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")
# Page of a job or a tuning job in the console.
CONSOLE = "https://console.cloud.google.com/ai/platform/locations/{region}/training/{id}?project={project}"

PREDICTIONS = "/batchPredictionJobs/"
PREDICTION_CONSOLE = "https://console.cloud.google.com/vertex-ai/locations/{region}/batch-predictions/{id}?project={project}"


class Service:
    """A client for the jobs of a project and region.

    Args:
        project: project of the jobs.
        region: region of the jobs.
        endpoint: host:port of the service, or http://host:port without encryption; None: the
            endpoint of the region.

    Raises:
        UserError: the client library or the credentials are missing.
    """

    def __init__(self, project: str, region: str, endpoint: Optional[str] = None):
        self._connection = Connection("JobServiceClient", project, region, endpoint)
        self._client = self._connection.client

    def create(self, job: Job) -> str:
        """Creates a job and returns its resource name.

        Args:
            job: the job.

        Raises:
            UserError: the service rejects the job or cannot be reached.
        """
        parent, call = self._connection.parent, self._connection.call
        resource = parse_resource(job)
        if job.is_tuning:
            made = call(
                self._client.create_hyperparameter_tuning_job,
                parent=parent,
                hyperparameter_tuning_job=resource,
            )
        else:
            made = call(self._client.create_custom_job, parent=parent, custom_job=resource)
        return str(made.name)

    def create_prediction(self, job: Any) -> str:
        """Creates a batch prediction and returns its resource name.

        Args:
            job: the message.

        Raises:
            UserError: the service rejects the job or cannot be reached.
        """
        made = self._connection.call(
            self._client.create_batch_prediction_job,
            parent=self._connection.parent,
            batch_prediction_job=job,
        )
        return str(made.name)

    def follow(
        self,
        name: str,
        log: Callable[[str], None],
        poll_secs: float = POLL_SECS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> bool:
        """Logs each state of a job until it has ended.

        Args:
            name: resource name of the job.
            log: function that logs a line.
            poll_secs: seconds between two requests.
            sleep: function that waits for a number of seconds.

        Returns:
            Whether the job has succeeded.

        Raises:
            UserError: the service cannot be reached.
        """
        is_tuning = "/hyperparameterTuningJobs/" in name
        get = self._client.get_custom_job
        if is_tuning:
            get = self._client.get_hyperparameter_tuning_job
        elif PREDICTIONS in name:
            get = self._client.get_batch_prediction_job
        logged = None
        while True:
            job = self._connection.call(get, name=name)
            state = str(job.state.name.replace("JOB_STATE_", ""))
            line = state.lower()
            if is_tuning:
                trials = [trial.state.name.lower() for trial in job.trials]
                counts = {one: trials.count(one) for one in dict.fromkeys(trials)}
                line += "".join(f", {count} trial(s) {one}" for one, count in counts.items())
            if line != logged:
                log(f"{time.strftime('%H:%M:%S')} {line}")
                logged = line
            if state in ENDED:
                if job.error.message:
                    log(f"error: {' '.join(job.error.message.split())}")
                return state == "SUCCEEDED"
            sleep(poll_secs)

    def link(self, name: str) -> str:
        """Returns the address of a job's page in the console.

        Args:
            name: resource name of the job.
        """
        identity = name.rpartition("/")[2]
        page = PREDICTION_CONSOLE if PREDICTIONS in name else CONSOLE
        return page.format(
            region=self._connection.region, id=identity, project=self._connection.project
        )


def parse_resource(job: Job) -> Any:
    """Converts a job to the message type of the service.

    Args:
        job: the job.

    Raises:
        UserError: the service has no field of this name, or the field has another type.
    """
    return to_message(
        "HyperparameterTuningJob" if job.is_tuning else "CustomJob", job.to_resource()
    )
