"""Chooses the engine that trains and evaluates a model."""

from typing import NamedTuple, Optional

from trainer import config as config_lib
from trainer.environment.cluster_spec import ALONE, Cluster
from trainer.errors import UserError
from trainer.features.columns import build_feature_columns
from trainer.models.fused.exchanging import Exchange
from trainer.models.fused.model import IN_STEP, SERVED, unsupported_reason
from trainer.models.fused.sharing import Servers
from trainer.schema import Schema, Statistics


class Engine(NamedTuple):
    """An engine.

    Attributes:
        name: fused or canned.
        reason: why the engine is not fused; None if it is fused, or if the configuration requires
            canned.
        exchange: connections to the other processes that train in step; None without them.
        servers: connections to parameter servers; None without them.
    """

    name: str
    reason: Optional[str] = None
    exchange: Optional[Exchange] = None
    servers: Optional[Servers] = None

    @property
    def is_fused(self) -> bool:
        """Whether it accepts encoded rows, and several steps in one run of the session."""
        return self.name == "fused"


def choose_engine(
    config: config_lib.Config,
    schema: Schema,
    statistics: Statistics,
    cluster: Cluster = ALONE,
    replicas: int = 1,
) -> Engine:
    """Returns the engine of a job.

    It is the value of model.engine. For auto, it is fused if that engine supports the model, and
    canned otherwise.

    Args:
        config: model, cluster.strategy and train.bfloat16.
        schema: columns, label, weight and key.
        statistics: of the training data.
        cluster: the processes that train together.
        replicas: number of devices of each process.

    Raises:
        UserError: model.engine is fused, or an option needs the fused engine, which does not
            support the model.
    """
    engine = _choose(config, schema, statistics, cluster, replicas)
    if config.train.bfloat16 and not engine.is_fused:
        reason = engine.reason or "model.engine canned"
        raise UserError(
            f"train.bfloat16: only the fused engine has it, which does not cover {reason}; leave "
            "the option out"
        )
    if schema.growing and not engine.is_fused:
        reason = engine.reason or "model.engine canned"
        raise UserError(
            f"columns.{schema.growing[0]}.growing: only the fused engine has it, which does not "
            f"cover {reason}; use hash_buckets"
        )
    return engine


def _choose(
    config: config_lib.Config,
    schema: Schema,
    statistics: Statistics,
    cluster: Cluster,
    replicas: int,
) -> Engine:
    if config.model.engine == "canned":
        return Engine("canned")
    strategy = config.cluster.strategy
    reason: Optional[str]
    if cluster.is_distributed and strategy not in (IN_STEP, SERVED):
        reason = f"parameter servers under cluster.strategy {strategy}, only under {SERVED}"
    elif cluster.is_distributed and schema.growing:
        reason = "several processes with growing columns"
    elif replicas > 1 and strategy == IN_STEP:
        reason = f"{replicas} devices in a process"
    else:
        columns = build_feature_columns(schema, statistics)
        reason = unsupported_reason(config.model, strategy, schema, columns, statistics)
    if reason is None:
        return Engine("fused")
    if config.model.engine == "fused":
        raise UserError(
            f"model.engine fused: it does not support {reason}; choose auto, which then trains the "
            "canned model"
        )
    return Engine("canned", reason)
