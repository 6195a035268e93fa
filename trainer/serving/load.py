"""A second measurement for a plan: requests at random times, answered by a few workers."""

import os
import queue
import random
import sys
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from trainer.errors import UserError
from trainer.export.serving_session import ServingSession
from trainer.serving.models import read_warm_up

SWITCH_SECS = 1e-4


class Measured(NamedTuple):
    """What was measured, in seconds.

    Attributes:
        p99: 99th percentile of the time to an answer, with the wait for a worker.
        alone: 99th percentile of the time without this wait.
    """

    p99: float
    alone: float


def measure(export: str, signature: str, rate: float, workers: int, secs: float) -> Measured:
    """Asks an export at random times.

    Args:
        export: folder of an export with warm-up requests.
        signature: that is asked.
        rate: requests per second, in a Poisson process.
        workers: threads that answer.
        secs: duration.

    Raises:
        UserError: the export has no warm-up request with one row of this signature.
    """
    with ServingSession(export) as session:
        inputs = _find_request(export, signature)
        for _ in range(20):
            session.run(signature, inputs)
        arrivals: queue.SimpleQueue[float] = queue.SimpleQueue()
        taken: list[float] = []
        worked: list[float] = []

        def work() -> None:
            while (due := arrivals.get()) >= 0:
                begun = time.perf_counter()
                session.run(signature, inputs)
                ended = time.perf_counter()
                worked.append(ended - begun)
                taken.append(ended - due)

        # Python gives a thread its turn after 5 ms, which TensorFlow Serving does not wait for.
        interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECS)
        threads = [threading.Thread(target=work) for _ in range(workers)]
        for thread in threads:
            thread.start()
        try:
            for due in _list_times(rate, secs):
                time.sleep(max(0.0, due - time.perf_counter()))
                # From the time at which it was due: a late generator must not shorten the answer.
                arrivals.put(due)
        finally:
            for _ in threads:
                arrivals.put(-1.0)
            for thread in threads:
                thread.join()
            sys.setswitchinterval(interval)
    return Measured(float(np.quantile(taken, 0.99)), float(np.quantile(worked, 0.99)))


def count_workers(wanted: int) -> int:
    """Returns how many of the workers this machine can run at once.

    Args:
        wanted: processors of a replica.
    """
    return min(wanted, os.cpu_count() or 1)


def _list_times(rate: float, secs: float) -> Iterator[float]:
    chance, due = random.Random(1), time.perf_counter()  # noqa: S311 - arrivals, no secret
    end = due + secs
    while (due := due + chance.expovariate(rate)) < end:
        yield due


def _find_request(export: str, signature: str) -> dict[str, np.ndarray]:
    for name, inputs in read_warm_up(export):
        if name == signature and len(next(iter(inputs.values()))) == 1:
            return inputs
    raise UserError(
        f"{export}: no warm-up request of {signature} with one row; run trainer.sandbox before the "
        "push"
    )
