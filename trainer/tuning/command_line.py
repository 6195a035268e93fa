"""The flags of python -m trainer.tune."""

from typing import Optional

from absl import flags

from trainer import storage
from trainer.config.arguments import TASK_FLAGS_HINT, parse_flags, split_task_flags
from trainer.config.flags import CommandLine, parse_command_line
from trainer.errors import UserError
from trainer.tuning.study import PRUNERS, SAMPLERS, check_name

USAGE = """python -m trainer.tune: searches hyperparameters on this machine.

  python -m trainer.tune --study_dir=studies/census --tuning=census -- \\
      --hparams=census --train_data=train.csv --eval_data=eval.csv
  python -m trainer.tune --study_dir=studies/rate \\
      --search='learning_rate=log:1e-3..1' -- ...

Each trial is a short job of python -m trainer.task with the flags after --. The same command
continues a search that was stopped."""
DEFAULT_TRIALS = 20


def parse(argv: list[str]) -> Optional[tuple[flags.FlagValues, CommandLine]]:
    """Returns the checked flags, and those of trainer.task; None if they request only help.

    Args:
        argv: the arguments after the program's name.

    Raises:
        UserError: a flag is invalid or missing.
    """
    own, task_flags = split_task_flags(argv)
    values = parse_flags("trainer.tune", _define, own, USAGE, stray_hint=TASK_FLAGS_HINT)
    if values is None:
        return None
    if not values.study_dir:
        raise UserError("--study_dir: not given; name a folder for the search")
    if storage.is_remote(values.study_dir):
        raise UserError(
            f"--study_dir={values.study_dir}: a search needs a folder on this machine; copy it "
            "to the bucket afterwards"
        )
    if not task_flags:
        raise UserError("nothing after --; write -- and the flags of trainer.task")
    _check_numbers(values)
    command = parse_command_line(task_flags)
    if command is None:
        raise UserError("--help after --: python -m trainer.task --help lists these flags")
    if command.dry_run or command.reuse or command.fresh is not None:
        raise UserError("--dry_run, --reuse and --fresh: not for a search; remove them after --")
    check_name("pruner", values.pruner, PRUNERS)
    return values, command


def _define(values: flags.FlagValues) -> None:
    texts = {
        "study_dir": (None, "folder of the search: its trials, best.yaml, plots"),
        "tuning": (None, "search space: a name in hparams/tuning/ or a file"),
        "objectives": (None, "one metric of the evaluation, or two; unset: that of the space"),
        "rules": (None, "rules of trainer.gate; a trial that violates one is infeasible"),
        "baseline": (None, "export or job that the rules compare with"),
        "sampler": ("", f"{', '.join(SAMPLERS)}; unset: that of the space, else tpe"),
        "pruner": ("median", f"what ends a trial that falls behind: {', '.join(PRUNERS)}"),
    }
    for name, (default, described) in texts.items():
        flags.DEFINE_string(name, default, described, flag_values=values)
    flags.DEFINE_multi_string(
        "search", [], "a parameter: NAME=log:1e-4..1, NAME=int:1..8, NAME=A|B", flag_values=values
    )
    numbers = {
        "max_trials": (None, f"trials; unset: as in the space, else {DEFAULT_TRIALS}"),
        "parallel": (
            None,
            "trials at a time; unset: as in the space, at most one per core, else half the cores",
        ),
        "evaluations": (3, "evaluations of a trial"),
        "seed": (1, "seed of the sampler"),
    }
    for name, (count, described) in numbers.items():
        flags.DEFINE_integer(name, count, described, 0, flag_values=values)
    flags.DEFINE_float("max_hours", None, "hours of the whole search", flag_values=values)
    flags.DEFINE_float(
        "share", 0.2, "share of the full job's steps that a trial trains", flag_values=values
    )
    switches = {
        "keep_checkpoints": "whether pruned and failed trials keep their checkpoints",
        "then_train": "train fully with the best values, in --job_dir or STUDY_DIR/full",
        "warm_start": "whether that job starts from the best trial's checkpoint",
    }
    for name, described in switches.items():
        flags.DEFINE_boolean(name, False, described, flag_values=values)


def _check_numbers(values: flags.FlagValues) -> None:
    for name in ("max_trials", "parallel", "evaluations"):
        if values[name].value == 0:
            raise UserError(f"--{name}=0: give a number from 1")
    if not 0 < values.share <= 1:
        raise UserError(f"--share={values.share:g}: give a share above 0 and up to 1")
    if values.max_hours is not None and not values.max_hours > 0:
        raise UserError(f"--max_hours={values.max_hours:g}: give a number above 0")
    if values.warm_start and not values.then_train:
        raise UserError("--warm_start: only with --then_train; add it")
