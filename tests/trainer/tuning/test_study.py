"""A study that is stopped at any point continues as if it had not been stopped."""

import subprocess
import sys

import pytest

from trainer.cluster.forking import ForkServer
from trainer.config import load_config
from trainer.config.flags import parse_command_line
from trainer.config.search_space import load_space, parse_search
from trainer.console import Console
from trainer.errors import UserError
from trainer.job_dir.metrics_log import MetricsLog
from trainer.tuning.report import describe_trial, list_headings
from trainer.tuning.search import Objective, Search
from trainer.tuning.study import JOURNAL, Study
from trainer.tuning.trials import Budget, Running, Signals, Trials
from trainer.vertex.tuning import load_study

pytestmark = pytest.mark.quick
SPACE = ["learning_rate=log:1e-3..1", "batch_size=int:32..128", "optimizer=adam|adagrad"]


AUC = Objective("auc", "max")


def _search(space=SPACE, objectives=(AUC,), **overrides):
    return Search(None, overrides, parse_search(space), objectives, 0.2, 4, 1000)


def _open(folder, sampler="random", search=None, pruner="none"):
    return Study(folder, search or _search(), sampler, pruner, seed=1)


def _ask_all(study, count):
    found = []
    for _ in range(count):
        trial = study.ask()
        found.append(study.to_texts(trial))
        study.tell(trial, "COMPLETE", [trial.number / 10])
    return found


def test_the_first_trial_has_the_values_of_the_preset_if_the_space_has_them(tmp_path):
    study = _open(tmp_path, search=_search(**{"train.batch_size": "64"}))
    first = {"learning_rate": "0.05", "batch_size": "64", "optimizer": "adagrad"}
    assert study.to_texts(study.ask()) == first


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_a_restarted_search_draws_the_same_values(tmp_path, sampler):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = _ask_all(_open(tmp_path / "a", sampler), 8)
    parts = [_ask_all(_open(tmp_path / "b", sampler), 1)[0] for _ in range(8)]
    assert parts == whole
    assert len({tuple(each.values()) for each in whole}) == 8


def test_a_trial_without_an_end_is_continued_with_its_values(tmp_path):
    begun = _open(tmp_path)
    values = begun.to_texts(begun.ask())
    again = _open(tmp_path)
    (running,) = again.trials
    resumed = again.resume(running)
    assert again.to_texts(resumed) == values
    again.tell(resumed, "COMPLETE", [0.5])
    assert [each.state.name for each in _open(tmp_path).trials] == ["COMPLETE"]


@pytest.mark.long
def test_every_prefix_of_the_journal_can_be_continued(tmp_path):
    """A kill may cut the journal after any byte, and leave its lock."""
    _ask_all(_open(tmp_path), 2)
    whole = (tmp_path / JOURNAL).read_bytes()
    for size in range(0, len(whole), 41):
        folder = tmp_path / str(size)
        folder.mkdir()
        (folder / JOURNAL).write_bytes(whole[:size])
        (folder / f"{JOURNAL}.lock").symlink_to(folder / JOURNAL)
        study = _open(folder)
        for frozen in study.trials:
            if frozen.state.name == "RUNNING":
                study.tell(study.resume(frozen), "COMPLETE", [0.0])
        while len([each for each in study.trials if each.state.name == "COMPLETE"]) < 2:
            study.tell(study.ask(), "COMPLETE", [0.0])
        kept = _open(folder).trials
        assert [trial.state.name for trial in kept] == ["COMPLETE", "COMPLETE"]
        assert all(len(trial.params) == 3 for trial in kept)


def test_a_grid_has_every_combination_once(tmp_path):
    search = _search(["batch_size=int:2..3", "optimizer=adam|adagrad"])
    study = _open(tmp_path, "grid", search)
    assert study.limit(20) == 4
    found = _ask_all(study, 2) + _ask_all(_open(tmp_path, "grid", search), 2)
    assert len({tuple(each.values()) for each in found}) == 4
    with pytest.raises(UserError, match="learning_rate is a range of real numbers"):
        _open(tmp_path, "grid")


@pytest.mark.parametrize("pruner, pruned", [("median", True), ("halving", True), ("none", False)])
def test_a_trial_that_falls_behind_is_pruned(tmp_path, pruner, pruned):
    study = _open(tmp_path, pruner=pruner)
    for number in range(6):
        trial = study.ask()
        values = [0.8 + number / 100, 0.82 + number / 100, 0.9, 0.91]
        study.report(trial, dict(enumerate(values, start=1)))
        study.tell(trial, "COMPLETE", [0.91])
    bad = study.ask()
    told = (study.report(bad, dict.fromkeys(range(1, count + 1), 0.5)) for count in range(1, 4))
    assert any(told) == pruned
    # The last evaluation ends the trial in any case.
    assert not study.report(bad, dict.fromkeys(range(1, 5), 0.5))


def test_a_trial_that_was_started_again_is_compared_at_the_same_parts(tmp_path):
    log = MetricsLog(str(tmp_path))
    # It was stopped at step 250 of 1000, and evaluated each 200 steps after that.
    for step in (200, 450, 650, 850, 1000):
        log.append("eval", step, {"auc": step / 1000})
    log.append("eval", 900, {"loss": 1.0})
    running = Running(None, tmp_path, 1000, 0.0)
    assert running.read_parts("auc", 5) == {1: 0.2, 2: 0.45, 3: 0.65, 4: 0.85, 5: 1.0}


@pytest.mark.parametrize("direction", ["max", "min"])
def test_importance_is_that_of_reaching_good_values(tmp_path, direction, recwarn):
    """The rate decides which of many trials are good; the batch size, which are bad."""
    search = _search(
        ["learning_rate=0.001..1", "batch_size=int:1..64"], (Objective("m", direction),)
    )
    study = _open(tmp_path, search=search)
    sign = 1 if direction == "max" else -1
    for number in range(60):
        trial = study.ask()
        rate, size = trial.params["learning_rate"], trial.params["batch_size"]
        value = 1.0 if rate > 0.8 else -1.0 if size > 50 else 0.0
        study.tell(trial, "COMPLETE", [sign * (value + number / 1e6)])
    assert next(iter(study.measure_importance())) == "learning_rate"
    assert not recwarn.list


def test_two_objectives(tmp_path):
    objectives = (Objective("auc", "max"), Objective("loss", "min"))
    study = _open(tmp_path, "tpe", _search(objectives=objectives))
    for values in ([0.7, 0.2], [0.9, 0.4], [0.8, 0.5], [0.8, 0.3]):
        study.tell(study.ask(), "COMPLETE", values)
    assert [trial.number for trial in study.find_best()] == [1, 3, 0]


def test_a_trial_trains_a_share_of_the_steps():
    search = _search(["epochs=2|10"], **{"train.batch_size": "100", "run.seed": "3"})
    flags, steps = search.plan_trial({"epochs": "10"}, "here")
    assert steps == 20
    assert {"--train.max_steps=20", "--run.seed=3", "--export.best_metric=auc"} < set(flags)
    assert not [flag for flag in flags if "epochs" in flag]


@pytest.mark.parametrize("name", ["census", "flights"])
def test_a_trial_has_the_options_that_it_has_on_vertex(tmp_path, name):
    search = Search(name, {}, load_space(name).parameters, (AUC,), 0.2, 3, 1000)
    study = _open(tmp_path, search=search)
    study.ask()
    texts = study.to_texts(study.ask())
    assert {one["parameterId"] for one in load_study(name).spec["parameters"]} == set(texts)
    theirs = [f"--hparams={name}", *(f"--{option}={text}" for option, text in texts.items())]
    options = []
    for words in (theirs, search.plan_trial(texts, "here")[0]):
        command = parse_command_line(words)
        config = load_config(command.hparams, command.overrides)
        options.append(config.model_dump(include={"model", "train"}))
        options[-1]["train"].update(max_steps=None, epochs=None)
    assert options[0] == options[1]


@pytest.mark.parametrize("keeps", [False, True])
def test_a_pruned_trial_leaves_no_checkpoint_unless_asked(tmp_path, keeps):
    search = _search()
    study = _open(tmp_path, search=search)
    study.tell(study.ask(), "PRUNED")
    trial = tmp_path / "trials" / "0"
    trial.mkdir(parents=True)
    saved = ["checkpoint", "model.ckpt-5.data-00000-of-00001", "model.ckpt-5.index"]
    for file in (*saved, "metrics.jsonl"):
        (trial / file).write_text("")
    budget = Budget(1, None, 1, keeps)
    with (tmp_path / "lock").open("w") as lock:
        parts = (Console(quiet=True), Signals(), lock.fileno(), ForkServer([], []))
        Trials(tmp_path, search, study, budget, *parts).run()
    left = sorted(path.name for path in trial.iterdir())
    assert left == sorted([*(saved if keeps else []), "metrics.jsonl"])


@pytest.mark.parametrize(("given", "wanted"), [({}, "false"), ({"run.report": True}, "true")])
def test_a_trial_writes_no_page_unless_asked(given, wanted):
    flags, _ = _search(**given).plan_trial({}, "here")
    assert [flag for flag in flags if "run.report" in flag] == [f"--run.report={wanted}"]


@pytest.mark.parametrize("name", ["census", "flights"])
def test_a_space_reaches_beyond_the_rates_of_its_preset(name):
    space = load_space(name).parameters
    start = Search(name, {}, space, (AUC,), 0.2, 4, 1000).find_start()
    rates = [rate for rate in space if rate.endswith("learning_rate")]
    assert len(rates) == 2
    for rate in rates:
        assert 2 * space[rate].low <= float(start[rate]) <= space[rate].high / 2, rate


def test_without_optuna_one_line_says_what_to_install(tmp_path):
    program = (
        "import sys; sys.modules['optuna'] = None; from trainer.tune import main;"
        "from trainer.config.commands import run;"
        "sys.exit(run(main, ['--study_dir=x', '--', '--hparams=census']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: trainer.tune needs Optuna; pip install 'optuna>=5,<6'"
    ]


def test_trials_fit_the_terminal(tmp_path):
    search = _search()
    study = _open(tmp_path, search=search)
    _ask_all(study, 1)
    study.tell(study.ask(), "FAIL")
    heading, *rest = list_headings(search, 96)
    first, second = (describe_trial(trial, search, 96) for trial in study.trials)
    assert not rest and heading.split() == [
        *("trial", "state", "auc", "steps", "secs"),
        *("learning_rate", "batch_size", "optimizer"),
    ]
    assert first.split()[:3] == ["0", "complete", "0"] and max(len(first), len(heading)) <= 96
    assert list_headings(search, 95) == []
    rate, *others = study.to_texts(study.trials[0]).values()
    names = ("learning_rate", "batch_size", "optimizer")
    values = zip(names, (f"{float(rate):.6g}", *others))
    values = " · ".join(f"{name} {text}" for name, text in values)
    narrow = describe_trial(study.trials[0], search, 95)
    assert narrow == f"trial 0: complete · auc 0 · steps 0 · secs 0 · {values}"
    assert describe_trial(study.trials[1], search, 40).startswith("trial 1: failed · steps 0")
    assert second.split()[:3] == ["1", "failed", "-"]
