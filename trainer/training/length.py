"""Chooses the length of a job, and what a job without a given length has by default."""

from trainer import config as config_lib
from trainer.console import Console
from trainer.models.linear_start import find_obstacle
from trainer.schema import Schema

# Evaluations of such a short job at equal intervals, and how many without an improvement end it.
EVALUATIONS, PATIENCE = 20, 10
# Further steps with an evaluation, if the job reads each row more often than MANY_EPOCHS.
FIRST_STEPS = (10, 20, 40, 60, 80)


def count_steps(config: config_lib.Config, num_rows: int, batches: int, console: Console) -> int:
    """Returns the number of steps of a whole job, and logs it.

    Args:
        config: the resolved configuration.
        num_rows: number of training rows.
        batches: number of batches that one step reads.
        console: logs the length.
    """
    train = config.train
    together = f" x {batches} replicas" if batches > 1 else ""
    steps = config.plan_steps(num_rows, batches)
    if train.max_steps is not None:
        epochs = train.count_rows(train.max_steps) * batches / num_rows
        console.log(
            f"length: {train.max_steps:,} steps of {_name_sizes(train, train.max_steps)} rows"
            f"{together} = {epochs:.2f} epochs"
        )
        return steps
    if config.has_planned_trees:
        console.log(
            f"length: {config.model.n_trees:,} trees x {config.model.max_depth} layers x "
            f"{config.count_batches_per_layer(num_rows):,} batches of {train.batch_size} rows = "
            f"{steps:,} steps"
        )
        return steps
    one_epoch = train.count_steps(num_rows / batches)
    if train.epochs is None and one_epoch < steps:
        epochs = train.count_rows(steps) * batches / num_rows
        console.log(
            f"length: {steps:,} steps of {_name_sizes(train, steps)} rows{together} = "
            f"{epochs:.1f} epochs, since one epoch would be {one_epoch:,} steps; --epochs or "
            "--max_steps sets another length"
        )
        return steps
    console.log(
        f"length: {train.epochs or 1:g} epoch(s) x {num_rows:,} rows / "
        f"{_name_sizes(train, steps)} rows{together} a step = {steps:,} steps"
    )
    return steps


def complete_schedule(
    config: config_lib.Config,
    schema: Schema,
    max_steps: int,
    num_rows: float,
    *,
    console: Console,
    is_alone: bool,
) -> config_lib.Config:
    """Sets what a job with the default of MIN_STEPS has besides this length.

    Without its evaluations, a short job would have only one, at its end. They show when overfitting
    begins, which ends the job, and the best of them is exported.

    Args:
        config: the resolved configuration.
        schema: columns and labels.
        max_steps: number of steps of the job.
        num_rows: number of training rows of each replica.
        console: logs what few rows change.
        is_alone: whether one process trains.
    """
    train, run, stop = config.train, config.run, config.stop
    is_given = (train.max_steps, train.epochs) != (None, None)
    if is_given or (max_steps > config_lib.MIN_STEPS and not config.has_planned_trees):
        return config
    train = train.model_copy(update={"max_steps": max_steps})
    epochs = train.count_rows(max_steps) / num_rows
    if (run.save_checkpoints_steps, run.save_checkpoints_secs) == (None, None):
        run = run.model_copy(update={"save_checkpoints_steps": -(-max_steps // EVALUATIONS)})
        if not config.has_planned_trees:
            run = _add_first_steps(run, epochs, is_alone)
            if stop.patience_evals is None:
                stop = stop.model_copy(update={"patience_evals": PATIENCE})
    config = config.model_copy(update={"train": train, "run": run, "stop": stop})
    return _prepare_for_few_rows(config, schema, epochs, console, is_alone)


def _add_first_steps(
    run: config_lib.RunConfig, epochs: float, is_alone: bool
) -> config_lib.RunConfig:
    """Sets evaluations before the first interval ends, where a model may overfit within it."""
    is_given = "checkpoint_at_steps" in run.model_fields_set
    if is_given or epochs <= config_lib.MANY_EPOCHS or not is_alone:
        return run
    return run.model_copy(update={"checkpoint_at_steps": FIRST_STEPS})


def _prepare_for_few_rows(
    config: config_lib.Config, schema: Schema, epochs: float, console: Console, is_alone: bool
) -> config_lib.Config:
    """Sets dropout and the linear start.

    A model that reads few rows again and again learns them by heart, unless units are dropped.
    With still fewer rows, it does so before its linear part has learned what they tell.
    """
    train, model = config.train, config.model
    is_network = model.type in ("dnn", "wide_deep") and "dropout" not in model.model_fields_set
    if is_network and epochs > config_lib.MANY_EPOCHS:
        model = model.model_copy(update={"dropout": config_lib.MANY_EPOCHS_DROPOUT})
        console.log(
            f"dropout: {model.dropout}, since each row is read {epochs:,.0f} times; --dropout sets "
            "another"
        )
    if epochs > config_lib.LINEAR_START_EPOCHS and "linear_start" not in train.model_fields_set:
        can_start = is_alone and find_obstacle(config, schema) is None
        train = train.model_copy(update={"linear_start": can_start})
    return config.model_copy(update={"train": train, "model": model})


def _name_sizes(train: config_lib.TrainConfig, steps: int) -> str:
    """Returns the batch sizes of the first `steps` steps, for the log."""
    grown = zip(train.batch_growth_steps, train.batch_growth_sizes)
    sizes = [train.batch_size, *(size for start, size in grown if start < steps)]
    return " then ".join(map(str, dict.fromkeys(sizes)))
