"""Search spaces from flags; tests/trainer/vertex/test_jobs.py has those from files."""

import pytest

from trainer.config.search_space import load_space, parse_search
from trainer.errors import UserError

pytestmark = pytest.mark.quick


def test_ranges_and_lists():
    space = parse_search(
        [
            "train.learning_rate=log:1e-4..1",
            "dropout=0..0.4",
            "batch_size=int:32..128",
            "hidden_units=32|64,32",
            "user.depth=2|3",
        ]
    )
    assert space["train.learning_rate"][:4] == ("float", 1e-4, 1.0, "log")
    assert space["dropout"].samples == ["0.0", "0.4"]
    assert space["batch_size"].samples == ["32", "128"]
    assert space["hidden_units"].values == ("32", "64,32")
    assert space["user.depth"].values == ("2", "3")


def test_a_file_and_a_flag_mean_the_same(make, tmp_path):
    path = make.yaml(
        tmp_path / "space.yaml",
        {
            "metric": "auc",
            "goal": "maximize",
            "parameters": {"learning_rate": {"min": 0.001, "max": 0.3, "scale": "log"}},
        },
    )
    from_flag = parse_search(["learning_rate=log:0.001..0.3"])
    assert load_space(str(path)).parameters == from_flag


@pytest.mark.parametrize(
    "text, message",
    [
        ("learning_rte=0.1..1", "did you mean learning_rate"),
        ("learning_rate", "no values; write NAME=log:1e-4..1"),
        ("learning_rate=", "no values"),
        ("learning_rate=lgo:0.1..1", "not a range"),
        ("learning_rate=1..0.1", "min 1 is not below max 0.1"),
        ("learning_rate=log:0..1", "needs a min above 0"),
        ("learning_rate=a..b", "got 'a'; write a number"),
        ("learning_rate=0.1..inf", "write a finite number"),
        ("dropout=0..2", "a trial with '2.0' would fail"),
        ("optimizer=adam|adm", "a trial with 'adm' would fail"),
        ("batch_size=int:1.5..3", "whole numbers"),
        ("batch_size=32,64", "; for several values, write 32|64"),
    ],
)
def test_one_line_says_what_is_wrong(text, message):
    with pytest.raises(UserError) as caught:
        parse_search([text])
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"min": 0.1, "max": True}, "max: got True; write a number"),
        ({"min": float("nan"), "max": 1}, "min: got nan; write a finite number"),
        ({"min": 1, "max": 8, "integer": "no"}, "integer: got 'no'; write true or false"),
        ({"min": 1, "max": 8, "integer": 1}, "integer: got 1; write true or false"),
    ],
)
def test_a_range_of_a_file_has_numbers(make, tmp_path, given, message):
    space = {"metric": "auc", "goal": "maximize", "parameters": {"batch_size": given}}
    with pytest.raises(UserError) as caught:
        load_space(str(make.yaml(tmp_path / "space.yaml", space)))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_parameter_is_given_once():
    with pytest.raises(UserError, match="given twice"):
        parse_search(["dropout=0..0.1", "dropout=0..0.2"])
