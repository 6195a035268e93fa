"""Checkpoints are saved at the steps of TensorFlow's hook, with fewer reads of the global step."""

import glob
import re

import pytest
import tensorflow.compat.v1 as tf

import estimator_bridge
from estimator_bridge.private_tf import basic_session_run_hooks

estimator_bridge.install()


def train(folder, advances, every, *, given=None):
    """Advances the global step by each number.

    Returns the steps of the checkpoints, the number of reads, and the hook's steps of a run.
    """
    reads = []
    with tf.Graph().as_default():
        step = tf.train.get_or_create_global_step()
        number = tf.placeholder(tf.int64, [])
        advance = tf.assign_add(step, number)
        hook = tf.train.CheckpointSaverHook(
            str(folder), save_steps=every, saver=tf.train.Saver(max_to_keep=None)
        )
        if given is not None:
            hook._set_steps_per_run(given)
        with tf.train.SingularMonitoredSession([hook]) as session:
            read = session.raw_session().run

            def count(fetches, *args, **kwargs):
                reads.append(fetches is hook._global_step_tensor)
                return read(fetches, *args, **kwargs)

            session.raw_session().run = count
            for each in advances:
                session.run(advance, {number: each})
    names = glob.glob(f"{folder}/*.index")
    steps = sorted(int(re.findall(r"-(\d+)\.", name)[0]) for name in names)
    return steps, sum(reads), hook._steps_per_run


@pytest.mark.parametrize(
    ("advances", "every"), [([1] * 200, 50), ([7] * 100, 200), ([7] * 50 + [3] * 100, 200)]
)
def test_the_steps_are_tensorflows_with_few_reads(tmp_path, monkeypatch, advances, every):
    found, reads, _ = train(tmp_path / "bridge", advances, every)
    hook = basic_session_run_hooks.CheckpointSaverHook
    monkeypatch.setattr(hook, "after_run", hook.after_run.__wrapped__)
    expected, all_reads, _ = train(tmp_path / "tensorflow", advances, every)
    assert found == expected
    assert all_reads > len(advances) and reads < len(advances) / 2


def test_a_program_that_changes_the_length_of_its_loop_gets_the_reads_back(tmp_path):
    found, reads, _ = train(tmp_path, [1] * 20 + [100] * 20, 1000)
    # The runs of 100 steps are not expected until the first of them has been seen.
    assert found == [0, 1020, 2020]
    assert 20 + 8 <= reads < 40


def test_a_number_of_steps_that_the_program_gives_is_kept(tmp_path):
    found, _, steps_per_run = train(tmp_path, [1] * 40, 10, given=1)
    assert found == [0, 10, 20, 30, 40]
    assert steps_per_run == 1
