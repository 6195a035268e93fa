"""What runs trainer.predict on Dataflow and Dataproc, against the published schemas."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from trainer.engines.__main__ import main

pytestmark = [pytest.mark.quick, pytest.mark.newest]

# Of the discovery documents dataflow.v1b3 and dataproc.v1, without what the services fill in.
SCHEMAS = json.loads((Path(__file__).parent / "schemas.json").read_text())
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float), "any": object}
BASE = ["render", "--name=score", "--image=reg/trainer:1", "--project=p", "--region=europe-west4"]
FLAGS = ["--", "--export=gs://b/e", "--data=gs://b/d/*.parquet", "--output=gs://b/o"]
DATAFLOW = ["--kind=dataflow-template", "--template=gs://b/score.json", "--template_image=reg/flex",
            "--temp_location=gs://b/tmp"]  # fmt: skip


def _list_faults(value, kind, where=""):
    """Yields what does not fit a type of the schemas, one line each."""
    outer, _, inner = kind.rstrip("!").partition(":")
    if outer == "list":
        for number, one in enumerate(value):
            yield from _list_faults(one, inner, f"{where}[{number}]")
    elif outer == "map":
        for name, one in value.items():
            yield from _list_faults(one, inner, f"{where}.{name}")
    elif outer == "enum":
        yield from (f"{where}: {value!r}" for _ in range(value not in inner.split(",")))
    elif outer in PLAIN:
        if not isinstance(value, PLAIN[outer]) or outer == "int" and isinstance(value, bool):
            yield f"{where}: {value!r} is no {outer}"
    else:
        fields = SCHEMAS[outer]
        yield from (f"{where}.{name}: unknown" for name in value.keys() - fields.keys())
        required = {name for name, field in fields.items() if field.endswith("!")}
        yield from (f"{where}.{name}: missing" for name in required - value.keys())
        for name in value.keys() & fields.keys():
            yield from _list_faults(value[name], fields[name], f"{where}.{name}")


def test_a_template_of_dataflow(tmp_path, capsys):
    folder = tmp_path / "score"
    more = ["--workers=10", "--machine=n2-standard-4", "--account=a@p", f"--output={folder}"]
    options = ["--columns=city,age", "--bad_rows=write", "--overwrite"]
    assert main([*BASE, *DATAFLOW, *more, *FLAGS, *options]) == 0
    printed = capsys.readouterr().out
    assert "docker build --push -t reg/flex" in printed and "flexTemplates:launch" in printed
    specification, launch = (
        json.loads((folder / name).read_text()) for name in ("template.json", "launch.json")
    )
    assert list(_list_faults(specification, "ContainerSpec")) == []
    assert list(_list_faults(launch, "LaunchFlexTemplateRequest")) == []
    assert specification["defaultEnvironment"]["maxWorkers"] == 10
    parameters = {one["name"]: one for one in specification["metadata"]["parameters"]}
    assert all(re.fullmatch(r"[a-z_]+", name) for name in parameters)
    assert {name for name, one in parameters.items() if not one["isOptional"]} == {"data", "output"}
    assert not {"engine", "row", "part", "processes", "help"} & set(parameters)
    assert parameters["bad_rows"]["regexes"] == ["^(fail|write)$"]
    given = launch["launchParameter"]["parameters"]
    assert given == {
        "export": "gs://b/e", "data": "gs://b/d/*.parquet", "output": "gs://b/o",
        "columns": "city,age", "bad_rows": "write", "overwrite": "true",
    }  # fmt: skip
    for name, value in given.items():
        assert all(re.search(one, value) for one in parameters[name].get("regexes", ()))
    text = (folder / "Dockerfile").read_text()
    assert "TRAINER_LAUNCHED=trainer.predict\n" in text
    assert "FROM reg/trainer:1\n" in text and "trainer/engines/launched.py" in text


def test_the_schemas_find_what_is_wrong(tmp_path):
    folder = tmp_path / "score"
    assert main([*BASE, *DATAFLOW, f"--output={folder}", *FLAGS]) == 0
    specification = json.loads((folder / "template.json").read_text())
    specification["sdkInfo"] = {"language": "PERL"}
    specification["defaultEnvironment"].update(maxWorkers="ten", colour="red")
    assert sorted(_list_faults(specification, "ContainerSpec")) == [
        ".defaultEnvironment.colour: unknown",
        ".defaultEnvironment.maxWorkers: 'ten' is no int",
        ".sdkInfo.language: 'PERL'",
    ]


def test_a_batch_of_dataproc(tmp_path, capsys):
    path = tmp_path / "score.json"
    more = ["--workers=10", "--machine=8", "--memory=16g", "--subnetwork=default"]
    assert main([*BASE, "--kind=dataproc-batch", *more, f"--output={path}", *FLAGS]) == 0
    assert f"-d @{path} " in capsys.readouterr().out
    batch = json.loads(path.read_text())
    assert list(_list_faults(batch, "Batch")) == []
    assert batch["pysparkBatch"]["args"] == ["trainer.predict", *FLAGS[1:], "--engine=spark"]
    properties = batch["runtimeConfig"]["properties"]
    assert properties["spark.executor.instances"] == "10"
    assert properties["spark.executor.cores"] == "8"
    assert main([*BASE, "--kind=dataproc-batch", *FLAGS]) == 0
    assert json.loads(capsys.readouterr().out)["pysparkBatch"]


@pytest.mark.parametrize(
    "command, module, flags",
    [
        ("evaluate", ["trainer.evaluate"], ["--job_dir=gs://b/j", "--data=gs://b/d", "--by=city"]),
        ("gate", ["trainer.gate"], ["--candidate=gs://b/j", "--data=gs://b/d", "--rules=r.yaml"]),
        ("infer", ["trainer.schema", "infer"],
         ["--data=gs://b/d", "--label=y", "--output=gs://b/s.yaml"]),
        ("check", ["trainer.schema", "check"], ["--schema=gs://b/s.yaml", "--data=gs://b/d"]),
    ],
)  # fmt: skip
def test_batches_of_other_commands(command, module, flags, capsys):
    words = [*BASE, "--kind=dataproc-batch", f"--command={command}"]
    assert main([*words, "--", *flags]) == 0
    batch = json.loads(capsys.readouterr().out)
    assert list(_list_faults(batch, "Batch")) == []
    assert batch["pysparkBatch"]["args"] == [*module, *flags, "--engine=spark"]
    assert main([*words, "--", *flags, "--data=here.csv"]) == 2
    assert (
        "--data=here.csv: the workers cannot read a path of this machine" in capsys.readouterr().err
    )
    assert main([*words, "--", *flags[:1]]) in (0, 2)
    if command != "evaluate":
        assert main([*BASE, *DATAFLOW, "--output=x", f"--command={command}", "--", *flags]) == 2
        message = f"--command={command}: a template runs only predict or evaluate, because"
        assert message in capsys.readouterr().err.splitlines()[-1]


def test_a_template_that_evaluates(tmp_path):
    folder, flags = tmp_path / "score", ["--job_dir=gs://b/j", "--data=gs://b/d", "--by=city"]
    words = [*BASE, *DATAFLOW, f"--output={folder}", "--command=evaluate", "--"]
    assert main([*words, *flags]) == 0
    specification = json.loads((folder / "template.json").read_text())
    assert list(_list_faults(specification, "ContainerSpec")) == []
    assert specification["metadata"]["description"].endswith("by slice: trainer.evaluate.")
    parameters = {one["name"]: one for one in specification["metadata"]["parameters"]}
    assert [name for name, one in parameters.items() if not one["isOptional"]] == ["job_dir"]
    assert {"by", "data", "min_rows"} <= set(parameters) and "all_checkpoints" not in parameters
    assert "ENV TRAINER_LAUNCHED=trainer.evaluate\n" in (folder / "Dockerfile").read_text()
    launch = json.loads((folder / "launch.json").read_text())
    assert launch["launchParameter"]["parameters"]["by"] == "city"
    assert main([*words, *flags, "--all_checkpoints"]) == 2


@pytest.mark.parametrize(
    "words, flags, message",
    [
        (["--name=Score"], FLAGS, "--name=Score: write at most 63 lower-case letters"),
        (
            ["--temp_location=tmp"],
            FLAGS,
            "--temp_location: required for a template; name a gs:// folder",
        ),
        (["--memory=8g"], FLAGS, "--memory: has no effect with --kind=dataflow-template"),
        (
            ["--template=score.json"],
            FLAGS,
            "--template=score.json: Dataflow reads the specification from a bucket",
        ),
        ([], [], "give either --export=FOLDER or --job_dir=FOLDER"),
        (
            [],
            [*FLAGS[:3], "--output=here"],
            "--output=here: the workers cannot read a path of this machine",
        ),
        (
            [],
            [*FLAGS, "--engine=beam"],
            "--engine: has no effect after --, because render sets it; remove it",
        ),
        (["--kind=dataproc-batch"], FLAGS, "--temp_location: has no effect"),
        (["stray"], FLAGS, "write --name=value; flags of --command go after --"),
    ],
)
def test_wrong_options_are_one_line(words, flags, message, tmp_path, capsys):
    argv = [*BASE, *DATAFLOW, f"--output={tmp_path / 'score'}", *words, *flags]
    assert main(argv) == 2
    lines = capsys.readouterr().err.splitlines()
    # A flag that is given twice is another line.
    (line,) = [line for line in lines if not line.startswith("warning: ")]
    assert message in line


@pytest.mark.parametrize(
    "words, message",
    [(["--machine=3"], "write the cores of an executor: 4, 8, 16"),
     (["--memory=16"], "write a size"),
     (["--spark_main=x.py"], "--spark_main=x.py: write the absolute path")],
)  # fmt: skip
def test_wrong_options_of_dataproc(words, message, capsys):
    assert main([*BASE, "--kind=dataproc-batch", *words, *FLAGS]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(importlib.util.find_spec("apache_beam") is None, reason="Beam is not installed")
def test_the_launcher_s_words_are_divided():
    from trainer.engines.launched import split_words

    words = ["--data=gs://b/d", "--job_name=a b", "--runner=DataflowRunner", "--overwrite=true"]
    assert split_words(words) == [
        "--data=gs://b/d", "--overwrite=true", "--engine=beam",
        "--beam_options='--job_name=a b' --runner=DataflowRunner",
    ]  # fmt: skip
