"""How many replicas of TensorFlow Serving hold a rate of requests, from the sandbox's measurement.

The model: the requests of a replica come at random (a Poisson process) and are answered by as many
workers as it has processors. A request takes the processor time that the sandbox measured, with a
lognormal distribution of its median and 99th percentile. This is the queue M/G/m. With the
probability of Erlang's C formula a request waits (L. Kleinrock, Queueing Systems, volume 1, 1975,
section 3.5), then for an exponential time whose mean is that of M/M/m times (1 + c2) / 2, where c2
is the squared coefficient of variation of the time of a request (W. Whitt, Approximations for the
GI/G/m queue, Production and Operations Management 2, 1993). The 99th percentile is that of the sum
of wait and answer. With batching, a batch is first filled, and then answered as one request; times
between the measured sizes are interpolated.

Processor time, because other load on the machine of the measurement hardly changes it. An answer
that several processors compute at once takes less time than that, so the estimate is rather high.
"""

import bisect
import heapq
import math
import re
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from trainer.errors import UserError
from trainer.export.fingerprint import SANDBOX_REPORT

# Greatest share of the workers' time that requests may use; as much as the autoscaling aims at.
GREATEST_LOAD = 0.7
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# Numbers of replicas that are tried beyond the fewest possible.
_MORE_REPLICAS = 200
_TAIL = 0.01
# Arrivals that are simulated.
NUM_SIMULATED = 100_000
_NORMAL = statistics.NormalDist()
# Of a standard normal variable: as many as the time of an answer is divided into.
_QUANTILES = np.array([_NORMAL.inv_cdf((place + 0.5) / 1000) for place in range(1000)])


class Times(NamedTuple):
    """What the sandbox measured of one signature.

    Attributes:
        signature: its name.
        batches: rows of a request, rising.
        p50: median of the processor time of such a request, in seconds.
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
    # Older reports contain no processor times.
    p50 = [float(one.get("cpu_p50_ms", one["p50_ms"])) / 1000 for one in rows]
    p99 = [float(one.get("cpu_p99_ms", one["p99_ms"])) / 1000 for one in rows]
    if not all(0 < middle <= high < math.inf for middle, high in zip(p50, p99)):
        raise ValueError("a time is not above 0")
    return Times(name, [int(one["batch"]) for one in rows], p50, p99)


def _interpolate(times: Times, values: Sequence[float], batch: int) -> float:
    for place in range(1, len(values)):
        low, high = times.batches[place - 1], times.batches[place]
        if batch <= high:
            share = (batch - low) / (high - low)
            return values[place - 1] + share * (values[place] - values[place - 1])
    return values[-1]


def compute_answer(rate: float, p50: float, p99: float, workers: int) -> tuple[float, float]:
    """Returns the 99th percentile of wait and answer in the queue M/G/m, in seconds, and the load.

    Args:
        rate: arrivals per second.
        p50: median of the time of a worker for one.
        p99: 99th percentile of it.
        workers: their number.
    """
    spread = max(0.0, math.log(p99 / p50)) / _NORMAL.inv_cdf(1 - _TAIL)
    mean = p50 * math.exp(spread**2 / 2)
    offered = rate * mean
    if offered >= workers:
        return math.inf, offered / workers
    # Erlang's B by its recursion, which does not overflow, and C from it.
    blocked = 1.0
    for number in range(1, workers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    waits = blocked / (1 - offered / workers * (1 - blocked))
    wait = mean / (workers - offered) * (1 + math.expm1(spread**2)) / 2
    answers = p50 * np.exp(spread * _QUANTILES)

    def exceeds(secs: float) -> float:
        left = np.maximum(secs - answers, 0.0)
        late = np.exp(-left / wait)
        return float(np.where(answers > secs, 1.0, waits * late).mean())

    low, high = 0.0, float(answers[-1]) + wait * math.log(1 / _TAIL)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) > _TAIL else (low, middle)
    return high, offered / workers


def simulate(rate: float, times: Sequence[float], workers: int, batch: int = 1) -> float:
    """Returns the 99th percentile of wait and answer in a queue, in seconds.

    Args:
        rate: requests per second, in a Poisson process.
        times: of answers, in seconds; each batch takes one of them by chance.
        workers: that answer.
        batch: requests that are answered together; fewer if they have not come in the time of
            `find_timeout`.
    """
    rng = np.random.default_rng(1)
    arrivals = np.cumsum(rng.exponential(1 / rate, NUM_SIMULATED)).tolist()
    chosen = rng.choice(times, NUM_SIMULATED).tolist()
    free, taken, begin = [0.0] * workers, [], 0
    while begin < NUM_SIMULATED:
        closes = arrivals[begin] + find_timeout(rate, batch)
        end = bisect.bisect_right(arrivals, closes, begin, min(begin + batch, NUM_SIMULATED))
        due = arrivals[end - 1] if end == begin + batch else closes
        ended = max(due, free[0]) + chosen[begin]
        heapq.heapreplace(free, ended)
        taken += [ended - arrived for arrived in arrivals[begin:end]]
        begin = end
    return float(np.quantile(taken, 0.99))


def find_timeout(rate: float, batch: int) -> float:
    """Returns the seconds that a batch waits for its last request.

    Args:
        rate: requests per second.
        batch: greatest number of requests that are answered together.
    """
    return (batch - 1) / rate


def estimate(times: Times, rate: float, batch: int, workers: int) -> Choice:
    """Returns the estimate for one replica.

    Args:
        times: measured by the sandbox.
        rate: requests per second that it gets.
        batch: greatest number of requests that are answered together.
        workers: processors of the replica.
    """
    p50, p99 = (_interpolate(times, values, batch) for values in (times.p50, times.p99))
    answered, load = compute_answer(rate / batch, p50, p99, workers)
    return Choice(batch, 1, load, find_timeout(rate, batch) + answered)


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
        load = estimate(times, rate, batch, workers).load
        fewest = max(1, math.ceil(load / GREATEST_LOAD))
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
    micros = math.ceil(1e6 * find_timeout(rate / choice.replicas, choice.batch))
    return (
        f"max_batch_size {{ value: {choice.batch} }}\n"
        f"batch_timeout_micros {{ value: {micros} }}\n"
        f"num_batch_threads {{ value: {workers} }}\n"
        f"max_enqueued_batches {{ value: {100 * workers} }}\n"
    )
