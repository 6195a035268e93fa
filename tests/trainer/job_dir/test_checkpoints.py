"""Checkpoints that are deleted while they are read, and corrupt ones."""

import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from estimator_bridge import tf
from estimator_bridge.model_files import checkpoint_index
from trainer.errors import TemporaryError, UserError
from trainer.job_dir import checkpoints, pinning, quarantine


@pytest.fixture
def job_dir(tmp_path):
    """A folder with checkpoints of steps 10, 20 and 30; the state file names the last two."""
    folder = tmp_path / "job"
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        step = tf.compat.v1.train.get_or_create_global_step()
        tf.compat.v1.get_variable("w", initializer=np.arange(3000, dtype=np.float32))
        tf.compat.v1.get_variable("words", initializer=tf.constant(["a", "bc"]))
        saver = tf.compat.v1.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=1e-9)
        session.run(tf.compat.v1.global_variables_initializer())
        for number in (10, 20, 30):
            session.run(step.assign(number))
            saver.save(session, str(folder / "model.ckpt"), global_step=number)
    return folder


def names(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def test_a_pinned_checkpoint_outlives_its_deletion(job_dir, tmp_path):
    checkpoint = str(job_dir / "model.ckpt-20")
    with pinning.pin(checkpoint, tmp_path / "held") as held:
        for path in job_dir.glob("model.ckpt-20.*"):
            path.unlink()
        assert checkpoints.read_step(held) == 20
        assert tf.train.load_variable(held, "w")[2999] == 2999
        assert Path(held).name == "model.ckpt-20"
    assert not (tmp_path / "held").exists()


def test_files_are_copied_without_hard_links(job_dir, tmp_path, monkeypatch):
    def refuse(source, target):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(pinning.os, "link", refuse)
    with pinning.pin(str(job_dir / "model.ckpt-20"), tmp_path / "held") as held:
        assert checkpoints.read_step(held) == 20


@pytest.mark.parametrize("gone", ["", "index", "data-"])
def test_a_deleted_checkpoint_cannot_be_pinned(job_dir, tmp_path, gone):
    for path in job_dir.glob(f"model.ckpt-20.{gone}*"):
        path.unlink()
    with pinning.pin(str(job_dir / "model.ckpt-20"), tmp_path / "held") as held:
        assert held is None


def test_an_unfinished_checkpoint_cannot_be_pinned(job_dir, tmp_path):
    index = job_dir / "model.ckpt-30.index"
    index.write_bytes(index.read_bytes()[:40])
    with pinning.pin(str(job_dir / "model.ckpt-30"), tmp_path / "held") as held:
        assert held is None


def test_a_pinned_checkpoint_does_not_change_when_it_is_saved_again(job_dir, tmp_path):
    index = job_dir / "model.ckpt-30.index"
    with pinning.pin(str(job_dir / "model.ckpt-30"), tmp_path / "held") as held:
        # In place, as TensorFlow does it.
        index.write_bytes(b"")
        assert checkpoints.read_step(held) == 30


def test_a_snapshot_contains_the_newest_checkpoint(job_dir, tmp_path):
    taken = tmp_path / "taken"
    pinning.snapshot(str(job_dir), taken)
    assert checkpoints.latest_checkpoint(str(taken)) == str(taken / "model.ckpt-30")
    assert checkpoints.read_step(str(taken / "model.ckpt-30")) == 30
    pinning.snapshot(str(tmp_path / "nothing"), taken)
    assert checkpoints.latest_checkpoint(str(taken)) is None


def test_a_snapshot_is_refused_while_the_newest_checkpoint_is_written(job_dir, tmp_path):
    index = job_dir / "model.ckpt-30.index"
    index.write_bytes(index.read_bytes()[:40])
    with pytest.raises(TemporaryError, match="model.ckpt-30 is incomplete"):
        pinning.snapshot(str(job_dir), tmp_path / "taken")


def test_a_suspended_process_leaves_the_checkpoint_of_its_successor_alone(job_dir, tmp_path):
    """The first wakes up while the second reads, and ends."""
    checkpoint = str(job_dir / "model.ckpt-20")
    other = pinning.claim_folder(tmp_path, "evaluator-01", 1, "c")
    with pinning.pin(checkpoint, other) as kept:
        with pinning.pin(checkpoint, pinning.claim_folder(tmp_path, "evaluator-0", 1, "a")):
            second = pinning.claim_folder(tmp_path, "evaluator-0", 2, "b")
            # What the first has left would stay on the disk.
            assert names(tmp_path) == [other.name, "job"]
            successor = pinning.pin(checkpoint, second)
            held = successor.__enter__()
            # One that was suspended before it had a folder.
            pinning.claim_folder(tmp_path, "evaluator-0", 1, "d")
        assert checkpoints.read_step(held) == 20
        successor.__exit__(None, None, None)
        assert checkpoints.read_step(kept) == 20


def test_pinning_removes_what_a_killed_process_left(job_dir, tmp_path):
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "model.ckpt-10.index").write_text("left")
    with pinning.pin(str(job_dir / "model.ckpt-20"), tmp_path / "held"):
        assert not list((tmp_path / "held").glob("model.ckpt-10*"))


def test_intact_checkpoints_are_not_renamed(job_dir):
    before, said = names(job_dir), []
    quarantine.quarantine_corrupt(str(job_dir), said.append)
    assert (names(job_dir), said) == (before, [])
    quarantine.quarantine_corrupt(str(job_dir / "nothing"), said.append)
    assert said == []


def _cut(path, left):
    path.write_bytes(path.read_bytes()[:left])


def _spoil(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


DATA, INDEX = "data-00000-of-00001", "index"


@pytest.mark.parametrize(
    "part, tear",
    [
        (DATA, lambda path: _cut(path, 100)),
        (DATA, lambda path: _cut(path, 0)),
        (DATA, _spoil),
        (DATA, Path.unlink),
        (INDEX, lambda path: _cut(path, 30)),
        (INDEX, lambda path: _cut(path, 0)),
        (INDEX, Path.unlink),
    ],
)
def test_a_corrupt_checkpoint_is_renamed_and_the_one_before_is_resumed(job_dir, part, tear):
    tear(job_dir / f"model.ckpt-30.{part}")
    said = []
    quarantine.quarantine_corrupt(str(job_dir), said.append)
    assert checkpoints.latest_checkpoint(str(job_dir)) == str(job_dir / "model.ckpt-20")
    assert len(said) == 1 and "\n" not in said[0] and "resuming from model.ckpt-20" in said[0]
    # Without an index nothing is left that could be taken for a checkpoint.
    if (part, tear) != (INDEX, Path.unlink):
        assert "checkpoint model.ckpt-30 is corrupt" in said[0]
        assert [name for name in names(job_dir) if name.startswith("torn-model.ckpt-30.")]
        assert not list(job_dir.glob("model.ckpt-30.*"))
    state = tf.train.get_checkpoint_state(str(job_dir))
    assert [Path(path).name for path in state.all_model_checkpoint_paths] == ["model.ckpt-20"]


def test_a_file_that_is_still_being_written_makes_no_checkpoint_corrupt(job_dir):
    (job_dir / f"model.ckpt-30.{DATA}.tempstate123").write_bytes(b"x")
    before, said = names(job_dir), []
    quarantine.quarantine_corrupt(str(job_dir), said.append)
    assert (names(job_dir), said) == (before, [])


def test_a_job_killed_during_its_first_save_starts_from_the_beginning(job_dir):
    for path in job_dir.iterdir():
        if path.suffix == ".meta" or not path.name.startswith("model.ckpt-30"):
            path.unlink()
    _cut(job_dir / f"model.ckpt-30.{INDEX}", 0)
    said = []
    quarantine.quarantine_corrupt(str(job_dir), said.append)
    assert checkpoints.latest_checkpoint(str(job_dir)) is None
    assert names(job_dir) == [f"torn-model.ckpt-30.{DATA}", f"torn-model.ckpt-30.{INDEX}"]
    assert len(said) == 1 and "starting from the beginning" in said[0]


def test_several_corrupt_checkpoints_are_renamed(job_dir):
    for step in (20, 30):
        _cut(job_dir / f"model.ckpt-{step}.{DATA}", 50)
    said = []
    quarantine.quarantine_corrupt(str(job_dir), said.append)
    assert checkpoints.latest_checkpoint(str(job_dir)) == str(job_dir / "model.ckpt-10")
    assert "model.ckpt-30 and 1 before it is corrupt" in said[0]


def test_it_is_an_error_if_all_checkpoints_are_corrupt(job_dir):
    for step in (10, 20, 30):
        _cut(job_dir / f"model.ckpt-{step}.{DATA}", 50)
    before = names(job_dir)
    with pytest.raises(UserError, match="none of its 3 checkpoint.s. can be read.*--fresh="):
        quarantine.quarantine_corrupt(str(job_dir), print)
    assert names(job_dir) == before


@pytest.mark.parametrize("torn", ["", 'model_checkpoint_path: "mod'])
def test_a_corrupt_state_file_loses_no_checkpoint(job_dir, torn):
    (job_dir / "checkpoint").write_text(torn)
    said = []
    quarantine.quarantine_corrupt(str(job_dir), said.append)
    assert checkpoints.latest_checkpoint(str(job_dir)) == str(job_dir / "model.ckpt-30")
    assert (
        "names the newest checkpoint is corrupt or missing; resuming from model.ckpt-30" in said[0]
    )


@pytest.mark.parametrize("path", ["{}/model.ckpt-10", "../other/model.ckpt-10"])
def test_training_leaves_checkpoints_of_another_folder_alone(job_dir, tmp_path, path):
    other = tmp_path / "other"
    shutil.copytree(job_dir, other)
    state = "".join(
        f'{field}: "{path.replace("-10", f"-{step}").format(other)}"\n'
        for field, step in (
            ("model_checkpoint_path", 20),
            ("all_model_checkpoint_paths", 10),
            ("all_model_checkpoint_paths", 20),
        )
    )
    (job_dir / "checkpoint").write_text(state)
    before, said = names(other), []
    quarantine.forget_outside(str(job_dir), said.append)
    assert "left alone; resuming from model.ckpt-20" in said[0]
    latest = checkpoints.latest_checkpoint(str(job_dir))
    assert latest == str(job_dir / "model.ckpt-20")
    # What an Estimator does when it resumes and saves.
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.train.get_or_create_global_step()
        saver = tf.compat.v1.train.Saver(max_to_keep=1)
        state = tf.train.get_checkpoint_state(str(job_dir))
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        saver.save(session, str(job_dir / "model.ckpt"), global_step=40)
    assert names(other) == before
    quarantine.forget_outside(str(job_dir), said.append)
    assert len(said) == 1


def test_checkpoints_of_another_folder_alone_are_refused(tmp_path, job_dir):
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "checkpoint").write_text(f'model_checkpoint_path: "{job_dir}/model.ckpt-30"\n')
    with pytest.raises(UserError, match="names checkpoints in another folder"):
        quarantine.forget_outside(str(folder), print)


def test_a_checkpoint_that_is_too_short_is_described(job_dir):
    _cut(job_dir / f"model.ckpt-30.{DATA}", 12_000)
    fault = checkpoints.find_corruption(str(job_dir / "model.ckpt-30"))
    assert fault == "12,000 bytes instead of at least 12,017"


def _save(folder, rows):
    """Saves one variable in three parts, one in bfloat16 and a text; returns the checkpoint."""
    folder.mkdir(exist_ok=True)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        parts = tf.compat.v1.fixed_size_partitioner(3)
        tf.compat.v1.get_variable("table", initializer=tf.constant(rows), partitioner=parts)
        tf.compat.v1.get_variable("half", initializer=tf.ones([300], tf.bfloat16))
        tf.compat.v1.get_variable("words", initializer=tf.constant(["a", "bc"]))
        tf.compat.v1.train.get_or_create_global_step()
        session.run(tf.compat.v1.global_variables_initializer())
        saver = tf.compat.v1.train.Saver(sharded=True)
        return saver.save(session, str(folder / "model.ckpt"), global_step=10)


def test_every_block_of_every_part_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_index, "BLOCK_BYTES", 1024)
    rows = np.zeros([1000, 4], np.float32)
    assert checkpoints.find_corruption(_save(tmp_path / "good", rows)) is None
    rows[999, 3] = np.nan
    assert checkpoints.find_corruption(_save(tmp_path / "nan", rows)) == "table is NaN"


def test_each_damaged_byte_of_a_checkpoint_is_found(tmp_path):
    rows = np.ones([20, 4], np.float32)
    checkpoint = _save(tmp_path, rows)
    for ending, every in ((DATA, 7), (INDEX, 3)):
        path = Path(f"{checkpoint}.{ending}")
        content = path.read_bytes()
        for place in range(0, len(content), every):
            damaged = bytearray(content)
            damaged[place] ^= 0xFF
            path.write_bytes(damaged)
            fault = checkpoints.find_corruption(checkpoint)
            if fault is None and ending == INDEX:
                # Nothing reads the block of metadata, nor what fills the footer.
                assert (tf.train.load_variable(checkpoint, "table") == rows).all()
            else:
                assert fault and len(fault) <= 80, (ending, place)
        path.write_bytes(content)
    assert checkpoints.find_corruption(checkpoint) is None


def test_a_variable_is_checked_without_being_held_in_memory(tmp_path):
    data = tmp_path / "v.data"
    data.write_bytes(bytes(64 << 20))
    value = checkpoint_index.Value("v", tf.float32, 0, 0, 64 << 20, crc=0)
    tracemalloc.start()
    assert checkpoint_index.find_fault(value, data) == "the checksum of v is wrong"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * checkpoint_index.BLOCK_BYTES
