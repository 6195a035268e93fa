"""Renders a pipeline for Kubeflow Pipelines and Vertex AI with the compiler of kfp."""

import glob
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Optional

from trainer import storage
from trainer.errors import UserError
from trainer.kubernetes import names
from trainer.pipelines.definition import Pipeline, Step, admit_first_model, fill

# Commands that use accelerators, and that continue after an interruption and so can be retried.
TRAINING = ("task", "tune")
# Placeholder for the ID of the run, which the pipeline service inserts.
_RUN = "{run}"
# Folder at which both services mount buckets.
_MOUNTED = "/gcs/"


class Machines(NamedTuple):
    """The image and the machines of the steps.

    Attributes:
        image: container image with the trainer.
        cpu: CPU limit of a step; None: the default of the service.
        memory: memory limit of a step; None: the default of the service.
        gpus: number of accelerators of a training step.
        accelerator: type of the accelerators.
        retries: maximum number of restarts of a training step.
    """

    image: str
    cpu: Optional[str]
    memory: Optional[str]
    gpus: int
    accelerator: str
    retries: int


def render(name: str, pipeline: Pipeline, machines: Machines) -> str:
    """Returns the compiled pipeline, as YAML.

    Args:
        name: name of the pipeline.
        pipeline: the pipeline.
        machines: image and machines of the steps.

    Raises:
        UserError: kfp is missing, an option is invalid, or the output of a step would be lost.
    """
    named: dict[str, Optional[str]] = dict.fromkeys(
        ("disk", "volume", "namespace", "service_account", "secret")
    )
    given = {"name": name, "image": machines.image, "cpu": machines.cpu, "memory": machines.memory}
    names.check_names({**named, **given})
    if machines.memory and not re.fullmatch(r"\d+([MGT]|[KMGT]i)?", machines.memory):
        raise UserError(f"--memory={machines.memory}: kfp needs a whole number, such as 512Mi")
    try:
        from kfp import compiler, dsl
    except ImportError as error:
        raise UserError(
            "--kfp: the package kfp is not installed; run pip install 'kfp>=2.13,<3'"
        ) from error
    steps = _fill_all(pipeline)
    for step in steps:
        _check_outputs(step)

    def build() -> None:
        before: Any = None
        for step in steps:
            task = _make_component(step, machines.image)(run=dsl.PIPELINE_JOB_ID_PLACEHOLDER)
            _set_machine(task, step, machines)
            if before is not None:
                task.after(before)
            before = task

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pipeline.yaml")
        compiler.Compiler().compile(dsl.pipeline(name=name)(build), str(path))
        return path.read_text(encoding="utf-8")


def _fill_all(pipeline: Pipeline) -> list[Step]:
    """Returns the steps; {key} is replaced by the ID of the run and the name of the step."""
    known: dict[str, Step] = {}
    for step in pipeline.steps:
        known[step.name] = fill(step, known, f"{_RUN}-{step.name}")
    filled = list(known.values())
    outputs = [step.list_outputs() for step in filled]
    return [
        admit_first_model(step, {path for one in outputs[number:] for path in one})
        for number, step in enumerate(filled)
    ]


def _check_outputs(step: Step) -> None:
    for path in step.list_outputs():
        if not storage.is_remote(path) and not path.startswith(_MOUNTED):
            raise UserError(
                f"step {step.name}: {path}: is deleted with the container of the step; name a "
                "gs:// address"
            )


def list_inside(pipeline: Pipeline) -> list[str]:
    """Returns a line for each file on this machine that a step would read in its container.

    Args:
        pipeline: the pipeline.
    """
    found = []
    for step in pipeline.steps:
        for name, text in step.list_texts():
            parts = [one.strip() for one in text.split(",")]
            if any(glob.glob(one) for one in [text, *parts] if not storage.is_remote(one)):
                found.append(
                    f"step {step.name}: --{name}={text}: is read in the container, so the image "
                    "must contain it; otherwise name a gs:// address"
                )
    return found


def _make_component(step: Step, image: str) -> Any:
    from kfp import dsl

    module, *words = step.list_arguments()

    def build(run: str) -> Any:
        arguments = [word.replace(_RUN, str(run)) for word in words]
        return dsl.ContainerSpec(image=image, command=["python", "-m", module], args=arguments)

    # kfp derives the name and the inputs of the component from this function.
    build.__annotations__ = {"run": str}
    build.__name__ = re.sub(r"\W", "_", step.name)
    return dsl.container_component(build)


def _set_machine(task: Any, step: Step, machines: Machines) -> None:
    task.set_display_name(step.name)
    # The cache of the service compares only flags, not the content of the files that they name.
    task.set_caching_options(False)
    if machines.cpu:
        task.set_cpu_limit(machines.cpu)
    if machines.memory:
        task.set_memory_limit(machines.memory)
    if step.command not in TRAINING:
        return
    if machines.retries:
        task.set_retry(machines.retries)
    if machines.gpus:
        task.set_accelerator_type(machines.accelerator)
        task.set_accelerator_limit(machines.gpus)
