"""python -m trainer.vertex COMMAND: runs and serves models on Vertex AI.

  package   builds the source distribution of this checkout, and uploads it
  render    checks the options of a custom job, and writes it as a YAML file
  rehearse  runs the processes of such a job on this machine
  submit    sends such a job to Vertex AI
  schedule  writes what Cloud Scheduler needs to start such a job repeatedly
  predict   writes or sends a batch prediction job for a registered model
  deploy    creates or changes an endpoint as a file describes it

COMMAND --help shows the flags of a command. docs/vertex.md leads from an empty
project to a job.

  python -m trainer.vertex render --name=census --image=IMAGE \\
      --output=job.yaml --base_output_dir=gs://BUCKET/census -- \\
      --hparams=census --train_data=gs://... --eval_data=gs://...
  python -m trainer.vertex rehearse --job=job.yaml --emulator \\
      --put=gs://BUCKET/data=data -- --train_steps=20
  python -m trainer.vertex submit --job=job.yaml --project=PROJECT --stream
"""

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Optional

from absl import flags

from estimator_bridge.output.terminal import quote_command
from trainer.cluster.processes import find_addresses
from trainer.config import arguments, commands
from trainer.errors import UserError, nearest
from trainer.vertex import jobs, package, paths, rehearse, serving_commands, submit
from trainer.vertex.request import Request, define_render, parse_machines
from trainer.vertex.tuning import load_study

# Command → first part of its --help.
USAGES = {
    "package": """python -m trainer.vertex package [--upload=gs://BUCKET/packages]

Builds the source distribution of the checkout that contains this program. With --upload, stores it
in the bucket and prints its address, which is the value of render --package=ADDRESS. A file in the
bucket is never overwritten.""",
    "render": """python -m trainer.vertex render --name=NAME --image=IMAGE ... -- TRAINING FLAGS

Checks the options and flags of a custom job, or of a hyperparameter tuning job with --tuning, and
writes the job as YAML. It sends nothing to Vertex AI. The flags after -- are those of trainer.task,
or with --command=watch those of trainer.watch.

  python -m trainer.vertex render --name=census --image=IMAGE \\
      --output=job.yaml --base_output_dir=gs://BUCKET/census -- \\
      --hparams=census --train_data=gs://... --eval_data=gs://...""",
    "rehearse": """python -m trainer.vertex rehearse --job=FILE ... [-- TRAINING FLAGS]

Runs the processes of a job on this machine, with the environment variables that Vertex AI sets.
Flags after -- are added to those of the job, for example to train only a few steps. Without
--emulator, the processes use the real buckets.

Exit status: 0 all processes succeeded; otherwise that of the first process that failed.

  python -m trainer.vertex rehearse --job=job.yaml --emulator \\
      --put=gs://BUCKET/data=data -- --train_steps=20""",
    "submit": """python -m trainer.vertex submit --job=FILE --project=PROJECT ...

Sends a job to Vertex AI, and prints its resource name and the address of its page in the console.

  python -m trainer.vertex submit --job=job.yaml --project=PROJECT --stream""",
}


def main(argv: list[str]) -> int:
    """Runs a command and returns the exit status.

    Args:
        argv: the command and its arguments.
    """
    remains = (
        "a job that was already submitted continues; check its state before you repeat the command"
    )
    return commands.run(_main, argv, remains)


def _main(argv: list[str]) -> int:
    known: dict[str, Callable[[list[str], list[str]], int]] = {
        "package": _package,
        "render": _render,
        "submit": _submit,
        "rehearse": _rehearse,
        **{name: _make_command(name) for name in serving_commands.COMMANDS},
    }
    if argv and argv[0] in ("--help", "-h", "help"):
        print(__doc__.strip())
        return 0
    if argv and argv[0] == "--version":
        print(arguments.describe_version())
        return 0
    if not argv or argv[0] not in known:
        problem = (
            f"{argv[0]!r}: no such command{nearest(argv[0], known)}" if argv else "no command given"
        )
        raise UserError(f"{problem}; use {', '.join(known)} (--help describes them)")
    ours, task_flags = arguments.split_task_flags(argv[1:])
    return known[argv[0]](ours, task_flags)


def _make_command(name: str) -> Callable[[list[str], list[str]], int]:
    command = serving_commands.COMMANDS[name]

    def run(argv: list[str], task_flags: list[str]) -> int:
        _refuse_task_flags(name, task_flags)
        values = _parse(name, command.define, argv, command.usage)
        if values is None:
            return 0
        arguments.require(values, *command.needed)
        return command.run(values)

    return run


def _parse(
    command: str,
    define: Callable[[flags.FlagValues], None],
    argv: list[str],
    usage: Optional[str] = None,
) -> Optional[flags.FlagValues]:
    return arguments.parse_flags(
        f"trainer.vertex {command}", define, argv, usage or USAGES[command]
    )


def _define_strings(values: flags.FlagValues, meanings: dict[str, str]) -> None:
    for name, meaning in meanings.items():
        flags.DEFINE_string(name, None, meaning, flag_values=values)


def _refuse_task_flags(command: str, task_flags: list[str]) -> None:
    if task_flags:
        raise UserError(
            f"{command} takes no flags after --, but {task_flags[0]!r} was given there; remove it, "
            "or write it before --"
        )


def _package(argv: list[str], task_flags: list[str]) -> int:
    def define(values: flags.FlagValues) -> None:
        text = "gs:// folder to which the distribution is uploaded; unset: no upload"
        _define_strings(values, {"upload": text})
        text = "local folder for the distribution"
        flags.DEFINE_string("output_dir", "dist", text, flag_values=values)

    _refuse_task_flags("package", task_flags)
    values = _parse("package", define, argv)
    if values is None:
        return 0
    if values.upload:
        package.check_bucket(values.upload, "--upload")
    path = package.build_sdist(Path(values.output_dir))
    print(package.upload(path, values.upload) if values.upload else path)
    return 0


def _render(argv: list[str], task_flags: list[str]) -> int:
    values = _parse("render", define_render, argv)
    if values is None:
        return 0
    arguments.require(values, "name")
    study = load_study(values.tuning) if values.tuning else None
    labels = {}
    for pair in values.labels:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--labels: {pair!r} is not a label; write KEY=VALUE,KEY=VALUE")
        labels[key] = value
    machines = {
        "chief": values.machine,
        "worker": values.worker_machine,
        "ps": values.ps_machine,
        "evaluator": values.evaluator_machine,
    }
    request = Request(
        name=values.name,
        region=values.region,
        image=values.image,
        package=values.package,
        base_output_dir=values.base_output_dir,
        machines=parse_machines(machines),
        counts={
            "chief": 1,
            "worker": values.workers,
            "ps": values.ps,
            "evaluator": int(values.evaluator),
        },
        task_flags=task_flags,
        service_account=values.service_account,
        network=values.network,
        tensorboard=values.tensorboard,
        labels=labels,
        nfs=values.nfs,
        spot=values.spot,
        timeout_secs=values.timeout_secs,
        restart_job=values.restart_job,
        disable_retries=values.disable_retries,
        kms_key=values.kms_key,
        module=f"trainer.{values.command}",
        as_version=arguments.read_version(values),
    )
    if values.command == "watch":
        _check_watch(task_flags)
    text = jobs.to_yaml(jobs.build_job(request, study), values.output or "JOB.yaml")
    following = "next, submit or schedule this job"
    if values.command == "task":
        for line in paths.list_inside(task_flags, values.nfs):
            print(f"note: {line}", file=sys.stderr)
        command = ("python", "-m", "trainer.vertex", "rehearse", f"--job={values.output}")
        following = f"next, {quote_command(*command)}; then submit the job"
    commands.write_result(text, values.output, following)
    if not request.service_account:
        print(
            "note: --service_account: not given; the job runs as the agent of the service, which "
            "has more permissions than this job needs",
            file=sys.stderr,
        )
    return 0


def _check_watch(argv: list[str]) -> None:
    from trainer import storage
    from trainer.watching.command import parse

    values = parse(argv)
    if values is None:
        raise UserError("--help after --: the job would only print its flags; remove it")
    if not storage.is_remote(values.state) and not values.state.startswith("/gcs/"):
        raise UserError(
            f"--state={values.state}: is deleted with the container; name a gs:// address"
        )


def _define_submit(values: flags.FlagValues) -> None:
    meanings = {
        "job": "job file that render has written",
        "project": "ID of the Google Cloud project",
        "region": "region of the job; unset: the region in the job file",
        "api_endpoint": "address of the service as HOST:PORT, for a private endpoint; unset: the "
        "public endpoint of the region",
    }
    _define_strings(values, meanings)
    text = "wait until the job ends, and print each change of its state; exit status 1 if it fails"
    flags.DEFINE_boolean("stream", False, text, flag_values=values)
    text = (
        "check first that the buckets, the data and the package exist; --nolook if only the "
        "service account of the job may read them"
    )
    flags.DEFINE_boolean("look", True, text, flag_values=values)
    text = "with --stream: seconds between two requests for the state"
    flags.DEFINE_float("poll_secs", submit.POLL_SECS, text, 0.01, flag_values=values)


def _submit(argv: list[str], task_flags: list[str]) -> int:
    _refuse_task_flags("submit", task_flags)
    values = _parse("submit", _define_submit, argv)
    if values is None:
        return 0
    arguments.require(values, "job", "project")
    job = jobs.read_job(values.job)
    region = values.region or job.region
    if not region:
        raise UserError(
            f"--region: not given, and the first line of {values.job} names none; add --region"
        )
    submit.parse_resource(job)
    if values.look:
        paths.check_places(job.job_spec)
    service = submit.Service(values.project, region, values.api_endpoint)
    name = service.create(job)
    print(name)
    print(service.link(name))
    if not values.stream:
        return 0
    return 0 if service.follow(name, lambda line: print(line, flush=True), values.poll_secs) else 1


def _define_rehearse(values: flags.FlagValues) -> None:
    _define_strings(
        values,
        {
            "job": "job file that render has written",
            "trial": "number of the trial to run, for a tuning job; unset: 1",
        },
    )
    text = (
        "start an emulator of Cloud Storage on this machine and use it for gs:// paths; it is "
        "empty at first and deleted at the end; needs the package gcp-storage-emulator"
    )
    flags.DEFINE_boolean("emulator", False, text, flag_values=values)
    text = (
        "with --emulator: local folders to copy into it first, as gs://BUCKET/FOLDER=LOCAL_FOLDER"
    )
    flags.DEFINE_list("put", [], text, flag_values=values)


def _rehearse(argv: list[str], task_flags: list[str]) -> int:
    values = _parse("rehearse", _define_rehearse, argv)
    if values is None:
        return 0
    arguments.require(values, "job")
    job = jobs.read_job(values.job)
    trial = (values.trial or "1") if job.is_tuning else None
    if values.put and not values.emulator:
        raise UserError(
            "--put: copies files to the emulator; add --emulator, or copy the files to the bucket "
            "yourself"
        )
    replicas = rehearse.list_replicas(
        job, find_addresses(rehearse.count_replicas(job)), task_flags, trial
    )
    with contextlib.ExitStack() as stack:
        more = {}
        if values.emulator:
            from trainer.vertex.emulator import run_emulator

            more = stack.enter_context(run_emulator(job, values.put))
        running = rehearse.Rehearsal(replicas, more)
        with _forward_signals(running) as received:
            status = running.run()
    outcome = "all succeeded" if status == 0 else f"failed with exit status {status}"
    if received:
        status = 128 + received[0]
        outcome = (
            f"stopped by {signal.Signals(received[0]).name}; repeat the command to start again"
        )
    print(f"rehearsal of {job.name}: {len(replicas)} process(es): {outcome}")
    return status


@contextlib.contextmanager
def _forward_signals(running: rehearse.Rehearsal) -> Iterator[list[int]]:
    """Stops the replicas on SIGINT and SIGTERM while a `with` statement runs.

    The first signal is forwarded as SIGTERM. A second signal kills the replicas.

    Yields:
        The signals that were received.
    """
    received: list[int] = []

    def stop(number: int, frame: object) -> None:
        running.stop(signal.SIGKILL if received else signal.SIGTERM)
        received.append(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        running.close()
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
