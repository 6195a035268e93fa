"""Describes the plan of a job in one log line."""

from estimator_bridge.output.terminal import format_secs
from estimator_bridge.processor import has_bfloat16
from trainer import config as config_lib
from trainer.training.plan import JobPlan


def describe_plan(plan: JobPlan) -> str:
    """Returns one line: start, end, checkpoints, evaluations, engine and source of the rows.

    Args:
        plan: plan of the job.
    """
    config, target, first = plan.job.config, plan.job.max_steps, plan.run.first
    reason = plan.run.monitor.early_stop.reason
    if plan.run.is_finished:
        why = f"stopped early ({reason})" if reason else f"the target is {target:,}"
        return f"plan: nothing to train: {config.job_dir} is at step {first:,} and {why}"
    if config.run.checkpoint_secs is None:
        every = f"every {config.run.save_checkpoints_steps:,} steps"
    else:
        every = f"every {format_secs(config.run.checkpoint_secs)}"
    if config.run.checkpoint_at_steps:
        every += f", at steps {', '.join(map(str, config.run.checkpoint_at_steps))},"
    start = "starting at step 0"
    if plan.run.checkpoint:
        start = f"resuming at step {first:,} from {plan.run.checkpoint}"
    throttle = (
        f", at most every {format_secs(config.eval.throttle_secs)}"
        if config.eval.throttle_secs
        else ""
    )
    patience = config.stop.patience_evals
    early = f", or after {patience} evaluations without a better result" if patience else ""
    return (
        f"plan: {start}, stopping at step {target:,}{early}; a checkpoint {every} and at the end; "
        f"an evaluation after each checkpoint{throttle} and always at the end"
        f"{_describe_engine(plan)}; rows from {plan.sources[0].describe()}"
    )


def _describe_engine(plan: JobPlan) -> str:
    """Returns the engine's part of the line; "" if the canned engine was requested."""
    engine, lengths = plan.engine, plan.lengths
    if engine.is_fused:
        together = f", up to {lengths.most} steps in a session run" if lengths else ""
        return f"; engine fused{together}{_describe_precision(plan.job.config.train)}"
    return f"; engine canned, as fused does not cover {engine.reason}" if engine.reason else ""


def _describe_precision(train: config_lib.TrainConfig) -> str:
    if not train.bfloat16:
        return ""
    if has_bfloat16():
        return ", hidden layers in bfloat16"
    return ", hidden layers in float32, as this processor has no AVX512_BF16 and no AMX"
