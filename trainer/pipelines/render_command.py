"""The command render: writes the files that run a pipeline on a cluster or a service."""

import os
import sys
from collections.abc import Collection

from absl import flags

from estimator_bridge.output.terminal import quote_command
from trainer.config import arguments, commands
from trainer.errors import UserError
from trainer.kubernetes.command_line import define_pod, read_request
from trainer.kubernetes.documents import to_yaml
from trainer.pipelines import cloud_build, kubeflow, rendering
from trainer.pipelines.checking import check_steps
from trainer.pipelines.definition import read_pipeline

_EVERY = ("name", "image", "output", "kfp", "cloudbuild")
# The flags that have an effect with --kfp, and those with --cloudbuild.
KFP = (*_EVERY, "cpu", "memory", "gpus", "accelerator", "backoff_limit")
_TRIGGER = ("region", "pipeline_root", "on_data", "topic", "on_code", "branch")
CLOUD_BUILD = (*_EVERY, *_TRIGGER, "service_account")


def define(values: flags.FlagValues) -> None:
    """Defines the flags of render.

    Args:
        values: where to define them.
    """
    define_pod(values)
    for name, default, meaning in (
        (
            "schedule",
            None,
            "minute, hour, day of the month, month and day of the week of cron, such as "
            "'30 2 * * *' for 2:30 each day; unset: run once",
        ),
        (
            "time_zone",
            None,
            "time zone of --schedule, such as Europe/Berlin; unset: that of the cluster's "
            "controller, mostly UTC",
        ),
        (
            "queue",
            None,
            "LocalQueue of Kueue, which starts the job when the cluster has room; unset: no queue",
        ),
        (
            "accelerator",
            "nvidia.com/gpu",
            "with --kfp: type of the accelerators of --gpus; on Vertex AI, such as NVIDIA_L4",
        ),
        ("region", "us-central1", "with --cloudbuild: region in which the pipeline runs"),
        (
            "pipeline_root",
            None,
            "with --cloudbuild: gs:// folder for the files of the pipeline service itself",
        ),
        (
            "on_data",
            None,
            "with --cloudbuild: gs://BUCKET/PREFIX; each new object with this prefix starts the "
            "pipeline",
        ),
        (
            "topic",
            None,
            "with --on_data: projects/PROJECT/topics/TOPIC, which receives the notifications of "
            "the bucket",
        ),
        (
            "on_code",
            None,
            "with --cloudbuild: repository projects/PROJECT/locations/REGION/connections/NAME/"
            "repositories/NAME; each push to --branch builds the image and starts the pipeline",
        ),
        ("branch", "^main$", "with --on_code: regular expression of the branches"),
    ):
        flags.DEFINE_string(name, default, meaning, flag_values=values)
    for name, meaning in (
        ("kfp", "write the pipeline for Kubeflow Pipelines and Vertex AI"),
        (
            "cloudbuild",
            "write a Cloud Build trigger; FILE is the gs:// address of a file that --kfp wrote",
        ),
    ):
        flags.DEFINE_boolean(name, False, meaning, flag_values=values)


def render(file: str, values: flags.FlagValues) -> None:
    """Writes a manifest.

    Args:
        file: file of the pipeline; with --cloudbuild, address of the compiled one.
        values: the flags.

    Raises:
        UserError: an option is invalid, or an output of the pipeline would be lost.
    """
    arguments.require(values, "name", "image")
    if values.kfp and values.cloudbuild:
        raise UserError(
            "--kfp and --cloudbuild: give one; first write the pipeline with --kfp, then the "
            "trigger with --cloudbuild"
        )
    if values.output and os.path.realpath(values.output) == os.path.realpath(file):
        raise UserError(f"--output={values.output}: is the file of the pipeline; name another")
    if values.kfp:
        _render_kfp(file, values)
    elif values.cloudbuild:
        _render_trigger(file, values)
    else:
        _render_job(file, values)


def _check_effect(values: flags.FlagValues, allowed: Collection[str], what: str) -> None:
    for name in values:
        if values[name].present and name not in allowed:
            raise UserError(f"--{name}: has no effect {what}; remove it")


def _render_job(file: str, values: flags.FlagValues) -> None:
    others = [name for name in values if name not in ("accelerator", *_TRIGGER)]
    _check_effect(values, others, "without --kfp or --cloudbuild")
    request = read_request(values, {}, [])
    pipeline = read_pipeline(file)
    check_steps(pipeline, is_here=False)
    manifest = rendering.render(
        file, pipeline, request, values.schedule, values.time_zone, values.queue
    )
    following = quote_command("kubectl", "apply", "-f", str(values.output))
    commands.write_result(to_yaml([manifest]), values.output, following)


def _render_kfp(file: str, values: flags.FlagValues) -> None:
    _check_effect(values, KFP, "with --kfp")
    pipeline = read_pipeline(file)
    check_steps(pipeline, is_here=False)
    machines = kubeflow.Machines(
        values.image,
        values.cpu,
        values.memory,
        values.gpus,
        values.accelerator,
        values.backoff_limit,
    )
    text = kubeflow.render(values.name, pipeline, machines)
    for line in kubeflow.list_inside(pipeline):
        print(f"note: {line}", file=sys.stderr)
    words = ("python", "-m", "trainer.pipeline", "submit", str(values.output))
    commands.write_result(
        text, values.output, f"next, upload it to Kubeflow, or {quote_command(*words)}"
    )


def _render_trigger(file: str, values: flags.FlagValues) -> None:
    _check_effect(values, CLOUD_BUILD, "with --cloudbuild")
    arguments.require(values, "pipeline_root", "service_account")
    trigger = cloud_build.Trigger(
        values.name,
        values.image,
        file,
        values.region,
        values.pipeline_root,
        values.on_data,
        values.topic,
        values.on_code,
        values.branch,
        values.service_account,
    )
    text = to_yaml([cloud_build.render(trigger)])
    words = ("gcloud", "builds", "triggers", "import", f"--source={values.output}")
    following = quote_command(*words, f"--region={values.region}")
    commands.write_result(text, values.output, following)
