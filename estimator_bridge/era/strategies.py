"""What `tf.distribute` had until TensorFlow 2.3."""

import functools
import sys
import types
from typing import Any

from ..process.importing import call_when_imported

__all__ = ["PARAMETER_SERVER", "REPLACED_IN", "allow_parameter_servers", "restore"]

# From 2.4 on, ParameterServerStrategy needs a coordinator, and Estimators cannot use it.
REPLACED_IN = (2, 4)
# Its name below `tensorflow`; the earlier class is there below `tensorflow.compat.v1`.
PARAMETER_SERVER = "distribute.experimental.ParameterServerStrategy"

_RUN_CONFIG = "tensorflow_estimator.python.estimator.run_config"


def restore(tf: types.ModuleType) -> None:
    """Gives strategies their old methods, and options of datasets the switch `auto_shard`.

    Args:
      tf: TensorFlow.
    """
    for strategy in (tf.distribute.Strategy, tf.compat.v1.distribute.Strategy):
        strategy.experimental_run_v2 = _experimental_run_v2
    tf.distribute.Strategy.experimental_make_numpy_dataset = _experimental_make_numpy_dataset
    policy = tf.data.experimental.AutoShardPolicy
    tf.data.experimental.DistributeOptions.auto_shard = property(
        lambda options: options.auto_shard_policy != policy.OFF,
        functools.partial(_set_auto_shard, policy),
        doc="Whether datasets are sharded; from 2.1 on, auto_shard_policy.",
    )


def allow_parameter_servers() -> None:
    """Lets Estimators train with a strategy that has the name of today's class, as until 2.3."""

    def allow() -> None:
        config = sys.modules[_RUN_CONFIG].RunConfig
        config._verify_strategy_compatibility = lambda self, train_distribute, eval_distribute: None

    call_when_imported(_RUN_CONFIG, allow)


def _experimental_run_v2(self, fn, args=(), kwargs=None):
    """Runs a function on each replica: the name of `run` until TensorFlow 2.1."""
    return self.run(fn, args, kwargs)


def _experimental_make_numpy_dataset(self, numpy_input):
    """Makes a tf.data.Dataset of arrays, whose elements are their rows."""
    return self.extended.experimental_make_numpy_dataset(numpy_input, session=None)


def _set_auto_shard(policy: Any, options: Any, shards: bool) -> None:
    options.auto_shard_policy = policy.AUTO if shards else policy.OFF
