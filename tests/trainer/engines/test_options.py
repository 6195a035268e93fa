"""The flags that choose an engine: what is wrong with them is one line."""

import importlib.util
import os
import socket

import pytest
from absl import flags

from trainer.data_validation.check import run_check
from trainer.engines import options
from trainer.errors import TemporaryError, UserError

pytestmark = [pytest.mark.quick, pytest.mark.newest]


@pytest.fixture
def read(monkeypatch):
    """Reads flags as if both packages were installed."""
    monkeypatch.setattr(options, "require_package", lambda engine: None)

    def read_flags(*argv):
        values = flags.FlagValues()
        options.define_engine(values)
        values(["program", *argv])
        return options.read_engine(values)

    return read_flags


def _write_java(folder, version):
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return folder


def test_options_are_passed_on(read, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(_write_java(tmp_path, "17.0.15")))
    assert read() == options.LOCALLY
    assert read("--engine=beam", "--beam_options=--runner=X '--region=a b'").beam_options == (
        "--runner=X", "--region=a b",
    )  # fmt: skip
    found = read("--engine=spark", "--spark_options=master=local[2] spark.executor.memory=2g")
    assert dict(found.spark_options) == {"master": "local[2]", "spark.executor.memory": "2g"}


@pytest.mark.parametrize(
    "argv, message",
    [
        (["--beam_options=--runner=X"], "--beam_options: has no effect with --engine=local"),
        (
            ["--engine=beam", "--spark_options=master=local"],
            "--spark_options: has no effect with --engine=beam",
        ),
        (["--engine=beam", "--beam_options=runner=X"], "'runner=X' is not an option"),
        (["--engine=beam", "--beam_options=--a='b"], "No closing quotation"),
        (["--engine=spark", "--spark_options=--master=local"], "'--master=local' is not an option"),
        (
            ["--engine=spark", "--spark_options=executor.memory=1g"],
            "is not an option; write master=",
        ),
        (["--engine=spark", "--spark_options=master="], "'master=' is not an option"),
    ],
)
def test_wrong_options(read, argv, message):
    with pytest.raises(UserError) as found:
        read(*argv)
    assert message in str(found.value) and "\n" not in str(found.value)


def test_without_java_or_with_an_old_one(read, tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no Java found in PATH; install Java 17 or later"):
        read("--engine=spark")
    monkeypatch.setenv("JAVA_HOME", str(_write_java(tmp_path / "old", "11.0.2")))
    monkeypatch.setenv("PATH", os.defpath)
    with pytest.raises(UserError, match=r"the Java in JAVA_HOME=.* is version 11; install Java 17"):
        read("--engine=spark")


def test_yarn_needs_the_configuration_of_its_cluster(read, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(_write_java(tmp_path, "21")))
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="master=yarn: set HADOOP_CONF_DIR to the folder"):
        read("--engine=spark", "--spark_options=master=yarn")
    monkeypatch.setenv("YARN_CONF_DIR", "/etc/hadoop")
    assert read("--engine=spark", "--spark_options=master=yarn").name == "spark"


@pytest.mark.parametrize(
    "engine, option",
    [
        ("spark", "master=spark://"),
        ("spark", "master=k8s://https://"),
        ("beam", "--job_endpoint="),
        ("beam", "--flink_master="),
    ],
)
def test_a_cluster_that_does_not_answer(read, tmp_path, monkeypatch, engine, option):
    monkeypatch.setenv("JAVA_HOME", str(_write_java(tmp_path, "21")))
    with socket.socket() as closed:
        # Nobody listens.
        closed.bind(("127.0.0.1", 0))
        address = f"{option}127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(TemporaryError, match=f"--{engine}_options: .* cannot be reached: "):
            read(f"--engine={engine}", f"--{engine}_options={address}")


@pytest.mark.parametrize("engine, module", [("beam", "apache_beam"), ("spark", "pyspark")])
def test_without_the_extra(engine, module, capsys, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == module else find_spec(name)
    )
    with pytest.raises(UserError, match=f"{module} is not installed; run pip install '.*,<"):
        run_check(["--schema=none.yaml", "--data=none.csv", f"--engine={engine}"])
