"""Tells which errors of Cloud Storage are temporary, so that the request is repeated.

Source: the default retry policy of google-cloud-storage, and errors while credentials are renewed.
"""

import http.client
from typing import Any

__all__ = ["is_transient"]

_STATUSES = (408, 429)


def is_transient(error: Any) -> bool:
    """Returns whether a request that failed with an error may succeed when it is repeated.

    Args:
        error: the exception.
    """
    import requests
    import urllib3
    from google.api_core import exceptions
    from google.auth import exceptions as auth

    kinds = (
        ConnectionError,
        TimeoutError,
        http.client.HTTPException,
        exceptions.RetryError,
        exceptions.ServerError,
        requests.exceptions.ConnectionError,
        requests.exceptions.Timeout,
        requests.exceptions.ChunkedEncodingError,
        requests.exceptions.ContentDecodingError,
        # Not the service, but a proxy has answered, with a page.
        requests.exceptions.InvalidJSONError,
        urllib3.exceptions.PoolError,
        urllib3.exceptions.ProtocolError,
        urllib3.exceptions.SSLError,
        urllib3.exceptions.TimeoutError,
        auth.TransportError,
    )
    if isinstance(error, kinds):
        return True
    if isinstance(error, exceptions.GoogleAPICallError):
        return error.code in _STATUSES or (error.code or 0) >= 500
    if isinstance(error, auth.RefreshError):
        # A metadata server that is away for a moment: the cause is the first argument.
        return bool(getattr(error, "retryable", False)) or any(map(is_transient, error.args))
    return False
