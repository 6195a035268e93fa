"""A client of one of the services of Vertex AI, whose errors are reported in one line."""

from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any, Optional

from trainer.errors import TemporaryError, UserError

# Time limit of a deployment, including the start of its machines.
OPERATION_SECS = 3600
PERMISSION = "grant your account roles/aiplatform.user, and enable aiplatform.googleapis.com"


class Connection:
    """A client for one of the services of Vertex AI, in a project and region.

    Args:
        client: name of the client class, such as JobServiceClient.
        project: project of the resources.
        region: region of the resources.
        endpoint: host:port of the service, or http://host:port without encryption; None: the
            public endpoint of the region.

    Raises:
        UserError: the client library or the credentials are missing.
    """

    def __init__(self, client: str, project: str, region: str, endpoint: Optional[str] = None):
        self.types = import_aiplatform()
        from google.auth import exceptions as auth

        self.project, self.region = project, region
        self.parent = f"projects/{project}/locations/{region}"
        endpoint = endpoint or f"{region}-aiplatform.googleapis.com"
        kind = getattr(self.types, client)
        try:
            if endpoint.startswith("http://"):
                import grpc

                channel = grpc.insecure_channel(endpoint[len("http://") :])
                self.client = kind(transport=kind.get_transport_class("grpc")(channel=channel))
            else:
                self.client = kind(client_options={"api_endpoint": endpoint})
        except auth.DefaultCredentialsError as error:
            raise UserError(
                "no credentials for Vertex AI; run gcloud auth application-default login, or name "
                "the key file of a service account in GOOGLE_APPLICATION_CREDENTIALS"
            ) from error

    def call(self, method: Callable[..., Any], **request: Any) -> Any:
        """Returns the response of a method of the client.

        Args:
            method: the method.
            **request: fields of its request.

        Raises:
            TemporaryError: the service is temporarily unavailable.
            UserError: the service rejects the request.
        """
        with self._translate_errors():
            return method(request=request, timeout=60.0)

    def wait(self, operation: Any) -> Any:
        """Waits for a long-running operation, and returns its result.

        Args:
            operation: the operation that a method of the client returned.

        Raises:
            TemporaryError: the service is temporarily unavailable, or takes too long.
            UserError: the operation has failed.
        """
        with self._translate_errors():
            return operation.result(timeout=OPERATION_SECS)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        from google.api_core import exceptions
        from google.auth import exceptions as auth

        try:
            yield
        except exceptions.PermissionDenied as error:
            raise UserError(
                f"project {self.project}: no permission ({error.message}); {PERMISSION}"
            ) from error
        except exceptions.ServerError as error:
            words = " ".join(str(error.message).split())[:300]
            raise TemporaryError(f"the service is unavailable: {words}; try again later") from error
        except exceptions.GoogleAPICallError as error:
            words = " ".join(str(error.message).split())[:300]
            raise UserError(
                f"the service rejected the request: {words}; correct the option or the job"
            ) from error
        except futures.TimeoutError as error:
            raise TemporaryError(
                f"the operation did not end within {OPERATION_SECS} s; repeat the command"
            ) from error
        except (auth.TransportError, exceptions.RetryError) as error:
            words = " ".join(str(error).split())[:200]
            raise TemporaryError(
                f"the service cannot be reached: {words}; try again later"
            ) from error
        except auth.GoogleAuthError as error:
            words = " ".join(str(error).split())[:200]
            raise UserError(
                f"the service cannot be reached: {words}; check the credentials"
            ) from error


def to_message(kind: str, value: dict[str, Any]) -> Any:
    """Converts JSON to a message type of the service.

    Args:
        kind: name of the type, such as CustomJob.
        value: the JSON.

    Raises:
        UserError: the service has no field of this name, or the field has another type.
    """
    found = getattr(import_aiplatform(), kind)
    from google.protobuf import json_format

    message = found()
    try:
        json_format.ParseDict(value, found.pb(message))
    except json_format.ParseError as error:
        words = " ".join(str(error).split())
        raise UserError(
            f"not a valid {kind} of Vertex AI: {words[:300]}; render the file again"
        ) from error
    return message


def import_aiplatform() -> Any:
    """Returns the module with the types and clients of the service.

    Raises:
        UserError: the client library is missing.
    """
    import warnings

    try:
        with warnings.catch_warnings():
            # On an older Python version, the library warns that it will drop support for it.
            warnings.simplefilter("ignore", FutureWarning)
            from google.cloud import aiplatform_v1
    except ImportError as error:
        raise UserError(
            "the package google-cloud-aiplatform is not installed; run pip install "
            "google-cloud-aiplatform, or give the rendered file to gcloud"
        ) from error
    return aiplatform_v1
