"""The rules of the gate as constraints of a search, and the costs of an export as objectives."""

import json

import pytest

from trainer.config import Config, load_config
from trainer.config.commands import run
from trainer.config.search_space import SearchSpace, parse_search
from trainer.errors import UserError
from trainer.export.fingerprint import EXTRA, GATE_REPORT
from trainer.tuning import judging, report
from trainer.tuning.command import explain_failure, main
from trainer.tuning.search import Objective, Search, choose_objectives
from trainer.tuning.study import Study

AUC = Objective("auc", "max")


def _check(rule, value, bound, is_lower=True, verdict="fail", where="all rows"):
    names = ("rule", "value", "bound", "is_lower", "verdict", "where")
    given = dict(zip(names, (rule, value, bound, is_lower, verdict, where)))
    return {**given, "what": "auc"}


@pytest.mark.quick
@pytest.mark.parametrize(
    "check, violation",
    [
        (_check(1, 0.72, 0.8), 0.1),
        (_check(1, 0.72, 0.8, verdict="inconclusive"), 0.1),
        (_check(1, 0.88, 0.8, verdict="inconclusive"), -0.1),
        (_check(1, 0.88, 0.8, verdict="pass"), -0.1),
        (_check(1, 22.0, 20.0, is_lower=False), 0.1),
        (_check(1, -0.01, 0.0), 0.01),
        # within_noise: pass
        (_check(1, 0.72, 0.8, verdict="pass"), 0.0),
        (_check(1, 0.72, 0.8, verdict="too few groups"), 0.1),
        (_check(1, None, 0.8, verdict="undefined"), 1.0),
        (_check(1, None, 0.8, verdict="too few rows"), 0.0),
    ],
)
def test_a_violation_is_the_share_of_the_bound_by_which_it_is_missed(check, violation):
    checks = [_check(1, 0.9, 0.8, verdict="pass"), check, _check(2, 0.9, 0.8, verdict="pass")]
    found = judging.measure_violations({"checks": checks})
    assert found["rule 1"] == pytest.approx(max(violation, -0.125))
    assert found["rule 2"] == pytest.approx(-0.125)
    told = judging.describe_violation({"checks": checks})
    assert (told is not None) == (violation > 0)
    assert told is None or told.startswith("rule 1: auc ")


@pytest.mark.quick
@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_the_best_trial_is_within_the_rules(tmp_path, sampler):
    search = Search(None, {}, parse_search(["learning_rate=0.01..1"]), (AUC,), 0.2, 4, 1000)
    study = Study(tmp_path, search, sampler, "none", seed=1)
    for value, violation in ((0.7, -0.1), (0.9, 0.2), (0.8, 0.0)):
        trial = study.ask()
        trial.set_constraint("rule 1", violation)
        trial.set_user_attr("reason", "rule 1: too large")
        study.tell(trial, "COMPLETE", [value])
    again = Study(tmp_path, search, sampler, "none", seed=1)
    assert [trial.number for trial in again.find_best()] == [2]
    rows = report.write_table(tmp_path, search, again).splitlines()[1:4]
    assert [row.split()[:2] for row in rows] == [
        ["2", "complete"],
        ["0", "complete"],
        ["1", "infeasible"],
    ]
    assert [row.endswith("(rule 1: too large)") for row in rows] == [False, False, True]


@pytest.mark.quick
def test_two_objectives_leave_out_what_is_beyond_the_rules(tmp_path):
    objectives = (AUC, Objective("latency_p50_ms", "min"))
    search = Search(None, {}, parse_search(["learning_rate=0.01..1"]), objectives, 0.2, 4, 1000)
    study = Study(tmp_path, search, "tpe", "none", seed=1)
    for values, violation in (([0.9, 1.0], 0.5), ([0.8, 2.0], -0.5), ([0.7, 1.5], -0.5)):
        trial = study.ask()
        trial.set_constraint("rule 1", violation)
        study.tell(trial, "COMPLETE", values)
    assert [trial.number for trial in study.find_best()] == [1, 2]


@pytest.mark.quick
def test_a_latency_is_an_objective_beside_a_metric():
    space, config = SearchSpace("auc", "maximize", {}), Config()
    found = choose_objectives(space, ["latency", "auc"], config)
    assert found == (Objective("latency_p50_ms", "min"), AUC)
    search = Search(None, {}, parse_search(["learning_rate=0.01..1"]), found, 0.2, 4, 1000)
    flags, _ = search.plan_trial({"learning_rate": "0.1"}, "here")
    assert {"--export.best_metric=auc", "--export.exporters=final"} < set(flags)
    with pytest.raises(UserError, match="name a metric of the evaluation too, such as auc,size_mb"):
        choose_objectives(space, ["size_mb"], config)


@pytest.mark.quick
@pytest.mark.parametrize(
    "rules, flags, message",
    [
        ("- {metric: auk, lower_bound: 0.8}", [], "did you mean auc?"),
        ("- {metric: auc}", [], "give lower_bound, upper_bound, change or max_gap"),
        ("- {metric: auc, change: {absolute: 0}}", [], "rule 1 compares with a baseline"),
        ("- {metric: auc, lower_bound: 0.8}", ["--baseline=nowhere"], "no such folder"),
        (None, ["--baseline=jobs/a"], "--baseline: only with --rules"),
        (None, ["--rules=nowhere.yaml"], "--rules=nowhere.yaml: No such file"),
    ],
)
def test_wrong_rules_print_one_line(tmp_path, capsys, rules, flags, message):
    if rules is not None:
        (tmp_path / "rules.yaml").write_text(rules)
        flags = [f"--rules={tmp_path / 'rules.yaml'}", *flags]
    own = [f"--study_dir={tmp_path / 'study'}", "--tuning=census", *flags]
    task = ["--hparams=census", "--train_data=x.csv", "--eval_data=x.csv"]
    assert run(main, [*own, "--", *task]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (tmp_path / "study").exists()


@pytest.mark.quick
def test_rows_that_are_no_files_cannot_be_judged(tmp_path, capsys):
    own = [f"--study_dir={tmp_path / 'study'}", "--tuning=census", "--objectives=auc,latency"]
    task = ["--hparams=census", "--train_data=x.csv", "--eval_share=0.2"]
    assert run(main, [*own, "--", *task]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "name them with --eval_data" in line


@pytest.mark.quick
def test_hours_that_end_before_a_trial_are_named(tmp_path):
    search = Search(None, {}, parse_search(["learning_rate=0.01..1"]), (AUC,), 0.2, 4, 1000)
    study = Study(tmp_path, search, "random", "none", seed=1)
    study.ask()
    assert "--max_hours: used up" in explain_failure(tmp_path, study)
    trial = study.ask()
    trial.set_constraint("rule 1", 0.1)
    study.tell(trial, "COMPLETE", [0.5])
    assert "no trial is within --rules" in explain_failure(tmp_path, study)


@pytest.mark.newest
@pytest.mark.slow
def test_a_search_with_hours_rules_and_a_latency(shop, tmp_path, run_module):
    folder, rules = tmp_path / "study", tmp_path / "rules.yaml"
    # A unit of the wide layer takes more than this file.
    rules.write_text("- {metric: size_mb, upper_bound: 0.5}")
    flags = [
        f"--study_dir={folder}",
        "--search=hidden_units=4|512,256|8",
        "--sampler=grid",
        "--objectives=auc,latency",
        f"--rules={rules}",
        "--parallel=1",
        "--share=1",
        "--evaluations=1",
    ]
    task = [
        "--",
        f"--data.schema_file={shop / 'bought.yaml'}",
        f"--train_data={shop / 'train.csv'}",
        f"--eval_data={shop / 'eval.csv'}",
        "--max_steps=20",
    ]
    done = run_module("trainer.tune", *flags, "--max_hours=1", "--max_trials=2", *task)
    assert done.returncode == 0, done.stderr
    # The hours are those of all commands together.
    more = ["--max_hours=1e-4", "--max_trials=3", "--then_train", "--warm_start"]
    done = run_module("trainer.tune", *flags, *more, *task)
    assert done.returncode == 0 and "the budget of 0.0001 h is used up" in done.errors
    full = load_config(str(folder / "full" / "config.yaml"), {})
    assert full.train.warm_start == str(folder / "trials" / "0")
    assert full.model.hidden_units == (4,)
    assert json.loads((folder / "full" / "metrics.json").read_text())["end_step"] == 20
    rows = [row.split() for row in (folder / "trials.txt").read_text().splitlines()[1:]]
    assert [row[:2] for row in rows] == [["0", "complete"], ["1", "infeasible"]]
    assert load_config(str(folder / "best.yaml"), {}).model.hidden_units == (4,)
    for number, row in enumerate(rows):
        (path,) = (folder / "trials" / str(number)).glob(f"export/final/*/{EXTRA}/{GATE_REPORT}")
        costs = judging.read_costs(json.loads(path.read_text()))
        assert float(row[3]) == pytest.approx(costs["latency_p50_ms"], rel=1e-4)
