"""Repeats requests to Cloud Storage that fail for a while, and translates its errors."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Optional, TypeVar

from trainer.errors import TemporaryError, UserError
from trainer.storage.addresses import SCHEME, Address
from trainer.storage.client import describe_missing, one_line
from trainer.storage.transient import is_transient

FIRST_WAIT_SECS, LONGEST_WAIT_SECS = 0.5, 30.0

_T = TypeVar("_T")


class Unavailable(TemporaryError):
    """The service could not be reached, or did not respond, for `patience_secs`."""


class Repeatable(Exception):
    """An answer is not that of the service, or the session of an upload is lost."""


@contextmanager
def understood() -> Iterator[None]:
    """Makes a request repeatable if the client library cannot read its answer.

    Such an answer is not from the service but from something in between, such as a proxy.

    Raises:
        Repeatable: the answer has other values than those of the service.
    """
    try:
        yield
    except (AttributeError, TypeError) as error:
        raise Repeatable(f"an answer is not one of Cloud Storage: {error}") from error


class Requests:
    """Sends requests to one bucket.

    Args:
        bucket: name of the bucket.
        patience_secs: how long a failing request is repeated.
        sleep: waits for some seconds.
    """

    def __init__(self, bucket: str, patience_secs: float, sleep: Callable[[float], None]):
        self._bucket = bucket
        self._patience = patience_secs
        self._sleep = sleep

    def retry(
        self, request: Callable[[], _T], before_repeat: Optional[Callable[[], None]] = None
    ) -> _T:
        """Repeats a request until it succeeds, waiting longer each time; returns its result.

        Args:
            request: sends the request; may be called several times.
            before_repeat: called before each repetition; an error that it raises ends the request.

        Raises:
            Unavailable: it has not succeeded for `patience_secs`.
            Exception: an error of the request that a repetition cannot mend.
        """
        deadline = time.monotonic() + self._patience
        wait = FIRST_WAIT_SECS
        while True:
            try:
                return request()
            except Exception as error:
                if not (isinstance(error, Repeatable) or is_transient(error)):
                    raise
                if time.monotonic() + wait > deadline:
                    raise Unavailable(
                        f"{SCHEME}{self._bucket}: no answer from Cloud Storage for "
                        f"{self._patience:g} s ({one_line(error)}); try again later, or raise "
                        "--storage.patience_secs"
                    ) from error
            self._sleep(wait)
            if before_repeat is not None:
                before_repeat()
            wait = min(2 * wait, LONGEST_WAIT_SECS)

    @contextmanager
    def translate_errors(self, action: str, name: str) -> Iterator[None]:
        """Translates errors of the service and the disk while a `with` statement runs.

        Args:
            action: what is done to the object: list, read, write or delete.
            name: name of the object, or the beginning of the names of several.

        Raises:
            UserError: there is no such bucket, no permission, or no disk space.
            NotFound: the object that is to be deleted does not exist.
            PreconditionFailed: the object has another generation.
        """
        import requests
        from google.api_core import exceptions
        from google.auth import exceptions as auth

        place = Address(self._bucket, name)
        try:
            yield
        except exceptions.NotFound as error:
            if action == "delete":
                raise
            raise UserError(
                f"{place}: there is no bucket {self._bucket!r}; check its name, or make it with "
                f"gcloud storage buckets create {SCHEME}{self._bucket}"
            ) from error
        except (exceptions.Forbidden, exceptions.Unauthorized) as error:
            roles = {"list": "objectViewer", "read": "objectViewer"}
            raise UserError(
                f"{place}: no permission to {action} ({one_line(error)}); grant the job's account "
                f"roles/storage.{roles.get(action, 'objectUser')} on the bucket"
            ) from error
        except (auth.DefaultCredentialsError, auth.RefreshError) as error:
            raise UserError(describe_missing(error)) from error
        except exceptions.PreconditionFailed:
            raise
        except exceptions.GoogleAPICallError as error:
            raise UserError(f"{place}: cannot {action} it: {one_line(error)}") from error
        except requests.RequestException as error:
            raise UserError(
                f"{place}: cannot {action} it: {one_line(error)}; check the network and the proxy, "
                "which HTTPS_PROXY names"
            ) from error
        except OSError as error:
            raise UserError(
                f"{place}: cannot {action} it: {error.strerror or one_line(error)}"
                f"{' on ' + str(error.filename) if error.filename else ''}; free some disk, or "
                "name another folder in --storage.cache_dir"
            ) from error
