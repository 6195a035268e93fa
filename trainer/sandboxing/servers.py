"""Queries a running TensorFlow Serving, and compares its outputs with those of the export."""

import base64
import json
import re
from typing import Any, Callable, Protocol

import numpy as np

import estimator_bridge as bridge
from trainer.errors import UserError
from trainer.export.serving_session import ServingSession, to_python

TIMEOUT_SECS = 60
# The server may have another version of TensorFlow, and thus other kernels, than this process.
TOLERANCE = 1e-4
_ADDRESS = re.compile(
    r"(?:(?P<http>https?://[^/]+)/v1/models|grpc://(?P<grpc>[^/]+))/(?P<name>[^/:]+)"
    r"(?:/versions/(?P<version>\d{1,18})|/labels/(?P<label>[^/:]+))?"
)
FORMS = "http://HOST:8501/v1/models/NAME or grpc://HOST:8500/NAME"


class Server(Protocol):
    """A running server."""

    def ask(self, name: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns the outputs of a signature.

        Args:
            name: name of the signature.
            inputs: name → array.

        Raises:
            UserError: the server does not respond, or rejects the request.
        """


class _Rest:
    def __init__(self, url: str):
        self._url = url

    def ask(self, name: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        import requests

        columns = {each: _encode(values.tolist()) for each, values in inputs.items()}
        body = json.dumps({"signature_name": name, "inputs": columns})
        try:
            answered = requests.post(f"{self._url}:predict", data=body, timeout=TIMEOUT_SECS)
            values = answered.json()
        except (requests.RequestException, ValueError) as error:
            raise UserError(f"no response: {error}") from error
        if not isinstance(values, dict) or answered.ok and "outputs" not in values:
            raise UserError("the response is not that of a model server; check the address")
        if not answered.ok:
            raise UserError(f"status {answered.status_code}: {values.get('error', values)}")
        # If there is only one output, the response does not contain its name.
        outputs = values["outputs"]
        found = outputs if isinstance(outputs, dict) else {"": outputs}
        return {each: np.array(_decode(one)) for each, one in found.items()}


class _Grpc:
    def __init__(self, match: "re.Match[str]"):
        import grpc
        from tensorflow_serving.apis import prediction_service_pb2_grpc

        unlimited = [("grpc.max_receive_message_length", -1)]
        channel = grpc.insecure_channel(match["grpc"], options=unlimited)
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        self._match = match

    def ask(self, name: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        import grpc
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        request.model_spec.name = self._match["name"]
        request.model_spec.signature_name = name
        if self._match["version"]:
            request.model_spec.version.value = int(self._match["version"])
        elif self._match["label"]:
            request.model_spec.version_label = self._match["label"]
        for each, values in inputs.items():
            request.inputs[each].CopyFrom(bridge.tf.make_tensor_proto(values))
        try:
            response = self._stub.Predict(request, timeout=TIMEOUT_SECS)
        except grpc.RpcError as error:
            raise UserError(f"{error.code().name}: {error.details()}") from error
        return {each: bridge.tf.make_ndarray(one) for each, one in response.outputs.items()}


def check_address(address: str) -> "re.Match[str]":
    """Returns the parts of the address of a server.

    Args:
        address: one of FORMS, perhaps followed by /versions/N or /labels/L.

    Raises:
        UserError: the address has another form.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise UserError(f"--server={address}: write {FORMS}")
    return match


def open_server(address: str) -> Server:
    """Returns a client for a server, without sending a request.

    Args:
        address: see `check_address`.
    """
    match = check_address(address)
    return _Rest(address) if match["http"] else _Grpc(match)


def hide_password(address: str) -> str:
    """Returns the address of a server for messages, without a user's name and password.

    Args:
        address: see `check_address`.
    """
    return re.sub("//[^/]*@", "//", address)


def compare(
    server: Server, session: ServingSession, name: str, inputs: dict[str, np.ndarray]
) -> None:
    """Sends a request to a server, and compares the outputs with those of the export.

    Args:
        server: the server.
        session: the export.
        name: name of the signature.
        inputs: name → array [rows].

    Raises:
        UserError: the server does not respond, or its outputs differ.
    """
    theirs, ours = server.ask(name, inputs), session.run(name, inputs)
    if list(theirs) == [""] and len(ours) == 1:
        theirs = {next(iter(ours)): theirs[""]}
    if set(theirs) != set(ours):
        raise UserError(f"its outputs are {sorted(theirs)}, those of the export {sorted(ours)}")
    for output, values in ours.items():
        expected = np.array(to_python(np.asarray(values)))
        found = np.array(to_python(theirs[output]))
        same: Callable[..., Any] = np.array_equal
        if expected.dtype.kind == "f" and found.dtype.kind in "fi":
            same = lambda one, other: np.allclose(one, other, TOLERANCE, TOLERANCE)  # noqa: E731
        if expected.shape != found.shape or not same(expected, found):
            raise UserError(
                f"output {output!r} is {_shorten(found)}, and {_shorten(expected)} with the export"
                "; check the version of the server"
            )


def _shorten(values: np.ndarray) -> str:
    return str(values.reshape(-1)[:1].tolist())[:80]


def _encode(value: Any) -> Any:
    if isinstance(value, list):
        return [_encode(one) for one in value]
    if isinstance(value, (str, bytes)):
        content = value.encode() if isinstance(value, str) else value
        return {"b64": base64.b64encode(content).decode()}
    return value


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(one) for one in value]
    if isinstance(value, dict) and set(value) == {"b64"}:
        return base64.b64decode(value["b64"]).decode(errors="replace")
    return value
