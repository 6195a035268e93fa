"""A second measurement for a plan: requests at random times, answered by a few workers.

By the clock, it is worth nothing while other programs use the processors. So there is another one
by processor time, of requests one after the other: planning.simulate gives these times to a queue.
"""

import os
import queue
import random
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trainer.errors import UserError
from trainer.export.serving_session import ServingSession
from trainer.serving.models import read_warm_up

SWITCH_SECS = 1e-4
# Requests whose processor time is measured.
NUM_TIMED = 500


class Measured(NamedTuple):
    """What was measured, in seconds.

    Attributes:
        p99: 99th percentile of the time to an answer, with the wait for a worker.
        others: share of this machine's processors that other processes used meanwhile, 0 to 1.
        times: processor time of each of NUM_TIMED requests.
    """

    p99: float
    others: float
    times: list[float]


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
        times = []
        for _ in range(NUM_TIMED):
            before = time.process_time()
            session.run(signature, inputs)
            times.append(time.process_time() - before)
        arrivals: queue.SimpleQueue[float] = queue.SimpleQueue()
        taken: list[float] = []

        def work() -> None:
            while (due := arrivals.get()) >= 0:
                session.run(signature, inputs)
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
    return Measured(float(np.quantile(taken, 0.99)), others, times)


def _read_processors() -> tuple[float, float, float]:
    """Returns seconds: busy of all processors, all of them, and those of this process."""
    own = sum(os.times()[:2])
    try:
        words = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
    except OSError:
        # Not Linux: nothing is known of other processes.
        return own, 0.0, own
    # user, nice, system, idle, iowait, irq, softirq, steal; user contains guests.
    ticks = [float(word) / os.sysconf("SC_CLK_TCK") for word in words]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks), own


def _find_share(before: Sequence[float], after: Sequence[float]) -> float:
    busy, everything, own = (later - earlier for earlier, later in zip(before, after))
    return min(1.0, max(0.0, (busy - own) / everything)) if everything > 0 else 0.0


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
