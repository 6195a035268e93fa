"""How many replicas of TensorFlow Serving hold a rate of requests, from the sandbox's measurement.

The model: the requests of a replica come at random (a Poisson process) and are answered by as many
workers as it has processors, each in the time that the sandbox measured for one request. The wait
for a worker is that of the queue M/M/m (L. Kleinrock, Queueing Systems, volume 1, 1975, section
3.5): with the probability of Erlang's C formula a request waits, then for an exponential time. The
99th percentile of the answer is estimated as that of the wait plus that of the measured time, which
is more than that of their sum. With batching, a batch is first filled, and then answered as one
request; times between the measured sizes are interpolated.
"""

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

from trainer.errors import UserError
from trainer.export.fingerprint import SANDBOX_REPORT

# Greatest share of the workers' time that requests may use; as much as the autoscaling aims at.
GREATEST_LOAD = 0.7
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# Numbers of replicas that are tried beyond the fewest possible.
_MORE_REPLICAS = 200
_TAIL = 0.01


class Times(NamedTuple):
    """What the sandbox measured of one signature.

    Attributes:
        signature: its name.
        batches: rows of a request, rising.
        p50: median of the time of such a request, in seconds.
        p99: 99th percentile of it, in seconds.
    """

    signature: str
    batches: list[int]
    p50: list[float]
    p99: list[float]


class Choice(NamedTuple):
    """Replicas that hold the rate.

    Attributes:
        batch: greatest number of requests that are answered together.
        replicas: their number.
        load: share of the workers' time that the requests use.
        p99: estimated 99th percentile of the answer, in seconds.
    """

    batch: int
    replicas: int
    load: float
    p99: float


def parse_rate(text: str) -> float:
    """Returns requests per second.

    Args:
        text: such as 500/s.

    Raises:
        UserError: it is something else.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(?:/s)?", text)
    if match is None or not float(match[1]):
        raise UserError(f"--rate={text}: write requests per second, such as 500/s")
    return float(match[1])


def parse_secs(text: str) -> float:
    """Returns seconds.

    Args:
        text: such as 20ms or 0.5s.

    Raises:
        UserError: it is something else.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s)", text)
    if match is None or not float(match[1]):
        raise UserError(f"--p99={text}: write a time such as 20ms or 0.5s")
    return float(match[1]) / (1000 if match[2] == "ms" else 1)


def read_times(report: dict[str, Any], signature: Optional[str]) -> Times:
    """Returns the times of a signature.

    Args:
        report: of the sandbox.
        signature: its name; None: the default signature, else the first.

    Raises:
        UserError: the sandbox has not measured it, or the report is damaged.
    """
    try:
        return _read_times(report, signature)
    except (TypeError, KeyError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(
            f"{SANDBOX_REPORT}: damaged ({type(error).__name__}: {error!s:.60}); run "
            "trainer.sandbox again"
        ) from error


def _read_times(report: dict[str, Any], signature: Optional[str]) -> Times:
    found: dict[str, list[dict[str, Any]]] = {}
    for one in report.get("latencies", ()):
        found.setdefault(one["signature"], []).append(one)
    name = signature or ("serving_default" if "serving_default" in found else next(iter(found), ""))
    if name not in found:
        raise UserError(
            f"--signature={name}: the sandbox has measured {', '.join(found) or 'nothing'}; name "
            "one of these, or run trainer.sandbox again"
        )
    rows = sorted(found[name], key=lambda one: int(one["batch"]))
    return Times(
        name,
        [int(one["batch"]) for one in rows],
        [float(one["p50_ms"]) / 1000 for one in rows],
        [float(one["p99_ms"]) / 1000 for one in rows],
    )


def _interpolate(times: Times, values: Sequence[float], batch: int) -> float:
    for place in range(1, len(values)):
        low, high = times.batches[place - 1], times.batches[place]
        if batch <= high:
            share = (batch - low) / (high - low)
            return values[place - 1] + share * (values[place] - values[place - 1])
    return values[-1]


def compute_wait(rate: float, secs: float, workers: int) -> float:
    """Returns the 99th percentile of the wait for a worker in the queue M/M/m, in seconds.

    Args:
        rate: arrivals per second.
        secs: mean time of a worker for one.
        workers: their number.
    """
    offered = rate * secs
    if offered >= workers:
        return math.inf
    # Erlang's B by its recursion, which does not overflow, and C from it.
    blocked = 1.0
    for number in range(1, workers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    waits = blocked / (1 - offered / workers * (1 - blocked))
    return max(0.0, math.log(waits / _TAIL)) * secs / (workers - offered) if waits else 0.0


def estimate(times: Times, rate: float, batch: int, workers: int) -> Choice:
    """Returns the estimate for one replica.

    Args:
        times: measured by the sandbox.
        rate: requests per second that it gets.
        batch: greatest number of requests that are answered together.
        workers: processors of the replica.
    """
    secs = _interpolate(times, times.p50, batch)
    filling = (batch - 1) / rate
    wait = compute_wait(rate / batch, secs, workers)
    p99 = filling + wait + _interpolate(times, times.p99, batch)
    return Choice(batch, 1, rate / batch * secs / workers, p99)


def choose(times: Times, rate: float, limit: float, workers: int) -> list[Choice]:
    """Returns for each batch size the fewest replicas that hold a rate, if any do.

    Args:
        times: measured by the sandbox.
        rate: requests per second of all replicas.
        limit: of the 99th percentile of the answer, in seconds.
        workers: processors of a replica.
    """
    found = []
    for batch in BATCHES:
        if batch > times.batches[-1]:
            continue
        secs = _interpolate(times, times.p50, batch)
        fewest = max(1, math.ceil(rate / batch * secs / (GREATEST_LOAD * workers)))
        for replicas in range(fewest, fewest + _MORE_REPLICAS):
            one = estimate(times, rate / replicas, batch, workers)
            if one.p99 <= limit:
                found.append(one._replace(replicas=replicas))
                break
    return found


def describe_batching(choice: Choice, rate: float, workers: int) -> str:
    """Returns the batching_parameters of TensorFlow Serving.

    Args:
        choice: replicas with batches.
        rate: requests per second of all replicas.
        workers: processors of a replica.
    """
    micros = math.ceil(1e6 * (choice.batch - 1) / (rate / choice.replicas))
    return (
        f"max_batch_size {{ value: {choice.batch} }}\n"
        f"batch_timeout_micros {{ value: {micros} }}\n"
        f"num_batch_threads {{ value: {workers} }}\n"
        f"max_enqueued_batches {{ value: {100 * workers} }}\n"
    )
