"""The fused engine in several processes in step, here threads, compared with one process."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from estimator_bridge import tf
from trainer.cluster.exchange import Exchange
from trainer.cluster.processes import SHARING, find_addresses
from trainer.cluster.run_config import build_run_config
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError
from trainer.inputs.dataset import make_train_input_fn
from trainer.inputs.shuffle import BatchSchedule
from trainer.job_dir.checkpoints import latest_checkpoint
from trainer.models.build import build_estimator, build_preparation
from trainer.models.fused import layout, training
from trainer.models.fused.engine import Engine, choose_engine
from trainer.training.job import build_source

IN_STEP = {"strategy": "multi_worker_mirrored"}
STEPS, TOGETHER = 12, 4


def _prepare(make, folder, batch_size, train, **sections):
    path = folder / "rows.csv"
    if not path.exists():
        make.csv(path, make.rows(300, seed=3, missing=True))
    config = make.config(
        folder / "unused",
        path,
        model={"type": "wide_deep", "hidden_units": [8, 4]},
        train={"learning_rate": 0.05, "max_steps": STEPS, "batch_size": batch_size, **train},
        run={"save_summary_steps": 10},
        **sections,
    )
    return make.prepare(config, make.schema("bought"))


def _train(job, folder, exchange=None, count=1, number=0):
    """Trains on every batch's part of a process; returns the values of the last checkpoint."""
    parts = (job.config, job.schema, job.statistics)
    # Sessions of one process share their threads, and a step that waits for others holds one.
    threads = tf.compat.v1.ConfigProto(use_per_session_threads=True, inter_op_parallelism_threads=2)
    run_config = build_run_config(job.config).replace(model_dir=str(folder), session_config=threads)
    built = build_estimator(*parts, run_config, STEPS, Engine("fused", exchange=exchange))
    size = job.config.train.batch_size
    whole = make_train_input_fn(
        build_source(job, True), job.schema, BatchSchedule(lambda step: size * count), (1, 0)
    )

    def input_fn():
        prepare = build_preparation(*parts).begin()
        mine = slice(number * size, (number + 1) * size)
        data = whole().map(lambda *batch: tf.nest.map_structure(lambda each: each[mine], batch))
        data = data.batch(TOGETHER).map(lambda *batches: (prepare(*batches), batches[1]))
        return data.take(STEPS // TOGETHER)

    built.train(input_fn, max_steps=STEPS)
    checkpoint = latest_checkpoint(str(folder))
    return {
        name: tf.train.load_variable(checkpoint, name)
        for name, _ in tf.train.list_variables(checkpoint)
    }


def _run_each(count, function):
    """Returns function(number, exchange) of each of several connected processes."""
    addresses = find_addresses(count)
    spec = {"chief": tuple(addresses[:1]), "worker": tuple(addresses[1:])}
    roles = [("chief", 0), *(("worker", index) for index in range(count - 1))]
    exchanges = [Exchange(Cluster(spec, role, index)) for role, index in roles]

    def run(number):
        exchange = exchanges[number]
        exchange.connect({"chief-0": "a"}, lambda: False)
        try:
            return function(number, exchange)
        finally:
            exchange.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.fixture(autouse=True)
def share_ports(monkeypatch):
    for name, value in SHARING.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    "count, max_small, train",
    [
        # All tables are sent as rows.
        (2, 2, {"l1": 0.01}),
        (3, 2, {"optimizer": "adam", "linear_optimizer": "momentum", "loss_reduction": "sum"}),
        # All tables are sent as a whole.
        (2, 1 << 20, {"optimizer": "momentum", "learning_rate": 0.01}),
    ],
)
def test_processes_in_step_train_like_one(make, tmp_path, monkeypatch, count, max_small, train):
    monkeypatch.setattr(layout, "MAX_SMALL", max_small)
    one = _train(_prepare(make, tmp_path, 20 * count, train), tmp_path / "one")
    job = _prepare(make, tmp_path, 20, train, cluster=IN_STEP)
    names = {table.name for table in build_preparation(*_parts(job)).distinct}
    assert any("embeddings" in name for name in names) == (max_small == 2)

    def run(number, exchange):
        return _train(job, tmp_path / str(number), exchange, count, number)

    every = _run_each(count, run)
    for found in every:
        assert found.keys() == one.keys() and found["global_step"] == STEPS
        for name, value in found.items():
            # All processes have the same bits.
            assert np.array_equal(value, every[0][name]), name
            # Slots of Ftrl are sums that cancel.
            atol = max(3e-6, 4e-7 * float(np.abs(one[name]).max()))
            np.testing.assert_allclose(value, one[name], rtol=3e-5, atol=atol, err_msg=name)


def test_processes_in_step_with_bfloat16(make, tmp_path, monkeypatch):
    train = {"optimizer": "sgd", "linear_optimizer": "sgd"}
    exact = _train(_prepare(make, tmp_path, 40, train), tmp_path / "exact")
    monkeypatch.setattr(training, "has_bfloat16", lambda: True)
    train["bfloat16"] = True
    one = _train(_prepare(make, tmp_path, 40, train), tmp_path / "one")
    job = _prepare(make, tmp_path, 20, train, cluster=IN_STEP)

    def run(number, exchange):
        return _train(job, tmp_path / str(number), exchange, 2, number)

    first, second = _run_each(2, run)
    for name, value in one.items():
        assert np.array_equal(first[name], second[name]), name
        # Each process rounds its own gradients to 8 bits.
        np.testing.assert_allclose(first[name], value, rtol=0.01, atol=1e-3, err_msg=name)
    kernel = "dnn/hiddenlayer_0/kernel"
    assert not np.array_equal(first[kernel], exact[kernel])


def _parts(job):
    return job.config, job.schema, job.statistics


@pytest.mark.newest
def test_processes_that_start_differently_are_refused(make, tmp_path):
    job = _prepare(make, tmp_path, 20, {}, cluster=IN_STEP)
    run = job.config.run.model_copy(update={"seed": 7})
    other = job._replace(config=job.config.model_copy(update={"run": run}))

    def run_one(number, exchange):
        with pytest.raises(UserError, match="process 1 of the 2 .* starts with other values"):
            _train([job, other][number], tmp_path / str(number), exchange, 2, number)

    _run_each(2, run_one)


@pytest.mark.newest
def test_the_engine_of_a_cluster(make, tmp_path):
    addresses = ("a:1", "b:2", "c:3")
    workers = Cluster({"chief": addresses[:1], "worker": addresses[1:]})
    servers = Cluster({"chief": addresses[:1], "ps": addresses[1:]})
    job = _prepare(make, tmp_path, 20, {}, cluster=IN_STEP)
    assert choose_engine(*_parts(job), workers) == Engine("fused")
    assert choose_engine(*_parts(job), workers, 2).reason == "2 devices in a process"
    alone = _prepare(make, tmp_path, 20, {})
    reason = choose_engine(*_parts(alone), servers).reason
    assert reason == "parameter servers under cluster.strategy none, only under parameter_server"
    cluster = job.config.cluster.model_copy(update={"strategy": "parameter_server"})
    config = job.config.model_copy(update={"cluster": cluster})
    assert choose_engine(config, *_parts(job)[1:], servers) == Engine("fused")
