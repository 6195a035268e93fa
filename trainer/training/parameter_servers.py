"""What a parameter server of a job does with the fused engine."""

from typing import Any

from estimator_bridge import tf
from trainer import config as config_lib
from trainer.cluster.run_config import build_run_config
from trainer.environment.cluster_spec import Cluster
from trainer.errors import UserError
from trainer.models.fused.model import SERVED
from trainer.models.fused.served import SERVED_STEP
from trainer.models.fused.service import ParameterService


def may_serve(config: config_lib.Config) -> bool:
    """Returns whether the chief may choose the fused engine, so that a server must wait for it.

    Args:
        config: contains cluster.strategy.
    """
    return config.cluster.strategy == SERVED


def build_service(config: config_lib.Config, cluster: Cluster) -> ParameterService:
    """Returns what answers the messages of the processes that train.

    Args:
        config: threads.
        cluster: the cluster; this process is one of its parameter servers.
    """
    session_config = build_run_config(config).session_config
    return ParameterService(cluster.index, len(cluster.spec["ps"]), session_config)


def find_served_step() -> Any:
    """Returns the global step of the servers in the current graph, a tensor.

    Its reading also sets the global step of this process.
    """
    (step,) = tf.compat.v1.get_collection(SERVED_STEP)
    return step


def check_has_variables(error: Any) -> None:
    """Checks whether an operation has failed because it reads a variable of this process.

    Args:
        error: with which a run of the session has failed, a tf.errors.OpError.

    Raises:
        UserError: it has; only the parameter servers have the variables.
    """
    is_failed = isinstance(error, tf.errors.FailedPreconditionError)
    if is_failed and "Could not find variable" in error.message:
        raise UserError(
            "train.hooks: a hook reads a variable, but with the fused engine only the parameter "
            "servers have variables; set --model.engine=canned"
        ) from error
