"""A client of one of the service's interfaces, and its errors in one line."""

from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any, Optional

from trainer.errors import TemporaryError, UserError

# Longest time of a deployment, with the start of its machines.
OPERATION_SECS = 3600
PERMISSION = "grant your account roles/aiplatform.user, and enable aiplatform.googleapis.com"


class Connection:
    """A client for one interface of the service, in a project and region.

    Args:
        client: name of the client, such as JobServiceClient.
        project: project of the resources.
        region: their region.
        endpoint: host:port of the service, or http://host:port without encryption; None: the
            endpoint of the region.

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
                "no credentials for the service; run gcloud auth application-default login, or "
                "name a service account's key file in GOOGLE_APPLICATION_CREDENTIALS"
            ) from error

    def call(self, method: Callable[..., Any], **request: Any) -> Any:
        """Returns what a method of the client answers.

        Args:
            method: the method.
            **request: fields of its request.

        Raises:
            TemporaryError: the service cannot answer now.
            UserError: the service rejects the request.
        """
        with self._translate_errors():
            return method(request=request, timeout=60.0)

    def wait(self, operation: Any) -> Any:
        """Returns the result of a long-running operation when it has ended.

        Args:
            operation: what the method of the client returned.

        Raises:
            TemporaryError: the service cannot answer now, or takes too long.
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
            raise TemporaryError(f"the service cannot answer now: {words}; try again") from error
        except exceptions.GoogleAPICallError as error:
            words = " ".join(str(error.message).split())[:300]
            raise UserError(f"the service rejects the request: {words}") from error
        except futures.TimeoutError as error:
            raise TemporaryError(
                f"the service has not ended in {OPERATION_SECS} s; try again"
            ) from error
        except (auth.TransportError, exceptions.RetryError) as error:
            words = " ".join(str(error).split())[:200]
            raise TemporaryError(f"the service cannot be reached: {words}; try again") from error
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
        raise UserError(f"the resource does not fit the service's schema: {words[:300]}") from error
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
            "this needs the package google-cloud-aiplatform; run "
            "pip install google-cloud-aiplatform, or give the rendered file to gcloud"
        ) from error
    return aiplatform_v1
