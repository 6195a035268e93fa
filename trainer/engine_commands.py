"""The commands that Beam and Spark can run, as seen by the modules that render jobs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Optional

from absl import flags

from trainer.errors import UserError

Values = flags.FlagValues


class EngineCommand(NamedTuple):
    """A command.

    Attributes:
        words: the arguments after python -m: the module, and the name of its subcommand if any.
        parse: returns the checked flags; None if they request only help.
        find_output: returns the path to which the command writes; None: standard output only.
        paths: flags whose values are paths that the workers read or write.
        verdicts: exit statuses that are results, not failures. Such a job is not retried.
    """

    words: Sequence[str]
    parse: Callable[[list[str]], Optional[Values]]
    find_output: Callable[[Values], Optional[str]]
    paths: Sequence[str]
    verdicts: Sequence[int] = ()

    def read(self, argv: list[str]) -> Values:
        """Returns the checked flags.

        Args:
            argv: the flags.

        Raises:
            UserError: a flag is wrong or missing.
        """
        try:
            values = self.parse(argv)
        except UserError as error:
            raise UserError(f"after --: {error}") from error
        if values is None:
            raise UserError("--help after --: the job would only print its flags; remove it")
        return values


def _parse_predict(argv: list[str]) -> Optional[Values]:
    from trainer.prediction.command import parse
    from trainer.prediction.writers import is_file_name

    values = parse(argv)
    if values is not None and (not values.data or is_file_name(values.output)):
        raise UserError("a job predicts files into a folder; give --data=FILES and --output=FOLDER")
    return values


def _parse_evaluate(argv: list[str]) -> Optional[Values]:
    from trainer.evaluation.command import parse

    return parse(argv)


def _parse_gate(argv: list[str]) -> Optional[Values]:
    from trainer.gating.command import parse

    return parse(argv)


def _parse_infer(argv: list[str]) -> Optional[Values]:
    from trainer.data_validation.infer import parse_infer

    values = parse_infer(argv)
    if values is not None and not values.output:
        raise UserError("--output: not given, but required: file for the schema")
    return values


def _parse_check(argv: list[str]) -> Optional[Values]:
    from trainer.data_validation.check import parse_check

    return parse_check(argv)


COMMANDS = {
    "predict": EngineCommand(
        ["trainer.predict"],
        _parse_predict,
        lambda values: str(values.output),
        ("export", "job_dir", "data", "output"),
    ),
    "evaluate": EngineCommand(
        ["trainer.evaluate"],
        _parse_evaluate,
        lambda values: str(values.output or values.job_dir),
        ("job_dir", "data", "output"),
    ),
    "gate": EngineCommand(
        ["trainer.gate"],
        _parse_gate,
        lambda values: str(values.candidate),
        ("candidate", "data"),
        verdicts=(3, 4),
    ),
    "infer": EngineCommand(
        ["trainer.schema", "infer"],
        _parse_infer,
        lambda values: str(values.output),
        ("data", "output"),
    ),
    "check": EngineCommand(
        ["trainer.schema", "check"],
        _parse_check,
        lambda values: None,
        ("schema", "data"),
        verdicts=(3,),
    ),
}
