"""trainer.training.steps_per_run: which steps are run together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator_bridge import estimator, tf
from trainer.console import Console
from trainer.errors import UserError
from trainer.job_dir.checkpoints import latest_checkpoint, read_step
from trainer.job_dir.metrics_log import MetricsLog
from trainer.signals import Interrupted, SignalWatch
from trainer.training import job, run
from trainer.training.steps_per_run import RunLengths, build_run_lengths


def _list_ends(lengths, first, last):
    ends, step = [], first
    while step < last:
        step += lengths(step)
        ends.append(step)
    return ends


def test_runs_end_where_something_happens():
    lengths = RunLengths(32, 100, 400, every=[90], multiples=[50], steps=[333])
    ends = _list_ends(lengths, 100, 400)
    assert {101, 150, 190, 200, 250, 280, 300, 333, 350, 370, 400} <= set(ends)
    assert ends[-1] == 400 and ends[0] == 101
    assert all(after - before <= 32 for before, after in zip([100, *ends], ends))


def test_runs_between_two_ends_have_equal_lengths():
    assert _list_ends(RunLengths(32, 0, 1000, multiples=[100]), 100, 200) == [125, 150, 175, 200]


@given(
    st.integers(1, 40),
    st.integers(0, 50),
    st.integers(1, 300),
    st.integers(1, 60),
    st.integers(1, 60),
)
def test_no_run_passes_an_end(most, first, length, every, multiple):
    lengths = RunLengths(most, first, first + length, every=[every], multiples=[multiple])
    ends = set(_list_ends(lengths, first, first + length))
    wanted = [
        step
        for step in range(first + 1, first + length + 1)
        if (step - first) % every == 0 or step % multiple == 0
    ]
    assert ends >= {*wanted, first + 1, first + length}
    assert max(ends) == first + length


@pytest.mark.newest
@pytest.mark.parametrize(
    ("train", "most"),
    [
        ({"batch_size": 512}, 32),
        ({"batch_size": 4096}, 8),
        ({"batch_size": 10**6}, None),
        ({"batch_size": 512, "steps_per_run": 7}, 7),
        ({"batch_size": 512, "steps_per_run": 1}, None),
        ({"batch_size": 512, "hooks": "a.b:c"}, None),
        ({"batch_size": 512, "hooks": "a.b:c", "steps_per_run": 4}, 4),
        ({"batch_size": 64, "batch_growth_steps": [9], "batch_growth_sizes": [16384]}, 2),
    ],
)
def test_most_steps_in_a_run(make, train, most):
    config = make.config(train=train, run={"save_checkpoints_steps": 10})
    lengths = build_run_lengths(config, first=0, max_steps=1000, is_fused=True)
    assert (lengths and lengths.most) == most
    canned = build_run_lengths(config, first=0, max_steps=1000, is_fused=False)
    assert canned is None


def _read_summaries(folder, tag):
    found = []
    for path in sorted(folder.glob("events*")):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            found += [event.step for value in event.summary.value if value.tag == tag]
    return found


@pytest.fixture(scope="module")
def jobs(make, shop, tmp_path_factory):
    """jobs(steps_per_run, ...) → (folder, result) of a job of 130 steps."""

    def train_job(steps_per_run, folder=None, schema=None, **sections):
        folder = folder or tmp_path_factory.mktemp(f"by{steps_per_run}")
        train = {"batch_size": 20, "batch_growth_steps": [70], "batch_growth_sizes": [30]}
        train.update(steps_per_run=steps_per_run, **{"max_steps": 130, **sections.pop("train", {})})
        config = make.config(
            folder,
            shop / "train.csv",
            shop / "eval.csv",
            data={"cache": "off"},
            model={"hidden_units": [8], **sections.pop("model", {})},
            train=train,
            run={
                "save_checkpoints_steps": 45,
                "log_step_count_steps": 20,
                "save_summary_steps": 50,
                "keep_checkpoint_max": 0,
            },
            export={"exporters": []},
            **sections,
        )
        return folder, make.run(config, schema or make.schema("bought"))[1]

    return train_job


def test_engine_and_steps_per_run_do_not_change_the_result(jobs):
    records = []
    for engine, steps_per_run in (("canned", 1), ("fused", 1), ("fused", 16)):
        folder, result = jobs(steps_per_run, model={"engine": engine})
        assert result.end_step == 130
        steps = [int(path.rpartition("-")[2]) for path in result.checkpoints]
        assert steps == [0, 45, 90, 130]
        metrics_log = MetricsLog(str(folder))
        records.append((metrics_log.read("train"), metrics_log.read("eval")))
    assert _read_summaries(folder, "loss") == [1, 50, 100]
    for found in records[1:]:
        for kind in range(2):
            pairs = list(zip(records[0][kind], found[kind]))
            assert len(pairs) == len(found[kind]) == len(records[0][kind])
            for canned, fused in pairs:
                assert fused == pytest.approx(canned, rel=1e-5, abs=1e-6)
    assert [record["step"] for record in found[0]] == [1, 20, 40, 60, 80, 100, 120, 130]


@pytest.mark.newest
def test_a_resumed_job_ends_at_its_last_step_too(jobs):
    folder, _ = jobs(16, train={"max_steps": 37})
    _, result = jobs(16, folder=folder, train={"max_steps": 110})
    assert (result.start_step, result.end_step) == (37, 110)
    # Counted from where it was resumed, as without several steps in a run.
    steps = [int(path.rpartition("-")[2]) for path in result.checkpoints]
    assert steps == [0, 37, 82, 110]


@pytest.mark.newest
def test_nan_is_reported_at_its_step(jobs, make):
    told = []
    for steps_per_run in (1, 16):
        with pytest.raises(UserError, match="the loss became NaN at step") as raised:
            jobs(
                steps_per_run,
                schema=make.schema("price"),
                train={"learning_rate": 1e6, "optimizer": "sgd", "linear_optimizer": "sgd"},
            )
        told.append(str(raised.value).partition(";")[0])
    assert told[0] == told[1]


def test_a_signal_saves_the_last_step_of_the_run(jobs, make, shop, tmp_path):
    config = make.config(
        tmp_path,
        shop / "train.csv",
        data={"cache": "off"},
        train={"batch_size": 20, "max_steps": 10_000, "steps_per_run": 16},
        run={"save_checkpoints_steps": 5_000},
        model={"hidden_units": [8]},
    )
    console, watch = Console(quiet=True), SignalWatch()
    prepared = job.prepare(config, make.schema("bought"), console)
    plan = run.build_plan(prepared, console, watch)

    class Signal(estimator.SessionRunHook):
        runs = 0

        def after_run(self, run_context, run_values):
            self.runs += 1
            if self.runs == 4:
                watch.pending = 15

    spec = plan.run.train_spec
    with pytest.raises(Interrupted) as raised:
        plan.run.estimator.train(spec.input_fn, hooks=[Signal(), *spec.hooks], max_steps=10_000)
    step = 0
    for _ in range(4):
        step += plan.lengths(step)
    assert raised.value.step == read_step(latest_checkpoint(str(tmp_path))) == step > 4
