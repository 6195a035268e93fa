"""Creates the client of Cloud Storage, and describes its errors."""

import textwrap
import warnings
from typing import Any

from trainer.errors import UserError


def make_client() -> Any:
    """Returns a client for the account of this machine or of the environment.

    Raises:
        UserError: the library is not installed, or there are no credentials.
    """
    try:
        with warnings.catch_warnings():
            # With an older Python, the import warns that a future version will not support it.
            warnings.simplefilter("ignore", FutureWarning)
            from google.auth import exceptions as auth
            from google.cloud import storage
    except ImportError as error:
        raise UserError(
            f"gs:// paths need the package google-cloud-storage ({error}); "
            "run pip install google-cloud-storage"
        ) from error
    try:
        # The client needs a project only to create buckets.
        return storage.Client(project=None)
    except (auth.DefaultCredentialsError, OSError) as error:
        raise UserError(describe_missing(error)) from error


def describe_missing(error: Exception) -> str:
    """Returns the message for missing credentials.

    Args:
        error: of the library.
    """
    return (
        f"gs://: no credentials ({one_line(error)}); run gcloud auth application-default login, "
        "or name a service account's key file in GOOGLE_APPLICATION_CREDENTIALS"
    )


def one_line(error: Exception) -> str:
    """Returns the message of an error of the service on one line.

    Args:
        error: of the library.
    """
    cause: Any = error
    while cause.args and isinstance(cause.args[0], Exception):
        cause = cause.args[0]
    # If no connection was made, the text begins with a long URL, and the reason would be cut off.
    cause = getattr(cause, "reason", None) or cause
    message = getattr(cause, "message", None) or cause or repr(cause)
    return textwrap.shorten(str(message), 160, placeholder=" ...")
