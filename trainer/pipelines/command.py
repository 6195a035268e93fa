"""python -m trainer.pipeline: runs the steps of a file; a step with unchanged inputs is skipped.

python -m trainer.pipeline run flights
python -m trainer.pipeline run nightly.yaml --force=train
python -m trainer.pipeline list nightly.yaml
python -m trainer.pipeline render nightly.yaml --name=nightly --image=IMAGE \\
    --schedule='30 2 * * *' --volume=CLAIM:/mnt/job --output=nightly-job.yaml
python -m trainer.pipeline render nightly.yaml --kfp --name=nightly \\
    --image=IMAGE --output=k.yaml
python -m trainer.pipeline submit k.yaml --project=PROJECT \\
    --pipeline_root=gs://BUCKET/runs
python -m trainer.pipeline render gs://BUCKET/k.yaml --cloudbuild \\
    --name=nightly --image=IMAGE --on_data=gs://BUCKET/data/ \\
    --topic=projects/PROJECT/topics/data --pipeline_root=gs://BUCKET/runs \\
    --service_account=ACCOUNT --output=trigger.yaml

FILE is a YAML file, or a name in hparams/pipelines/. docs/pipeline.md describes it.

  run     runs the steps one after the other
  list    shows earlier runs
  render  writes a Job or a CronJob of Kubernetes that runs the pipeline. With
          --kfp, it writes the pipeline for Kubeflow and Vertex AI. With
          --cloudbuild, it writes a trigger that starts such a pipeline when new
          data or new code arrive
  submit  starts a pipeline on Vertex AI that render --kfp wrote

Exit status: 0, or that of the step that ended the run, such as 3 of a gate that does not bless.
"""

from absl import flags

from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.errors import UserError, nearest
from trainer.pipelines import render_command, vertex_runs
from trainer.pipelines.checking import check_steps, find_missing_data
from trainer.pipelines.definition import read_pipeline
from trainer.pipelines.running import Runner, open_history

WORDS = ("run", "list", "render", "submit")


def main(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    remains = "completed steps and submitted runs are kept; repeat the command to continue"
    return commands.run(_main, argv, remains)


def _main(argv: list[str]) -> int:
    words = [word for word in argv[:2] if not word.startswith("-")]
    defined = {"render": render_command.define, "submit": _define_submit}
    define = defined.get(words[0] if words else "", _define)
    values = arguments.parse_flags("trainer.pipeline", define, argv[len(words) :], __doc__ or "")
    if values is None:
        return 0
    if len(words) != 2 or words[0] not in WORDS:
        what = "FILE: not given" if words else "no command given"
        if words and words[0] not in WORDS:
            what = f"{words[0]!r}: no such command{nearest(words[0], WORDS)}"
        raise UserError(
            f"{what}; write run, list, render or submit, and FILE (--help shows examples)"
        )
    if words[0] == "render":
        render_command.render(words[1], values)
        return 0
    if words[0] == "submit":
        _submit(words[1], values)
        return 0
    with commands.open_storage(values):
        pipeline = read_pipeline(words[1])
        if words[0] == "list":
            show(open_history(pipeline).describe())
            return 0
        names = [step.name for step in pipeline.steps]
        unknown = [name for name in values.force if name not in names]
        if unknown:
            raise UserError(f"--force={unknown[0]}: no such step; use {', '.join(names)}")
        check_steps(pipeline, is_here=True)
        console = Console()
        for line in find_missing_data(pipeline):
            console.warn(f"warning: {line}")
        history = open_history(pipeline)
        return Runner(pipeline, history, console.log, frozenset(values.force)).run()


def _submit(file: str, values: flags.FlagValues) -> None:
    arguments.require(values, "project", "pipeline_root")
    run = vertex_runs.Run(
        values.project,
        values.region,
        values.pipeline_root,
        values.image,
        values.service_account,
        values.api_endpoint,
    )
    with commands.open_storage(values) as copies:
        spec = vertex_runs.read_compiled(file, copies)
    for line in vertex_runs.start(spec, run):
        show(line)


def _define_submit(values: flags.FlagValues) -> None:
    for name, default, meaning in (
        ("project", None, "ID of the Google Cloud project"),
        ("region", "us-central1", "Google Cloud region of the run"),
        ("pipeline_root", None, "gs:// folder for the files of the service itself"),
        ("image", None, "container image of all steps; unset: the image given to render"),
        (
            "service_account",
            None,
            "service account that the steps run as; unset: the agent of the service",
        ),
        (
            "api_endpoint",
            None,
            "address of the service as HOST:PORT, for a private endpoint; unset: the public "
            "endpoint of the region",
        ),
    ):
        flags.DEFINE_string(name, default, meaning, flag_values=values)
    commands.define_storage(values)


def _define(values: flags.FlagValues) -> None:
    text = "name of a step to run even if its inputs are unchanged"
    flags.DEFINE_multi_string("force", [], text, flag_values=values)
    commands.define_storage(values)
