"""The REST interface."""

import asyncio
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
    regression_pb2,
)

from trainer.errors import UserError
from trainer.serving import json_requests
from trainer.serving.failures import Code, RequestError
from trainer.serving.grpc_server import GRACE_SECS, THREADS
from trainer.serving.inference import Inference, find_signature

_PATH = re.compile(
    r"/v1/models/(?P<name>[^/:]+)(/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
    r"(?P<metadata>/metadata)?(:(?P<method>\w+))?"
)
# Of a request.
_MAX_BYTES = 2**30
# The greatest version is that of an int64.
_MAX_DIGITS = 18


class HttpServer:
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
        self._inference = inference
        self._pool = ThreadPoolExecutor(THREADS)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        app = web.Application(client_max_size=_MAX_BYTES)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # A body is read as a whole; the rest of one that cannot be read is not waited for.
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=GRACE_SECS, lingering_time=0
        )
        try:
            self.port = self._wait_for(self._start(host, port))
        except OSError as error:
            self.stop()
            raise UserError(
                f"--rest_api_port={port}: cannot be used on {host}: {error.strerror}; name another "
                "one"
            ) from error

    def _wait_for(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _start(self, host: str, port: int) -> int:
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        found: int = self._runner.addresses[0][1]
        return found

    def stop(self) -> None:
        """Takes no new requests, and waits for those that run."""
        self._wait_for(self._runner.cleanup())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._pool.shutdown()

    async def _handle(self, request: web.Request) -> web.Response:
        try:
            content = await request.read()
        except (HttpProcessingError, web.RequestPayloadError) as error:
            return _respond(HTTPStatus.BAD_REQUEST, {"error": f"the body cannot be read: {error}"})
        except ConnectionError:
            # Nobody reads it.
            return _respond(HTTPStatus.BAD_REQUEST, {"error": "the connection was closed"})
        status, body = await asyncio.get_running_loop().run_in_executor(
            self._pool, self._answer, request.method, request.path, content
        )
        return _respond(status, body)

    def _answer(self, verb: str, path: str, content: bytes) -> tuple[int, dict[str, Any]]:
        """Returns the status and the JSON of the answer."""
        try:
            return HTTPStatus.OK, answer(self._inference, verb, path, content)
        except RequestError as error:
            return error.code.value, {"error": str(error)}
        except (ValueError, OverflowError) as error:
            # Values that the messages cannot hold: numbers that are too large, half a character.
            return HTTPStatus.BAD_REQUEST, {"error": " ".join(str(error).split())}


def _respond(status: int, body: dict[str, Any]) -> web.Response:
    text = json.dumps(body)
    return web.Response(status=status, text=text, content_type="application/json")


def answer(inference: Inference, verb: str, path: str, content: bytes) -> dict[str, Any]:
    """Returns the JSON of the answer to a request.

    Args:
        inference: answers.
        verb: GET or POST.
        path: of the URL.
        content: of the request.

    Raises:
        RequestError: it cannot be answered.
    """
    match = _PATH.fullmatch(path)
    if match is None or len(match["version"] or "") > _MAX_DIGITS:
        raise RequestError(Code.NOT_FOUND, f"no such path: {path}")
    if verb == "GET" and match["method"] is None:
        return _describe(inference, match)
    if verb != "POST" or match["method"] is None or match["metadata"]:
        raise RequestError(
            Code.INVALID_ARGUMENT,
            "GET a model or its /metadata, or POST to :predict, :classify or :regress",
        )
    try:
        body = json.loads(content, parse_float=json_requests.parse_float)
    except (ValueError, RecursionError) as error:
        raise RequestError(Code.INVALID_ARGUMENT, f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise RequestError(Code.INVALID_ARGUMENT, "the body must be a JSON object")
    return _infer(inference, match, body)


def _fill_spec(spec: Any, match: "re.Match[str]") -> None:
    spec.name = match["name"]
    if match["version"]:
        spec.version.value = int(match["version"])
    elif match["label"]:
        spec.version_label = match["label"]


def _describe(inference: Inference, match: "re.Match[str]") -> dict[str, Any]:
    if match["metadata"]:
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
        _fill_spec(request.model_spec, match)
        return json_requests.format_metadata(inference.get_metadata(request))
    status = get_model_status_pb2.GetModelStatusRequest()
    _fill_spec(status.model_spec, match)
    return json_requests.format_status(inference.get_status(status))


def _infer(inference: Inference, match: "re.Match[str]", body: dict[str, Any]) -> dict[str, Any]:
    kinds = {
        "predict": predict_pb2.PredictRequest,
        "classify": classification_pb2.ClassificationRequest,
        "regress": regression_pb2.RegressionRequest,
    }
    method = match["method"]
    if method not in kinds:
        raise RequestError(Code.INVALID_ARGUMENT, f"no method {method!r}: {', '.join(kinds)}")
    request: Any = kinds[method]()
    _fill_spec(request.model_spec, match)
    name = body.get("signature_name", "")
    if not isinstance(name, str):
        raise RequestError(Code.INVALID_ARGUMENT, "'signature_name' must be a text")
    request.model_spec.signature_name = name
    if method == "predict":
        with inference.model.use(request.model_spec) as servable:
            _, signature = find_signature(servable, request.model_spec)
            by_row = json_requests.fill_predict(request, body, signature)
            # The version that has this signature answers, whatever is pushed meanwhile.
            return json_requests.format_predict(inference.predict_with(servable, request), by_row)
    json_requests.fill_examples(request, body)
    if method == "classify":
        return json_requests.format_classify(inference.classify(request))
    return json_requests.format_regress(inference.regress(request))
