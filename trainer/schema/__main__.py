"""python -m trainer.schema infer|check."""

import sys

import estimator_bridge
from trainer.config.arguments import describe_version
from trainer.config.commands import run
from trainer.errors import UserError

USAGE = """python -m trainer.schema infer --data=FILES --label=COLUMN [--output=FILE]
    infers a schema from data: a commented YAML file of the columns, their types
    and the label
python -m trainer.schema check --schema=FILE --data=FILES [--statistics=JOB_DIR]
    checks data against a schema; with --statistics, also for drift from the
    training data of a job

COMMAND --help shows the flags of a command."""


def main(argv: list[str]) -> int:
    """Runs one of the two commands and returns the exit status.

    Args:
        argv: the command and its arguments.

    Raises:
        UserError: the command is unknown.
    """
    command = argv[0] if argv else ""
    if command in ("--help", "-h", "-help"):
        print(USAGE)
        return 0
    if command == "--version":
        print(describe_version())
        return 0
    # TFRecord files are read with TensorFlow.
    estimator_bridge.set_verbosity("error")
    if command == "infer":
        from trainer.data_validation.infer import run_infer

        return run_infer(argv[1:])
    if command == "check":
        from trainer.data_validation.check import run_check

        return run_check(argv[1:])
    problem = f"{command!r}: no such command" if command else "no command given"
    raise UserError(f"{problem}; use infer or check (--help shows both)")


if __name__ == "__main__":
    sys.exit(run(main, sys.argv[1:]))
