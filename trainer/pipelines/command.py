"""python -m trainer.pipeline: runs the steps of a file, each only if its inputs have changed.

python -m trainer.pipeline run flights
python -m trainer.pipeline run nightly.yaml --force=train
python -m trainer.pipeline list nightly.yaml

FILE is a YAML file, or a name in hparams/pipelines/. docs/pipeline.md describes it. The exit status
is 0, or that of the step that ended the run: 3 of a gate that does not bless, for example.
"""

from absl import flags

from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.errors import UserError, nearest
from trainer.pipelines.definition import read_pipeline
from trainer.pipelines.running import Runner, open_history

WORDS = ("run", "list")


def main(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    words = [word for word in argv[:2] if not word.startswith("-")]
    values = arguments.parse_flags("trainer.pipeline", _define, argv[len(words) :], __doc__ or "")
    if values is None:
        return 0
    if len(words) != 2 or words[0] not in WORDS:
        given = f"{words[0]!r}: no such command{nearest(words[0], WORDS)}" if words else "nothing"
        raise UserError(f"{given} given; write run FILE or list FILE (--help shows examples)")
    with commands.open_storage(values):
        pipeline = read_pipeline(words[1])
        history = open_history(pipeline)
        if words[0] == "list":
            show(history.describe())
            return 0
        names = [step.name for step in pipeline.steps]
        unknown = [name for name in values.force if name not in names]
        if unknown:
            raise UserError(f"--force={unknown[0]}: no such step; there are {', '.join(names)}")
        return Runner(pipeline, history, Console().log, frozenset(values.force)).run()


def _define(values: flags.FlagValues) -> None:
    text = "step that runs in any case; repeatable"
    flags.DEFINE_multi_string("force", [], text, flag_values=values)
    commands.define_storage(values)
