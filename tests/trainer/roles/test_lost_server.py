"""A chief whose parameter server ends within a message; servers are threads here."""

import threading
from collections import deque

import pytest

from estimator_bridge import tf
from trainer.cluster import heartbeat as heartbeat_lib
from trainer.cluster.clients import Clients
from trainer.cluster.heartbeat import RUNNING, HeartbeatFile
from trainer.cluster.processes import SHARING, find_addresses
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster
from trainer.inputs.shuffle import FileHistory
from trainer.job_dir.checkpoints import latest_checkpoint, read_step
from trainer.models.fused.service import ParameterService
from trainer.models.fused.sharing import GET, PUSH, READY, SET
from trainer.roles.process import ClusterProcess, build_process_plan, train
from trainer.signals import SignalWatch
from trainer.training.job import prepare

STEPS, GROWS, LIMIT_SECS = 12, 6, 100


class Killed(Exception):
    """A server has ended."""


class Server:
    """A parameter server, which ends within some messages, and its successors.

    Args:
        folder: the job_dir.
        spec: addresses.
        ends: for each server that ends, the kind of the message, and how many of them it receives.
    """

    def __init__(self, folder, spec, ends):
        self._folder, self._cluster, self.ends = str(folder), Cluster(spec, "ps", 0), deque(ends)
        self._is_over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._begin()
        self._thread.start()

    def _begin(self):
        heartbeat = HeartbeatFile(self._folder, "ps-0")
        self._clients = Clients(self._cluster, heartbeat.incarnation)
        config = tf.compat.v1.ConfigProto(use_per_session_threads=True)
        self._service, self._num = ParameterService(0, 1, config), 0
        heartbeat.publish(RUNNING, serving=True)

    def _run(self):
        while not self._is_over:
            try:
                self._clients.run(self)
            except Killed:
                self._begin()

    def answer(self, trainer, kind, arrays):
        if self.ends and kind == self.ends[0][0]:
            self._num += 1
            if self._num == self.ends[0][1]:
                self.ends.popleft()
                raise Killed
        return self._service.answer(trainer, kind, arrays)

    def end(self):
        self._is_over = True
        self._clients.end()
        self._thread.join(20)
        assert not self._thread.is_alive()


@pytest.fixture
def train_chief(make, tmp_path, monkeypatch):
    """train_chief(ends) trains; returns (step, rows of a batch) of each group of batches."""
    groups = []
    add = FileHistory.add

    def note(self, group, batches_per_step=1):
        groups.append((group.step, group.rows))
        add(self, group, batches_per_step)

    monkeypatch.setattr(FileHistory, "add", note)
    monkeypatch.setattr(heartbeat_lib, "BEAT_SECS", 0.1)
    for name, value in SHARING.items():
        monkeypatch.setenv(name, value)

    def run(ends):
        path = make.csv(tmp_path / "rows.csv", make.rows(100))
        growth = {"batch_size": 10, "batch_growth_steps": [GROWS], "batch_growth_sizes": [20]}
        config = make.config(
            tmp_path / "job",
            path,
            model={"hidden_units": [4]},
            train={"max_steps": STEPS, **growth},
            cluster={"strategy": "parameter_server"},
            run={"save_checkpoints_steps": 4, "keep_checkpoint_max": 0},
            export={"exporters": []},
        )
        chief, server = find_addresses(2)
        spec = {"chief": (chief,), "ps": (server,)}
        own = HeartbeatFile(config.job_dir, "chief-0")
        cluster, watch = Cluster(spec, "chief", 0), SignalWatch()
        process = ClusterProcess(Console(quiet=True), watch, cluster, own, lambda: None)
        running = Server(config.job_dir, spec, ends)
        # A wait that does not end otherwise.
        limit = threading.Timer(LIMIT_SECS, setattr, [watch, "pending", 15])
        limit.start()
        own.start(lambda: None)
        try:
            job = prepare(config, make.schema("bought"), process.console, cluster=cluster)
            train(build_process_plan(job, process), process)
        finally:
            limit.cancel()
            own.end(RUNNING)
            running.end()
        assert not running.ends
        assert read_step(latest_checkpoint(config.job_dir)) == STEPS
        return groups

    return run


def test_a_server_that_is_lost_while_the_session_is_prepared_is_waited_for(train_chief):
    # Within the initial values, in the first checkpoint, and before the first step; then in a step
    # and within the values of its checkpoint.
    train_chief([(SET, 2), (GET, 2), (READY, 1), (PUSH, 6), (SET, 2)])


def test_a_session_that_is_made_again_counts_from_its_checkpoint(train_chief):
    groups = train_chief([(PUSH, 10)])
    # The input begins again, where its steps do not ascend.
    (again,) = (
        place for place in range(1, len(groups)) if groups[place][0] <= groups[place - 1][0]
    )
    assert groups[:again][:4] == [(0, 10), (1, 10), (4, 10), (6, 20)]
    # The first run after the restored step 8 has one step, as in a process that resumes.
    assert groups[again:][:2] == [(8, 20), (9, 20)]
