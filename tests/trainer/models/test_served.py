"""The fused engine with parameter servers, here threads, compared with one process."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.cluster.clients import Clients
from trainer.cluster.processes import SHARING, find_addresses
from trainer.cluster.run_config import build_run_config
from trainer.cluster.servers import Servers
from trainer.config import TrainConfig
from trainer.environment.cluster_spec import Cluster
from trainer.inputs.dataset import make_train_input_fn
from trainer.inputs.shuffle import BatchSchedule
from trainer.job_dir.checkpoints import latest_checkpoint
from trainer.models.build import build_estimator, build_preparation
from trainer.models.fused import layout
from trainer.models.fused.engine import Engine
from trainer.models.fused.service import ParameterService
from trainer.models.fused.sharing import WHOLE, Shared, SharedVariables, Sharing
from trainer.models.fused.updates import DEEP_PART
from trainer.training.job import build_source

STEPS, TOGETHER = 12, 4


@pytest.fixture(autouse=True)
def share_ports(monkeypatch):
    for name, value in SHARING.items():
        monkeypatch.setenv(name, value)


def _prepare(make, folder, train, strategy="none"):
    path = folder / "rows.csv"
    if not path.exists():
        make.csv(path, make.rows(300, seed=3, missing=True))
    config = make.config(
        folder / "unused",
        path,
        model={"type": "wide_deep", "hidden_units": [8, 4], "dropout": 0.1},
        train={"learning_rate": 0.05, "max_steps": STEPS, "batch_size": 20, **train},
        run={"save_summary_steps": 10},
    )
    job = make.prepare(config, make.schema("bought"))
    cluster = config.cluster.model_copy(update={"strategy": strategy})
    return job._replace(config=job.config.model_copy(update={"cluster": cluster}))


def _train(job, folder, servers=None, steps=STEPS):
    """Trains; returns the values of the last checkpoint, or None for a process without one."""
    parts = (job.config, job.schema, job.statistics)
    # Sessions of one process share their threads, and a step that waits for others holds one.
    threads = tf.compat.v1.ConfigProto(use_per_session_threads=True, inter_op_parallelism_threads=2)
    run_config = build_run_config(job.config).replace(model_dir=str(folder), session_config=threads)
    if servers is not None and not servers.loads:
        run_config = run_config.replace(save_checkpoints_steps=None, save_checkpoints_secs=None)
    built = build_estimator(*parts, run_config, STEPS, Engine("fused", servers=servers))
    rows = make_train_input_fn(
        build_source(job, True), job.schema, BatchSchedule(lambda step: 20), (1, 0)
    )

    def input_fn():
        prepare = build_preparation(*parts).begin()
        data = rows().batch(TOGETHER).map(lambda *batches: (prepare(*batches), batches[1]))
        return data.take(-(-steps // TOGETHER))

    built.train(input_fn, max_steps=steps)
    checkpoint = latest_checkpoint(str(folder))
    return checkpoint and {
        name: tf.train.load_variable(checkpoint, name)
        for name, _ in tf.train.list_variables(checkpoint)
    }


@contextmanager
def _serve(num_servers, num_workers=0):
    """Yields the connections of a chief and workers to servers, which run in threads."""
    addresses = find_addresses(num_servers + 1 + num_workers)
    spec = {
        "chief": tuple(addresses[:1]),
        "worker": tuple(addresses[1 : 1 + num_workers]),
        "ps": tuple(addresses[1 + num_workers :]),
    }
    config = tf.compat.v1.ConfigProto(use_per_session_threads=True, inter_op_parallelism_threads=1)
    answering = [Clients(Cluster(spec, "ps", index), f"ps-{index}") for index in range(num_servers)]
    threads = [
        threading.Thread(
            target=one.run, args=[ParameterService(index, num_servers, config)], daemon=True
        )
        for index, one in enumerate(answering)
    ]
    for thread in threads:
        thread.start()
    roles = [("chief", 0), *(("worker", index) for index in range(num_workers))]
    clients = [Servers(Cluster(spec, *role)) for role in roles]
    for client in clients:
        client.find_by(lambda name: name, lambda: False)
        client.connect()
    try:
        yield clients
    finally:
        for one in [*clients]:
            one.close()
        for one in answering:
            one.end()
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    "count, max_small, train",
    [
        # All tables are sent as rows.
        (1, 2, {"l1": 0.01}),
        (2, 2, {"optimizer": "adam", "linear_optimizer": "momentum", "loss_reduction": "sum"}),
        # All tables are sent as a whole.
        (2, 1 << 20, {"optimizer": "momentum", "learning_rate": 0.01}),
    ],
)
def test_one_process_with_servers_trains_like_one_without(
    make, tmp_path, monkeypatch, count, max_small, train
):
    monkeypatch.setattr(layout, "MAX_SMALL", max_small)
    monkeypatch.setattr("trainer.models.fused.model.MAX_SMALL", max_small)
    one = _train(_prepare(make, tmp_path, train), tmp_path / "one")
    job = _prepare(make, tmp_path, train, "parameter_server")
    names = {
        table.name for table in build_preparation(job.config, job.schema, job.statistics).distinct
    }
    assert any("embeddings" in name for name in names) == (max_small == 2)
    with _serve(count) as (chief,):
        found = _train(job, tmp_path / "served", chief)
    assert found.keys() == one.keys() and found["global_step"] == STEPS
    for name, value in found.items():
        np.testing.assert_array_equal(value, one[name], err_msg=name)


def test_workers_share_the_steps_and_a_chief_starts_again(make, tmp_path):
    job = _prepare(make, tmp_path, {}, "parameter_server")
    with _serve(2, num_workers=1) as (chief, worker):

        def train(client, name, steps):
            return _train(job, tmp_path / name, client, steps)

        with ThreadPoolExecutor(2) as pool:
            waiting = pool.submit(train, worker, "worker", STEPS)
            first = train(chief, "chief", 4)
            waiting.result(60)
        # The servers count the steps of both, and accept no step after the last.
        assert first["global_step"] >= 4
        assert chief.num_steps + worker.num_steps <= STEPS
        # A chief that starts again gives the servers its last checkpoint.
        done = chief.num_steps
        chief.close()
        chief.connect()
        last = train(chief, "chief", STEPS)
    assert last["global_step"] == STEPS and chief.num_steps - done == STEPS - first["global_step"]
    assert not np.array_equal(last["dnn/logits/kernel"], first["dnn/logits/kernel"])


def test_an_update_from_before_the_variables_are_set_again_is_refused():
    variables = [Shared(name, (3,), DEEP_PART, WHOLE) for name in ("one", "two")]
    train = TrainConfig(optimizer="sgd", learning_rate=1.0)
    sharing = Sharing(tuple(variables), {DEEP_PART: "sgd"}, train, STEPS)
    with _serve(2, num_workers=1) as clients:
        chief, worker = (SharedVariables(one, sharing) for one in clients)

        def load(value, step):
            for name in ("one", "two"):
                chief.set(name, np.full(3, value, np.float32))
            chief.start(step)

        def push():
            return worker.push(np.ones(6, np.float32), [], [], [])

        load(0, 0)
        worker.pull([])
        assert push().step == 1
        # A chief that is started again.
        clients[0].close()
        clients[0].connect()
        load(7, 5)
        pulled = push()
        assert pulled.step == 5 and clients[1].num_steps == 1
        np.testing.assert_array_equal(pulled.whole, np.full(6, 7, np.float32))
        # The next one is computed from these values.
        pulled = push()
        assert pulled.step == 6 and clients[1].num_steps == 2
        np.testing.assert_array_equal(pulled.whole, np.full(6, 6, np.float32))


def test_a_process_with_another_model_is_refused(make, tmp_path):
    jobs = [
        _prepare(make, tmp_path, train, "parameter_server") for train in ({}, {"optimizer": "sgd"})
    ]
    with _serve(1, num_workers=1) as (chief, worker), ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(_train, jobs[1], tmp_path / "worker", worker)
        _train(jobs[0], tmp_path / "chief", chief)
        with pytest.raises(tf.errors.OpError, match="process 1 .* has another model"):
            waiting.result(60)
    assert worker.refusal.startswith("job_dir: process 1") and worker.error is None
