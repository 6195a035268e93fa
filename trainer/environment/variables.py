"""Other environment variables, and the environments of child processes."""

import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

from trainer.environment import cluster_spec
from trainer.environment.services import AIP_NAMES
from trainer.environment.texts import parse_number
from trainer.errors import UserError, conceal

# The variable that contains the file descriptor of the parent-death pipe. The pipe is closed when
# the parent process ends.
PARENT_PIPE = "TRAINER_PARENT_PIPE"
# Set in processes of a cluster that let only this machine connect to their servers.
GUARDS_PORT = "TRAINER_GUARDS_PORT"
# Set to "true" in processes whose port stays bound by their launcher. TensorFlow reads it too.
SHARES_PORT = "TF_GRPC_REUSE_PORT"
# The variable that contains when a program has replaced itself by another one (os.exec): the
# process id, and seconds of CLOCK_BOOTTIME.
REPLACED = "TRAINER_REPLACED"
# In the image of a template: the module of the command that Dataflow's launcher runs.
LAUNCHED = "TRAINER_LAUNCHED"


def find_cache_home() -> Path:
    """Returns the folder for user caches: XDG_CACHE_HOME, else ~/.cache.

    If that cannot be written, as in a container without a home directory, it is the folder for
    temporary files.
    """
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute()
    except RuntimeError:
        return Path(tempfile.gettempdir())
    # os.path.exists, because Path.exists raises for a name that is too long.
    existing = next(folder for folder in (home, *home.parents) if os.path.exists(folder))
    return home if os.access(existing, os.W_OK) else Path(tempfile.gettempdir())


def find_cache_folder(name: str) -> Path:
    """Returns this user's folder for one cache.

    Args:
        name: of the cache. In the folder for temporary files, which users share, the number of the
            user is added.
    """
    home = find_cache_home()
    return home / (f"{name}-{os.getuid()}" if home == Path(tempfile.gettempdir()) else name)


def find_java_home() -> Optional[str]:
    """Returns the folder of Java that JAVA_HOME names; None if it names none."""
    return os.environ.get("JAVA_HOME") or None


def read_launched() -> str:
    """Returns the module of the command that Dataflow's launcher runs."""
    return os.environ.get(LAUNCHED) or "trainer.predict"


def is_submitted() -> bool:
    """Returns whether spark-submit runs this process, and has chosen the cluster."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def names_hadoop() -> bool:
    """Returns whether a variable names the configuration of a cluster of Hadoop."""
    return bool(os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR"))


def read_secret(name: str, variable: str) -> str:
    """Returns the value of a secret; messages will show its name instead.

    Args:
        name: of the secret, without "secret.".
        variable: the environment variable that contains it.

    Raises:
        UserError: the variable is not set, or is empty.
    """
    value = os.environ.get(variable, "")
    if not value:
        raise UserError(
            f"secret.{name}: the environment variable {variable} is not set; set it for this "
            "process"
        )
    conceal(value, f"<secret.{name}>")
    return value


def make_environment(
    spec: dict[str, list[str]], role: str, index: int, run_id: str
) -> dict[str, str]:
    """Returns the environment of one process of a cluster.

    It is the environment of this process with TF_CONFIG added.

    Args:
        spec: role → addresses "host:port".
        role: role of the process.
        index: its number among those of its role.
        run_id: identifies this run of the cluster.
    """
    config = cluster_spec.to_json(spec, role, index, run=run_id)
    return {**os.environ, "TF_CONFIG": config}


def copy_environment(more: Mapping[str, str]) -> dict[str, str]:
    """Returns this process's environment without the variables of a cluster or a service.

    Args:
        more: variables to add.
    """
    ours = ("TF_CONFIG", "CLUSTER_SPEC", "CLOUD_ML_TRIAL_ID", *AIP_NAMES)
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return {**kept, **more}


def take_parent_pipe() -> Optional[int]:
    """Removes PARENT_PIPE from the environment; returns its file descriptor.

    Returns:
        The file descriptor; None if the variable is not set or names no open pipe.
    """
    number = parse_number(os.environ.pop(PARENT_PIPE, ""))
    try:
        is_pipe = number is not None and stat.S_ISFIFO(os.fstat(number).st_mode)
    except (OSError, OverflowError):
        return None
    return number if is_pipe else None


def put_parent_pipe(number: int) -> None:
    """Sets PARENT_PIPE, for a process that has been forked.

    Args:
        number: file descriptor of the parent-death pipe.
    """
    os.environ[PARENT_PIPE] = str(number)


def guards_port() -> bool:
    """Returns whether this process has to guard the port of its TensorFlow server."""
    return os.environ.get(GUARDS_PORT) == "1"


def shares_port() -> bool:
    """Returns whether the launcher of this process keeps its port bound."""
    return os.environ.get(SHARES_PORT) == "true"


def note_replaced() -> None:
    """Records that another program takes the place of this one now."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        os.environ[REPLACED] = f"{os.getpid()} {time.clock_gettime(time.CLOCK_BOOTTIME)}"


def read_replaced() -> float:
    """Returns when this program has replaced another one (seconds of CLOCK_BOOTTIME), or 0."""
    number, _, secs = os.environ.get(REPLACED, "").partition(" ")
    # Child processes inherit the variable.
    return float(secs) if number == str(os.getpid()) else 0.0


@contextmanager
def set_variable(name: str, value: str) -> Iterator[None]:
    """Sets an environment variable while a `with` statement runs.

    Args:
        name: the variable.
        value: its text.
    """
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def set_default(name: str, value: str) -> None:
    """Sets an environment variable, unless the user has.

    Args:
        name: the variable.
        value: its value.
    """
    os.environ.setdefault(name, value)
