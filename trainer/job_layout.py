"""Every file and folder name in a job_dir, and the order in which the files are uploaded.

Names are relative to job_dir and use slashes. When the name of a folder is passed to a function, it
ends with a slash.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Optional

# The files that describe a model. Together with a checkpoint, they are the whole model.
CONFIG = "config.yaml"
SCHEMA = "schema.json"
STATISTICS = "statistics.json"
MODEL_FILES = (CONFIG, SCHEMA, STATISTICS)
# Folder of the config.yaml that is copied into exports: without what an export does not need.
EXPORTED_FOLDER = ".exported"

# TensorFlow's state file, which names the newest checkpoint. It is written after the checkpoint.
CHECKPOINT_STATE = "checkpoint"
# Its place in the order of `rank`.
STATE_RANK = 1
CHECKPOINT_STEM = "model.ckpt"

# What each run of the job was made of: data, schema, configuration, code.
INPUTS = "inputs.json"

METRICS_LOG = "metrics.jsonl"
METRICS = "metrics.json"
SUMMARY = "summary.txt"
CURVES = "curves.png"
# The page of python -m trainer.report.
REPORT = "report.html"

# Tables that were given to trainer.train, as Parquet files.
DATA_FOLDER = "data"

# Exports are in export/<exporter>/<timestamp>/.
EXPORT_FOLDER = "export"
# The best value so far, in the folder of the exporter `best`. It decides whether to export.
BEST_STATE = "best.json"
# Checksums of the data in METRICS_LOG and BEST_STATE.
TRAIN_DATA_KEY = "train_data"
EVAL_DATA_KEY = "eval_data"
# The model for TensorFlow Model Analysis.
EVAL_MODEL_FOLDER = "eval_model"
# The report of python -m trainer.evaluate.
EVALUATION_FOLDER = "evaluation"
EVALUATION_REPORT = "evaluation.json"
EVALUATION_PLOT = "evaluation.png"

# The heartbeat files of a cluster's processes.
CLUSTER_FOLDER = "cluster"
# One of them: of which process, and of which start of it. Earlier versions wrote no number.
STATUS_FILE = re.compile(r"(?P<name>[a-z]+-[0-9]+)(?:\.(?P<start>[0-9]+))?\.json")
# What a search writes into its folder; its trials are jobs in the folder `trials`.
STUDY = "study.json"
# Identifies the process that writes to the job.
WRITER = "writer.json"
# Locked by that process.
LOCK = ".lock"

# Small text files that contain the path of the job_dir. Their copies in a bucket contain the
# bucket's address instead.
PORTABLE = (
    CHECKPOINT_STATE,
    CONFIG,
    METRICS,
    SUMMARY,
    f"{EVALUATION_FOLDER}/{EVALUATION_REPORT}",
)

CHECKPOINT_FILE = re.compile(r"(?P<prefix>model\.ckpt-(?P<step>\d+))\.(index|meta|data-\d+-of-\d+)")
TEMPORARY = re.compile(r"^\.|_temp(_|$)|\.tmp|\.tempstate")
EXPORT_FILE = re.compile(r"export/[^/]+/\d+/")
# Also the folder into which TensorFlow exports before it renames it.
ANY_EXPORT = re.compile(r"export/[^/]+/(?:\d+|(?P<temporary>temp-[^/]*))/")
# The files of a SavedModel that are written before saved_model.pb.
PART_OF_MODEL = re.compile(r"(variables|assets|assets\.extra)(/|$)")
# An export of another process that has not been completed for so long was abandoned.
ABANDONED_SECS = 86_400.0
# The files that the evaluating process writes. This process is the evaluator, or the chief in a job
# without an evaluator.
EVALUATOR_FILE = re.compile(r"export/|eval[^/]*/|evaluation/")


def list_names(folder: Path) -> Iterator[str]:
    """Yields the names of all files of a job except temporary ones, in no particular order.

    Args:
        folder: the job_dir.

    Yields:
        The name of a file, relative to `folder`.
    """
    top = os.fspath(folder)
    for parent, folders, names in os.walk(top):
        inside = parent[len(top) :].lstrip("/") + "/" if parent != top else ""
        folders[:] = [name for name in folders if not is_temporary(f"{inside}{name}/")]
        for name in names:
            if not is_temporary(inside + name):
                yield inside + name


def is_temporary(name: str) -> bool:
    """Returns whether a file is temporary, that is, not a lasting part of the job.

    Unfinished files, heartbeat files and the writer's file are temporary.

    Args:
        name: of a file, or of a folder with a slash at its end.
    """
    if name.startswith(f"{CLUSTER_FOLDER}/") or name == WRITER:
        return True
    last = name.rstrip("/").rpartition("/")[2]
    # Estimator exports into temp-<timestamp> and renames the folder at the end.
    in_export = name.startswith(f"{EXPORT_FOLDER}/") and last.startswith("temp-")
    return in_export or bool(TEMPORARY.search(last))


def rank(name: str) -> int:
    """Returns the position of a file in the order in which files are stored and fetched.

    A checkpoint and the files that describe the model come before the state file that names the
    checkpoint, and both come before everything else: they are what a restarted job resumes from.
    Among the other files, a file that names others comes later.

    Args:
        name: of a file.
    """
    if name in MODEL_FILES or CHECKPOINT_FILE.fullmatch(name):
        return 0
    if name == CHECKPOINT_STATE:
        return STATE_RANK
    if name.startswith(f"{EXPORT_FOLDER}/") and name.count("/") == 2:
        # The state file of the best exporter. It names the exports.
        return 4
    # A folder without saved_model.pb is not read as a SavedModel.
    return 3 if name.endswith(("/saved_model.pb", "/saved_model.pbtxt")) else 2


def status_file(name: str, start: int) -> str:
    """Returns the name of a heartbeat file.

    Args:
        name: of the process, for example worker-1.
        start: how many processes of this name have been started, up to this one.
    """
    return f"{name}.{start}.json"


def find_status_files(names: Iterable[str]) -> dict[str, dict[int, str]]:
    """Returns the heartbeat files among some files.

    Args:
        names: of the files in the folder of the heartbeat files.

    Returns:
        Name of a process → number of its start → name of its file; the last start first.
    """
    found: dict[str, dict[int, str]] = {}
    for match in filter(None, map(STATUS_FILE.fullmatch, names)):
        found.setdefault(match["name"], {})[int(match["start"] or 0)] = match.group()
    return {name: dict(sorted(files.items(), reverse=True)) for name, files in found.items()}


def find_unfinished_exports(names: Collection[str]) -> set[str]:
    """Returns the folders of exports that are not complete, each with a slash at its end.

    They are temporary, or contain only files of a SavedModel that precede its saved_model.pb.
    Exports of other formats count as complete.

    Args:
        names: of the files in the job's folder.
    """
    exports: dict[str, list[str]] = {}
    for name in names:
        match = ANY_EXPORT.match(name)
        if match:
            part = "" if match["temporary"] else name[match.end() :]
            exports.setdefault(match.group(), []).append(part)
    return {
        folder
        for folder, parts in exports.items()
        if all(not part or PART_OF_MODEL.match(part) for part in parts)
    }


def find_export(name: str) -> Optional[str]:
    """Returns the folder of the export that a file belongs to; None for other files.

    Args:
        name: of a file.

    Returns:
        The folder, complete or not, with a slash at its end.
    """
    match = ANY_EXPORT.match(name)
    return match.group() if match else None


def is_abandoned(folder: str, now: float) -> bool:
    """Returns whether an export was begun so long ago that no process completes it any more.

    Args:
        folder: the folder of an export, with a slash at its end.
        now: the time, in seconds since 1970.
    """
    stamp = re.search(r"(\d+)[^/]*/$", folder)
    return stamp is None or int(stamp.group(1)) < now - ABANDONED_SECS


def is_evaluated(name: str) -> bool:
    """Returns whether a file is written by the evaluating process.

    Args:
        name: of a file.
    """
    return bool(EVALUATOR_FILE.match(name))


def is_event_file(name: str) -> bool:
    """Returns whether a file is an event file of TensorBoard. An event file only grows.

    Args:
        name: of a file.
    """
    return name.rpartition("/")[2].startswith("events.out.tfevents")


def is_log(name: str) -> bool:
    """Returns whether a file is only appended to, and no process but its writer needs it.

    Args:
        name: of a file.
    """
    return is_event_file(name) or name == METRICS_LOG


def read_state(folder: Path) -> str:
    """Returns the text of the checkpoint state file; "" if there is none.

    Args:
        folder: the job's folder on this machine.
    """
    try:
        return (folder / CHECKPOINT_STATE).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def read_state_steps(state: str) -> list[int]:
    """Returns the steps of the checkpoints that a checkpoint state file names, newest first.

    Args:
        state: the text of the file.
    """
    paths = re.findall(r'model_checkpoint_paths?: *"([^"]+)"', state)
    found = (re.search(r"model\.ckpt-(\d+)$", path) for path in paths)
    return [int(match.group(1)) for match in found if match]


def find_whole_steps(names: Collection[str]) -> set[int]:
    """Returns the steps of the checkpoints of which no file is missing.

    Args:
        names: of the existing files.
    """
    matches = [match for match in map(CHECKPOINT_FILE.fullmatch, names) if match]
    found = {match.group() for match in matches}
    steps = {match["prefix"]: int(match["step"]) for match in matches}
    return {step for prefix, step in steps.items() if is_whole(prefix, found)}


def is_whole(prefix: str, names: Collection[str]) -> bool:
    """Returns whether no file of a checkpoint is missing.

    Args:
        prefix: name of the checkpoint, without a file's ending.
        names: of the existing files.
    """
    found = set(names)
    start = f"{prefix}.data-"
    counts = {name.rpartition("-of-")[2] for name in found if name.startswith(start)}
    return f"{prefix}.index" in found and any(
        found.issuperset(f"{start}{shard:05d}-of-{count}" for shard in range(int(count)))
        for count in counts
        if count.isdecimal()
    )


def find_partial_checkpoints(names: Collection[str]) -> set[str]:
    """Returns the files of checkpoints of which other files are missing.

    Args:
        names: of the existing files.
    """
    whole = find_whole_steps(names)
    return {name for name in names if find_step(name) not in (None, *whole)}


def keep_steps(state: str, steps: Collection[int]) -> str:
    """Returns a checkpoint state file that names no other checkpoints than those of some steps.

    Args:
        state: the text of the file.
        steps: the steps that it may name. Its newest one must be among them.
    """
    lines = state.splitlines(keepends=True)
    paths = [line for line in lines if line.startswith("all_model_checkpoint_paths:")]
    times = [line for line in lines if line.startswith("all_model_checkpoint_timestamps:")]
    dropped = set()
    for place, line in enumerate(paths):
        match = re.search(r'model\.ckpt-(\d+)"', line)
        if match and int(match.group(1)) not in steps:
            dropped.add(place)
    kept_paths = (line for place, line in enumerate(paths) if place not in dropped)
    kept_times = (line for place, line in enumerate(times) if place not in dropped)
    others = (line for line in lines if line not in paths and line not in times)
    return "".join([*others, *kept_paths, *kept_times]) if dropped else state


def name_newest(state: str, step: int) -> str:
    """Returns a checkpoint state file that names another checkpoint as the newest one.

    Args:
        state: the text of the file.
        step: that of the checkpoint.
    """
    line = re.compile(r'^(model_checkpoint_path:.*model\.ckpt-)\d+(?=")', re.MULTILINE)
    return line.sub(rf"\g<1>{step}", state)


def newest_checkpoints(names: list[str]) -> list[str]:
    """Returns those names that are files of checkpoints, newest first.

    Args:
        names: of files.
    """
    found = [match for match in map(CHECKPOINT_FILE.fullmatch, names) if match]
    return [match.group() for match in sorted(found, key=lambda m: -int(m.group("step")))]


def is_superseded(name: str, steps: Collection[int], names: Collection[str]) -> bool:
    """Returns whether a missing file is one that the job itself removes.

    A job removes a checkpoint that its state file no longer names, and an export of which a newer
    one exists. Any other file that is missing was removed by something else, for example by a
    program that empties folders of temporary files.

    Args:
        name: of the missing file.
        steps: the steps that the state file in the folder names.
        names: of the files in the folder.
    """
    checkpoint = CHECKPOINT_FILE.fullmatch(name)
    if checkpoint:
        return bool(steps) and int(checkpoint.group("step")) not in steps
    export = EXPORT_FILE.match(name)
    if not export:
        return False
    folder = export.group()
    exporter, _, stamp = folder.rstrip("/").rpartition("/")
    newer = re.compile(rf"{re.escape(exporter)}/(\d+)/saved_model\.pb")
    found = (newer.fullmatch(one) for one in names)
    is_newer = any(int(match.group(1)) > int(stamp) for match in found if match)
    return is_newer and not any(one.startswith(folder) for one in names)


def find_step(name: str) -> Optional[int]:
    """Returns the step of the checkpoint that a file belongs to; None for other files.

    Args:
        name: of a file.
    """
    match = CHECKPOINT_FILE.fullmatch(name)
    return int(match.group("step")) if match else None
