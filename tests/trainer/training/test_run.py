"""trainer.training.run: steps, checkpoints, resumed jobs and results."""

import io
import json
import shutil

import pytest

from estimator_bridge import tf
from trainer.cluster.run_config import build_run_config, share_cores
from trainer.console import Console
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError
from trainer.job_dir.checkpoints import latest_checkpoint
from trainer.job_dir.compatibility import check_same_model
from trainer.job_dir.metrics_log import MetricsLog


def _config(make, shop, folder, **sections):
    """A linear model of a few steps, without exports."""
    sections.setdefault("model", {"type": "linear"})
    sections.setdefault("export", {"exporters": []})
    return make.config(folder, shop / "train.csv", shop / "eval.csv", **sections)


def _steps_of(folder):
    return sorted(int(path.stem.split("-")[1]) for path in folder.glob("model.ckpt-*.index"))


@pytest.mark.newest
@pytest.mark.parametrize(
    ("train", "steps", "told"),
    [
        ({"epochs": 1, "batch_size": 50}, 12, "1 epoch(s) x 600 rows / 50 rows a step = 12 steps"),
        ({"epochs": 0.5, "batch_size": 100}, 3, "0.5 epoch(s)"),
        ({"epochs": 2, "batch_size": 64}, 19, "= 19 steps"),
        ({"batch_size": 64}, 2000, "= 213.3 epochs, since one epoch would be 10 steps"),
        ({"batch_size": 1, "epochs": 1}, 600, "1 epoch(s)"),
        ({"max_steps": 24, "batch_size": 50}, 24, "24 steps of 50 rows = 2.00 epochs"),
    ],
)
def test_epochs_are_converted_to_steps_and_logged(make, shop, train, steps, told):
    from trainer.training import job

    stream = io.StringIO()
    config = _config(make, shop, "unused", train=train)
    assert job.prepare(config, make.schema(), Console(stream)).max_steps == steps
    assert told in stream.getvalue()


@pytest.mark.newest
def test_a_copy_of_a_training_file_is_told(make, shop, tmp_path):
    from trainer.training import job

    stream = io.StringIO()
    copy = shutil.copy(shop / "train.csv", tmp_path / "more.csv")
    config = make.config("unused", [shop / "train.csv", copy], shop / "eval.csv")
    job.prepare(config, make.schema(), Console(stream))
    told = f"warning: data.train: {copy} is a copy of {shop / 'train.csv'}, so its rows count twice"
    assert told in stream.getvalue() and "data.eval: " not in stream.getvalue()


@pytest.mark.newest
def test_a_short_job_without_a_length_is_evaluated_several_times(make, shop, tmp_path):
    from trainer.training import job

    def prepare(**sections):
        return job.prepare(
            _config(make, shop, "unused", **sections), make.schema(), Console(io.StringIO())
        ).config

    chosen = prepare(train={"batch_size": 64})
    assert (chosen.train.max_steps, chosen.run.save_checkpoints_steps) == (2000, 100)
    assert chosen.stop.patience_evals == 10
    # An option that the user gives stays.
    chosen = prepare(run={"save_checkpoints_secs": 60})
    assert (chosen.run.save_checkpoints_steps, chosen.run.checkpoint_secs) == (None, 60)
    assert chosen.stop.patience_evals is None
    assert prepare(stop={"patience_evals": 3}).stop.patience_evals == 3
    chosen = prepare(train={"epochs": 2})
    assert (chosen.train.max_steps, chosen.run.save_checkpoints_steps) == (None, None)
    assert chosen.stop.patience_evals is None


def test_run_config(make, tmp_path):
    config = make.config(
        job_dir=tmp_path,
        run={
            "save_checkpoints_steps": 7,
            "keep_checkpoint_max": 3,
            "keep_checkpoint_every_n_hours": 2,
            "save_summary_steps": 11,
            "log_step_count_steps": 13,
            "seed": 17,
            "intra_op_threads": 1,
            "inter_op_threads": 2,
        },
    )
    built = build_run_config(config)
    assert (built.save_checkpoints_steps, built.save_checkpoints_secs) == (7, None)
    assert (built.keep_checkpoint_max, built.keep_checkpoint_every_n_hours) == (3, 2)
    assert (built.save_summary_steps, built.log_step_count_steps) == (11, 13)
    assert built.tf_random_seed == 17
    assert built.session_config.intra_op_parallelism_threads == 1
    assert built.session_config.inter_op_parallelism_threads == 2
    assert built.session_config.gpu_options.allow_growth
    built = build_run_config(make.config(job_dir=tmp_path, run={"save_checkpoints_secs": 9}))
    assert (built.save_checkpoints_steps, built.save_checkpoints_secs) == (None, 9)
    built = build_run_config(make.config(job_dir=tmp_path, run={"gpu_memory_growth": "false"}))
    assert built.save_checkpoints_secs == 300
    assert not built.session_config.gpu_options.allow_growth


@pytest.mark.parametrize(
    "hosts, index, given, expected",
    [
        (["a", "a", "a", "b"], 0, 0, 2),
        (["a", "a", "a", "b"], 2, 0, 0),
        (["a"] * 9, 3, 0, 1),
        (["a"] * 9, 3, 5, 5),
        ([], 0, 0, 0),
    ],
)
def test_processes_of_a_host_share_its_cores(make, monkeypatch, hosts, index, given, expected):
    monkeypatch.setattr("trainer.cluster.run_config.count_cores", lambda: 7)
    config = make.config(run={"intra_op_threads": given})
    addresses = tuple(f"{host}:{port}" for port, host in enumerate(hosts, 1))
    spec = {"chief": addresses[:1], "worker": addresses[1:]} if hosts else {}
    cluster = Cluster(spec, "worker" if hosts else "chief", index)
    assert share_cores(config, cluster).run.intra_op_threads == expected


@pytest.fixture(scope="module")
def often(make, shop, tmp_path_factory):
    """A finished job with a checkpoint every 4 of 10 steps, of which 2 are kept."""
    folder = tmp_path_factory.mktemp("often")
    stream = io.StringIO()
    config = _config(
        make,
        shop,
        folder,
        train={"max_steps": 10, "batch_size": 50},
        run={"save_checkpoints_steps": 4, "keep_checkpoint_max": 2, "log_step_count_steps": 1},
    )
    job, result = make.run(config, make.schema(), Console(stream))
    return folder, config, job, result, stream.getvalue()


def test_checkpoints_by_steps_and_how_many_are_kept(often):
    folder, _, _, result, said = often
    # 0, 4, 8 and, always, the last.
    assert _steps_of(folder) == [8, 10]
    assert result.checkpoints == [str(folder / "model.ckpt-8"), str(folder / "model.ckpt-10")]
    assert [record["step"] for record in MetricsLog(str(folder)).read("eval")] == [4, 8, 10]
    assert "a checkpoint every 4 steps and at the end" in said


@pytest.mark.parametrize("engine", ["canned", "fused"])
def test_further_checkpoints(make, shop, tmp_path, engine):
    def run(steps):
        stream = io.StringIO()
        config = _config(
            make,
            shop,
            tmp_path,
            model={"type": "linear", "engine": engine},
            train={"max_steps": steps, "batch_size": 10},
            run={
                "save_checkpoints_steps": 6,
                "checkpoint_at_steps": [2, 3, 6, 13],
                "keep_checkpoint_max": 0,
            },
        )
        make.run(config, make.schema(), Console(stream))
        evaluated = [record["step"] for record in MetricsLog(str(tmp_path)).read("eval")]
        return _steps_of(tmp_path), evaluated, stream.getvalue()

    # The interval is counted without the further steps, and a step that is both is saved once.
    saved, evaluated, said = run(9)
    assert saved == [0, 2, 3, 6, 9]
    assert evaluated == saved[1:]
    assert "a checkpoint every 6 steps, at steps 2, 3, 6, 13, and at the end" in said
    # A resumed job counts its interval from where it goes on, and repeats no further step.
    saved, evaluated, _ = run(14)
    assert saved == [0, 2, 3, 6, 9, 13, 14]
    assert evaluated == saved[1:]


@pytest.mark.newest
def test_all_checkpoints_are_kept_with_keep_checkpoint_max_0(make, shop, tmp_path):
    run = {"save_checkpoints_steps": 2, "keep_checkpoint_max": 0}
    config = _config(make, shop, tmp_path, train={"max_steps": 6, "batch_size": 10}, run=run)
    _, result = make.run(config, make.schema())
    assert _steps_of(tmp_path) == [0, 2, 4, 6]
    assert len(result.checkpoints) == 4


def test_a_run_shorter_than_any_interval_is_evaluated_and_exported(trained):
    done = trained("linear", "bought")
    # The interval is 1,000 steps, the run 60.
    assert [record["step"] for record in done.read("eval")] == [60]
    assert latest_checkpoint(str(done.folder)).endswith("model.ckpt-60")
    assert len(done.result.exports["final"]) == 1


def test_runs_with_the_same_seed_are_equal(make, shop, tmp_path, often):
    folder, config, _, _, _ = often
    losses = {"often": [record["loss"] for record in MetricsLog(str(folder)).read("train")]}
    for name, seed in (("same", 1), ("other", 2)):
        # One evaluation is enough here.
        run = config.run.model_copy(update={"seed": seed, "save_checkpoints_steps": 1000})
        job_dir = tmp_path / name
        other = config.model_copy(update={"job_dir": str(job_dir), "run": run})
        make.run(other, make.schema())
        losses[name] = [record["loss"] for record in MetricsLog(str(job_dir)).read("train")]
    assert losses["same"] == pytest.approx(losses["often"], rel=1e-5)
    assert losses["other"] != pytest.approx(losses["often"], rel=1e-3)


def read_tags(folder):
    """Returns the tags of the newest event file of a folder."""
    newest = max(folder.glob("events.out.tfevents.*"))
    return {
        value.tag
        for event in tf.compat.v1.train.summary_iterator(str(newest))
        for value in event.summary.value
    }


@pytest.fixture
def copy(often, tmp_path):
    """A copy of the job, to be resumed: (folder, configuration)."""
    folder, config, _, _, _ = often
    shutil.copytree(folder, tmp_path / "copy")
    return tmp_path / "copy", config.model_copy(update={"job_dir": str(tmp_path / "copy")})


def test_a_job_resumes_from_its_checkpoint(make, copy):
    folder, config = copy
    stream = io.StringIO()
    longer = config.model_copy(update={"train": config.train.model_copy(update={"max_steps": 15})})
    _, result = make.run(longer, make.schema(), Console(stream))
    assert (result.start_step, result.end_step) == (10, 15)
    assert f"resuming at step 10 from {folder}/model.ckpt-10, stopping at step 15" in (
        stream.getvalue()
    )
    evaluations = MetricsLog(str(folder)).read("eval")
    assert [record["step"] for record in evaluations][-1] == 15
    for events in (folder, folder / "eval"):
        # The graph is in the first of the event files alone.
        sizes = [path.stat().st_size for path in sorted(events.glob("events.out.tfevents.*"))]
        assert len(sizes) == 2 and sizes[1] < sizes[0] / 10
        assert "loss" in read_tags(events)


@pytest.mark.newest
def test_nothing_to_train(make, copy):
    folder, config = copy
    stream = io.StringIO()
    _, result = make.run(config, make.schema(), Console(stream))
    assert (result.start_step, result.end_step) == (10, 10)
    assert f"nothing to train: {folder} is at step 10 and the target is 10" in stream.getvalue()


def test_new_data_are_trained_after_an_early_stop(make, copy):
    folder, config = copy
    train = config.train.model_copy(update={"max_steps": 15})
    stop = config.stop.model_copy(update={"metric": "loss", "target": 1e9})
    config = config.model_copy(update={"train": train, "stop": stop})
    stream = io.StringIO()
    _, result = make.run(config, make.schema(), Console(stream))
    assert (result.start_step, result.end_step) == (10, 10)
    assert "differ" not in stream.getvalue()
    path = make.csv(folder.parent / "tomorrow.csv", make.rows(50, seed=78))
    for name, told in ("train", "data: they differ"), ("eval", "evaluation data: they differ"):
        config = config.model_copy(update={"data": config.data.model_copy(update={name: (path,)})})
        config = config.model_copy(update={"stop": stop.model_copy(update={"patience_evals": 9})})
        _, result = make.run(config, make.schema(), Console(stream := io.StringIO()))
        assert result.end_step > result.start_step
        assert told in stream.getvalue()
        train = train.model_copy(update={"max_steps": 20})
        config = config.model_copy(update={"train": train})


@pytest.mark.newest
def test_a_column_without_any_value_is_told(make, shop, tmp_path):
    from trainer.training import job

    rows = [{**row, "hours": None} for row in make.rows(50, seed=7)]
    stream = io.StringIO()
    config = make.config("unused", make.csv(tmp_path / "rows.csv", rows), shop / "eval.csv")
    job.prepare(config, make.schema(), Console(stream))
    assert "warning: column 'hours': all training rows lack a value" in stream.getvalue()


def test_a_resumed_model_keeps_its_statistics(make, shop, copy):
    folder, config = copy
    rows = make.rows(50, seed=77)
    for row in rows:
        row["hours"] = None if row["hours"] is None else row["hours"] + 1000
    path = make.csv(folder.parent / "other.csv", rows)
    data = config.data.model_copy(update={"train": (path,)})
    before = json.loads((folder / "statistics.json").read_text())
    job = make.prepare(config.model_copy(update={"data": data}), make.schema())
    # A model normalises by what it was trained with, whatever comes later.
    assert job.statistics.columns["hours"].mean == before["columns"]["hours"]["mean"] < 100
    assert job.train_scan.statistics.columns["hours"].mean > 1000


@pytest.mark.newest
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": "dnn"}, "model.type was 'linear', now 'dnn'"),
        ({"hidden_units": (3,)}, r"model.hidden_units was \[128, 64\], now \[3\]"),
    ],
)
def test_another_model_is_refused_by_name(make, copy, change, words):
    _, config = copy
    other = config.model_copy(update={"model": config.model.model_copy(update=change)})
    with pytest.raises(UserError, match=words):
        check_same_model(other, make.schema())


@pytest.mark.newest
def test_another_schema_is_refused_by_name(make, copy):
    _, config = copy
    values = make.schema_values()
    values["columns"]["job"]["hash_buckets"] = 21
    from trainer.schema import Schema

    with pytest.raises(UserError, match="schema.columns.job.hash_buckets was 20, now 21"):
        check_same_model(config, Schema.model_validate(values))


@pytest.mark.newest
def test_settings_that_shape_no_variable_may_change(make, copy):
    _, config = copy
    free = config.model_copy(update={"model": config.model.model_copy(update={"dropout": 0.5})})
    check_same_model(free, make.schema())
    check_same_model(config, make.schema(key=False))


@pytest.mark.newest
def test_another_optimizer_is_refused_by_name(make, copy):
    _, config = copy
    train = config.train.model_copy(update={"linear_optimizer": "adam"})
    with pytest.raises(UserError, match="train.linear_optimizer was 'ftrl', now 'adam'"):
        check_same_model(config.model_copy(update={"train": train}), make.schema())
    # That of the deep part, which a linear model does not have, may change.
    train = config.train.model_copy(update={"optimizer": "adam"})
    check_same_model(config.model_copy(update={"train": train}), make.schema())


@pytest.mark.newest
def test_a_damaged_checkpoint_is_named(make, copy):
    folder, config = copy
    (folder / "model.ckpt-10.index").write_bytes(b"damaged")
    with pytest.raises(UserError, match="model.ckpt-10 cannot be read"):
        make.run(config, make.schema())


def test_checkpoints_by_seconds(make, shop, tmp_path):
    config = _config(
        make,
        shop,
        tmp_path,
        train={"max_steps": 1_000_000, "batch_size": 10},
        run={"save_checkpoints_secs": 1},
        stop={"max_secs": 4},
    )
    _, result = make.run(config, make.schema())
    assert result.stopped_early
    # How many there are depends on the machine; the last step always has one.
    assert latest_checkpoint(str(tmp_path)).endswith(f"model.ckpt-{result.end_step}")
    steps = [record["step"] for record in MetricsLog(str(tmp_path)).read("eval")]
    assert steps[-1] == result.end_step < 1_000_000


@pytest.mark.newest
def test_evaluation_steps_and_name(make, shop, tmp_path):
    config = _config(
        make,
        shop,
        tmp_path,
        train={"max_steps": 2, "batch_size": 10},
        eval={"steps": 2, "batch_size": 30, "name": "part"},
    )
    make.run(config, make.schema("price"))
    assert list((tmp_path / "eval_part").glob("events.*"))
    (record,) = MetricsLog(str(tmp_path)).read("eval")
    prices = [row["price"] for row in make.rows(200, seed=2)[:60]]
    assert record["label/mean"] == pytest.approx(sum(prices) / 60, rel=1e-4)


def test_event_files_for_tensorboard(often):
    assert "loss" in read_tags(often[0])
