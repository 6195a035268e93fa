"""Documents with which Google's services run commands: Dataflow and Dataproc."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

from trainer import storage
from trainer.environment.variables import LAUNCHED
from trainer.errors import UserError

TEMPLATE, BATCH = "dataflow-template", "dataproc-batch"
# Names of the files of a template.
DOCKERFILE, SPECIFICATION, LAUNCH = "Dockerfile", "template.json", "launch.json"
# This runtime has Spark 4 and Java 17, which Dataproc mounts into the container.
DATAPROC_VERSION = "3.0"
DATAPROC_CORES = ("4", "8", "16")
# Python in the image of this package.
PYTHON = "/opt/venv/bin/python"
# Flags that are not parameters: render sets them, or they have no meaning on an engine.
FIXED = (
    *("as", "engine", "beam_options", "spark_options", "part", "processes", "row"),
    "all_checkpoints",
)
# Command that a template can run → what it does, and its required flags.
TEMPLATES = {
    "predict": ("Predicts the rows of files with an export", ("data", "output")),
    "evaluate": ("Evaluates a checkpoint of a job, by slice", ("job_dir",)),
}


class Place(NamedTuple):
    """Where and on which machines a job runs.

    Attributes:
        name: name of the job.
        image: container image with this package.
        project: ID of the Google Cloud project.
        region: Google Cloud region.
        workers: maximum number of Dataflow machines, or number of Dataproc executors.
        machine: Dataflow machine type, or number of cores of a Dataproc executor.
        memory: memory of a Dataproc executor, such as 8g.
        account: e-mail address of the service account; None: the project's default.
        subnetwork: subnetwork of the machines; None: the project's default.
        temp_location: gs:// folder for temporary files of Dataflow.
    """

    name: str
    image: str
    project: str
    region: str
    workers: int
    machine: Optional[str] = None
    memory: Optional[str] = None
    account: Optional[str] = None
    subnetwork: Optional[str] = None
    temp_location: Optional[str] = None


class Parameter(NamedTuple):
    """A flag that is a parameter of a template.

    Attributes:
        name: name of the flag.
        help: help text of the flag.
        choices: the values that it accepts; empty: any.
        is_boolean: whether its value is true or false.
    """

    name: str
    help: str
    choices: Sequence[str] = ()
    is_boolean: bool = False


def check_place(place: Place, kind: str) -> None:
    """Checks the options that the service would reject.

    Args:
        place: the options.
        kind: TEMPLATE or BATCH.

    Raises:
        UserError: an option is invalid.
    """
    if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", place.name):
        raise UserError(
            f"--name={place.name}: write at most 63 lower-case letters, digits and hyphens; begin "
            "with a letter"
        )
    if kind == TEMPLATE:
        if place.temp_location is None or not storage.is_remote(place.temp_location):
            raise UserError(
                "--temp_location: required for a template; name a gs:// folder for temporary files"
            )
        if place.memory:
            raise UserError(f"--memory: has no effect with --kind={TEMPLATE}; remove it")
        return
    if place.temp_location:
        raise UserError(f"--temp_location: has no effect with --kind={BATCH}; remove it")
    if place.machine is not None and place.machine not in DATAPROC_CORES:
        raise UserError(
            f"--machine={place.machine}: for Dataproc, write the cores of an executor: "
            f"{', '.join(DATAPROC_CORES)}"
        )
    if place.memory is not None and not re.fullmatch(r"[1-9]\d*[mg]", place.memory):
        raise UserError(f"--memory={place.memory}: write a size such as 16g or 512m")


def check_remote(parameters: Mapping[str, str], names: Sequence[str]) -> None:
    """Checks that the workers can read and write the paths of a command.

    Args:
        parameters: flag of the command → value.
        names: flags that name paths.

    Raises:
        UserError: a path is on this machine, not in a bucket.
    """
    for name in names:
        for path in filter(None, parameters.get(name, "").split(",")):
            if not storage.is_remote(path):
                raise UserError(
                    f"--{name}={path}: the workers cannot read a path of this machine; name a "
                    "gs:// path"
                )


def build_dockerfile(image: str, beam: str, python: str, module: str) -> str:
    """Returns the Dockerfile of a template; its image is that of the launcher and of the workers.

    Args:
        image: base image with this package in a virtual environment.
        beam: version of Beam.
        python: minor version of Python in the image, such as 3.12.
        module: module of the command that it runs, such as trainer.predict.
    """
    launcher = "/opt/google/dataflow/python_template_launcher"
    base = f"gcr.io/dataflow-templates-base/python{python.replace('.', '')}-template-launcher-base"
    packages = f"/opt/venv/lib/python{python}/site-packages"
    return "\n".join(
        [
            f"FROM {base} AS launcher",
            f"FROM apache/beam_python{python}_sdk:{beam} AS beam",
            f"FROM {image}",
            "USER root",
            f"RUN pip install --no-cache-dir 'apache-beam[gcp]=={beam}'",
            "COPY --from=beam /opt/apache/beam /opt/apache/beam",
            f"COPY --from=launcher {launcher} {launcher}",
            "# The package is in the image already.",
            f"ENV FLEX_TEMPLATE_PYTHON_PY_FILE={packages}/trainer/engines/launched.py",
            f"ENV {LAUNCHED}={module}",
            'ENTRYPOINT ["/opt/apache/beam/boot"]',
            "",
        ]
    )


def build_specification(
    place: Place, beam: str, parameters: Sequence[Parameter], image: str, command: str
) -> dict[str, Any]:
    """Returns the ContainerSpec of a template.

    Args:
        place: the defaults of its jobs.
        beam: version of Beam.
        parameters: parameters of the template.
        image: image that is built from the Dockerfile.
        command: a key of TEMPLATES.
    """
    what, required = TEMPLATES[command]
    return {
        "image": image,
        "sdkInfo": {"language": "PYTHON", "version": beam},
        "metadata": {
            "name": place.name,
            "description": f"{what}: trainer.{command}.",
            "parameters": [_describe(one, one.name in required) for one in parameters],
        },
        "defaultEnvironment": _build_environment(place, image),
    }


def _describe(parameter: Parameter, is_required: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "label": f"--{parameter.name}",
        "helpText": parameter.help,
        "isOptional": not is_required,
    }
    choices = ["true", "false"] if parameter.is_boolean else parameter.choices
    if choices:
        described["regexes"] = [f"^({'|'.join(map(re.escape, choices))})$"]
    elif parameter.name in ("export", "job_dir", "data", "output"):
        described["regexes"] = ["^gs://.+$"]
    return described


def _build_environment(place: Place, image: str) -> dict[str, Any]:
    environment: dict[str, Any] = {
        "maxWorkers": place.workers,
        "sdkContainerImage": image,
        "tempLocation": place.temp_location,
    }
    for name, value in (
        ("machineType", place.machine),
        ("serviceAccountEmail", place.account),
        ("subnetwork", place.subnetwork),
    ):
        if value is not None:
            environment[name] = value
    return environment


def build_launch(place: Place, template: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Returns the LaunchFlexTemplateRequest that starts a job.

    Args:
        place: contains the name of the job.
        template: gs:// path of the ContainerSpec.
        parameters: flag of the command → value.
    """
    return {
        "launchParameter": {
            "jobName": place.name,
            "containerSpecGcsPath": template,
            "parameters": dict(parameters),
        }
    }


def build_batch(place: Place, main: str, words: Sequence[str]) -> dict[str, Any]:
    """Returns the Batch of Dataproc.

    Args:
        place: where and on which machines it runs.
        main: path of trainer/engines/submitted.py in the image.
        words: the command and its flags.

    Raises:
        UserError: `main` is not an absolute path.
    """
    if not main.startswith("/"):
        raise UserError(
            f"--spark_main={main}: write the absolute path of submitted.py in the image"
        )
    properties = {
        "spark.dynamicAllocation.enabled": "false",
        "spark.executor.instances": str(place.workers),
        "spark.dataproc.driverEnv.PYSPARK_PYTHON": PYTHON,
        "spark.executorEnv.PYSPARK_PYTHON": PYTHON,
    }
    if place.machine:
        properties["spark.executor.cores"] = place.machine
    if place.memory:
        properties["spark.executor.memory"] = place.memory
    execution = {"serviceAccount": place.account, "subnetworkUri": place.subnetwork}
    return {
        "pysparkBatch": {
            "mainPythonFileUri": f"file://{main}",
            "args": [*words, "--engine=spark"],
        },
        "runtimeConfig": {
            "version": DATAPROC_VERSION,
            "containerImage": place.image,
            "properties": properties,
        },
        "environmentConfig": {
            "executionConfig": {name: value for name, value in execution.items() if value}
        },
    }
