"""The line that says what a job is about to do."""

from typing import Any

from trainer.training.hooks import format_secs


def describe_plan(plan: Any) -> str:
    """One line: where it starts and stops, how often it will checkpoint and evaluate, and how.

    Args:
        plan: a trainer.training.run.Plan.
    """
    config, target, first = plan.job.config, plan.job.max_steps, plan.first
    reason = plan.early_stop.reason
    if first >= target or reason:
        why = f"stopped early ({reason})" if reason else f"the target is {target:,}"
        return f"plan: nothing to train: {config.job_dir} is at step {first:,} and {why}"
    if config.run.checkpoint_secs is None:
        every = f"every {config.run.save_checkpoints_steps:,} steps"
    else:
        every = f"every {format_secs(config.run.checkpoint_secs)}"
    start = "starting at step 0"
    if plan.checkpoint:
        start = f"resuming at step {first:,} from {plan.checkpoint}"
    throttle = (
        f", at most every {format_secs(config.eval.throttle_secs)}"
        if config.eval.throttle_secs
        else ""
    )
    return (
        f"plan: {start}, stopping at step {target:,}; a checkpoint {every} and at the end; "
        f"an evaluation after each checkpoint{throttle} and always at the end"
        f"{_describe_engine(plan)}; rows from {plan.sources[0].describe()}"
    )


def _describe_engine(plan: Any) -> str:
    """What the plan says of the engine: nothing of a canned one that was asked for."""
    engine, lengths = plan.engine, plan.lengths
    if engine.is_fused:
        together = f", up to {lengths.most} steps in a session run" if lengths else ""
        return f"; engine fused{together}"
    return f"; engine canned, as fused does not cover {engine.reason}" if engine.reason else ""
