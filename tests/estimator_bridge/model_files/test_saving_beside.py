"""A Saver that writes beside training: the same files, at any time safe, errors that are told."""

import filecmp
import os
import signal
import sys
import textwrap
import threading

import forked
import numpy as np
import pytest

from estimator_bridge import tf
from estimator_bridge.model_files import durable, saving_beside
from estimator_bridge.model_files.saving_beside import SaverBeside, wait_for_checkpoints


class _Model:
    """A variable that each step increments, with a Saver beside and a plain one."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            weights = tf.compat.v1.get_variable("w", initializer=tf.range(6.0), use_resource=True)
            value = weights.read_value()
            self.step = weights.assign_add(tf.ones(6))
            with tf.device("/cpu:0"):
                self.plain = tf.compat.v1.train.Saver({"w": weights}, max_to_keep=2)
            definition = self.plain.as_saver_def()
            self.beside = SaverBeside(["w"], [value], saver_def=definition)
            self.session = tf.compat.v1.Session()
            self.session.run(tf.compat.v1.global_variables_initializer())


@pytest.fixture
def model():
    made = _Model()
    with made.graph.as_default():
        yield made
        wait_for_checkpoints()
    made.session.close()


@pytest.fixture
def goes_on(monkeypatch):
    """Checkpoints are written once this event is set."""
    write, event = saving_beside._Writer.write, threading.Event()

    def write_late(*args):
        assert event.wait(60)
        write(*args)

    monkeypatch.setattr(saving_beside._Writer, "write", write_late)
    return event


def _read(folder, step):
    return tf.train.load_variable(str(folder / f"model.ckpt-{step}"), "w")


def test_the_files_are_those_of_the_plain_saver(model, tmp_path):
    folders = {"beside": tmp_path / "beside", "plain": tmp_path / "plain"}
    for name, folder in folders.items():
        folder.mkdir()
        for step in range(4):
            saver = getattr(model, name)
            path = saver.save(model.session, str(folder / "model.ckpt"), global_step=step)
            assert path == str(folder / f"model.ckpt-{step}")
        wait_for_checkpoints()
    found = [sorted(path.name for path in folder.iterdir()) for folder in folders.values()]
    # The last two.
    assert found[0] == found[1] and "model.ckpt-2.index" in found[0] and len(found[0]) == 7
    same, others, errors = filecmp.cmpfiles(*folders.values(), found[0], shallow=False)
    assert (len(same), errors) == (len(found[0]) - len(others), [])
    assert set(others) <= {"checkpoint"}


def test_steps_go_on_while_a_checkpoint_is_written(model, tmp_path, goes_on):
    model.beside.save(model.session, str(tmp_path / "model.ckpt"), global_step=0)
    for _ in range(3):
        model.session.run(model.step)
    assert tf.train.latest_checkpoint(str(tmp_path)) is None
    goes_on.set()
    wait_for_checkpoints()
    # The values are those of the time of saving.
    np.testing.assert_array_equal(_read(tmp_path, 0), np.arange(6))
    # One checkpoint at a time, in order.
    for step in (1, 2):
        model.beside.save(model.session, str(tmp_path / "model.ckpt"), global_step=step)
        model.session.run(model.step)
    wait_for_checkpoints()
    assert [_read(tmp_path, step)[0] for step in (1, 2)] == [3, 4]
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-2")


def test_every_thread_waits_until_a_checkpoint_is_written(model, tmp_path, goes_on):
    model.beside.save(model.session, str(tmp_path / "model.ckpt"), global_step=0)
    found = []

    def read():
        wait_for_checkpoints()
        found.append(tf.train.latest_checkpoint(str(tmp_path)))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    readers[1].join(0.2)
    assert found == []
    goes_on.set()
    for reader in readers:
        reader.join(60)
    assert found == [str(tmp_path / "model.ckpt-0")] * 2


def test_an_error_is_raised_by_the_next_save_or_wait(model, tmp_path):
    def refuse():
        raise ValueError("another process has taken over")

    path = str(tmp_path / "model.ckpt")
    with durable.guarded(str(tmp_path), refuse):
        model.beside.save(model.session, path, global_step=0)
        with pytest.raises(ValueError, match="taken over"):
            wait_for_checkpoints()
        model.beside.save(model.session, path, global_step=1)
        with pytest.raises(ValueError, match="taken over"):
            model.beside.save(model.session, path, global_step=2)
    assert not (tmp_path / "checkpoint").exists()

    def exceed():
        raise tf.errors.OutOfRangeError(None, None, "model.ckpt; File too large")

    # A session takes TensorFlow's error of a file that is too large for the end of its input.
    with durable.guarded(str(tmp_path), exceed):
        model.beside.save(model.session, path, global_step=2)
        with pytest.raises(OSError, match="File too large"):
            wait_for_checkpoints()
    model.beside.save(model.session, path, global_step=3)
    wait_for_checkpoints()
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-3")


@pytest.mark.parametrize("moment", ["before the files", "before the state file"])
def test_a_program_killed_while_it_writes_loses_only_that_checkpoint(tmp_path, moment):
    program = f"""
        import os, sys, threading
        sys.path.insert(0, {str(os.path.dirname(__file__))!r})
        from estimator_bridge.model_files import durable, saving_beside
        from test_saving_beside import _Model

        model, path = _Model(), os.path.join(sys.argv[1], "model.ckpt")
        model.graph.as_default().__enter__()
        model.beside.save(model.session, path, global_step=1)
        saving_beside.wait_for_checkpoints()
        reached = threading.Event()

        def stop(*args):
            reached.set()
            threading.Event().wait()

        if sys.argv[2] == "before the files":
            saving_beside._Writer.write = stop
        else:
            durable._check = stop
        model.session.run(model.step)
        model.beside.save(model.session, path, global_step=2)
        model.session.run(model.step)
        reached.wait()
        os.kill(os.getpid(), 9)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path), moment]
    done = forked.run(command, preload="trainer")
    assert done.returncode == -signal.SIGKILL
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-1")
    np.testing.assert_array_equal(_read(tmp_path, 1), np.arange(6))
