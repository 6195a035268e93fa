"""Sends a job to the service and follows its state."""

import time
from collections.abc import Callable
from typing import Any, Optional

from trainer.errors import TemporaryError, UserError
from trainer.vertex.jobs import Job

POLL_SECS = 15.0
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")
# Page of a job or a tuning job in the console.
CONSOLE = "https://console.cloud.google.com/ai/platform/locations/{region}/training/{id}?project={project}"


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
        """Creates a job and returns its resource name.

        Args:
            job: the job.

        Raises:
            UserError: the service rejects the job or cannot be reached.
        """
        parent = f"projects/{self._project}/locations/{self._region}"
        resource = parse_resource(job)
        if job.is_tuning:
            made = self._call(
                self._client.create_hyperparameter_tuning_job,
                parent=parent,
                hyperparameter_tuning_job=resource,
            )
        else:
            made = self._call(self._client.create_custom_job, parent=parent, custom_job=resource)
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
        get = (
            self._client.get_hyperparameter_tuning_job if is_tuning else self._client.get_custom_job
        )
        logged = None
        while True:
            job = self._call(get, name=name)
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
        return CONSOLE.format(region=self._region, id=identity, project=self._project)

    def _call(self, method: Callable[..., Any], **request: Any) -> Any:
        from google.api_core import exceptions
        from google.auth import exceptions as auth

        try:
            return method(request=request, timeout=60.0)
        except exceptions.PermissionDenied as error:
            raise UserError(
                f"project {self._project}: no permission ({error.message}); grant your account "
                "roles/aiplatform.user, and enable aiplatform.googleapis.com"
            ) from error
        except exceptions.ServerError as error:
            words = " ".join(str(error.message).split())[:300]
            raise TemporaryError(f"the service cannot answer now: {words}; try again") from error
        except exceptions.GoogleAPICallError as error:
            words = " ".join(str(error.message).split())[:300]
            raise UserError(f"the service rejects the job: {words}") from error
        except (auth.TransportError, exceptions.RetryError) as error:
            words = " ".join(str(error).split())[:200]
            raise TemporaryError(f"the service cannot be reached: {words}; try again") from error
        except auth.GoogleAuthError as error:
            words = " ".join(str(error).split())[:200]
            raise UserError(
                f"the service cannot be reached: {words}; check the credentials"
            ) from error


def parse_resource(job: Job) -> Any:
    """Converts a job to the message type of the service.

    Args:
        job: the job.

    Raises:
        UserError: the service has no field of this name, or the field has another type.
    """
    aiplatform = _import_aiplatform()
    from google.protobuf import json_format

    kind = aiplatform.HyperparameterTuningJob if job.is_tuning else aiplatform.CustomJob
    message = kind()
    try:
        json_format.ParseDict(job.to_resource(), kind.pb(message))
    except json_format.ParseError as error:
        words = " ".join(str(error).split())
        raise UserError(f"the job does not fit the service's schema: {words[:300]}") from error
    return message


def _import_aiplatform() -> Any:
    import warnings

    try:
        with warnings.catch_warnings():
            # On an older Python version, the library warns that it will drop support for it.
            warnings.simplefilter("ignore", FutureWarning)
            from google.cloud import aiplatform_v1
    except ImportError as error:
        raise UserError(
            "submit needs the package google-cloud-aiplatform; run "
            "pip install google-cloud-aiplatform, or give the rendered file to gcloud"
        ) from error
    return aiplatform_v1
