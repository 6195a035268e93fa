"""Which engine trains and evaluates a model."""

from typing import Any, NamedTuple, Optional

from trainer import config as config_lib
from trainer.errors import UserError
from trainer.features.columns import build_feature_columns
from trainer.models.fused.model import unsupported_reason
from trainer.schema import Schema, Statistics


class Engine(NamedTuple):
    """What trains and evaluates a model.

    Attributes:
        name: fused or canned.
        reason: why it is not fused; None where it is, or where canned was asked for.
    """

    name: str
    reason: Optional[str] = None

    @property
    def is_fused(self) -> bool:
        """Whether it takes encoded rows, and several steps at once."""
        return self.name == "fused"


def choose_engine(
    config: config_lib.Config,
    schema: Schema,
    statistics: Statistics,
    run_config: Any,
    is_fresh: bool = False,
) -> Engine:
    """The engine of a job: as model.engine says, where auto is fused if that covers the model.

    Args:
        config, schema, statistics, run_config: as of build_estimator.
        is_fresh: whether training would start without a checkpoint.

    Raises:
        UserError: model.engine is fused and the fused engine does not cover the model.
    """
    if config.model.engine == "canned":
        return Engine("canned")
    if run_config.cluster_spec:
        reason = "several processes train"
    elif is_fresh and config.train.warm_start:
        reason = "train.warm_start"
    else:
        columns = build_feature_columns(schema, statistics)
        reason = unsupported_reason(config, schema, columns, statistics)
    if reason is None:
        return Engine("fused")
    if config.model.engine == "fused":
        raise UserError(
            f"model.engine fused: it does not cover {reason}; choose auto, which then trains the "
            "canned model"
        )
    return Engine("canned", reason)
