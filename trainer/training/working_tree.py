"""The git commit and the changes of the current folder, read without running what it configures.

The folder may come from others. Its .git/config can name commands that git runs: filters, diff
programs, monitors of the file system, hooks, transports.
"""

import hashlib
import os
import re
import subprocess
from typing import Any, Optional

from trainer.environment.variables import copy_environment

# A working tree on a slow network file system is not waited for.
GIT_SECS = 10.0
_DISABLED = (
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
)
# No optional writes (a hook could follow), and no transport for objects that are missing.
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_COMPARE = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
# Settings of a folder that name a command for the contents of files. git has no switch for them.
_FILTERS = re.compile(r"filter\..*\.(clean|smudge|process)", re.IGNORECASE | re.DOTALL)


def describe_git() -> Optional[dict[str, Any]]:
    """Returns commit and changes of the current folder's working tree; None outside git.

    The changes are None if they are not known, because git fails or the folder has filters.
    """
    commit = _run_git("rev-parse", "HEAD")
    if commit is None:
        return None
    described: dict[str, Any] = {"commit": commit.strip(), "dirty": None, "diff": None}
    if _has_filters():
        return described
    changes = _run_git("diff", *_COMPARE, "HEAD")
    status = _run_git("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
    if status is not None:
        described["dirty"] = bool(status.strip())
    if changes:
        described["diff"] = hashlib.sha256(changes.encode()).hexdigest()
    return described


def _has_filters() -> bool:
    """Returns whether the folder itself, not the user, configures filters."""
    settings = _run_git("config", "--show-scope", "--name-only", "--null", "--list")
    if settings is None:
        return True
    words = settings.split("\0")
    return any(
        scope in ("local", "worktree") and _FILTERS.fullmatch(name)
        for scope, name in zip(words[::2], words[1::2])
    )


def _run_git(*words: str) -> Optional[str]:
    try:
        done = subprocess.run(
            ["git", *_DISABLED, *words],  # noqa: S607
            capture_output=True,
            timeout=GIT_SECS,
            stdin=subprocess.DEVNULL,
            env=copy_environment(_ENVIRONMENT),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None
