"""A process that trains and loses a parameter server of the fused engine."""

import signal
import threading
from types import SimpleNamespace

import pytest

from estimator_bridge import tf
from estimator_bridge.model_files import saving_beside
from trainer.cluster.heartbeat import HeartbeatFile
from trainer.config import Config
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError
from trainer.roles import process
from trainer.signals import Interrupted, SignalWatch

pytestmark = pytest.mark.newest
CLUSTER = Cluster({"chief": ("a:1",), "ps": ("b:1",)})
LOST = "ps-0: the connection is closed"


class Servers:
    """Connections of which one is lost; the server comes back, unless training is over."""

    def __init__(self):
        self.error, self.refusal, self.done = None, None, []
        self._is_over = lambda: False

    def find_by(self, find, is_over, attempts):
        self._is_over = is_over

    def connect(self):
        if self._is_over():
            self.done.append("gave up")
        else:
            self.done.append("connected")
            self.error = None

    def close(self):
        self.done.append("closed")


@pytest.fixture
def chief(tmp_path):
    heartbeat = HeartbeatFile(str(tmp_path), "chief-0")
    console = Console(quiet=True)
    return process.ClusterProcess(console, SignalWatch(), CLUSTER, heartbeat, lambda: None)


def _run_step(chief, servers):
    """Runs a step in which the connection is lost."""

    def run(fetches):
        servers.error = LOST
        raise tf.errors.UnknownError(None, None, "ConnectionError")

    _make_hook(chief, servers)._run(run, {})


def _make_hook(chief, servers):
    return process.HeartbeatHook(chief, None, is_synchronous=False, max_steps=10, servers=servers)


def test_a_new_session_begins_after_the_checkpoint_that_is_being_written(chief):
    servers, is_written = Servers(), threading.Event()

    def write():
        is_written.wait(10)
        servers.done.append("written")

    saving_beside._writings.append(saving_beside._Writing(write))
    threading.Timer(0.2, is_written.set).start()
    with pytest.raises(tf.errors.AbortedError, match=LOST):
        _run_step(chief, servers)
    assert servers.done == ["written", "connected"]


def _train(chief, servers, train):
    job = SimpleNamespace(config=Config())
    plan = SimpleNamespace(cluster=CLUSTER, run=None, job=job)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "_train_here", lambda plan: train())
        process._train_served(plan, servers, chief)


def test_a_signal_ends_the_wait_for_a_server(chief):
    servers = Servers()

    def train():
        chief.watch.pending = signal.SIGTERM
        _run_step(chief, servers)

    with pytest.raises(Interrupted):
        _train(chief, servers, train)
    assert servers.done == ["connected", "gave up", "closed"]


def test_a_server_that_is_lost_while_the_session_closes_is_waited_for(chief):
    servers, steps = Servers(), iter([_run_step, lambda chief, servers: None])
    _train(chief, servers, lambda: next(steps)(chief, servers))
    assert servers.done == ["connected", "connected", "closed", "connected", "closed"]


def test_a_hook_that_reads_a_variable_is_told_that_it_is_elsewhere(chief):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.compat.v1.get_variable("v", [2], use_resource=True)
        with pytest.raises(UserError, match=r"a hook reads a variable, .* --model.engine=canned"):
            _make_hook(chief, Servers())._run(session.run, variable)
        # Whatever else is not prepared is shown as it is.
        table = tf.raw_ops.HashTableV2(key_dtype=tf.int64, value_dtype=tf.int64)
        wanted = tf.raw_ops.LookupTableFindV2(
            table_handle=table,
            keys=[tf.constant(1, tf.int64)],
            default_value=tf.constant(0, tf.int64),
        )
        with pytest.raises(tf.errors.FailedPreconditionError):
            _make_hook(chief, Servers())._run(session.run, wanted)
