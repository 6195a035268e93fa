"""Errors that a request is answered with."""

from enum import Enum
from http import HTTPStatus


class Code(Enum):
    """Reasons, by the names of gRPC → the status of HTTP that TensorFlow Serving answers with."""

    INVALID_ARGUMENT = HTTPStatus.BAD_REQUEST
    NOT_FOUND = HTTPStatus.NOT_FOUND
    UNIMPLEMENTED = HTTPStatus.NOT_IMPLEMENTED
    UNAVAILABLE = HTTPStatus.SERVICE_UNAVAILABLE
    INTERNAL = HTTPStatus.INTERNAL_SERVER_ERROR


class RequestError(Exception):
    """A request cannot be answered.

    Args:
        code: the reason.
        message: what is wrong with the request, in one line.

    Attributes:
        code: as given.
    """

    def __init__(self, code: Code, message: str):
        super().__init__(message)
        self.code = code
