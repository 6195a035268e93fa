"""A logistic regression on parameter servers, launched with a TF_CONFIG for each process."""
from __future__ import absolute_import, division, print_function

import argparse
import json
import os

import numpy as np
import tensorflow as tf
from tensorflow.contrib.training import GreedyLoadBalancingStrategy, byte_size_load_fn
from tensorflow.python.estimator import run_config as run_config_lib
from tensorflow.python.training import basic_session_run_hooks, session_run_hook

NUM_FEATURES = 20


class StepsPerWorkerHook(session_run_hook.SessionRunHook):
    """Counts the steps of this worker."""

    def __init__(self, name):
        self._name = name
        self._timer = basic_session_run_hooks.SecondOrStepTimer(every_steps=100)
        self._steps = 0

    def before_run(self, run_context):
        return tf.train.SessionRunArgs(tf.train.get_global_step())

    def after_run(self, run_context, run_values):
        self._steps += 1
        if self._timer.should_trigger_for_step(run_values.results):
            self._timer.update_last_triggered_step(run_values.results)
            tf.logging.info('%s at global step %d', self._name, run_values.results)

    def end(self, session):
        print('{} ran {} steps'.format(self._name, self._steps))


def get_session_config_from_env_var():
    tf_config = json.loads(os.environ.get('TF_CONFIG', '{}'))
    task = tf_config.get('task', {})
    if 'type' in task and 'index' in task:
        if task['type'] == 'master':
            return tf.ConfigProto(device_filters=['/job:ps', '/job:master'])
        elif task['type'] == 'worker':
            return tf.ConfigProto(device_filters=['/job:ps', '/job:worker/task:%d' % task['index']])
    return None


def input_fn(rows, seed, batch_size, num_epochs=None):
    rng = np.random.RandomState(seed)
    x = rng.normal(size=[rows, NUM_FEATURES]).astype(np.float32)
    y = (x[:, 0] - 2 * x[:, 1] + x[:, 2] * 0.5 > 0).astype(np.float32)
    return tf.estimator.inputs.numpy_input_fn(
        {'x': x}, y[:, np.newaxis], batch_size=batch_size, num_epochs=num_epochs, shuffle=num_epochs is None)


def model_fn(features, labels, mode, params, config):
    partitioner = tf.min_max_variable_partitioner(max_partitions=config.num_ps_replicas or 1, min_slice_size=32)
    with tf.variable_scope('linear', values=features.values(), partitioner=partitioner):
        weights = tf.get_variable('weights', [NUM_FEATURES, 1], initializer=tf.zeros_initializer())
        bias = tf.get_variable('bias', [1], initializer=tf.zeros_initializer(), partitioner=None)
        logits = tf.nn.xw_plus_b(features['x'], tf.convert_to_tensor(weights), bias)
    probabilities = tf.sigmoid(logits)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={'p': probabilities})
    loss = tf.losses.sigmoid_cross_entropy(labels, logits)
    metrics = {'auc': tf.metrics.auc(labels, probabilities)}
    optimizer = tf.train.FtrlOptimizer(params.learning_rate, l1_regularization_strength=0.001)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--job-dir', required=True)
    parser.add_argument('--train-steps', type=int, default=400)
    parser.add_argument('--learning-rate', type=float, default=0.1)
    args = parser.parse_args()
    tf.logging.set_verbosity(tf.logging.INFO)

    tf_config = json.loads(os.environ.get('TF_CONFIG', '{}'))
    cluster, task = tf_config.get('cluster', {}), tf_config.get('task', {})
    num_ps = len(cluster.get('ps', []))
    device_fn = None
    if num_ps:
        device_fn = tf.train.replica_device_setter(
            ps_tasks=num_ps, worker_device='/job:{type}/task:{index}'.format(**task), cluster=cluster,
            ps_strategy=GreedyLoadBalancingStrategy(num_ps, byte_size_load_fn))
    config = run_config_lib.RunConfig(
        model_dir=args.job_dir, save_checkpoints_steps=200, session_config=get_session_config_from_env_var(),
        device_fn=device_fn)
    name = '{} {}'.format(config.task_type, config.task_id)
    tf.logging.info('I am %s, is_chief=%s', name, config.is_chief)
    estimator = tf.estimator.Estimator(
        model_fn, params=tf.contrib.training.HParams(learning_rate=args.learning_rate), config=config)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(input_fn(2000, 1, 50), max_steps=args.train_steps, hooks=[StepsPerWorkerHook(name)]),
        tf.estimator.EvalSpec(input_fn(500, 2, 100, num_epochs=1), steps=None, start_delay_secs=0, throttle_secs=0))


if __name__ == '__main__':
    main()
