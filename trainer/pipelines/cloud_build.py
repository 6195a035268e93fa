"""Renders a Cloud Build trigger that starts a pipeline when new data or new code arrive."""

import json
import re
import shlex
from typing import Any, NamedTuple, Optional

from trainer import storage
from trainer.errors import UserError
from trainer.vertex.request import IMAGE, REGION

TOPIC = re.compile(r"projects/[a-z0-9:.-]+/topics/[A-Za-z][\w.~+%-]{2,254}")
REPOSITORY = re.compile(
    r"projects/[\w:.-]+/locations/[a-z0-9-]+/connections/[\w-]+/repositories/[\w.-]+"
)
ACCOUNT = re.compile(r"[a-z0-9-]+@(?P<project>[a-z0-9.-]+)\.iam\.gserviceaccount\.com")
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,62}[A-Za-z0-9])?")
_SDK = "google-cloud-aiplatform>=1.60"
# The user of the image can write to this folder.
_PACKAGES = "/tmp/packages"  # noqa: S108 - of the container


class Trigger(NamedTuple):
    """The options of a trigger.

    Attributes:
        name: name of the trigger.
        image: container image with the trainer; with `on_code`, without a tag.
        compiled: gs:// address of the compiled pipeline.
        region: region in which the pipeline runs.
        pipeline_root: gs:// folder for the files of the pipeline service itself.
        on_data: prefix of gs:// addresses; a new object with this prefix starts the pipeline.
        topic: Pub/Sub topic that receives the notifications of the bucket.
        on_code: repository; a push to the branch builds the image and starts the pipeline with it.
        branch: regular expression of the branches.
        service_account: service account of the build and the steps.
    """

    name: str
    image: str
    compiled: str
    region: str
    pipeline_root: str
    on_data: Optional[str]
    topic: Optional[str]
    on_code: Optional[str]
    branch: str
    service_account: str


def render(trigger: Trigger) -> dict[str, Any]:
    """Returns the JSON of a BuildTrigger.

    Args:
        trigger: the options.

    Raises:
        UserError: an option is invalid.
    """
    _check(trigger)
    image = trigger.image
    steps: list[dict[str, Any]] = []
    if trigger.on_code:
        image = f"{trigger.image}:$COMMIT_SHA"
        docker = "gcr.io/cloud-builders/docker"
        steps = [
            {"id": "image", "name": docker, "args": ["build", f"--tag={image}", "."]},
            {"id": "push", "name": docker, "args": ["push", image]},
        ]
    words = ["python", "-m", "trainer.pipeline", "submit", trigger.compiled]
    words += [f"--region={trigger.region}", f"--pipeline_root={trigger.pipeline_root}"]
    words += [f"--service_account={trigger.service_account}"]
    # The substitutions of Cloud Build must not be quoted.
    command = f"{shlex.join(words)} --project=$PROJECT_ID --image={image}"
    install = f"pip install --quiet --target={_PACKAGES} {shlex.quote(_SDK)}"
    line = f"{install} && PYTHONPATH={_PACKAGES} {command}"
    steps.append({"id": "submit", "name": image, "entrypoint": "bash", "args": ["-c", line]})
    # The user-defined substitutions of new data are used only in the filter, not in the steps.
    options = {"logging": "CLOUD_LOGGING_ONLY", "substitutionOption": "ALLOW_LOOSE"}
    project = ACCOUNT.fullmatch(trigger.service_account)
    assert project is not None
    account = f"projects/{project['project']}/serviceAccounts/{trigger.service_account}"
    return {
        "name": trigger.name,
        "serviceAccount": account,
        **(_describe_code(trigger) if trigger.on_code else _describe_data(trigger)),
        "build": {"steps": steps, "options": options, "timeout": "3600s"},
    }


def _describe_code(trigger: Trigger) -> dict[str, Any]:
    push = {"branch": trigger.branch}
    return {"repositoryEventConfig": {"repository": trigger.on_code, "push": push}}


def _describe_data(trigger: Trigger) -> dict[str, Any]:
    bucket, _, prefix = (trigger.on_data or "").removeprefix("gs://").partition("/")
    conditions = ['_EVENT == "OBJECT_FINALIZE"', f"_BUCKET == {json.dumps(bucket)}"]
    conditions += [f"_OBJECT.startsWith({json.dumps(prefix)})"] if prefix else []
    attributes = {"_EVENT": "eventType", "_BUCKET": "bucketId", "_OBJECT": "objectId"}
    return {
        "pubsubConfig": {"topic": trigger.topic},
        "filter": " && ".join(conditions),
        "substitutions": {
            name: f"$(body.message.attributes.{value})" for name, value in attributes.items()
        },
    }


def _check(trigger: Trigger) -> None:
    if bool(trigger.on_data) == bool(trigger.on_code):
        raise UserError("--cloudbuild: give one of --on_data=gs://... and --on_code=REPOSITORY")
    if bool(trigger.on_data) != bool(trigger.topic):
        raise UserError(
            "--topic and --on_data: give both; the topic receives the notifications of the bucket"
        )
    for option, value, pattern, example in (
        ("name", trigger.name, NAME, "letters, digits and -, at most 64"),
        ("image", trigger.image, IMAGE, "REGISTRY/NAME:TAG"),
        ("region", trigger.region, REGION, "a region such as us-central1"),
        ("topic", trigger.topic, TOPIC, "projects/PROJECT/topics/TOPIC"),
        ("on_code", trigger.on_code, REPOSITORY,
         "projects/PROJECT/locations/REGION/connections/NAME/repositories/NAME"),
        ("service_account", trigger.service_account, ACCOUNT,
         "NAME@PROJECT.iam.gserviceaccount.com"),
    ):  # fmt: skip
        if value and not pattern.fullmatch(value):
            raise UserError(f"--{option}={value}: write {example}")
    if trigger.on_code and re.search(r"[:@][^/]*$", trigger.image):
        raise UserError(
            f"--image={trigger.image}: with --on_code, each commit gets its own tag; write the "
            "image without a tag"
        )
    for option, value in (
        ("compiled", trigger.compiled),
        ("pipeline_root", trigger.pipeline_root.rstrip("/")),
        ("on_data", trigger.on_data),
    ):
        if value:
            storage.parse_address(value, f"--{option}")
    try:
        re.compile(trigger.branch)
    except re.error as error:
        raise UserError(
            f"--branch={trigger.branch}: not a regular expression ({error}); correct it"
        ) from error
