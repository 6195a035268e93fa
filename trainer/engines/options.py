"""The flags that choose an engine."""

import importlib.util
import re
import shlex
import shutil
import socket
import subprocess
from pathlib import Path
from typing import NamedTuple

from absl import flags

from trainer.environment.variables import find_java_home, is_submitted, names_hadoop
from trainer.errors import TemporaryError, UserError

LOCAL, BEAM, SPARK = "local", "beam", "spark"
# Oldest Java version on which Spark 4 runs.
MIN_JAVA = 17
CONNECT_SECS = 10.0
# Engine → its module, and the requirement for pip, as in the extras of this package.
_PACKAGES = {BEAM: ("apache_beam", "apache-beam>=2.60,<3"), SPARK: ("pyspark", "pyspark>=4,<5")}


class Engine(NamedTuple):
    """The engine that reads files, and its options.

    Attributes:
        name: local, beam or spark.
        beam_options: options of the pipeline, as on a command line.
        spark_options: pairs of a Spark property and its value; "master" is the address of the
            cluster.
    """

    name: str = LOCAL
    beam_options: tuple[str, ...] = ()
    spark_options: tuple[tuple[str, str], ...] = ()

    @property
    def is_template(self) -> bool:
        """Whether the pipeline is only written as a template, which Dataflow runs later."""
        return any(word.startswith("--template_location=") for word in self.beam_options)


LOCALLY = Engine()


def define_engine(values: flags.FlagValues) -> None:
    """Adds the flags that choose an engine.

    Args:
        values: where the flags are added.
    """
    flags.DEFINE_enum(
        "engine",
        LOCAL,
        [LOCAL, BEAM, SPARK],
        "what reads the files; local: this machine; beam: Apache Beam; spark: Apache Spark. Use "
        "beam or spark if the files are too large for one machine",
        flag_values=values,
    )
    flags.DEFINE_string(
        "beam_options",
        None,
        "with --engine=beam: options of the pipeline, such as '--runner=DataflowRunner "
        "--region=REGION'; unset: the DirectRunner, on this machine",
        flag_values=values,
    )
    flags.DEFINE_string(
        "spark_options",
        None,
        "with --engine=spark: address of the cluster and properties of Spark, such as "
        "'master=spark://HOST:7077 spark.executor.memory=4g'; unset: all cores of this machine",
        flag_values=values,
    )


def read_engine(values: flags.FlagValues, writes_template: bool = False) -> Engine:
    """Returns the engine that the flags choose.

    Args:
        values: the parsed flags.
        writes_template: whether the command can write its pipeline as a template.

    Raises:
        UserError: an option is wrong, or the engine is not installed.
        TemporaryError: the cluster cannot be reached.
    """
    for name in (BEAM, SPARK):
        if values[f"{name}_options"].value is not None and values.engine != name:
            raise UserError(
                f"--{name}_options: has no effect with --engine={values.engine}; remove it, or set "
                f"--engine={name}"
            )
    if values.engine != LOCAL:
        require_package(values.engine)
    if values.engine == BEAM:
        engine = Engine(BEAM, beam_options=_parse_beam(values.beam_options or ""))
        if engine.is_template and not writes_template:
            raise UserError(
                "--beam_options: only trainer.predict and trainer.evaluate can be templates; "
                "remove --template_location"
            )
        return engine
    if values.engine == SPARK:
        options = _parse_spark(values.spark_options or "")
        # Under spark-submit, Java is already running.
        if not is_submitted():
            require_java()
        _check_master(dict(options).get("master", ""))
        return Engine(SPARK, spark_options=options)
    return LOCALLY


def require_package(engine: str) -> None:
    """Checks that the package of an engine is installed.

    Args:
        engine: beam or spark.

    Raises:
        UserError: it is not installed.
    """
    module, package = _PACKAGES[engine]
    if importlib.util.find_spec(module) is None:
        raise UserError(
            f"--engine={engine}: {module} is not installed; run pip install '{package}'"
        )


def _split(option: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"{option}={text}: {error}; close the quotation mark") from error


def _parse_beam(text: str) -> tuple[str, ...]:
    words = _split("--beam_options", text)
    for word in words:
        if not re.fullmatch(r"--\w[\w.]*(=.*)?", word, re.DOTALL):
            raise UserError(
                f"--beam_options: {word!r} is not an option; write --name=value, such as "
                "--runner=DirectRunner"
            )
    named = dict(word.partition("=")[::2] for word in words)
    for name in ("--job_endpoint", "--flink_master", "--spark_master_url"):
        _require_reachable("--beam_options", named.get(name, ""))
    return tuple(words)


def _parse_spark(text: str) -> tuple[tuple[str, str], ...]:
    options = {}
    for word in _split("--spark_options", text):
        name, equals, value = word.partition("=")
        if not equals or not value or not (name == "master" or name.startswith("spark.")):
            raise UserError(
                f"--spark_options: {word!r} is not an option; write master=ADDRESS, or a property "
                "of Spark such as spark.executor.memory=4g"
            )
        options[name] = value
    return tuple(options.items())


def _check_master(master: str) -> None:
    """Checks that Spark can start with a master; Spark itself would report this in many lines."""
    if master == "yarn" and not names_hadoop():
        raise UserError(
            "--spark_options: master=yarn: set HADOOP_CONF_DIR to the folder of the cluster's "
            "configuration"
        )
    _require_reachable("--spark_options", master)


def _require_reachable(option: str, address: str) -> None:
    """Checks that a process listens at host:port; the engines would retry for minutes."""
    match = re.fullmatch(r"(?:spark://|k8s://(?:https?://)?)?([\w.-]+):(\d+)", address)
    if match is None:
        return
    try:
        socket.create_connection((match[1], int(match[2])), CONNECT_SECS).close()
    except OSError as error:
        reason = error.strerror or error
        raise TemporaryError(
            f"{option}: {address} cannot be reached: {reason}; check the address, or try again "
            "later"
        ) from error


def require_java() -> None:
    """Checks that a Java version is installed on which Spark runs.

    Raises:
        UserError: no Java is installed, or it is too old.
    """
    home = find_java_home()
    program = str(Path(home, "bin", "java")) if home else "java"
    found = shutil.which(program)
    where = f"JAVA_HOME={home}" if home else "PATH"
    remedy = f"install Java {MIN_JAVA} or later, and set JAVA_HOME to its folder"
    if found is None:
        raise UserError(f"--engine=spark: no Java found in {where}; {remedy}")
    done = subprocess.run(  # noqa: S603
        [found, "-version"], capture_output=True, text=True, check=False
    )
    version = re.search(r'version "(\d+)', done.stderr)
    if version is None or int(version[1]) < MIN_JAVA:
        shown = f"version {version[1]}" if version else "of an unknown version"
        raise UserError(f"--engine=spark: the Java in {where} is {shown}; {remedy}")
