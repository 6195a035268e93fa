"""Changes the path of the job_dir in the files of a job that contain it."""

import re

import yaml

from trainer import job_layout
from trainer.storage.addresses import replace_path

# The top-level field of config.yaml, with the lines that continue it.
JOB_DIR_FIELD = re.compile(r"^job_dir:.*\n?(?:[ \t].*\n?)*", re.MULTILINE)


def replace_job_dir(name: str, text: str, before: str, after: str) -> str:
    """Returns the content of a file with another path of the job_dir.

    In config.yaml, only the field job_dir changes: other fields may name data in the same folder,
    and these stay where they are.

    Args:
        name: of the file, one of `job_layout.PORTABLE`.
        text: its content.
        before: the path of the job_dir in the text, without a slash at its end.
        after: the path that takes its place.
    """
    if name != job_layout.CONFIG:
        return replace_path(text, before, after)
    return JOB_DIR_FIELD.sub(lambda match: _replace_field(match.group(), before, after), text)


def _replace_field(field: str, before: str, after: str) -> str:
    try:
        path = yaml.safe_load(field)["job_dir"]
    except (yaml.YAMLError, TypeError, KeyError):
        return field
    if not isinstance(path, str) or path.rstrip("/") != before:
        return field
    return yaml.safe_dump({"job_dir": after})
