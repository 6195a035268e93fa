"""Shims that no use of an Estimator's public name meets."""

# ruff: noqa: UP005

import unittest

import numpy as np
import pytest

from estimator_bridge import tf
from estimator_bridge.shims import test_case

pytestmark = pytest.mark.versions


def test_old_assertions_of_tensorflows_test_case():
    class Case(tf.test.TestCase):
        def runTest(self):
            self.assertEquals(1, 1)
            self.assertAlmostEquals(1.0, 1.0 + 1e-9)
            self.assertRegexpMatches("abc", "b")
            self.assertNotEquals(1, 2)
            with self.assertRaisesRegexp(ValueError, "bad"):
                raise ValueError("bad")
            with self.assertRaises(self.failureException):
                self.assertEquals(1, 2)

    result = unittest.TestResult()
    Case().run(result)
    assert result.wasSuccessful(), result.failures + result.errors


def test_restored_assertions_call_overridden_methods():
    class Case:
        def assertEqual(self, first, second):
            return ("own", first, second)

    test_case.restore(Case)
    assert Case().assertEquals(1, 2) == ("own", 1, 2)


def read_batches(folder, steps, seen, **options):
    """Trains a model that only counts steps, and notes what each step has read."""

    class Note(tf.estimator.SessionRunHook):
        def before_run(self, run_context):
            return tf.estimator.SessionRunArgs("seen:0")

        def after_run(self, run_context, run_values):
            seen.append(run_values.results.tolist())

    def model_fn(features, labels, mode):
        tf.identity(features, name="seen")
        step = tf.compat.v1.train.get_global_step()
        weight = tf.compat.v1.get_variable("weight", [])
        return tf.estimator.EstimatorSpec(
            mode, loss=weight, train_op=tf.compat.v1.assign_add(step, 1)
        )

    config = tf.estimator.RunConfig(save_checkpoints_steps=2)
    model = tf.estimator.Estimator(model_fn, str(folder), config)
    hook = tf.data.experimental.CheckpointInputPipelineHook(model, **options)
    model.train(
        lambda: tf.data.Dataset.range(100).shuffle(50, seed=3).batch(2),
        hooks=[Note(), hook],
        steps=steps,
    )


def test_a_resumed_pipeline_reads_on(tmp_path):
    at_once, in_two = [], []
    read_batches(tmp_path / "one", 9, at_once)
    read_batches(tmp_path / "two", 4, in_two)
    read_batches(tmp_path / "two", 5, in_two)
    assert in_two == at_once
    assert len(np.unique(at_once)) == 18
    assert (tmp_path / "two" / "checkpoint_input").exists()
    assert (tmp_path / "two" / "input.ckpt-9.index").exists()


def test_the_policy_for_state_outside_the_pipeline(tmp_path):
    read_batches(tmp_path, 1, [], external_state_policy="warn")
    with pytest.raises(ValueError, match="perhaps"):
        read_batches(tmp_path, 1, [], external_state_policy="perhaps")
