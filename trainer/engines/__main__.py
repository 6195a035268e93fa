"""python -m trainer.engines: writes the files that run a command on Dataflow or Dataproc.

  python -m trainer.engines render --kind=dataflow-template --name=score \\
      --image=IMAGE --project=P --region=europe-west4 \\
      --temp_location=gs://BUCKET/tmp --workers=10 \\
      --template=gs://BUCKET/score.json --template_image=IMAGE-FOR-DATAFLOW \\
      --output=score -- --export=gs://... --data=gs://... --output=gs://...
  python -m trainer.engines render --kind=dataproc-batch --name=score \\
      --image=IMAGE --project=P --region=europe-west4 --workers=10 \\
      --output=score.json -- --export=gs://... --data=gs://... \\
      --output=gs://...

The flags of the command that runs there follow after --; render checks them. render sends nothing.
It prints the commands that start the job.

--kind=dataflow-template writes a flex template of Dataflow, for trainer.predict or
trainer.evaluate. The folder --output then contains a Dockerfile, the specification of the template,
and the request that starts a job with these flags.

--kind=dataproc-batch writes the request for a batch of Dataproc Serverless, as JSON. --command
chooses what it runs: predict (the default), evaluate, gate, or infer and check of trainer.schema.
"""

import json
import platform
import sys
from pathlib import Path
from typing import Any

from absl import flags

from estimator_bridge.output.terminal import quote_command
from trainer import storage
from trainer.config import arguments, commands
from trainer.engine_commands import COMMANDS, EngineCommand
from trainer.engines import rendering
from trainer.engines.rendering import BATCH, TEMPLATE, Parameter, Place
from trainer.errors import UserError

# Default versions of the template's image.
BEAM_VERSION = "2.77.0"
PYTHON_VERSION = "3.12"
TEMPLATE_FLAGS = ("temp_location", "template", "template_image", "beam_version", "python_version")
BATCH_FLAGS = ("memory", "spark_main")


def main(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    usage = __doc__ or ""
    rest = arguments.read_render(argv, usage)
    if rest is None:
        return 0
    own, words = arguments.split_task_flags(rest)
    values = arguments.parse_flags("trainer.engines render", _define, own, usage, stray_hint=_HINT)
    if values is None:
        return 0
    arguments.require(values, "name", "image", "project", "region", "kind")
    for name in BATCH_FLAGS if values.kind == TEMPLATE else TEMPLATE_FLAGS:
        if values[name].present:
            raise UserError(f"--{name}: has no effect with --kind={values.kind}; remove it")
    if values.kind == TEMPLATE and values.command not in rendering.TEMPLATES:
        raise UserError(
            f"--command={values.command}: a template runs only {' or '.join(rendering.TEMPLATES)}, "
            f"because its launcher ends before the results exist; use --kind={BATCH}"
        )
    given: dict[str, Any] = {name: values[name].value for name in Place._fields}
    place = Place(**given)
    rendering.check_place(place, values.kind)
    command = COMMANDS[values.command]
    parameters = _read_flags(command, words)
    rendering.check_remote(parameters, command.paths)
    if values.kind == BATCH:
        _write_batch(place, values, [*command.words, *words])
    else:
        _write_template(place, values, parameters)
    return 0


def _read_flags(command: EngineCommand, words: list[str]) -> dict[str, str]:
    """Returns the flags of a command that are given, name → text."""
    values = command.read(words)
    given = {}
    for name in rendering.FIXED:
        if name in values and values[name].present:
            raise UserError(f"--{name}: has no effect after --, because render sets it; remove it")
    for name in values:
        flag = values[name]
        if flag.present:
            text = flag.serialize().partition("=")[2]
            given[name] = str(flag.value).lower() if flag.boolean else text
    return given


def _write_template(place: Place, values: flags.FlagValues, given: dict[str, str]) -> None:
    arguments.require(values, "output", "template", "template_image")
    if not storage.is_remote(values.template):
        raise UserError(
            f"--template={values.template}: Dataflow reads the specification from a bucket; name a "
            "gs:// path"
        )
    beam, image = values.beam_version, values.template_image
    command = COMMANDS[values.command]
    texts = {
        rendering.DOCKERFILE: rendering.build_dockerfile(
            place.image, beam, values.python_version, *command.words
        ),
        rendering.SPECIFICATION: _to_text(
            rendering.build_specification(
                place, beam, _list_parameters(command), image, values.command
            )
        ),
        rendering.LAUNCH: _to_text(rendering.build_launch(place, values.template, given)),
    }
    folder = Path(values.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            storage.write_text(folder / name, text)
    except OSError as error:
        raise UserError(f"--output={folder}: {error.strerror}; name another folder") from error
    specification = str(folder / rendering.SPECIFICATION)
    url = (
        f"https://dataflow.googleapis.com/v1b3/projects/{place.project}/locations/{place.region}/"
        "flexTemplates:launch"
    )
    print(
        f"{folder}: next, build and push the image, copy the specification, and start a job:\n"
        f"  {quote_command('docker', 'build', '--push', '-t', image, str(folder))}\n"
        f"  {quote_command('gcloud', 'storage', 'cp', specification, values.template)}\n"
        f"  {_post(url, folder / rendering.LAUNCH)}"
    )


def _write_batch(place: Place, values: flags.FlagValues, words: list[str]) -> None:
    url = (
        f"https://dataproc.googleapis.com/v1/projects/{place.project}/locations/{place.region}/"
        f"batches?batchId={place.name}"
    )
    text = _to_text(rendering.build_batch(place, values.spark_main, words))
    following = _post(url, Path(values.output)) if values.output else ""
    commands.write_result(text, values.output, following)


def _to_text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2) + "\n"


def _post(url: str, body: Path) -> str:
    access = '-H "Authorization: Bearer $(gcloud auth print-access-token)"'
    kind = quote_command("-H", "Content-Type: application/json", "-d", f"@{body}", url)
    return f"curl -X POST {access} {kind}"


def _list_parameters(command: EngineCommand) -> list[Parameter]:
    """Returns the flags of a command that a template takes."""
    with arguments.collecting() as declared:
        command.parse([])
    (values,) = declared
    return [
        Parameter(name, flag.help or "", getattr(flag.parser, "enum_values", ()), flag.boolean)
        for name, flag in ((name, values[name]) for name in values)
        # Dataflow allows no dots in the name of a parameter.
        if name not in (*rendering.FIXED, *arguments.HELP_FLAGS) and "." not in name
    ]


_HINT = "write --name=value; flags of --command go after -- (--help lists the flags)"


def _define(values: flags.FlagValues) -> None:
    packages = f"/opt/venv/lib/python{PYTHON_VERSION}/site-packages"
    python = ".".join(platform.python_version_tuple()[:2])
    text = "what to write: a flex template of Dataflow or a batch of Dataproc"
    flags.DEFINE_enum("kind", None, [TEMPLATE, BATCH], text, flag_values=values)
    text = (
        "command that runs there, with its flags after --; infer and check are those of "
        f"trainer.schema; a template runs only {' or '.join(rendering.TEMPLATES)}"
    )
    flags.DEFINE_enum("command", "predict", list(COMMANDS), text, flag_values=values)
    text = "Dataflow: maximum number of machines; Dataproc: number of executors"
    flags.DEFINE_integer("workers", 2, text, 1, flag_values=values)
    for name, default, meaning in (
        ("name", None, "name of the job; lower-case letters, digits and hyphens, at most 63"),
        ("image", None, "container image with this package and the TensorFlow of the export"),
        ("project", None, "ID of the Google Cloud project"),
        ("region", None, "Google Cloud region of the job, such as europe-west4"),
        (
            "machine",
            None,
            "Dataflow: machine type, such as n2-standard-4; Dataproc: cores of each executor, "
            f"{', '.join(rendering.DATAPROC_CORES)}; unset: the service's default",
        ),
        (
            "memory",
            None,
            "Dataproc: memory of each executor, such as 16g or 512m; unset: the service's default",
        ),
        (
            "account",
            None,
            "e-mail address of the service account that the job runs as; unset: the project's "
            "default",
        ),
        ("subnetwork", None, "subnetwork of the machines; unset: the project's default"),
        (
            "temp_location",
            None,
            "Dataflow: gs:// folder for temporary files of the job; required for a template",
        ),
        (
            "template",
            None,
            "Dataflow: gs:// path to which you copy the specification of the template; required "
            "for a template",
        ),
        (
            "template_image",
            None,
            "Dataflow: name of the container image that you build from the Dockerfile; required "
            "for a template",
        ),
        ("beam_version", BEAM_VERSION, "Dataflow: version of Beam in the image of the template"),
        (
            "python_version",
            PYTHON_VERSION,
            f"Dataflow: minor version of Python in --image; the Python of this command is {python}",
        ),
        (
            "spark_main",
            f"{packages}/trainer/engines/submitted.py",
            "Dataproc: path of trainer/engines/submitted.py in --image; set it if the image has "
            "this package elsewhere",
        ),
        (
            "output",
            None,
            "Dataflow: folder for the files of the template; required. Dataproc: file for the "
            "request; unset: standard output",
        ),
    ):
        flags.DEFINE_string(name, default, meaning, flag_values=values)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
