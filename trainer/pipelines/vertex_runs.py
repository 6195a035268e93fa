"""Starts a compiled pipeline on Vertex AI."""

from pathlib import Path
from typing import Any, NamedTuple, Optional

import yaml

from trainer import storage
from trainer.errors import UserError
from trainer.vertex.connection import Connection, to_message
from trainer.vertex.request import IMAGE, REGION, SERVICE_ACCOUNT

CONSOLE = "https://console.cloud.google.com/vertex-ai/pipelines/locations/{region}/runs/{id}?project={project}"


class Run(NamedTuple):
    """The options of a run.

    Attributes:
        project: project of the run.
        region: region of the run.
        pipeline_root: gs:// folder for the files of the service itself.
        image: container image of all steps; None: as compiled.
        service_account: service account of the steps; None: the agent of the service.
        endpoint: host:port of the service; None: the public endpoint of the region.
    """

    project: str
    region: str
    pipeline_root: str
    image: Optional[str]
    service_account: Optional[str]
    endpoint: Optional[str]


def read_compiled(path: str, copies: storage.Copies) -> dict[str, Any]:
    """Returns a compiled pipeline.

    Args:
        path: the file, on this machine or gs://.
        copies: local copies of gs:// files.

    Raises:
        UserError: the file cannot be read, or is not a compiled pipeline.
    """
    folder, _, name = path.rpartition("/")
    try:
        if storage.is_remote(path):
            path = f"{copies.fetch(folder, 'FILE', lambda one: one == name)}/{name}"
        # The first document is the pipeline. Others contain options of specific platforms.
        documents = list(yaml.safe_load_all(Path(path).read_text("utf-8")))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        words = " ".join(str(error).split())[:200]
        raise UserError(
            f"{path}: cannot be read: {words}; name a file that render --kfp wrote"
        ) from error
    spec = documents[0] if documents else None
    if not isinstance(spec, dict) or "pipelineInfo" not in spec or "deploymentSpec" not in spec:
        raise UserError(f"{path}: not a compiled pipeline; name a file that render --kfp wrote")
    return spec


def build_run(spec: dict[str, Any], run: Run) -> dict[str, Any]:
    """Returns the JSON of a PipelineJob.

    Args:
        spec: the compiled pipeline; its images are replaced if the run names one.
        run: the options.

    Raises:
        UserError: an option is invalid.
    """
    storage.parse_address(run.pipeline_root.rstrip("/"), "--pipeline_root")
    for option, value, pattern, example in (
        ("region", run.region, REGION, "a region such as us-central1"),
        ("image", run.image, IMAGE, "REGISTRY/NAME:TAG"),
        ("service_account", run.service_account, SERVICE_ACCOUNT,
         "NAME@PROJECT.iam.gserviceaccount.com"),
    ):  # fmt: skip
        if value and not pattern.fullmatch(value):
            raise UserError(f"--{option}={value}: write {example}")
    if run.image:
        for executor in spec["deploymentSpec"]["executors"].values():
            executor["container"]["image"] = run.image
    job: dict[str, Any] = {
        "displayName": spec["pipelineInfo"]["name"],
        "pipelineSpec": spec,
        "runtimeConfig": {"gcsOutputDirectory": run.pipeline_root},
    }
    if run.service_account:
        job["serviceAccount"] = run.service_account
    return job


def start(spec: dict[str, Any], run: Run) -> tuple[str, str]:
    """Starts a compiled pipeline; returns the resource name and the console page of the run.

    Args:
        spec: the compiled pipeline.
        run: the options.

    Raises:
        UserError: an option is invalid, or the service rejects the pipeline.
    """
    message = to_message("PipelineJob", build_run(spec, run))
    connection = Connection("PipelineServiceClient", run.project, run.region, run.endpoint)
    made = connection.call(
        connection.client.create_pipeline_job, parent=connection.parent, pipeline_job=message
    )
    name = str(made.name)
    page = CONSOLE.format(region=run.region, id=name.rpartition("/")[2], project=run.project)
    return name, page
