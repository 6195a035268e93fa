"""python -m trainer.schema infer|check."""

import sys

from trainer.config.commands import run
from trainer.errors import UserError

USAGE = """python -m trainer.schema infer --data=FILES --label=COLUMN [--output=FILE]
    proposes a commented schema for data that have none
python -m trainer.schema check --schema=FILE --data=FILES [--statistics=JOB_DIR]
    holds data against a schema and, if given, against the data a model was trained on

Each shows its flags with --help."""


def main(argv: list[str]) -> int:
    """Runs one of the two commands; returns the exit status."""
    command = argv[0] if argv else ""
    if command in ("--help", "-h", "-help"):
        print(USAGE)
        return 0
    if command == "infer":
        from trainer.data_validation.infer import run_infer

        return run_infer(argv[1:])
    if command == "check":
        from trainer.data_validation.check import run_check

        return run_check(argv[1:])
    raise UserError(f"{command!r}: no such command; write infer or check (--help shows both)")


if __name__ == "__main__":
    sys.exit(run(main, sys.argv[1:]))
