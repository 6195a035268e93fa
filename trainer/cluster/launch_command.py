"""The command line of python -m trainer.launch."""

import signal
from types import FrameType
from typing import Optional

from absl import flags

from trainer.cluster.launcher import Launcher, Plan
from trainer.cluster.private_network import enter_private_network
from trainer.config import commands
from trainer.config.arguments import TASK_FLAGS_HINT, parse_flags, split_task_flags
from trainer.errors import UserError

USAGE = """python -m trainer.launch: a whole cluster on this machine, one process per role.

  python -m trainer.launch --workers=2 --ps=1 --evaluator -- --hparams=census \\
      --job_dir=jobs/census

Everything after -- goes to python -m trainer.task in each process."""


def parse_plan(argv: list[str]) -> Optional[Plan]:
    """Parses the command line.

    Args:
        argv: the arguments after the program's name.

    Returns:
        The plan; None if --help was given, after printing the help text.

    Raises:
        UserError: a flag is unknown, a number is negative, or nothing follows --.
    """
    own, task_flags = split_task_flags(argv)
    values = parse_flags("trainer.launch", _define, own, USAGE, stray_hint=TASK_FLAGS_HINT)
    if values is None:
        return None
    if not task_flags:
        raise UserError("nothing after --; write -- and the flags of trainer.task")
    if values.private_network and any("gs://" in flag for flag in task_flags):
        raise UserError(
            "--private_network: the job has no network then, but its flags name gs://; remove one"
        )
    return Plan(
        values.workers,
        values.ps,
        int(values.evaluator),
        values.max_restarts,
        task_flags,
        values.private_network,
    )


def _define(values: flags.FlagValues) -> None:
    flags.DEFINE_integer("workers", 0, "workers besides the chief", 0, flag_values=values)
    flags.DEFINE_integer("ps", 0, "parameter servers", 0, flag_values=values)
    flags.DEFINE_boolean("evaluator", False, "whether to start an evaluator", flag_values=values)
    flags.DEFINE_integer("max_restarts", 0, "restarts of failed processes", 0, flag_values=values)
    flags.DEFINE_boolean(
        "private_network",
        False,
        "run the cluster in a separate network, without a connection to any other (Linux)",
        flag_values=values,
    )


def main(argv: list[str]) -> int:
    """Runs a cluster and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    plan = parse_plan(argv)
    if plan is None:
        return 0
    if plan.private_network:
        enter_private_network()
    launcher = Launcher(plan)
    received: list[int] = []

    def on_signal(number: int, frame: Optional[FrameType]) -> None:
        received.append(number)
        if len(received) == 1:
            launcher.stop()
        else:
            launcher.kill()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    try:
        status = launcher.run()
    finally:
        launcher.close()
    return 128 + received[0] if received else status
