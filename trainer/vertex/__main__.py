"""python -m trainer.vertex: custom jobs on Vertex AI.

  python -m trainer.vertex package  --upload=gs://BUCKET/packages
  python -m trainer.vertex render   --name=census --image=IMAGE --base_output_dir=gs://BUCKET/census \\
      --output=job.yaml -- --hparams=census --train_data=gs://... --eval_data=gs://...
  python -m trainer.vertex rehearse --job=job.yaml --emulator --put=gs://BUCKET/data=data -- --train_steps=20
  python -m trainer.vertex submit   --job=job.yaml --project=PROJECT --stream
  python -m trainer.vertex schedule --job=job.yaml --project=PROJECT --schedule='0 6 * * *' \\
      --service_account=ACCOUNT --body=body.json
  python -m trainer.vertex deploy   --deployment=endpoint.yaml --project=PROJECT
  python -m trainer.vertex predict  --name=score --model=projects/PROJECT/.../models/ID@stable \\
      --data=gs://BUCKET/new/*.jsonl --output=gs://BUCKET/predictions --submit

Flags of trainer.task go after --; with render --command=watch, those of trainer.watch.
"""  # noqa: E501

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Optional

from absl import flags

from estimator_bridge.terminal import quote_command
from trainer.cluster.processes import find_addresses
from trainer.config import arguments, commands
from trainer.errors import UserError, nearest
from trainer.vertex import jobs, package, paths, rehearse, serving_commands, submit
from trainer.vertex.request import Request, parse_machines
from trainer.vertex.tuning import load_study


def main(argv: list[str]) -> int:
    """Runs a command and returns the exit status.

    Args:
        argv: the command and its arguments.
    """
    remains = "what was submitted before goes on; look at it before you repeat the command"
    return commands.run(_main, argv, remains)


def _main(argv: list[str]) -> int:
    known: dict[str, Callable[[list[str], list[str]], int]] = {
        "package": _package,
        "render": _render,
        "submit": _submit,
        "rehearse": _rehearse,
        **{name: _make_command(name) for name in serving_commands.COMMANDS},
    }
    if not argv or argv[0] in ("--help", "-h", "help"):
        print(__doc__.strip())
        return 0
    if argv[0] == "--version":
        print(arguments.describe_version())
        return 0
    if argv[0] not in known:
        raise UserError(
            f"{argv[0]!r}: no such command{nearest(argv[0], known)}; use {', '.join(known)}"
        )
    ours, task_flags = arguments.split_task_flags(argv[1:])
    return known[argv[0]](ours, task_flags)


def _make_command(name: str) -> Callable[[list[str], list[str]], int]:
    command = serving_commands.COMMANDS[name]

    def run(argv: list[str], task_flags: list[str]) -> int:
        _refuse_task_flags(name, task_flags)
        values = _parse(name, command.define, argv)
        if values is None:
            return 0
        arguments.require(values, *command.needed)
        return command.run(values)

    return run


def _parse(
    command: str, define: Callable[[flags.FlagValues], None], argv: list[str]
) -> Optional[flags.FlagValues]:
    return arguments.parse_flags(f"trainer.vertex {command}", define, argv, __doc__)


def _define_strings(values: flags.FlagValues, meanings: dict[str, str]) -> None:
    for name, meaning in meanings.items():
        flags.DEFINE_string(name, None, meaning, flag_values=values)


def _refuse_task_flags(command: str, task_flags: list[str]) -> None:
    if task_flags:
        raise UserError(f"{command} takes no flags of trainer.task; {task_flags[0]!r} is after --")


def _package(argv: list[str], task_flags: list[str]) -> int:
    def define(values: flags.FlagValues) -> None:
        _define_strings(values, {"upload": "gs:// folder to upload it to"})
        flags.DEFINE_string("output_dir", "dist", "local folder for it", flag_values=values)

    _refuse_task_flags("package", task_flags)
    values = _parse("package", define, argv)
    if values is None:
        return 0
    if values.upload:
        package.check_bucket(values.upload, "--upload")
    path = package.build_sdist(Path(values.output_dir))
    print(package.upload(path, values.upload) if values.upload else path)
    return 0


def _define_render(values: flags.FlagValues) -> None:
    meanings = {
        "name": "name of the job",
        "image": "container image; with --package the executor image",
        "package": "gs:// address of a source distribution, instead of an image with the trainer",
        "base_output_dir": "gs:// folder for checkpoints, model and logs",
        "machine": "machine of the chief: TYPE or TYPE:ACCELERATOR:COUNT; unset: n1-standard-8",
        "worker_machine": "machine of the workers; unset: the chief's",
        "ps_machine": "machine of the parameter servers; unset: the chief's",
        "evaluator_machine": "machine of the evaluator; unset: the chief's",
        "service_account": "account that the job runs as",
        "kms_key": "projects/PROJECT/locations/REGION/keyRings/RING/cryptoKeys/KEY, which encrypts",
        "network": "projects/NUMBER/global/networks/NAME",
        "tensorboard": "resource name of a TensorBoard instance in the same region",
        "nfs": "SERVER:/PATH:/mnt/nfs/POINT, a folder that all replicas mount",
        "tuning": "search space: a name in hparams/tuning/ or a file",
        "output": "file to write; unset: standard output",
    }
    _define_strings(values, meanings)
    flags.DEFINE_string("region", "us-central1", "region of the job", flag_values=values)
    text = "what the job runs; its flags go after --"
    arguments.define_version(
        values, "TensorFlow that the job's own code was written for, such as 2.8; unset: today's"
    )
    flags.DEFINE_enum("command", "task", ["task", "watch"], text, flag_values=values)
    flags.DEFINE_list("labels", [], "KEY=VALUE,KEY=VALUE", flag_values=values)
    flags.DEFINE_integer("workers", 0, "workers besides the chief", 0, flag_values=values)
    flags.DEFINE_integer("ps", 0, "parameter servers", 0, flag_values=values)
    flags.DEFINE_boolean("evaluator", False, "whether to add an evaluator", flag_values=values)
    flags.DEFINE_boolean("spot", False, "use spot machines, which can be preempted", values)
    flags.DEFINE_integer("timeout_secs", None, "longest time of the job", flag_values=values)
    flags.DEFINE_boolean(
        "restart_job", False, "restart the job when a replica is restarted", values
    )
    flags.DEFINE_boolean("disable_retries", False, "do not restart a failed replica", values)


def _render(argv: list[str], task_flags: list[str]) -> int:
    values = _parse("render", _define_render, argv)
    if values is None:
        return 0
    arguments.require(values, "name")
    study = load_study(values.tuning) if values.tuning else None
    labels = {}
    for pair in values.labels:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--labels: {pair!r}: write KEY=VALUE")
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
    following = "submit it, or schedule it"
    if values.command == "task":
        for line in paths.list_inside(task_flags, values.nfs):
            print(f"note: {line}", file=sys.stderr)
        command = ("python", "-m", "trainer.vertex", "rehearse", f"--job={values.output}")
        following = f"{quote_command(*command)}, then submit"
    commands.write_result(text, values.output, following)
    if not request.service_account:
        print(
            "note: --service_account: not given; the job runs as the service's own agent, which "
            "may read and write more than this job needs",
            file=sys.stderr,
        )
    return 0


def _check_watch(argv: list[str]) -> None:
    from trainer import storage
    from trainer.watching.command import parse

    values = parse(argv)
    if values is None:
        raise UserError("after --: give the flags of trainer.watch, and no --help")
    if not storage.is_remote(values.state) and not values.state.startswith("/gcs/"):
        raise UserError(
            f"--state={values.state}: is deleted with the container; name a gs:// address"
        )


def _define_submit(values: flags.FlagValues) -> None:
    meanings = {
        "job": "file that render has written",
        "project": "project of the job",
        "region": "region; unset: that of render",
        "api_endpoint": "host:port of a private endpoint; unset: the region's own",
    }
    _define_strings(values, meanings)
    flags.DEFINE_boolean("stream", False, "wait, and log each state", flag_values=values)
    flags.DEFINE_boolean("look", True, "check that buckets, data and package exist", values)
    flags.DEFINE_float(
        "poll_secs", submit.POLL_SECS, "seconds between two requests", 0.01, flag_values=values
    )


def _submit(argv: list[str], task_flags: list[str]) -> int:
    _refuse_task_flags("submit", task_flags)
    values = _parse("submit", _define_submit, argv)
    if values is None:
        return 0
    arguments.require(values, "job", "project")
    job = jobs.read_job(values.job)
    region = values.region or job.region
    if not region:
        raise UserError(f"--region: not given, and the first line of {values.job} has none; set it")
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
        {"job": "file that render has written", "trial": "trial of a tuning job; unset: 1"},
    )
    flags.DEFINE_boolean("emulator", False, "run a temporary storage emulator for gs://", values)
    flags.DEFINE_list(
        "put", [], "with --emulator: gs://BUCKET/FOLDER=FOLDER, files to copy into it", values
    )


def _rehearse(argv: list[str], task_flags: list[str]) -> int:
    values = _parse("rehearse", _define_rehearse, argv)
    if values is None:
        return 0
    arguments.require(values, "job")
    job = jobs.read_job(values.job)
    trial = (values.trial or "1") if job.is_tuning else None
    if values.put and not values.emulator:
        raise UserError("--put: writes to the emulator; set --emulator, or copy the files yourself")
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
    outcome = "all replicas ended well" if status == 0 else f"failed with status {status}"
    if received:
        status = 128 + received[0]
        outcome = f"stopped by {signal.Signals(received[0]).name}; the same command begins again"
    print(f"rehearsal of {job.name}: {len(replicas)} replica(s): {outcome}")
    return status


@contextlib.contextmanager
def _forward_signals(running: rehearse.Rehearsal) -> Iterator[list[int]]:
    """Ends the replicas at SIGINT and SIGTERM while a `with` statement runs; a second kills them.

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
