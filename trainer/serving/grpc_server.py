"""The gRPC interface."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import grpc
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    prediction_service_pb2_grpc,
)

from trainer.errors import UserError
from trainer.serving.failures import RequestError
from trainer.serving.inference import Inference

# Requests that are answered at the same time.
THREADS = 16
# Requests that run are given this time when the server ends.
GRACE_SECS = 10.0
_OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class _Predictions(prediction_service_pb2_grpc.PredictionServiceServicer):
    """PredictionService; methods that are not here answer UNIMPLEMENTED."""

    def __init__(self, inference: Inference):
        self.Predict = _answer(inference.predict)
        self.Classify = _answer(inference.classify)
        self.Regress = _answer(inference.regress)
        self.MultiInference = _answer(inference.infer_several)
        self.GetModelMetadata = _answer(inference.get_metadata)


class _Models(model_service_pb2_grpc.ModelServiceServicer):
    """ModelService; models.config is followed, so HandleReloadConfigRequest is not needed."""

    def __init__(self, inference: Inference):
        self.GetModelStatus = _answer(inference.get_status)


def _answer(method: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def call(request: Any, context: Any) -> Any:
        try:
            return method(request)
        except RequestError as error:
            context.abort(grpc.StatusCode[error.code.name], str(error))

    return call


class GrpcServer:
    """A running server; `stop` ends it.

    Args:
        inference: answers.
        host: address of this machine that is listened on.
        port: 0: any free one.

    Attributes:
        port: the port.

    Raises:
        UserError: the port cannot be used.
    """

    def __init__(self, inference: Inference, host: str, port: int):
        options = [*_OPTIONS, ("grpc.so_reuseport", 0)]
        self._server = grpc.server(ThreadPoolExecutor(THREADS), options=options)
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            _Predictions(inference), self._server
        )
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(_Models(inference), self._server)
        try:
            self.port = self._server.add_insecure_port(f"{host}:{port}")
        except RuntimeError as error:
            raise UserError(f"--port={port}: cannot be used on {host}; name another one") from error
        if not self.port:
            raise UserError(f"--port={port}: cannot be used on {host}; name another one")
        self._server.start()

    def stop(self) -> None:
        """Takes no new requests, and waits for those that run."""
        self._server.stop(GRACE_SECS).wait()
