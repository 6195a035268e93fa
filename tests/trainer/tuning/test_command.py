"""What is wrong with a command is said in one line, before anything starts."""

import os
import signal
import time

import pytest

from trainer.config.commands import run
from trainer.config.search_space import SearchSpace, parse_search
from trainer.errors import UserError
from trainer.tuning import command
from trainer.tuning.command import main
from trainer.tuning.command_line import parse
from trainer.tuning.search import Objective, Search

pytestmark = pytest.mark.quick
TASK = ["--", "--hparams=census", "--train_data=x.csv", "--eval_data=x.csv"]


@pytest.mark.parametrize(
    "own, task, message",
    [
        ([], TASK, "--tuning, --search: neither is given"),
        (["--tuning=censsus"], TASK, "did you mean census?"),
        (["--search=learning_rte=0..1"], TASK, "did you mean learning_rate?"),
        (["--tuning=census"], [], "nothing after --"),
        (["--tuning=census"], [*TASK, "--dropout=0.1"], "given as a flag; remove one of them"),
        (["--tuning=census", "--search=train.dropout=0..1"], TASK, "not an option"),
        (["--tuning=census", "--search=model.dropout=0..0.5"], TASK, "are the same option"),
        (["--search=run.seed=int:1..3"], TASK, "not a hyperparameter"),
        (["--tuning=census", "--sampler=tpee"], TASK, "did you mean tpe?"),
        (["--tuning=census", "--pruner=hyperband"], TASK, "use one of median, halving, none"),
        (["--tuning=census", "--sampler=grid"], TASK, "is a range of real numbers"),
        (["--tuning=census", "--max_trials=0"], TASK, "--max_trials=0: give a number from 1"),
        (["--tuning=census", "--share=20"], TASK, "--share=20: give a share"),
        (["--tuning=census", "--max_hours=-1"], TASK, "--max_hours=-1"),
        (["--tuning=census", "--max_hours=nan"], TASK, "--max_hours=nan: write a finite number"),
        (["--tuning=census", "--objectives=auc,auc"], TASK, "or two different ones"),
        (["--tuning=census", "--objectives=mine"], TASK, "--export.best_mode=min or max"),
        (["--tuning=census", "--warm_start"], TASK, "only with --then_train"),
        (["--tuning=census"], [*TASK, "--dry_run"], "not for a search"),
        (["--tuning=census"], [*TASK, "--experiment=a.b:c"], "which here the code sets"),
        (["--search=piecewise_steps=1|2"], TASK, "would fail"),
        (["--search=n_trees=int:2..9"], TASK, "n_trees: has no effect: model.type wide_deep does"),
    ],
)
def test_one_line(tmp_path, capsys, own, task, message):
    folder = tmp_path / "study"
    assert run(main, [f"--study_dir={folder}", *own, *task]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1 and message in errors[0]
    assert not folder.exists()


def test_ctrl_c_while_the_data_are_read_ends_the_search_at_once(tmp_path, capsys, monkeypatch):
    def read(search, console):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
        raise AssertionError("it goes on")

    monkeypatch.setattr(command, "_count_rows", read)
    own = [f"--study_dir={tmp_path / 'study'}", "--search=learning_rate=0.1..1"]
    assert run(main, [*own, *TASK]) == 130
    assert capsys.readouterr().err.startswith("stopped by SIGINT; ")


@pytest.mark.parametrize(
    "cores, given, metrics, parallel",
    [
        (2, 4, ["auc"], 2),
        (8, 4, ["auc"], 4),
        (8, None, ["auc"], 4),
        (1, None, ["auc"], 1),
        # Trials at the same time would disturb each other's latencies.
        (2, 4, ["auc", "latency_p50_ms"], 1),
    ],
)
def test_trials_run_in_parallel_as_cores_allow(monkeypatch, cores, given, metrics, parallel):
    monkeypatch.setattr(command, "count_cores", lambda: cores)
    space = SearchSpace("auc", "maximize", {}, parallel_trials=given)
    objectives = tuple(Objective(name, "max") for name in metrics)
    search = Search(None, {}, {}, objectives, 0.2, 3)
    assert command._count_parallel(space, search) == parallel


def test_what_no_trial_reads_is_known():
    space = parse_search(["n_trees=int:2..9", "learning_rate=0.1..1", "l1=0..1"])
    search = Search(None, {"train.linear_optimizer": "adam"}, space, (), 1.0, 3)
    assert list(search.find_unused()) == ["n_trees", "l1"]
    space = parse_search(["model.type=dnn|boosted_trees", "n_trees=int:2..9", "cell=gru|lstm"])
    assert list(search._replace(parameters=space).find_unused()) == ["cell"]


def test_a_full_job_that_has_trained_with_other_values_is_not_taken_for_the_best(tmp_path):
    own = [f"--study_dir={tmp_path}", "--search=learning_rate=0.1..1", "--then_train"]
    options = command.read_options(*parse([*own, *TASK]))
    full = tmp_path / "full"
    full.mkdir()
    (tmp_path / "best.yaml").write_text("train: {learning_rate: 0.5}")
    (full / "config.yaml").write_text("train: {learning_rate: 0.25}")
    command._check_full_job(options, str(full))
    (full / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-9"')
    with pytest.raises(UserError, match=r"has trained .* \(was 0.25, now 0.5\); name another"):
        command._train_fully(options)
    (full / "config.yaml").write_text("train: {learning_rate: 0.5}")
    command._check_full_job(options, str(full))


def test_a_study_is_a_folder_of_this_machine(capsys):
    assert run(main, ["--study_dir=gs://a/b", "--tuning=census", *TASK]) == 2
    assert "needs a folder on this machine" in capsys.readouterr().err


def test_a_trial_that_lies_elsewhere_is_refused(tmp_path, capsys):
    other, trials = tmp_path / "other", tmp_path / "study" / "trials"
    other.mkdir()
    (other / "model.ckpt-1.index").write_text("another job's")
    trials.mkdir(parents=True)
    (trials / "0").symlink_to(other)
    assert run(main, [f"--study_dir={trials.parent}", "--tuning=census", *TASK]) == 2
    assert f"{trials / '0'} is a link; remove it" in capsys.readouterr().err
    assert [path.name for path in other.iterdir()] == ["model.ckpt-1.index"]


@pytest.mark.parametrize("inner", ["", "study"])
def test_the_folder_of_a_job_is_refused(tmp_path, capsys, inner):
    job = tmp_path / "job"
    job.mkdir()
    for name in ("config.yaml", "inputs.json"):
        (job / name).write_text("{}")
    own = [f"--study_dir={job / inner}", "--search=learning_rate=0.1..1"]
    assert run(main, [*own, *TASK]) == 2
    lies = f"lies in the job {job}" if inner else "is the folder of a job"
    line = f"{own[0]}: {lies}, which --fresh would delete; name another"
    assert capsys.readouterr().err == f"error: {line}\n"
    assert sorted(path.name for path in job.iterdir()) == ["config.yaml", "inputs.json"]
    # A search of an earlier version goes on: the data are what is missing.
    (job / inner).mkdir(exist_ok=True)
    (job / inner / "study.json").write_text("{}")
    assert run(main, [*own, *TASK]) == 2
    assert "x.csv" in capsys.readouterr().err
