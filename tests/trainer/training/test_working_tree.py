"""The git state of a folder of others runs nothing that the folder configures."""

import os
import subprocess

import pytest

from trainer.training.working_tree import describe_git

pytestmark = pytest.mark.quick


@pytest.fixture
def git(tmp_path, monkeypatch):
    folder = tmp_path / "theirs"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*words):
        own = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
        subprocess.run(["git", *own, *words], check=True, capture_output=True)

    run("init", "-q")
    (folder / "a.txt").write_text("one\n")
    run("add", "a.txt")
    run("commit", "-qm", "one")
    return run


def _configure(git, folder, name, *keys):
    """Sets keys to a command that leaves a file, and hooks too; returns that file."""
    ran = folder.parent / f"ran-{name}"
    for key in keys:
        git("config", key, f"touch '{ran}'; cat; false #")
    hooks = folder / ".git" / "hooks"
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-commit"):
        (hooks / hook).write_text(f"#!/bin/sh\ntouch '{ran}'\n")
        (hooks / hook).chmod(0o755)
    return ran


@pytest.mark.parametrize(
    "name, keys",
    [
        ("monitor", ["core.fsmonitor"]),
        ("diff", ["diff.external", "diff.x.textconv", "diff.x.command"]),
        ("filter", ["filter.x.clean", "filter.x.process"]),
    ],
)
def test_nothing_is_run(git, tmp_path, name, keys):
    folder = tmp_path / "theirs"
    (folder / ".gitattributes").write_text("*.txt filter=x diff=x\n")
    ran = _configure(git, folder, name, *keys)
    (folder / "a.txt").write_text("two\n")
    found = describe_git()
    assert not ran.exists()
    assert len(found["commit"]) == 40
    # With a filter of the folder, the changes are not known.
    assert found["dirty"] == (None if name == "filter" else True)


def test_changes_are_found(git, tmp_path):
    path = tmp_path / "theirs" / "a.txt"
    assert describe_git() == {**describe_git(), "dirty": False, "diff": None}
    path.write_text("two\n")
    first = describe_git()
    path.write_text("three\n")
    assert first["dirty"] is True and first["diff"] != describe_git()["diff"]
    os.chdir(tmp_path)
    assert describe_git() is None
