"""Phases of the batch size and the learning rate, by global step."""

import math

import numpy as np
import pytest

from trainer.config import Config, TrainConfig
from trainer.errors import UserError


def build_config(job_dir, rows, **sections):
    """A configuration that trains and evaluates on one file."""
    data = {"train": [str(rows)], "eval": [str(rows)]}
    return Config.model_validate({"job_dir": str(job_dir), "data": data, **sections})


PHASES = TrainConfig(batch_size=10, batch_growth_steps=(5, 8), batch_growth_sizes=(20, 40))


@pytest.mark.parametrize("step, size", [(0, 10), (4, 10), (5, 20), (7, 20), (8, 40), (99, 40)])
def test_batch_size_at(step, size):
    assert PHASES.batch_size_at(step) == size


def test_count_rows_sums_the_batch_sizes():
    for steps in range(20):
        assert PHASES.count_rows(steps) == sum(map(PHASES.batch_size_at, range(steps)))


def test_count_steps_returns_the_fewest_steps():
    for rows in range(1, 400):
        steps = PHASES.count_steps(rows)
        assert PHASES.count_rows(steps - 1) < rows <= PHASES.count_rows(steps)


def test_steps_of_one_phase():
    assert TrainConfig(batch_size=128).count_steps(32_561 * 2) == math.ceil(32_561 * 2 / 128)


@pytest.mark.parametrize(
    "options, said",
    [
        ({"batch_growth_steps": (5,)}, "batch_growth_steps and batch_growth_sizes"),
        (
            {"batch_growth_steps": (5, 5), "batch_growth_sizes": (1, 2)},
            "batch_growth_steps must ascend",
        ),
        ({"decay": "piecewise"}, "go together"),
        ({"piecewise_steps": (5,), "piecewise_shares": (0.5,)}, "go together"),
    ],
)
def test_contradictory_options_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        TrainConfig(**options)


def _rates(train, max_steps, steps):
    """The learning rate that the built optimizer uses at each global step."""
    from estimator_bridge import tf
    from trainer.models.optimizers import make_optimizer

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        optimizer = make_optimizer(train, max_steps, linear=False)()
        rate = optimizer.learning_rate
        step = tf.compat.v1.placeholder(tf.int64, [])
        scheduled = isinstance(rate, tf.keras.optimizers.schedules.LearningRateSchedule)
        tensor = tf.convert_to_tensor(rate(step) if scheduled else rate)
        session.run(tf.compat.v1.global_variables_initializer())
        return [session.run(tensor, {step: number}) for number in steps]


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, lambda step: 0.5),
        (
            {"decay": "exponential", "decay_steps": 10, "decay_rate": 0.25},
            lambda step: 0.5 * 0.25 ** (step / 10),
        ),
        (
            {"decay": "cosine", "decay_rate": 0.2},
            lambda step: 0.5 * (0.2 + 0.8 * 0.5 * (1 + math.cos(math.pi * min(step, 100) / 100))),
        ),
        (
            {"decay": "piecewise", "piecewise_steps": (10, 20), "piecewise_shares": (0.5, 0.1)},
            lambda step: 0.5 if step < 10 else 0.25 if step < 20 else 0.05,
        ),
        ({"warmup_steps": 8}, lambda step: 0.5 * min(step + 1, 8) / 8),
    ],
    ids=["constant", "exponential", "cosine", "piecewise", "warmup"],
)
def test_learning_rate(options, expected):
    steps = [0, 1, 7, 8, 9, 10, 11, 19, 20, 50, 100, 120]
    rates = _rates(TrainConfig(learning_rate=0.5, **options), 100, steps)
    np.testing.assert_allclose(rates, [expected(step) for step in steps], rtol=1e-5)


def test_regularisation_needs_an_optimizer_that_applies_it():
    from trainer.models.optimizers import check_regularisation

    check_regularisation(TrainConfig(l1=0.1), ("ftrl", "adagrad"))
    with pytest.raises(UserError, match="train.l1.*adam applies neither"):
        check_regularisation(TrainConfig(l1=0.1), ("adam",))


def test_batches_grow_and_a_resumed_run_starts_in_its_phase(make, tmp_path):
    from trainer.inputs.dataset import make_train_input_fn
    from trainer.inputs.shuffle import BatchSchedule
    from trainer.training.job import build_source

    path = make.csv(tmp_path / "rows.csv", make.rows(100))
    schema = make.schema()
    config = build_config(
        tmp_path / "job",
        path,
        train={"batch_size": 10, "batch_growth_steps": [2], "batch_growth_sizes": [30]},
    )
    source = build_source(make.prepare(config, schema), training=True)

    def sizes(step, count):
        input_fn = make_train_input_fn(
            source, schema, BatchSchedule(config.train.batch_size_at, step), (1,)
        )
        batches = input_fn().take(count).as_numpy_iterator()
        return [len(labels) for _, labels in batches]

    assert sizes(0, 5) == [10, 10, 30, 30, 30]
    assert sizes(1, 3) == [10, 30, 30]
    assert sizes(7, 2) == [30, 30]


@pytest.mark.parametrize(
    "train, line",
    [
        ({"max_steps": 3}, "length: 3 steps of 10 then 30 rows = 0.50 epochs"),
        ({"max_steps": 2}, "length: 2 steps of 10 rows = 0.20 epochs"),
        ({"epochs": 1}, "length: 1 epoch(s) x 100 rows / 10 then 30 rows a step = 5 steps"),
    ],
)
def test_the_length_names_the_batch_sizes_that_are_reached(make, tmp_path, capsys, train, line):
    from trainer.console import Console
    from trainer.training import job

    path = make.csv(tmp_path / "rows.csv", make.rows(100))
    growth = {"batch_size": 10, "batch_growth_steps": [2, 50], "batch_growth_sizes": [30, 40]}
    config = build_config(tmp_path / "job", path, train={**growth, **train})
    job.prepare(config, make.schema(), Console())
    assert line in capsys.readouterr().err


@pytest.mark.parametrize(
    ("batch_size", "model", "train", "dropout"),
    [
        # 2,000 steps of 13 of 100 rows read each row 260 times.
        (13, {}, {}, 0.2),
        (12, {}, {}, 0.0),
        (13, {"dropout": 0.0}, {}, 0.0),
        (13, {"dropout": 0.4}, {}, 0.4),
        (13, {}, {"max_steps": 2000}, 0.0),
        (13, {"type": "linear"}, {}, 0.0),
    ],
)
def test_dropout_where_few_rows_are_read_often(make, tmp_path, batch_size, model, train, dropout):
    path = make.csv(tmp_path / "rows.csv", make.rows(100))
    train = {"batch_size": batch_size, **train}
    config = build_config(tmp_path / "job", path, train=train, model=model)
    assert make.prepare(config, make.schema()).config.model.dropout == dropout


@pytest.mark.parametrize(
    ("batch_size", "sections", "is_linear", "first"),
    [
        # 2,000 steps of 51 of 100 rows read each row 1,020 times.
        (51, {}, True, (10, 20, 40, 60, 80)),
        (50, {}, False, (10, 20, 40, 60, 80)),
        (12, {}, False, ()),
        (51, {"train": {"linear_start": False}}, False, (10, 20, 40, 60, 80)),
        (51, {"train": {"max_steps": 2000}}, False, ()),
        (51, {"train": {"l2": 0.1}}, False, (10, 20, 40, 60, 80)),
        (51, {"model": {"type": "dnn"}}, False, (10, 20, 40, 60, 80)),
        (51, {"run": {"checkpoint_at_steps": []}}, True, ()),
        (51, {"run": {"save_checkpoints_steps": 200}}, True, ()),
    ],
)
def test_what_few_rows_change(make, tmp_path, batch_size, sections, is_linear, first):
    path = make.csv(tmp_path / "rows.csv", make.rows(100))
    train = {"batch_size": batch_size, **sections.pop("train", {})}
    config = build_config(tmp_path / "job", path, train=train, **sections)
    chosen = make.prepare(config, make.schema()).config
    assert (chosen.train.linear_start, chosen.run.checkpoint_at_steps) == (is_linear, first)


def test_several_processes_have_no_further_checkpoints_and_no_linear_start(make, tmp_path):
    from trainer.console import Console
    from trainer.environment.cluster_spec import Cluster
    from trainer.training import job

    path = make.csv(tmp_path / "rows.csv", make.rows(100))
    config = build_config(tmp_path / "job", path, train={"batch_size": 51})
    spec = {"chief": ["localhost:1"], "worker": ["localhost:2"], "ps": ["localhost:3"]}
    cluster = Cluster(spec, "chief")
    chosen = job.prepare(config, make.schema(), Console(quiet=True), cluster=cluster).config
    assert chosen.run.save_checkpoints_steps == 100
    assert (chosen.train.linear_start, chosen.run.checkpoint_at_steps) == (False, ())
