"""trainer.config: one definition of every option, its precedence and its errors."""

import pydantic
import pytest
import yaml

from trainer import config as config_lib
from trainer.config import Config, flags, list_options, load_config, to_yaml
from trainer.errors import UserError

pytestmark = pytest.mark.quick


def _file(tmp_path, text, name="mine.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def _refuse(hparams, overrides=None):
    with pytest.raises(UserError) as caught:
        load_config(hparams, overrides or {})
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_defaults_alone():
    config = load_config(None, {})
    assert config == Config()
    assert config.train.batch_size == 512 and config.model.type == "wide_deep"


def test_a_flag_overrides_the_file_and_the_file_the_default(tmp_path):
    path = _file(tmp_path, "train: {batch_size: 64, learning_rate: 0.2}\nmodel: {type: dnn}\n")
    config = load_config(path, {"train.learning_rate": "0.3"})
    assert config.train.batch_size == 64
    assert config.train.learning_rate == 0.3
    assert config.model.type == "dnn"
    assert config.train.l1 == Config().train.l1


def test_values_are_frozen():
    with pytest.raises(pydantic.ValidationError):
        Config().train.batch_size = 3


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("model.hidden_units", "64,32", (64, 32)),
        ("model.hidden_units", "64", (64,)),
        ("model.batch_norm", "true", True),
        ("train.learning_rate", "1e-3", 0.001),
        ("train.max_steps", "7", 7),
        ("train.max_steps", "none", None),
        ("data.train", "a.csv, b/*.csv", ("a.csv", "b/*.csv")),
        ("data.delimiter", "\\t", "\t"),
        ("data.delimiter", "tab", "\t"),
        ("data.delimiter", ";", ";"),
        ("export.exporters", "", ()),
        ("export.exporters", "latest,final", ("latest", "final")),
        ("data.cache", "False", "off"),
        ("data.cache", "on", "auto"),
        ("data.cache", "./false", "./false"),
    ],
)
def test_text_becomes_the_type(name, text, value):
    section, leaf = name.split(".")
    assert getattr(getattr(load_config(None, {name: text}), section), leaf) == value


def test_unquoted_yaml_booleans_are_accepted_as_choices(tmp_path):
    assert load_config(_file(tmp_path, "data: {header: yes}"), {}).data.header == "yes"
    assert load_config(_file(tmp_path, "data: {header: no}"), {}).data.header == "no"
    assert load_config(_file(tmp_path, "data: {cache: off}"), {}).data.cache == "off"


def test_a_section_with_comments_only_is_empty(tmp_path):
    path = _file(tmp_path, "train:\n  # batch_size: 3\nmodel: {type: dnn}\n")
    assert load_config(path, {}).train == Config().train
    assert load_config(path, {"train.batch_size": "9"}).train.batch_size == 9


@pytest.mark.parametrize("delimiter", ['"', "\n", "§", "ab", ""])
def test_invalid_delimiters(delimiter):
    assert _refuse(None, {"data.delimiter": delimiter}).startswith("--data.delimiter: ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("train: {batch_sise: 3}", ["train.batch_sise", "did you mean train.batch_size?"]),
        ("modle: {type: dnn}", ["modle", "did you mean model?"]),
        ("optimzer: adam", ["optimzer", "did you mean train.optimizer?"]),
        ("train: {batch_size: many}", ["train.batch_size", "'many'", "integer"]),
        ("train: {learning_rate: -1}", ["train.learning_rate", "-1", "greater than 0"]),
        ("train: {learning_rate: .inf}", ["train.learning_rate", "finite"]),
        ("model: {type: forest}", ["model.type", "'forest'", "wide_deep"]),
        ("train: {optimizer: addam}", ["train.optimizer", "'addam'", "'adam'"]),
        ("model: {hidden_units: [8, no]}", ["model.hidden_units", "False"]),
        ("model: {hidden_units: yes}", ["model.hidden_units", "True is not a number"]),
        ("train: {batch_size: yes}", ["train.batch_size", "True is not a number"]),
        ("train: {learning_rate: on}", ["train.learning_rate", "True is not a number"]),
        ("train: {epochs: off}", ["train.epochs", "False is not a number"]),
        ("run: {intra_op_threads: no}", ["run.intra_op_threads", "False is not a number"]),
        ("model: 5", ["model: got 5: write 'name: value' lines"]),
        ("model: {hidden_units: []}", ["model.hidden_units", "at least 1"]),
        ("train: [1, 2]", ["train", "[1, 2]"]),
        ("[1, 2]", ["expected 'name: value' lines"]),
        ("train: {batch_size: 3, batch_size: 4}", ["line 1", "'batch_size' appears twice"]),
        ("train: {a: b: c}", ["line 1", "correct the YAML"]),
        ("train: {max_steps: 3, epochs: 2}", ["max_steps and epochs are both given"]),
        (
            "run: {save_checkpoints_steps: 3, save_checkpoints_secs: 3}",
            ["save_checkpoints_steps and save_checkpoints_secs are both given; remove one"],
        ),
    ],
)
def test_errors_in_a_file_name_file_field_value_and_remedy(tmp_path, text, words):
    path = _file(tmp_path, text)
    message = _refuse(path)
    assert path in message
    for word in words:
        assert word in message


def test_errors_of_a_flag_name_the_flag(tmp_path):
    path = _file(tmp_path, "train: {batch_size: 3}")
    message = _refuse(path, {"train.batch_size": "x"})
    assert message.startswith("--train.batch_size: got 'x'")
    assert path not in message


def test_a_flag_replaces_the_choice_of_the_file(tmp_path):
    path = _file(tmp_path, "run: {save_checkpoints_steps: 9}\ntrain: {epochs: 3}\n")
    config = load_config(path, {"run.save_checkpoints_secs": "60", "train.max_steps": "5"})
    assert (config.run.save_checkpoints_steps, config.run.save_checkpoints_secs) == (None, 60)
    assert (config.train.epochs, config.train.max_steps) == (None, 5)


def test_both_flags_of_an_exclusive_pair_are_refused():
    pair = {"run.save_checkpoints_secs": "60", "run.save_checkpoints_steps": "5"}
    assert "both given" in _refuse(None, pair)
    assert "both given" in _refuse(None, {"train.max_steps": "5", "train.epochs": "1"})


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['touch {0}']",
        "train: !!python/object/apply:os.system ['touch {0}']",
        "job_dir: !!python/name:os.system",
        "job_dir: !env HOME",
    ],
)
def test_yaml_executes_nothing(tmp_path, text):
    trap = tmp_path / "trap"
    message = _refuse(_file(tmp_path, text.format(trap)))
    assert "correct the YAML" in message
    assert not trap.exists()


def test_unreadable_files(tmp_path):
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("job_dir: Köln".encode("latin-1"))
    assert "save it as UTF-8" in _refuse(str(latin))


def test_preset_by_name_and_unknown_preset(make):
    assert config_lib.find_preset("census") == make.root / "hparams" / "census.yaml"
    message = _refuse("censsus")
    assert "no file 'censsus'; did you mean census?; name a file or a preset (census" in message
    assert "natality" in message


def test_a_file_of_the_current_folder_does_not_replace_a_preset(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mine = "train: {batch_size: 7}\n"
    for name in ("census", "mine", "mine.yaml"):
        _file(tmp_path, mine, name)
    assert config_lib.find_preset("census") == make.root / "hparams" / "census.yaml"
    assert load_config("census", {}).train.batch_size != 7
    for name in ("./census", str(tmp_path / "census"), "mine", "mine.yaml"):
        assert load_config(name, {}).train.batch_size == 7
    space = config_lib.find_preset("census", "--tuning", "tuning")
    assert space == make.root / "hparams" / "tuning" / "census.yaml"


def test_paths_may_begin_with_the_home(tmp_path, monkeypatch):
    """The shell leaves the ~ of --job_dir=~/job as it is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    names = ("job_dir", "train.warm_start", "data.schema_file")
    config = load_config(None, {name: "~/here" for name in names})
    here = str(tmp_path / "here")
    assert (config.job_dir, config.train.warm_start, config.data.schema_file) == (here, here, here)
    assert flags.parse_command_line(["--fresh=~/here"]).fresh == here


def test_schema_file_is_relative_to_the_hparams_file(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    path = _file(tmp_path / "here", "data: {schema_file: ../schema.yaml}")
    monkeypatch.chdir(tmp_path)
    assert load_config(path, {}).data.schema_file == str(tmp_path / "schema.yaml")
    assert load_config("here/mine.yaml", {}).data.schema_file == str(tmp_path / "schema.yaml")
    # A flag's is relative to where the command is given.
    config = load_config(path, {"data.schema_file": "other.yaml"})
    assert config.data.schema_file == str(tmp_path / "other.yaml")


@pytest.mark.parametrize("preset", ["census", "natality"])
def test_presets_load_and_their_first_comment_launches_them(make, preset):
    path = config_lib.find_preset(preset)
    load_config(preset, {})
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith(f"# python -m trainer.task --hparams={preset} --job_dir=")


def test_to_yaml_round_trip(tmp_path):
    overrides = {
        "job_dir": "jobs/ä b",
        "data.train": "a.csv,b.csv",
        "data.schema_file": str(tmp_path / "s.yaml"),
        "data.delimiter": "tab",
        "model.hidden_units": "3,2",
        "train.epochs": "2.5",
        "export.exporters": "latest",
        "run.save_checkpoints_secs": "7",
    }
    config = load_config(None, overrides)
    assert load_config(_file(tmp_path, to_yaml(config)), {}) == config
    assert load_config(_file(tmp_path, to_yaml(Config())), {}) == Config()


def test_every_option_of_to_yaml_is_listed_and_described():
    document = yaml.safe_load(to_yaml(Config()))
    names = set()
    for name, value in document.items():
        names |= {f"{name}.{leaf}" for leaf in value} if isinstance(value, dict) else {name}
    options = list(list_options())
    assert {option.name for option in options} == names
    assert all(option.description for option in options)
