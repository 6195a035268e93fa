"""Sending a job to the service, and following it."""

import time
from collections.abc import Callable
from typing import Any, Optional

from trainer.errors import UserError
from trainer.vertex.jobs import Job

POLL_SECS = 15.0
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")
# A job's page in the console; a tuning job has one of the same form.
CONSOLE = "https://console.cloud.google.com/ai/platform/locations/{region}/training/{id}?project={project}"


class Service:
    """The service's jobs of a project and region.

    Args:
        project, region: where.
        endpoint: host:port of the service; http://host:port without encryption; None: the region's.
    """

    def __init__(self, project: str, region: str, endpoint: Optional[str] = None):
        aiplatform = _import_aiplatform()
        from google.auth import exceptions as auth

        self._project, self._region = project, region
        self._types = aiplatform
        endpoint = endpoint or f"{region}-aiplatform.googleapis.com"
        try:
            if endpoint.startswith("http://"):
                import grpc

                channel = grpc.insecure_channel(endpoint[len("http://") :])
                transport = aiplatform.JobServiceClient.get_transport_class("grpc")
                self._client = aiplatform.JobServiceClient(transport=transport(channel=channel))
            else:
                self._client = aiplatform.JobServiceClient(
                    client_options={"api_endpoint": endpoint}
                )
        except auth.DefaultCredentialsError as error:
            raise UserError(
                "no credentials for the service; run gcloud auth application-default login, or "
                "name a service account's key file in GOOGLE_APPLICATION_CREDENTIALS"
            ) from error

    def create(self, job: Job) -> str:
        """Creates a job; returns its resource name.

        Raises:
            UserError: the service refuses it.
        """
        parent = f"projects/{self._project}/locations/{self._region}"
        resource = parse_resource(job)
        if job.is_tuning:
            made = self._ask(
                self._client.create_hyperparameter_tuning_job,
                parent=parent,
                hyperparameter_tuning_job=resource,
            )
        else:
            made = self._ask(self._client.create_custom_job, parent=parent, custom_job=resource)
        return made.name

    def follow(
        self,
        name: str,
        log: Callable[[str], None],
        poll_secs: float = POLL_SECS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> bool:
        """Says each state of a job until it has ended; True where it has succeeded."""
        is_tuning = "/hyperparameterTuningJobs/" in name
        get = (
            self._client.get_hyperparameter_tuning_job if is_tuning else self._client.get_custom_job
        )
        shown = None
        while True:
            job = self._ask(get, name=name)
            state = job.state.name.replace("JOB_STATE_", "")
            told = state.lower()
            if is_tuning:
                trials = [trial.state.name.lower() for trial in job.trials]
                counts = {one: trials.count(one) for one in dict.fromkeys(trials)}
                told += "".join(f", {count} trial(s) {one}" for one, count in counts.items())
            if told != shown:
                log(f"{time.strftime('%H:%M:%S')} {told}")
                shown = told
            if state in ENDED:
                if job.error.message:
                    log(f"error: {' '.join(job.error.message.split())}")
                return state == "SUCCEEDED"
            sleep(poll_secs)

    def link(self, name: str) -> str:
        """The job's page in the console."""
        identity = name.rpartition("/")[2]
        return CONSOLE.format(region=self._region, id=identity, project=self._project)

    def _ask(self, method: Callable[..., Any], **request: Any) -> Any:
        from google.api_core import exceptions
        from google.auth import exceptions as auth

        try:
            return method(request=request, timeout=60.0)
        except exceptions.PermissionDenied as error:
            raise UserError(
                f"project {self._project}: no permission ({error.message}); grant your account "
                "roles/aiplatform.user, and enable aiplatform.googleapis.com"
            ) from error
        except exceptions.GoogleAPICallError as error:
            words = " ".join(str(error.message).split())[:300]
            raise UserError(f"the service refuses the job: {words}") from error
        except (auth.GoogleAuthError, exceptions.RetryError) as error:
            words = " ".join(str(error).split())[:200]
            raise UserError(f"the service cannot be reached: {words}") from error


def parse_resource(job: Job) -> Any:
    """A job as the service's own type.

    Raises:
        UserError: a field that the service does not know, or of another type.
    """
    aiplatform = _import_aiplatform()
    from google.protobuf import json_format

    kind = aiplatform.HyperparameterTuningJob if job.is_tuning else aiplatform.CustomJob
    message = kind()
    try:
        json_format.ParseDict(job.to_resource(), kind.pb(message))
    except json_format.ParseError as error:
        words = " ".join(str(error).split())
        raise UserError(f"the job is not one that the service takes: {words[:300]}") from error
    return message


def _import_aiplatform() -> Any:
    import warnings

    try:
        with warnings.catch_warnings():
            # On older Pythons it announces that they will be old one day.
            warnings.simplefilter("ignore", FutureWarning)
            from google.cloud import aiplatform_v1
    except ImportError as error:
        raise UserError(
            "submit needs the package google-cloud-aiplatform; run "
            "pip install 'estimator-trainer[vertex]', or give the rendered file to gcloud"
        ) from error
    return aiplatform_v1
