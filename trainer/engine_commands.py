"""The commands that an engine can run, as those need to know them that render jobs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Optional

from absl import flags

from trainer.errors import UserError

Values = flags.FlagValues


class EngineCommand(NamedTuple):
    """A command.

    Attributes:
        words: what follows python -m: the module, and the name of a command in it.
        parse: returns the checked flags; None if they only ask for help.
        find_output: returns what the command writes; None: only its standard output.
        paths: flags that name what the workers read or write.
        verdicts: exit statuses that are no failures: to run it again does not change them.
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
        values = self.parse(argv)
        if values is None:
            raise UserError(f"after --: give the flags of {' '.join(self.words)}, and no --help")
        return values


def _parse_predict(argv: list[str]) -> Optional[Values]:
    from trainer.prediction.command import parse
    from trainer.prediction.writers import is_file_name

    values = parse(argv)
    if values is not None and (not values.data or is_file_name(values.output)):
        raise UserError("after --: give --data, and a folder as --output")
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
        raise UserError("after --: give --output=FILE for the schema")
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
        verdicts=(1,),
    ),
}
