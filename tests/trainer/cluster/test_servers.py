"""Parameter servers and the processes that train: their connections and messages, as threads."""

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from trainer.cluster.attempts import Attempts
from trainer.cluster.clients import Clients
from trainer.cluster.messages import pack, unpack
from trainer.cluster.processes import SHARING, find_addresses
from trainer.cluster.servers import Servers
from trainer.environment.cluster_spec import Cluster
from trainer.errors import JobEnded, UserError

pytestmark = pytest.mark.quick

SUM, WAIT, GO, REFUSE = range(4)


class Service:
    """Adds the numbers of a message; answers WAIT after GO."""

    def __init__(self):
        self.goes = False

    def answer(self, trainer, kind, arrays):
        if kind == REFUSE:
            raise UserError(f"process {trainer} is wrong")
        self.goes = self.goes or kind == GO
        if kind == WAIT and not self.goes:
            return None
        return [np.array([trainer], np.int64), *(each.view(np.float32) + 1 for each in arrays)]


class Running:
    """Servers in threads, and the connections of a chief and workers to them."""

    def __init__(self, num_servers, num_workers):
        addresses = find_addresses(1 + num_workers + num_servers)
        self.spec = {
            "chief": tuple(addresses[:1]),
            "worker": tuple(addresses[1 : 1 + num_workers]),
            "ps": tuple(addresses[1 + num_workers :]),
        }
        self.answering, self.threads = [], []
        for index in range(num_servers):
            self.start(index)
        roles = [("chief", 0), *(("worker", index) for index in range(num_workers))]
        self.clients = [Servers(Cluster(self.spec, *role)) for role in roles]
        for client in self.clients:
            client.find_by(lambda name: f"secret of {name}", lambda: False)
            client.connect()

    def start(self, index):
        clients = Clients(Cluster(self.spec, "ps", index), f"secret of ps-{index}")
        thread = threading.Thread(target=clients.run, args=[Service()], daemon=True)
        thread.start()
        self.answering.append(clients)
        self.threads.append(thread)

    def close(self):
        for client in self.clients:
            client.close()
        self.end_servers()

    def end_servers(self):
        for one in self.answering:
            one.end()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()


@pytest.fixture
def run(monkeypatch):
    for name, value in SHARING.items():
        monkeypatch.setenv(name, value)
    made = []

    def run(num_servers, num_workers=0):
        made.append(Running(num_servers, num_workers))
        return made[-1]

    yield run
    for each in made:
        each.close()


def test_messages_keep_kind_and_arrays():
    arrays = [np.arange(3, dtype=np.int32), np.empty(0, np.float32), np.arange(4.0)]
    kind, found = unpack(pack(7, arrays))
    assert kind == 7
    for before, after in zip(arrays, found):
        assert np.array_equal(after.view(before.dtype), before)


def test_each_server_answers_its_message(run):
    (chief,) = run(2).clients
    # The second is larger than what the system holds for a connection.
    for size in (5, 3_000_000):
        sent = [[np.full(size, server, np.float32)] for server in range(2)]
        for server, (trainer, values) in enumerate(chief.ask(SUM, sent)):
            assert trainer.view(np.int64)[0] == 0
            assert np.array_equal(values.view(np.float32), sent[server][0] + 1)


def test_a_message_waits_for_one_of_another_process(run):
    chief, worker = run(1, num_workers=1).clients
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(worker.ask, WAIT, [[]])
        time.sleep(0.1)
        assert not waiting.done()
        chief.ask(GO, [[]])
        assert waiting.result(10)[0][0].view(np.int64)[0] == 1


def test_a_process_that_stops_within_a_message_holds_up_nobody(run):
    chief, worker = run(1, num_workers=1).clients
    worker._links[0]._connection.sendall(b"data\1\0\0\0")
    assert chief.ask(SUM, [[]])
    # Its successor replaces it.
    worker.close()
    worker.connect()
    assert worker.ask(SUM, [[]])


def test_a_refusal_names_the_reason(run):
    chief, worker = run(1, num_workers=1).clients
    with pytest.raises(UserError, match="process 1 is wrong"):
        worker.ask(REFUSE, [[]])
    assert worker.refusal == "process 1 is wrong"
    assert worker.ask(SUM, [[]]) and chief.ask(SUM, [[]]) and chief.refusal is None


def test_a_server_that_ends_is_noticed_and_its_successor_is_found(run):
    running = run(1)
    (chief,) = running.clients
    running.end_servers()
    with pytest.raises(ConnectionError, match="ps-0"):
        chief.ask(SUM, [[]])
    assert chief.error.startswith("ps-0: ")
    with pytest.raises(ConnectionError, match="ps-0"):
        chief.ask(SUM, [[]])
    running.start(0)
    chief.connect()
    assert chief.error is None and chief.is_new and chief.ask(SUM, [[]])


def test_a_server_that_hangs_is_given_up_after_its_restart(run):
    chief, worker = run(1, num_workers=1).clients
    secrets = {"ps-0": "secret of ps-0"}
    worker.find_by(secrets.get, lambda: False)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(worker.ask, WAIT, [[]])
        time.sleep(1.2)
        assert not waiting.done()
        secrets["ps-0"] = "secret of its successor"
        with pytest.raises(ConnectionError, match="ps-0: it has been started again"):
            waiting.result(10)
    assert chief.ask(SUM, [[]])


def test_strangers_and_late_processes_are_not_served(run):
    running = run(1)
    host, port = running.spec["ps"][0].split(":")
    with socket.create_connection((host, int(port))) as stranger:
        stranger.sendall(b"\0" * 36)
        assert stranger.recv(100) == b""
    other = Servers(Cluster(running.spec))
    tries = iter([False, False, True, True])
    other.find_by(lambda name: "wrong", lambda: next(tries))
    other.connect()
    with pytest.raises(ConnectionError, match="no parameter server is connected"):
        other.ask(SUM, [[]])


def test_a_server_that_cannot_be_reached_is_named_and_given_up(monkeypatch):
    monkeypatch.setattr("trainer.cluster.attempts.TELL_SECS", 0.1)
    chief, server = find_addresses(2)
    client, said = Servers(Cluster({"chief": (chief,), "ps": (server,)})), []
    client.find_by(lambda name: "a", lambda: False, Attempts(0.3, said.append))
    failed = f"cannot connect to ps-0 at {server}: Connection refused"
    for _ in range(2):
        began = time.monotonic()
        with pytest.raises(JobEnded, match=f"{failed}; given up after 0.3 s; check TF_CONFIG"):
            client.connect()
        assert time.monotonic() - began >= 0.3
    assert said == [f"{failed}; trying again for up to 0.3 s"] * 2


def test_a_port_in_use_is_reported(run):
    running = run(1)
    message = "ps-0 cannot listen on .*; is another process using"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(UserError, match=message):
        for name in SHARING:
            patch.delenv(name)
        Clients(Cluster(running.spec, "ps", 0), "secret")
