"""inputs.json in job_dir: what each run of a job was made of."""

import datetime
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import socket
import sys
import sysconfig
from pathlib import Path
from typing import Any, Optional

import trainer
from estimator_bridge import tf
from estimator_bridge.processor import count_cores
from trainer import storage
from trainer.inputs.file_identity import find_place, identify_file
from trainer.inputs.files import DataFile
from trainer.job_dir.input_runs import read_runs
from trainer.job_layout import INPUTS
from trainer.storage.files import checksum_files
from trainer.training.job import Job
from trainer.training.working_tree import describe_git

# A job that is restarted again and again keeps the last records only.
KEPT_RUNS = 100
# Modules with a random name, into which TensorFlow writes the functions that it converts.
_AUTOGRAPH = "__autograph_generated_file"
# Options that do not change the result of a job.
IRRELEVANT = {"job_dir", "verbosity", "storage"}
# In a process that is forked from a server: what the server has imported, and found in git.
_code_of_server: dict[str, Any] = {}


def prepare_forks() -> None:
    """Describes the code once for all jobs that are forked from this process.

    They run the modules that this process has imported, whatever the files contain later. The
    state of the git working tree is that of now, too. Modules of the user's code, which a job
    imports itself, are described in each job.
    """
    _code_of_server.update(_describe_packages())
    # The folders of modules are known afterwards.
    _checksum_user_modules(_list_packages())


def record_start(job: Job, first: int) -> None:
    """Adds a run to the record of a job.

    Args:
        job: the job that is about to train; the modules of the user's code have been imported.
        first: global step at which the run starts.
    """
    path = Path(job.config.require_job_dir()) / INPUTS
    run = {"started": _now(), "first_step": first, **describe_inputs(job)}
    storage.write_json(path, {"runs": [*read_runs(path), run][-KEPT_RUNS:]})


def describe_inputs(job: Job) -> dict[str, Any]:
    """Returns what a run of a job is made of, as JSON.

    Args:
        job: the job.
    """
    config = job.config
    values = config.model_dump(mode="json", exclude=IRRELEVANT)
    # Paths of data are part of their own fingerprints.
    values["data"] = {k: v for k, v in values["data"].items() if k not in ("train", "eval")}
    described = {
        "max_steps": job.max_steps,
        "data": {
            "train": _describe_files(job.train_files, job.train_scan.statistics.num_rows),
            "eval": _describe_files(job.eval_files, job.eval_scan.statistics.num_rows),
        },
        "schema": _digest(job.schema.model_dump(mode="json")),
        "config": _digest(values),
        "code": _describe_code(),
        "tensorflow": tf.__version__,
        "python": platform.python_version(),
        "machine": {
            "host": socket.gethostname(),
            "platform": platform.platform(),
            "processor": platform.machine(),
            "cores": count_cores(),
        },
        "parent": {
            # Where another command is given, a relative path would name something else.
            "warm_start": config.train.warm_start and find_place(config.train.warm_start),
            "study": _find_study(config.require_job_dir()),
        },
    }
    # As it is read from the file.
    copied: dict[str, Any] = json.loads(json.dumps(described))
    return copied


def record_end(job_dir: str, secs: float) -> None:
    """Records that the last run of a job is complete.

    Args:
        job_dir: the job's folder.
        secs: duration of the run.
    """
    path = Path(job_dir) / INPUTS
    runs = read_runs(path)
    if runs:
        # Modules that the training has imported later; those of the start are as they were then.
        code = runs[-1]["code"]
        code["user"] = {**_checksum_user_modules(_list_packages()), **code["user"]}
        runs[-1].update(ended=_now(), secs=round(secs, 1))
        storage.write_json(path, {"runs": runs})


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _describe_files(files: list[DataFile], num_rows: int) -> dict[str, Any]:
    identified = [identify_file(file) for file in files]
    return {
        "fingerprint": _digest(identified),
        "rows": num_rows,
        "files": identified,
    }


def _describe_code() -> dict[str, Any]:
    described = _code_of_server or _describe_packages()
    return {**described, "user": _checksum_user_modules(_list_packages())}


def _describe_packages() -> dict[str, Any]:
    ours = sorted(path for package in _list_packages() for path in package.rglob("*.py"))
    try:
        version = importlib.metadata.version("estimator-trainer")
    except importlib.metadata.PackageNotFoundError:
        version = None
    return {
        "version": version,
        "trainer": checksum_files(ours),
        "git": describe_git(),
    }


def _list_packages() -> tuple[Path, ...]:
    root = Path(trainer.__file__).resolve().parent
    return root, root.parent / "estimator_bridge"


def _checksum_user_modules(packages: tuple[Path, ...]) -> dict[str, str]:
    """Returns name → SHA-256 of each imported module that was not installed."""
    installed = (*sysconfig.get_paths().values(), *map(str, packages))
    roots = frozenset(os.path.realpath(path) for path in installed)
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "__main__" or name.startswith(_AUTOGRAPH):
            continue
        if not isinstance(file, str) or not file.endswith(".py"):
            continue
        if not _is_below(os.path.dirname(file), roots) and os.path.isfile(file):
            found[name] = checksum_files([Path(file).resolve()])
    return dict(sorted(found.items()))


# Thousands of modules lie in a few hundred folders.
@functools.lru_cache(maxsize=4096)
def _is_below(folder: str, roots: frozenset[str]) -> bool:
    real = os.path.realpath(folder)
    inside = (real == root or real.startswith(root + os.sep) for root in roots)
    return "site-packages" in real.split(os.sep) or any(inside)


def _find_study(job_dir: str) -> Optional[str]:
    """Returns the folder of the study whose trial a job is."""
    folder = Path(job_dir).absolute()
    study = folder.parent.parent
    is_trial = folder.parent.name == "trials" and (study / "study.json").is_file()
    return str(study) if is_trial else None
