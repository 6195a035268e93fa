"""A model server in this process, and the rows that it is asked."""

import threading
from typing import Any, NamedTuple

import pytest


class Served(NamedTuple):
    """A running server."""

    model: Any
    log: Any
    url: str
    address: str
    lines: list


@pytest.fixture
def serve(tmp_path):
    """serve(place, rate=0.0) → Served; all are stopped at the end of the test."""
    pytest.importorskip("tensorflow_serving")
    pytest.importorskip("aiohttp")
    from trainer import storage
    from trainer.serving.grpc_server import GrpcServer
    from trainer.serving.http_server import HttpServer
    from trainer.serving.inference import Inference
    from trainer.serving.models import Model
    from trainer.serving.request_log import RequestLog
    from trainer.serving.sources import open_source

    ends = []

    def start(place, rate=0.0):
        copies = storage.open_copies(storage.Settings())
        ends.append(lambda: copies.__exit__(None, None, None))
        lines = []
        model = Model(open_source(str(place), None, copies.__enter__()), lines.append)
        ends.append(model.close)
        log = RequestLog(tmp_path / "log", rate, lines.append)
        inference = Inference(model, log)
        grpc = GrpcServer(inference, "127.0.0.1", 0)
        ends.append(grpc.stop)
        http = HttpServer(inference, "127.0.0.1", 0)
        ends.append(http.stop)
        url = f"http://127.0.0.1:{http.port}/v1/models/{model.name}"
        return Served(model, log, url, f"127.0.0.1:{grpc.port}", lines)

    yield start
    for end in reversed(ends):
        end()


@pytest.fixture
def until_ended():
    """Runs an action again and again in a thread until the `with` statement ends."""

    class Repeated:
        def __init__(self, action):
            self._ended, self.errors, self.results = threading.Event(), [], []

            def run():
                while not self._ended.is_set():
                    try:
                        self.results.append(action())
                    except Exception as error:
                        self.errors.append(error)

            self._thread = threading.Thread(target=run)

        def __enter__(self):
            self._thread.start()
            return self

        def __exit__(self, *exception):
            self._ended.set()
            self._thread.join()

    return Repeated
