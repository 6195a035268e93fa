"""python -m trainer.kubernetes: renders the manifests of a cluster, or of a Job."""

import sys

from trainer.errors import UserError
from trainer.kubernetes.manifests import main
from trainer.kubernetes.programs import Program
from trainer.kubernetes.spark import KIND


def _check_predict(argv: list[str]) -> str:
    from trainer.prediction.command import parse
    from trainer.prediction.writers import is_file_name

    values = parse(argv)
    if values is None or not values.data or is_file_name(values.output):
        raise UserError("after --: give --data, and a folder as --output")
    if values["engine"].present:
        raise UserError(f"--engine={values.engine}: is for one machine; render --kind={KIND}")
    return str(values.output)


def _check_watch(argv: list[str]) -> str:
    from trainer.watching.command import parse

    values = parse(argv)
    if values is None:
        raise UserError("after --: give the flags of trainer.watch, and no --help")
    return str(values.state)


# The watch ends with 3 for red and 4 for yellow.
PROGRAMS = {
    "predict": Program(_check_predict, parts=True, engine=True),
    "watch": Program(_check_watch, verdicts=(3, 4)),
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], PROGRAMS))
