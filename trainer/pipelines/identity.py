"""The key of a step; it is equal if and only if flags, inputs and versions are equal."""

import glob
import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Collection
from pathlib import Path
from typing import Any

from estimator_bridge.versions import installed_tensorflow
from trainer import config as config_lib
from trainer import storage
from trainer.config.flags import parse_command_line
from trainer.errors import UserError
from trainer.export.choose import find_export
from trainer.export.fingerprint import fingerprint_export
from trainer.job_layout import CONFIG
from trainer.pipelines.definition import Step, split_paths
from trainer.release.pushing import Deployment
from trainer.release.verdict import read_verdict
from trainer.storage.partition_names import is_partition

# Flags whose value may be the name of a preset.
_PRESETS = ("hparams", "tuning")


def list_versions() -> dict[str, str]:
    """Returns the versions of the trainer, TensorFlow and Python."""
    try:
        own = importlib.metadata.version("estimator-trainer")
    except importlib.metadata.PackageNotFoundError:
        own = "not installed"
    return {
        "trainer": own,
        "tensorflow": installed_tensorflow() or "none",
        "python": platform.python_version(),
    }


def compute_key(step: Step, written: Collection[str]) -> tuple[str, dict[str, str]]:
    """Returns the key of a step, and path → fingerprint of each input.

    Each flag value that is an existing path, or a list of such paths, is an input, unless this step
    or a later one writes to it.

    Args:
        step: the step; its references to earlier steps have been replaced.
        written: paths that this step and later ones write.

    Raises:
        UserError: an input cannot be read.
    """
    named = _identify_named(step)
    inputs = {one: found for one, found in named.items() if one not in written}
    for name, text in step.list_texts():
        for one in [text] if name in _PRESETS else split_paths(text):
            found = _identify(name, one.strip(), step.command) if one not in written else ""
            if found:
                inputs[one] = found
    described = [step.list_arguments(), inputs, list_versions()]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:12], inputs


def _identify_named(step: Step) -> dict[str, str]:
    """Returns what the hparams of a training name → fingerprint: the schema, and data files."""
    words = step.list_arguments()[1:]
    if step.command == "tune" and "--" in words:
        words = words[words.index("--") + 1 :]
    elif step.command != "task":
        return {}
    command = parse_command_line(words)
    if command is None or command.hparams is None:
        return {}
    data = config_lib.load_config(command.hparams, command.overrides).data
    # What a flag names instead is an input of its own.
    named = {"data.train": data.train, "data.eval": data.eval}
    options = named.keys() - command.overrides.keys()
    found = {one: _identify(each, one, "task") for each in options for one in named[each]}
    schema = None if "data.schema_file" in command.overrides else data.schema_file
    if schema and storage.is_remote(schema):
        found[schema] = _identify("data.schema_file", schema, "task")
    elif schema and os.path.isfile(schema):
        # The path is absolute, and that of a preset differs between environments.
        found[os.path.basename(schema)] = _hash_text(Path(schema).read_text(errors="replace"))
    return {one: found[one] for one in sorted(found) if found[one]}


def _identify(flag: str, value: str, command: str) -> str:
    """Returns the fingerprint of the files that a value names; "" if it is not a path."""
    if flag in _PRESETS:
        kind = "tuning" if flag == "tuning" else ""
        return _hash([config_lib.find_preset(value, flag, kind)])
    if storage.is_remote(value):
        remote = [storage.identify_data(one) for one in storage.find_data(value, f"--{flag}")]
        return _hash_text(json.dumps(sorted(remote, key=str)))
    # Unlike methods of Path, these functions take any text, such as a long --reason.
    path = Path(os.path.expanduser(value))
    if os.path.isdir(path):
        return _identify_folder(path, command)
    found = [Path(one) for one in glob.glob(str(path), recursive=True)]
    found += [file for folder in found if is_partition(folder.name) for file in folder.rglob("*")]
    files = {one for one in found if one.is_file()}
    return _hash(sorted(files, key=str)) if files else ""


def _identify_folder(path: Path, command: str) -> str:
    try:
        path = Path(find_export(str(path)))
    except UserError:
        if (path / CONFIG).is_file():
            return _hash_text("a job without an export")
    if (path / storage.GRAPH).is_file():
        # The fingerprint excludes the reports of gate and sandbox. A push depends on the verdict.
        fingerprint = fingerprint_export(str(path))
        verdict = read_verdict(path, fingerprint) if command == "push" else ""
        return _hash_text(f"{fingerprint} {verdict}")
    return _hash([one for one in sorted(path.rglob("*")) if one.is_file()])


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _hash(paths: list[Path]) -> str:
    """Returns a hash of the names and contents of files."""
    digest = hashlib.sha256()
    for path in paths:
        try:
            digest.update(f"{path}\0{path.stat().st_size}\0".encode())
            storage.add_content(digest, path)
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}; check the path") from error
    return digest.hexdigest()


def has_outputs(step: Step) -> bool:
    """Returns whether the outputs of a step exist.

    A push whose version has been removed must run again, but not after a rollback.

    Args:
        step: the step. What it writes at gs:// addresses is not checked and assumed to exist.

    Raises:
        UserError: the state of a served model is damaged.
    """
    paths = [path for path in step.list_outputs() if not storage.is_remote(path)]
    if not all(Path(path).exists() for path in paths):
        return False
    return step.command != "push" or not any(Deployment(path).has_lost_newest() for path in paths)


def describe_changes(before: dict[str, Any], now: dict[str, str]) -> str:
    """Returns the names of the inputs that differ between two runs of a step.

    Args:
        before: path → fingerprint in the earlier run.
        now: path → fingerprint in this run.
    """
    changed = [path for path in now if before.get(path) != now[path]]
    return ", ".join(changed) or "its flags or the versions"
