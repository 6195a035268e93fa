"""A second measurement for a plan: requests at random times, answered by a few workers.

The elapsed time means nothing while other programs use the processors. So there is another one
by processor time, of requests one after the other: planning.simulate gives these times to a queue.
"""

import os
import queue
import random
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from estimator_bridge.processor import count_cores
from trainer.errors import UserError
from trainer.export.serving_session import ServingSession
from trainer.serving.models import read_warm_up

SWITCH_SECS = 1e-4
# Requests that are not timed, because the first ones of a session take longer.
NUM_FIRST = 20


class Subject(NamedTuple):
    """A loaded export, and a request for it.

    Attributes:
        session: of the export.
        signature: that is asked.
        inputs: of a request with one row.
    """

    session: ServingSession
    signature: str
    inputs: dict[str, np.ndarray]


class Measured(NamedTuple):
    """What was measured.

    Attributes:
        p99: 99th percentile of the time to an answer, with the wait for a worker, in seconds.
        others: share of the processors that other processes used meanwhile, 0 to 1.
    """

    p99: float
    others: float


@contextmanager
def open_subject(export: str, signature: str) -> Iterator[Subject]:
    """Loads an export while a `with` statement runs.

    Args:
        export: folder of an export with warm-up requests.
        signature: that is asked.

    Yields:
        The export and the request.

    Raises:
        UserError: the export has no warm-up request with one row of this signature.
    """
    inputs = _find_request(export, signature)
    with ServingSession(export) as session:
        yield Subject(session, signature, inputs)


def time_requests(subject: Subject, batch: int, count: int) -> list[float]:
    """Returns the processor time of each of some requests, in seconds, after a few others.

    Args:
        subject: what is asked.
        batch: rows of a request.
        count: number of requests.
    """
    inputs = {name: np.repeat(rows, batch, axis=0) for name, rows in subject.inputs.items()}
    times = []
    for _ in range(NUM_FIRST + count):
        before = time.process_time()
        subject.session.run(subject.signature, inputs)
        times.append(time.process_time() - before)
    return times[NUM_FIRST:]


def measure(subject: Subject, rate: float, workers: int, secs: float) -> Measured:
    """Asks an export at random times.

    Args:
        subject: what is asked.
        rate: requests per second, in a Poisson process.
        workers: threads that answer.
        secs: duration.
    """
    arrivals: queue.SimpleQueue[float] = queue.SimpleQueue()
    taken: list[float] = []

    def work() -> None:
        while (due := arrivals.get()) >= 0:
            subject.session.run(subject.signature, subject.inputs)
            taken.append(time.perf_counter() - due)

    # Python gives a thread its turn after 5 ms, which TensorFlow Serving does not wait for.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECS)
    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    before_load = _read_processors()
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
    others = _find_share(before_load, _read_processors())
    return Measured(float(np.quantile(taken, 0.99)), others)


def _read_processors() -> tuple[float, float, float]:
    """Returns seconds: busy of the processors, all of them, and those of this process.

    The processors are those on which this process may run.
    """
    own = sum(os.times()[:2])
    try:
        lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
        allowed = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    except (OSError, AttributeError):
        # Not Linux: nothing is known of other processes.
        return own, 0.0, own
    # user, nice, system, idle, iowait, irq, softirq, steal; user contains guests.
    rows = [line.split()[1:9] for line in lines if line.partition(" ")[0] in allowed]
    ticks = [sum(map(float, column)) / os.sysconf("SC_CLK_TCK") for column in zip(*rows)]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks), own


def _find_share(before: Sequence[float], after: Sequence[float]) -> float:
    busy, everything, own = (later - earlier for earlier, later in zip(before, after))
    return min(1.0, max(0.0, (busy - own) / everything)) if everything > 0 else 0.0


def count_workers(wanted: int) -> int:
    """Returns how many of the workers can run at once here.

    Args:
        wanted: processors of a replica.
    """
    return min(wanted, count_cores())


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
