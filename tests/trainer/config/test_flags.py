"""trainer.config.flags: every option as a flag, under its dotted and its short name."""

import re

import pytest

from trainer.config import flags, list_options, load_config
from trainer.errors import UserError

pytestmark = pytest.mark.quick


def _parse(*argv):
    return flags.parse_command_line(list(argv))


def _refuse(*argv):
    with pytest.raises(UserError) as caught:
        _parse(*argv)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_no_flags():
    command = _parse()
    assert command.hparams is None and command.overrides == {}


def test_dotted_and_short_names():
    command = _parse(
        "--hparams=census",
        "--job-dir=out",
        "--train_data=a.csv",
        "--eval_data",
        "b.csv",
        "--train_steps=10",
        "--batch_size=3",
        "--learning_rate=0.1",
        "--verbosity=error",
        "--eval.batch_size=7",
    )
    assert command.hparams == "census"
    assert command.overrides == {
        "job_dir": "out",
        "data.train": "a.csv",
        "data.eval": "b.csv",
        "train.max_steps": "10",
        "train.batch_size": "3",
        "train.learning_rate": "0.1",
        "verbosity": "error",
        "eval.batch_size": "7",
    }


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("--model.batch_norm", True),
        ("--batch_norm=true", True),
        ("--batch_norm=false", False),
        ("--nomodel.batch_norm", False),
        ("--noexport.verify", False),
        ("--export.verify=false", False),
    ],
)
def test_booleans_can_be_switched_on_and_off(argument, value):
    (given,) = _parse(argument).overrides.values()
    assert given is value


TUNABLE = [option for option in list_options() if option.section in ("model", "train")]


@pytest.mark.parametrize("option", TUNABLE, ids=lambda option: option.name)
def test_every_hyperparameter_is_set_by_its_bare_name(option):
    # As a tuning service writes it; a value that each kind of option takes.
    leaf = option.name.split(".")[1]
    default = option.default
    if isinstance(default, bool):
        text = "true"
    elif isinstance(default, str):
        text = default
    elif isinstance(default, tuple):
        text = ",".join(map(str, default))
    else:
        text = "1" if default is None else str(default)
    assert option.name in _parse(f"--{leaf}={text}").overrides


def test_aliases_never_collide():
    names = [option.name for option in list_options()]
    aliases = flags.list_aliases()
    assert not set(aliases) & set(names)
    assert set(aliases.values()) <= set(names)
    for section in flags.TUNABLE_SECTIONS:
        leaves = [name.split(".")[1] for name in names if name.startswith(f"{section}.")]
        assert all(aliases[leaf] == f"{section}.{leaf}" for leaf in leaves)
    reserved = {"help", "h", "hparams", "flagfile", "undefok"}
    assert not reserved & (set(aliases) | set(names))


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--lerning_rate=1"], ["--lerning_rate: no such flag", "did you mean --learning_rate?"]),
        (["--train.max_step=1"], ["--train.max_step", "did you mean --train.max_steps?"]),
        (["--zzz"], ["--zzz: no such flag", "--help"]),
        (["--job_dir"], ["job_dir", "--help"]),
        (["out"], ["'out' is not a flag", "--name=value"]),
        (["--batch_norm=maybe"], ["batch_norm", "maybe"]),
        (["--job_dir=a", "--job-dir=b"], ["--job_dir=a", "--job-dir=b", "remove one"]),
        (["--train_steps=1", "--max_steps=2"], ["same option", "remove one"]),
        (["--flagfile=/nowhere/flags"], ["/nowhere/flags"]),
    ],
)
def test_refused_with_one_line(argv, words):
    message = _refuse(*argv)
    for word in words:
        assert word in message


def test_two_names_of_an_option_may_have_the_same_value():
    assert _parse("--job_dir=a", "--job-dir=a").overrides == {"job_dir": "a"}


def test_flagfile(tmp_path):
    path = tmp_path / "flags"
    path.write_text("--batch_size=9\n--job_dir=x\n")
    assert _parse(f"--flagfile={path}").overrides == {"train.batch_size": "9", "job_dir": "x"}


@pytest.mark.parametrize("argument", ["--help", "-h", "--h"])
def test_help_shows_the_options_that_matter(capsys, argument):
    assert _parse(argument) is None
    text = capsys.readouterr().out
    shown = [option.name for option in list_options() if re.search(rf"--{option.name}\b", text)]
    assert sorted(shown) == sorted(flags.MOST_USED)
    assert "--hparams" in text and "--helpfull" in text and len(text.splitlines()) < 50


def test_version_names_the_packages(capsys):
    assert _parse("--version") is None
    text = capsys.readouterr().out
    assert re.fullmatch(r"estimator-trainer \S+, tensorflow 2\.\S+, Python 3\.\S+\n", text)


def test_a_flag_with_two_values_is_reported(capsys):
    assert _parse("--batch_size=8", "--batch_size=9").overrides == {"train.batch_size": "9"}
    assert capsys.readouterr().err == (
        "warning: --batch_size is given with 2 values; the last one counts\n"
    )
    _parse("--batch_size=8", "--batch_size=8")
    assert capsys.readouterr().err == ""


def test_helpfull_names_every_option_with_its_description(capsys):
    assert _parse("--helpfull") is None
    text = " ".join(capsys.readouterr().out.split())
    for option in list_options():
        assert f"--{option.name}" in text
        assert option.description in text
    for alias in flags.list_aliases():
        assert f"--{alias}" in text
    for choice in ("baseline", "wide_deep", "adagrad", "cosine", "tfrecord"):
        assert choice in text


def test_help_shows_defaults(capsys):
    _parse("--helpfull")
    text = capsys.readouterr().out
    for option in list_options():
        if option.default not in (None, "", (), "\t"):
            shown = option.default
            shown = ",".join(map(str, shown)) if isinstance(shown, tuple) else shown
            assert f"[{shown}]" in text


def test_flags_reach_the_config():
    command = _parse("--hidden_units=3,2", "--dropout=0.25", "--type=dnn", "--noexport.verify")
    config = load_config(command.hparams, command.overrides)
    assert config.model.hidden_units == (3, 2)
    assert config.model.dropout == 0.25
    assert config.model.type == "dnn"
    assert config.export.verify is False
