"""python -m trainer.pipeline: runs the steps of a file, each only if its inputs have changed.

python -m trainer.pipeline run flights
python -m trainer.pipeline run nightly.yaml --force=train
python -m trainer.pipeline list nightly.yaml
python -m trainer.pipeline render nightly.yaml --name=nightly --image=IMAGE \\
    --schedule='30 2 * * *' --volume=CLAIM:/mnt/job --output=nightly-job.yaml

FILE is a YAML file, or a name in hparams/pipelines/. docs/pipeline.md describes it. The exit status
is 0, or that of the step that ended the run: 3 of a gate that does not bless, for example. render
writes a Job or a CronJob of Kubernetes that runs the pipeline.
"""

from absl import flags

from estimator_bridge.terminal import quote_command
from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.errors import UserError, nearest
from trainer.kubernetes.command_line import define_pod, read_request
from trainer.kubernetes.documents import to_yaml
from trainer.pipelines import rendering
from trainer.pipelines.definition import read_pipeline
from trainer.pipelines.running import Runner, open_history

WORDS = ("run", "list", "render")


def main(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    words = [word for word in argv[:2] if not word.startswith("-")]
    define = _define_render if words[:1] == ["render"] else _define
    values = arguments.parse_flags("trainer.pipeline", define, argv[len(words) :], __doc__ or "")
    if values is None:
        return 0
    if len(words) != 2 or words[0] not in WORDS:
        what = "FILE: not given" if words else "no command given"
        if words and words[0] not in WORDS:
            what = f"{words[0]!r}: no such command{nearest(words[0], WORDS)}"
        raise UserError(f"{what}; write run FILE, list FILE or render FILE (--help shows examples)")
    if words[0] == "render":
        _render(words[1], values)
        return 0
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


def _render(file: str, values: flags.FlagValues) -> None:
    arguments.require(values, "name", "image")
    request = read_request(values, {}, [])
    manifest = rendering.render(
        file, read_pipeline(file), request, values.schedule, values.time_zone, values.queue
    )
    following = quote_command("kubectl", "apply", "-f", str(values.output))
    commands.write_result(to_yaml([manifest]), values.output, following)


def _define_render(values: flags.FlagValues) -> None:
    define_pod(values)
    for name, meaning in (
        ("schedule", "cron's minute, hour, day, month and day of the week; unset: run once"),
        ("time_zone", "of the schedule, such as Europe/Berlin; unset: that of the cluster"),
        ("queue", "LocalQueue of Kueue, which starts the job when there is room"),
    ):
        flags.DEFINE_string(name, None, meaning, flag_values=values)


def _define(values: flags.FlagValues) -> None:
    text = "step that runs in any case; repeatable"
    flags.DEFINE_multi_string("force", [], text, flag_values=values)
    commands.define_storage(values)
