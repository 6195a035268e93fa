"""Folders of checkpoints whose names look like patterns."""

import pytest

from estimator_bridge import tf
from estimator_bridge.model_files import checkpoints
from estimator_bridge.private_tf import estimator_early_stopping


def train(folder, steps, keep=1):
    """Trains a model of one step counter to a step; saves at each step, returns the first step."""
    with tf.Graph().as_default():
        step = tf.compat.v1.train.get_or_create_global_step()
        after = tf.compat.v1.assign_add(step, 1)
        saver = tf.compat.v1.train.Saver(max_to_keep=keep)
        with tf.compat.v1.train.MonitoredTrainingSession(
            checkpoint_dir=str(folder),
            scaffold=tf.compat.v1.train.Scaffold(saver=saver),
            save_checkpoint_steps=1,
        ) as session:
            first = session.run(step)
            while session.run(step) < steps:
                session.run(after)
    return first


def list_steps(folder):
    return sorted(checkpoints.find_paths(str(folder), checkpoints.STEM))


@pytest.mark.parametrize("name", ["units=[64,32]", "units=6*", r"units=\6", "units=6?"])
def test_a_job_resumes_and_deletes_only_its_own_checkpoints(tmp_path, name):
    other, job = tmp_path / "units=6", tmp_path / name
    train(other, 3, keep=5)
    kept = list_steps(other)
    assert train(job, 2) == 0
    assert train(job, 3) == 2
    assert list_steps(job) == [3]
    assert list_steps(other) == kept
    assert checkpoints.latest_checkpoint(str(job)) == str(job / "model.ckpt-3")


def test_a_relative_folder_that_is_made_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train("job[1]", 2)
    (tmp_path / "job[1]").rename("before")
    assert train("job[1]", 3) == 0
    assert tf.train.load_variable("job[1]", "global_step") == 3


def test_a_model_begins_with_the_values_of_such_a_folder(tmp_path):
    train(tmp_path / "job[1]", 2)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        step = tf.compat.v1.train.get_or_create_global_step()
        tf.compat.v1.train.init_from_checkpoint(str(tmp_path / "job[1]"), {"global_step": step})
        session.run(tf.compat.v1.global_variables_initializer())
        assert session.run(step) == 2


def write_loss(folder, loss):
    with tf.compat.v1.Graph().as_default():
        writer = tf.compat.v1.summary.FileWriter(str(folder))
        value = tf.compat.v1.Summary.Value(tag="loss", simple_value=loss)
        writer.add_summary(tf.compat.v1.Summary(value=[value]), 1)
        writer.close()


def test_evaluations_of_another_folder_are_not_read(tmp_path):
    write_loss(tmp_path / "job1" / "eval", 1.0)
    write_loss(tmp_path / "job[1]" / "eval", 2.0)
    found = estimator_early_stopping.read_eval_metrics(str(tmp_path / "job[1]" / "eval"))
    assert found == {1: {"loss": 2.0}}
    exporter = tf.estimator.BestExporter(serving_input_receiver_fn=lambda: None)
    pattern = str(tmp_path / "job[1]" / "eval" / "*.tfevents.*")
    assert exporter._get_best_eval_result(pattern) == {"loss": 2.0}
