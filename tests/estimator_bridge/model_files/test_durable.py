"""Files are written through to the disk."""

import errno
import os

import pytest

from estimator_bridge.model_files import durable

pytestmark = [pytest.mark.newest, pytest.mark.quick]


@pytest.fixture
def synced(monkeypatch):
    """The inodes of what has been synced."""
    inodes, fsync = [], os.fsync

    def note(descriptor):
        fsync(descriptor)
        inodes.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr("estimator_bridge.model_files.durable.os.fsync", note)
    return inodes


def test_a_folder_is_synced_with_everything_in_it(tmp_path, synced):
    for number in range(20):
        (tmp_path / f"folder{number % 3}").mkdir(exist_ok=True)
        (tmp_path / f"folder{number % 3}" / str(number)).write_text("x")
    durable.sync_folder(str(tmp_path))
    assert sorted(synced) == sorted(p.stat().st_ino for p in (tmp_path, *tmp_path.rglob("*")))


def test_only_the_files_of_a_checkpoint_are_synced(tmp_path, synced):
    for name in ("model[1].ckpt-2.index", "model[1].ckpt-2.data-00000-of-00001", "model1.ckpt-2.x"):
        (tmp_path / name).write_text("x")
    durable.sync_checkpoint(str(tmp_path / "model[1].ckpt-2"))
    wanted = [tmp_path, *tmp_path.glob("model[[]1].ckpt-2.*")]
    assert sorted(synced) == sorted(path.stat().st_ino for path in wanted) and len(wanted) == 3


def test_a_checkpoint_elsewhere_and_a_file_that_is_gone_are_left_out(tmp_path, synced):
    durable.sync_checkpoint("gs://bucket/job/model.ckpt-2")
    durable.sync_files([str(tmp_path / "gone")])
    assert synced == []


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_disk_that_fails_is_an_error(tmp_path, monkeypatch, number):
    def fail(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("estimator_bridge.model_files.durable.os.fsync", fail)
    with pytest.raises(OSError, match=os.strerror(number)):
        durable.sync_files([str(tmp_path)])


def test_a_file_system_without_the_call_is_no_error(tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr("estimator_bridge.model_files.durable.os.fsync", fail)
    durable.sync_files([str(tmp_path)])
