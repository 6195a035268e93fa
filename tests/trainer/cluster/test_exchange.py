"""The exchange of arrays: processes of a cluster, here as threads."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from trainer.cluster.attempts import Attempts
from trainer.cluster.exchange import Exchange
from trainer.cluster.processes import SHARING, find_addresses
from trainer.environment.cluster_spec import Cluster
from trainer.errors import JobEnded, UserError

pytestmark = pytest.mark.quick

LINEUP = {"chief-0": "a", "worker-0": "b"}


@pytest.fixture(autouse=True)
def share_ports(monkeypatch):
    for name, value in SHARING.items():
        monkeypatch.setenv(name, value)


def _make_all(count):
    addresses = find_addresses(count)
    spec = {"chief": tuple(addresses[:1]), "worker": tuple(addresses[1:])}
    roles = [("chief", 0), *(("worker", index) for index in range(count - 1))]
    return [Exchange(Cluster(spec, role, index)) for role, index in roles]


def _run_each(exchanges, function):
    """Returns function(number, exchange) of each, all at once."""
    with ThreadPoolExecutor(len(exchanges)) as pool:
        waiting = [pool.submit(function, *each) for each in enumerate(exchanges)]
        return [each.result(20) for each in waiting]


@pytest.fixture
def connect():
    made = []

    def connect(count):
        exchanges = _make_all(count)
        made.extend(exchanges)
        _run_each(exchanges, lambda _, each: each.connect(LINEUP, lambda: False))
        return exchanges

    yield connect
    for each in made:
        each.close()


@pytest.mark.parametrize("count", [2, 3, 4])
def test_all_processes_get_the_same_sum(connect, count):
    # The second array is larger than what the system holds for a connection.
    for size in (5, 3_000_000):
        mine = np.random.default_rng(1).normal(size=(count, size)).astype(np.float32)
        exchanges = connect(count)
        for _ in range(2):
            sums = _run_each(exchanges, lambda number, each, mine=mine: each.add(mine[number]))
            assert all(np.array_equal(each, sums[0]) for each in sums)
            np.testing.assert_allclose(sums[0], mine.sum(axis=0), rtol=1e-5, atol=1e-6)


def test_arrays_of_any_length_are_gathered_in_order(connect):
    exchanges = connect(3)
    parts = [np.arange(size, dtype=np.int32) + size for size in (0, 2, 200_000)]
    for found in _run_each(exchanges, lambda number, each: each.gather(parts[number])):
        assert [part.tolist() for part in found] == [part.tolist() for part in parts]


def test_an_exchange_that_ends_is_no_error(connect):
    chief, worker = connect(2)
    thread = threading.Thread(target=chief.end)
    thread.start()
    with pytest.raises(ConnectionError, match="has ended"):
        worker.add(np.zeros(3, np.float32))
    worker.close()
    thread.join(20)
    assert worker.has_ended and worker.error is None


# The second array is larger than what the system holds for a connection.
@pytest.mark.parametrize("size", [3, 3_000_000])
def test_a_lost_process_is_named(connect, size):
    chief, worker, _ = connect(3)
    worker.close()
    with pytest.raises(ConnectionError):
        chief.add(np.zeros(size, np.float32))
    assert chief.error.startswith("worker-0: ") and not chief.has_ended


def test_closing_ends_a_wait(connect):
    chief, _ = connect(2)
    threading.Timer(0.2, chief.close).start()
    with pytest.raises(ConnectionError):
        chief.add(np.zeros(3, np.float32))


def test_arrays_of_different_models_are_refused(connect):
    exchanges = connect(2)

    def add(number, each):
        try:
            each.add(np.zeros(3 + number, np.float32))
        except ConnectionError as error:
            return str(error)

    said = _run_each(exchanges, add)
    assert any("16 bytes in exchange 1, not 12" in each for each in said if each), said


def test_strangers_are_refused(connect):
    exchanges = _make_all(2)
    address = exchanges[0]._cluster.spec["chief"][0].split(":")

    def intrude():
        while True:
            try:
                with socket.create_connection((address[0], int(address[1])), 5) as stranger:
                    stranger.sendall(b"\1\0\0\0" + bytes(32))
                    return stranger.recv(1)
            except ConnectionRefusedError:
                pass

    with ThreadPoolExecutor(3) as pool:
        chief = pool.submit(exchanges[0].connect, LINEUP, lambda: False)
        assert pool.submit(intrude).result(20) == b""
        # An earlier incarnation of the worker, then the worker.
        tries = iter([False, False, True])
        other = {**LINEUP, "worker-0": "c"}
        exchanges[1].connect(other, lambda: next(tries))
        exchanges[1].connect(LINEUP, lambda: False)
        chief.result(20)
    sums = _run_each(exchanges, lambda number, each: each.add(np.full(2, 1.0 + number, np.float32)))
    assert [each.tolist() for each in sums] == [[3, 3], [3, 3]]
    for each in exchanges:
        each.close()


def test_a_taken_address_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        cluster = Cluster({"chief": (address,), "worker": ("127.0.0.1:1",)})
        with pytest.raises(UserError, match=f"chief-0 cannot listen on {address}"):
            Exchange(cluster).connect(LINEUP, lambda: False)


def test_a_process_that_cannot_be_reached_is_named_and_given_up():
    chief, worker = _make_all(2)
    address = chief._cluster.trainers[0]
    line = f"cannot connect to chief-0 at {address}: Connection refused; given up after 0.3 s"
    with pytest.raises(JobEnded, match=line):
        worker.connect(LINEUP, lambda: False, Attempts(0.3))
