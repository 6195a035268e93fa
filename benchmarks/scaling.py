"""Measures the cost of a step, and computes how each strategy scales with the workers.

    python benchmarks/scaling.py --write    (about a minute; nothing else should run)

Measured: the seconds of a step of a small network by its batch, the seconds that a server of
parameters needs for one exchange of parameters and gradients by their bytes (over loopback), and
the seconds of an update by its bytes. What is printed is the model of docs/cluster.md with these
constants: examples a second, against the number of workers. --write puts it there, between two
marks; a test holds that part of the document against the constants in the first one.
"""

import argparse
import concurrent.futures
import json
import math
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from estimator_bridge import tf  # noqa: E402

WORKERS = (1, 2, 4, 8, 16, 32)
UNITS = (66, 100, 70, 50, 25, 1)
# Bandwidth of a network between machines, which loopback cannot measure.
LINK_BYTES_A_SEC = 10e9 / 8
# Latency of a message on such a network.
LINK_SECS = 100e-6
# Rows per step of a worker, and bytes of parameters that a step transfers.
BATCH = 512
SIZES = (0.1e6, 4e6, 100e6)
DOCUMENT = ROOT / "docs" / "cluster.md"
PART = re.compile(r"<!-- scaling (\{.*?\}) -->\n(.*?)<!-- scaling ends -->", re.DOTALL)


class Constants(NamedTuple):
    """The measurements, and the machine.

    Attributes:
        step_secs, row_secs: a step takes step_secs + rows x row_secs.
        call_secs, byte_secs: an exchange with a server takes call_secs + bytes x byte_secs.
        update_secs: seconds that a server's processor needs for one byte of an update.
        turn_secs: seconds between two exchanges of few bytes that a busy server begins.
        cores, tensorflow: of the machine, and its version.
    """

    step_secs: float
    row_secs: float
    call_secs: float
    byte_secs: float
    update_secs: float
    turn_secs: float
    cores: int
    tensorflow: str


def time_runs(run, least_secs: float = 1.5) -> float:
    """Returns the median seconds of run()."""
    for _ in range(5):
        run()
    times, started = [], time.perf_counter()
    while time.perf_counter() - started < least_secs:
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return sorted(times)[len(times) // 2]


def time_together(run, threads: int = 8, each: int = 150) -> float:
    """Returns seconds per run() if several threads call it."""
    started = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: run(), range(threads * each)))
    return (time.perf_counter() - started) / threads / each


def fit(sizes: list, secs: list) -> tuple:
    """Returns (intercept, slope) of the line through the first and the last point."""
    slope = (secs[-1] - secs[0]) / (sizes[-1] - sizes[0])
    return max(secs[0] - slope * sizes[0], 0.0), slope


def measure_step() -> tuple:
    """Measures the seconds of a training step, and of each row in it."""
    batches, secs = [64, 2048], []
    for batch in batches:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            layer = tf.random.uniform([batch, UNITS[0]])
            for units in UNITS[1:]:
                layer = tf.compat.v1.layers.dense(layer, units, tf.nn.relu)
            loss = tf.reduce_mean(tf.square(layer - 1.0))
            train = tf.compat.v1.train.AdagradOptimizer(0.01).minimize(loss)
            session.run(tf.compat.v1.global_variables_initializer())
            secs.append(time_runs(lambda session=session, train=train: session.run(train)))
    return fit(batches, secs)


def _find_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def measure_exchange() -> tuple:
    """Measures the seconds to fetch parameters from a server and to send as many bytes back."""
    cluster = {"ps": [f"127.0.0.1:{_find_port()}"], "worker": [f"127.0.0.1:{_find_port()}"]}
    command = [sys.executable, __file__, "--serve", *cluster["ps"], *cluster["worker"]]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    here = tf.distribute.Server(tf.train.ClusterSpec(cluster), "worker", 0)
    sizes, secs, updates, turns = [1_000, 32_000_000], [], [], []
    try:
        for size in sizes:
            with tf.Graph().as_default():
                with tf.device("/job:ps/task:0"):
                    values = tf.compat.v1.get_variable(
                        "w", [size // 4], use_resource=True, initializer=tf.zeros_initializer()
                    )
                    ones = tf.compat.v1.get_variable(
                        "g", [size // 4], use_resource=True, initializer=tf.zeros_initializer()
                    )
                    update = values.assign_add(ones, read_value=False)
                with tf.device("/job:worker/task:0"):
                    gradient = values.read_value() * 0.5
                with tf.device("/job:ps/task:0"):
                    exchange = values.assign_add(gradient, read_value=False)
                with tf.compat.v1.Session(here.target) as session:
                    session.run(tf.compat.v1.global_variables_initializer())
                    secs.append(time_runs(lambda s=session, e=exchange: s.run(e)))
                    updates.append(time_runs(lambda s=session, u=update: s.run(u)))
                    if not turns:
                        turns.append(time_together(lambda s=session, e=exchange: s.run(e)))
    finally:
        server.kill()
        server.wait()
    # The parameters are transferred in both directions.
    call_secs, byte_secs = fit([2 * size for size in sizes], secs)
    return call_secs, byte_secs, fit(sizes, updates)[1], turns[0]


def serve(addresses: list) -> None:
    """Runs a parameter server until it is killed."""
    cluster = {"ps": addresses[:1], "worker": addresses[1:]}
    tf.distribute.Server(tf.train.ClusterSpec(cluster), "ps", 0).join()


def rate_asynchronous(
    cost: Constants, batch: int, size: float, workers: int, servers: int
) -> float:
    """Returns examples per second of asynchronous workers; a step moves `size` bytes each way."""
    compute = cost.step_secs + batch * cost.row_secs
    step = compute + LINK_SECS + cost.call_secs + 2 * size / servers / LINK_BYTES_A_SEC
    # A server's link and its processor each carry the exchanges of all workers.
    busiest = size / servers * max(1 / LINK_BYTES_A_SEC, cost.update_secs) + cost.turn_secs
    return batch * min(workers / step, 1 / busiest)


def rate_synchronous(cost: Constants, batch: int, size: float, workers: int) -> float:
    """Returns examples per second of workers that reduce their gradients in a ring."""
    compute = cost.step_secs + batch * cost.row_secs
    rounds = 2 * (workers - 1)
    ring = rounds * (LINK_SECS + size / workers / LINK_BYTES_A_SEC)
    return batch * workers / (compute + ring)


def list_rates(cost: Constants, size: float) -> list:
    """(strategy, rows a second for each of WORKERS) of a step that moves `size` bytes."""
    return [
        ("1 server", [rate_asynchronous(cost, BATCH, size, n, 1) for n in WORKERS]),
        ("4 servers", [rate_asynchronous(cost, BATCH, size, n, 4) for n in WORKERS]),
        ("synchronous", [rate_synchronous(cost, BATCH, size, n) for n in WORKERS]),
    ]


def count_useful_workers(cost: Constants, size: float) -> int:
    """Returns the number of workers that one parameter server can serve."""
    alone = rate_asynchronous(cost, BATCH, size, 1, 1)
    return math.ceil(rate_asynchronous(cost, BATCH, size, 10**6, 1) / alone)


def describe(cost: Constants) -> str:
    """Returns the part of docs/cluster.md with these constants, as Markdown."""
    compute = cost.step_secs + BATCH * cost.row_secs
    worth = (cost.call_secs - cost.step_secs) / cost.row_secs
    moved = compute * LINK_BYTES_A_SEC / 2
    lines = [
        f"| measured on {cost.cores} cores of a virtual machine, TensorFlow {cost.tensorflow} | |",
        "|---|---|",
        f"| a step, c + B·r | {cost.step_secs * 1e3:.2f} ms + "
        f"{cost.row_secs * 1e6:.2f} µs per row |",
        f"| an exchange with a server, e (over loopback; bytes in both directions cost "
        f"{cost.byte_secs * 1e9:.2f} ns each there) | {cost.call_secs * 1e3:.2f} ms |",
        f"| an exchange on the server, t | {cost.turn_secs * 1e3:.2f} ms |",
        f"| an update, u | {cost.update_secs * 1e9:.2f} ns per byte |",
        f"| assumed for a network between machines, W and L | {LINK_BYTES_A_SEC / 1e9:.2f} GB/s, "
        f"{LINK_SECS * 1e6:.0f} µs |",
        "",
        f"Thousand examples per second with these constants, {BATCH} rows per process:",
        "",
        "| processes that train | " + " | ".join(map(str, WORKERS)) + " |",
        "|---" * (1 + len(WORKERS)) + "|",
    ]
    for size in SIZES:
        for name, rates in list_rates(cost, size):
            first = f"P = {size / 1e6:g} MB: {name}" if name == "1 server" else name
            cells = " | ".join(f"{rate / 1e3:.0f}" for rate in rates)
            lines.append(f"| {first} | {cells} |")
    useful = [count_useful_workers(cost, size) for size in SIZES[:2]]
    lines += [
        "",
        "It follows for these constants:",
        "",
        f"- the arithmetic of a step takes as long as an exchange at {max(worth, 0):,.0f} rows;",
        f"- one server limits the rate from worker {useful[0]} on with {SIZES[0] / 1e6:g} MB, from "
        f"worker {useful[1]} on with {SIZES[1] / 1e6:g} MB;",
        f"- synchronous: 2P/W equals the arithmetic of {BATCH} rows at {moved / 1e6:.1f} MB.",
        "",
    ]
    return "\n".join(lines)


def write(cost: Constants) -> None:
    """Writes the description and the constants into docs/cluster.md."""
    rounded = [float(f"{value:.3g}") for value in cost[:6]]
    cost = Constants(*rounded, *cost[6:])
    part = f"<!-- scaling {json.dumps(cost._asdict())} -->\n{describe(cost)}<!-- scaling ends -->"
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(PART.sub(lambda _: part, text), encoding="utf-8")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="put it into docs/cluster.md")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    cost = Constants(*measure_step(), *measure_exchange(), os.cpu_count(), tf.__version__)
    print(describe(cost))
    if arguments.write:
        write(cost)


if __name__ == "__main__":
    main()
