"""What is in a job's folder, as far as the order of storing it matters.

Names are relative to job_dir, with slashes.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

# Names every checkpoint that counts; the last thing to be written.
POINTER = "checkpoint"
METRICS_LOG = "metrics.jsonl"
# In the bucket alone: who works on the job.
WRITER = "writer.json"
# The folder through which a cluster's processes know of each other.
BOARD = "cluster/"
# Small texts that name the folder itself: where they are kept they name the bucket instead.
PORTABLE = (POINTER, "config.yaml", "metrics.json", "summary.txt", "evaluation/evaluation.json")
CHECKPOINT = re.compile(r"(?P<prefix>model\.ckpt-(?P<step>\d+))\.(index|meta|data-\d+-of-\d+)")
IN_THE_MAKING = re.compile(r"^\.|_temp(_|$)|\.tmp|\.tempstate")
EXPORT = re.compile(r"export/[^/]+/\d+/")
# What the process that evaluates writes: an evaluator, or the chief where there is none.
EVALUATED = re.compile(r"export/|eval[^/]*/|evaluation/")


def list_names(folder: Path) -> Iterator[str]:
    """All files of a job but those in the making, unordered."""
    for parent, folders, names in os.walk(folder):
        inside = Path(parent).relative_to(folder).as_posix()
        inside = "" if inside == "." else inside + "/"
        folders[:] = [name for name in folders if not is_temporary(f"{inside}{name}/")]
        for name in names:
            if not is_temporary(inside + name):
                yield inside + name


def is_temporary(name: str) -> bool:
    """Whether a name is no lasting part of a job: in the making, of a board, or the writer's.

    A folder's name has a slash at its end.
    """
    if name.startswith(BOARD) or name == WRITER:
        return True
    last = name.rstrip("/").rpartition("/")[2]
    # Estimator's exports, TensorFlow's checkpoints and our own files, before they are renamed.
    in_export = name.startswith("export/") and last.startswith("temp-")
    return in_export or bool(IN_THE_MAKING.search(last))


def rank(name: str) -> int:
    """When a file is stored: those that point to others after these."""
    if name == POINTER:
        return 3
    if name.startswith("export/") and name.count("/") == 2:
        # What the best exporter remembers of its exports.
        return 2
    # Without it nothing takes a folder for a SavedModel.
    return 1 if name.endswith("/saved_model.pb") else 0


def is_evaluated(name: str) -> bool:
    """Whether the process that evaluates writes it."""
    return bool(EVALUATED.match(name))


def is_event_file(name: str) -> bool:
    """Whether TensorBoard reads it; such a file only grows."""
    return name.rpartition("/")[2].startswith("events.out.tfevents")


def pointed_steps(pointer: str) -> list[int]:
    """Steps of the checkpoints that the text of a pointer names, the newest first."""
    paths = re.findall(r'model_checkpoint_paths?: *"([^"]+)"', pointer)
    found = (re.search(r"model\.ckpt-(\d+)$", path) for path in paths)
    return [int(match.group(1)) for match in found if match]


def newest_checkpoints(names: list[str]) -> list[str]:
    """Those of the names that are checkpoints' files, the newest first."""
    found = [match for match in map(CHECKPOINT.fullmatch, names) if match]
    return [match.group() for match in sorted(found, key=lambda m: -int(m.group("step")))]


def is_settled(name: str, newest: int) -> bool:
    """Whether a file may be stored when `newest` is the last step that the pointer names.

    A checkpoint that it does not name yet may still be in the making.
    """
    match = CHECKPOINT.fullmatch(name)
    return match is None or int(match.group("step")) <= newest
