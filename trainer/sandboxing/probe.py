"""python -m trainer.sandboxing.probe: queries every signature of an export in a separate process.

It reads a request from standard input, and writes one JSON object per line: the step that starts
next, each failure, each latency, and the peak memory.
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Optional

import numpy as np

from estimator_bridge import tf
from trainer.errors import UserError
from trainer.export.serving_session import ServingSession, Signature, describe_error
from trainer.prediction.description import ExportDescription
from trainer.sandboxing.elsewhere import find_oldest
from trainer.sandboxing.rows import MISSING, ORDINARY, UNKNOWN, Rows
from trainer.sandboxing.servers import compare, hide_password, open_server
from trainer.schema import Schema, parse_statistics

# Number of rows in a request → number of requests whose time is measured.
BATCHES = {1: 100, 64: 40, 1024: 10}
# Batch sizes of the warm-up requests, which a server runs when it loads the model.
WARM_UP_BATCHES = (1, 64)


def write_line(**values: Any) -> None:
    """Writes a line for the process that started this one.

    Args:
        **values: content of the line.
    """
    print(json.dumps(values), flush=True)


def try_export(
    export: str, rows: Rows, warm_up: Optional[str], servers: Sequence[str] = ()
) -> None:
    """Queries all signatures, and writes the warm-up requests.

    Args:
        export: folder of the export.
        rows: the rows to send.
        warm_up: file for the warm-up requests; None: they are not written.
        servers: addresses of servers that must return the same outputs; see `open_server`.
    """
    write_line(trying="loading")
    started = time.monotonic()
    with ServingSession(export) as session:
        write_line(load_secs=round(time.monotonic() - started, 3))
        if not session.signatures:
            write_line(failure="the export has no signature")
        requests = []
        for name in sorted(session.signatures):
            requests += _try_signature(session, name, rows)
        # ru_maxrss is in KiB on Linux, and in bytes on macOS.
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
        write_line(peak_mib=round(peak / 2**20), oldest=find_oldest(export))
        for address in servers:
            _try_server(session, address, rows)
    if warm_up is not None:
        write_requests(requests, warm_up)
    write_line(done=True)


def _try_signature(
    session: ServingSession, name: str, rows: Rows
) -> list[tuple[str, dict[str, np.ndarray]]]:
    """Queries a signature; returns (its name, inputs) for each warm-up request that succeeds."""
    signature = session.signatures[name]
    for kind in (MISSING, UNKNOWN):

        def ask(kind: str = kind) -> None:
            _ask(session, name, rows.feed(name, signature, rows.make(kind), 1))

        _attempt(f"{name}, {kind}", ask)
    requests = []
    for batch, count in BATCHES.items():

        def measure(batch: int = batch, count: int = count) -> None:
            inputs = rows.feed(name, signature, rows.make(ORDINARY), batch)
            _ask(session, name, inputs)
            millis = []
            for _ in range(count):
                # Processor time is also measured, because it hardly depends on other load.
                begun = time.perf_counter(), time.process_time()
                session.run(name, inputs)
                ended = time.perf_counter(), time.process_time()
                millis.append([1e3 * (after - before) for before, after in zip(begun, ended)])
            middle, high = np.quantile(millis, (0.5, 0.99), axis=0).round(3).tolist()
            write_line(
                signature=name,
                batch=batch,
                p50_ms=middle[0],
                p99_ms=high[0],
                cpu_p50_ms=middle[1],
                cpu_p99_ms=high[1],
            )
            if batch in WARM_UP_BATCHES:
                requests.append((name, inputs))

        _attempt(f"{name}, {batch} {ORDINARY}", measure)
    return requests


def _try_server(session: ServingSession, address: str, rows: Rows) -> None:
    """Sends a server one request for each signature and kind of row."""
    server = open_server(address)
    for name, signature in sorted(session.signatures.items()):
        for kind in (ORDINARY, MISSING, UNKNOWN):

            def ask(name: str = name, signature: Signature = signature, kind: str = kind) -> None:
                compare(server, session, name, rows.feed(name, signature, rows.make(kind), 2))

            _attempt(f"{hide_password(address)}: {name}, {kind}", ask)


def _attempt(what: str, action: Callable[[], None]) -> None:
    write_line(trying=what)
    try:
        action()
    except tf.errors.OpError as error:
        write_line(failure=f"{what}: {describe_error(error)}")
    except (UserError, ValueError, TypeError) as error:
        write_line(failure=f"{what}: {' '.join(str(error).split())[:200]}")


def _ask(session: ServingSession, name: str, inputs: dict[str, np.ndarray]) -> None:
    """Sends one request and checks the shapes and the numbers of the answer."""
    num_rows = len(next(iter(inputs.values())))
    for output, array in session.run(name, inputs).items():
        values = np.asarray(array)
        if values.ndim == 0 or len(values) != num_rows:
            shape = list(values.shape)
            raise UserError(f"output {output!r} has the shape {shape} for {num_rows} rows")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise UserError(f"output {output!r} is not a finite number")


def write_requests(requests: list[tuple[str, dict[str, np.ndarray]]], path: str) -> None:
    """Writes warm-up requests for TensorFlow Serving, as TFRecords of PredictionLog.

    Args:
        requests: (name of the signature, its inputs).
        path: the file.
    """
    from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

    with tf.io.TFRecordWriter(path) as writer:
        for name, inputs in requests:
            request = predict_pb2.PredictRequest()
            request.model_spec.signature_name = name
            for each, values in inputs.items():
                request.inputs[each].CopyFrom(tf.make_tensor_proto(values))
            log = prediction_log_pb2.PredictionLog(
                predict_log=prediction_log_pb2.PredictLog(request=request)
            )
            writer.write(log.SerializeToString())


def main() -> int:
    """Reads a request, tries the export, and returns the exit status."""
    request = json.loads(sys.stdin.read())
    schema = Schema.model_validate(request["schema"])
    description = ExportDescription(schema, parse_statistics(request["statistics"]))
    try:
        rows = Rows(description, request["delimiter"])
        try_export(request["export"], rows, request["warm_up"], request["servers"])
    except (UserError, OSError) as error:
        write_line(failure=" ".join(str(error).split()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
