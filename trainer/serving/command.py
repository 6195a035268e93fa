"""python -m trainer.serve: answers as TensorFlow Serving does, for trying and rehearsing.

python -m trainer.serve jobs/flights/export/best/1700000000
python -m trainer.serve served/flights --log=logs/flights --sampling_rate=0.1
python -m trainer.serve served/flights --render=kubernetes \\
    --volume=models:/models
python -m trainer.serve served/flights --plan --rate=500/s --p99=20ms --cpu=2

The argument is an export, or a folder of trainer.push, on this machine or gs://. The REST interface
answers on --rest_api_port, and gRPC on --port. The versions and labels of a folder are followed.
"""

import importlib.util
import signal
import threading
from pathlib import Path

from absl import flags

import estimator_bridge as bridge
from trainer import storage
from trainer.config import arguments, commands
from trainer.console import Console, show
from trainer.errors import UserError
from trainer.export.serving_api import require_serving_api
from trainer.serving import manifests, plan_command
from trainer.serving.sources import open_source
from trainer.vertex import endpoints
from trainer.vertex.machines import parse_machine
from trainer.vertex.serving_commands import parse_replicas


def main(argv: list[str]) -> int:
    """Runs the command and returns the exit status.

    Args:
        argv: the arguments after the program's name.
    """
    return commands.run(_main, argv)


def _main(argv: list[str]) -> int:
    words = [word for word in argv[:1] if not word.startswith("-")]
    values = arguments.parse_flags("trainer.serve", _define, argv[len(words) :], __doc__ or "")
    if values is None:
        return 0
    if not words:
        raise UserError("name an export or a folder of trainer.push first (--help shows examples)")
    if values.plan:
        return plan_command.plan(words[0], values)
    if values.render:
        with commands.open_storage(values):
            commands.write_result(_render(words[0], values), values.output, "written")
        return 0
    require_serving_api("requests and answers")
    if importlib.util.find_spec("aiohttp") is None:
        raise UserError("the REST interface needs aiohttp; run pip install 'aiohttp>=3.9,<4'")
    if values.log and storage.is_remote(values.log):
        raise UserError(f"--log={values.log}: must be a folder on this machine")
    with commands.open_storage(values) as copies:
        _serve(words[0], values, copies)
    return 0


def _render(place: str, values: flags.FlagValues) -> str:
    if values.render == "docker":
        return manifests.render_docker(place, values.image)
    if values.render == "vertex":
        return _render_endpoint(place, values)
    least, greatest = parse_replicas(values.replicas)
    options = manifests.Options(
        values.image,
        (least, greatest),
        values.cpu,
        values.memory,
        values.volume,
        values.namespace,
        values.canary,
        values.gateway,
    )
    return manifests.render_kubernetes(place, options)


def _render_endpoint(place: str, values: flags.FlagValues) -> str:
    arguments.require(values, "registry", "machine")
    options = endpoints.Options(
        name="",
        machine=parse_machine(values.machine, "--machine"),
        replicas=parse_replicas(values.replicas),
        service_account=values.service_account,
        log_table=values.log_table,
        sampling_rate=values.sampling_rate,
    )
    return manifests.render_vertex(place, values.registry, values.canary, options)


def _serve(place: str, values: flags.FlagValues, copies: storage.Copies) -> None:
    source = open_source(place, values.name, copies)
    if values.log:
        _make_folder(values.log)
    real = source.describe_real_server()
    show(f"for trying and rehearsing only; in production: {real} --rest_api_port=8501")
    bridge.set_verbosity("error")
    bridge.prefer_onednn()
    # Imported here, because they import TensorFlow; --help and a wrong flag need no TensorFlow.
    from trainer.serving.grpc_server import GrpcServer
    from trainer.serving.http_server import HttpServer
    from trainer.serving.inference import Inference
    from trainer.serving.models import Model
    from trainer.serving.request_log import RequestLog

    console = Console(display_path=copies.display_path)
    log = RequestLog(Path(values.log) if values.log else None, values.sampling_rate, console.warn)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    model = Model(source, console.log)
    inference = Inference(model, log)
    grpc = GrpcServer(inference, values.host, values.port)
    try:
        http = HttpServer(inference, values.host, values.rest_api_port)
        show(
            f"REST: http://{values.host}:{http.port}/v1/models/{model.name}   "
            f"gRPC: {values.host}:{grpc.port}"
        )
        while not ended.wait(values.poll_secs):
            model.refresh()
            log.write_if_due()
        http.stop()
    finally:
        grpc.stop()
        log.write()
        model.close()


def _make_folder(path: str) -> None:
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--log={path}: {error.strerror}; name another folder") from error


def _define(values: flags.FlagValues) -> None:
    flags.DEFINE_string("name", None, "name of the model", flag_values=values)
    flags.DEFINE_string("host", "127.0.0.1", "address to listen on", flag_values=values)
    for name, default, what in (("rest_api_port", 8501, "REST"), ("port", 8500, "gRPC")):
        text = f"port of {what}; 0: any free one"
        flags.DEFINE_integer(name, default, text, 0, 65535, flag_values=values)
    text = "seconds between two checks of the folder"
    flags.DEFINE_float("poll_secs", 2.0, text, 0.01, flag_values=values)
    text = "folder for logged requests; without it, nothing is logged"
    flags.DEFINE_string("log", None, text, flag_values=values)
    text = "share of the requests that are logged"
    flags.DEFINE_float("sampling_rate", 1.0, text, 0.0, 1.0, flag_values=values)
    _define_rendering(values)
    plan_command.define(values)
    commands.define_storage(values)


def _define_rendering(values: flags.FlagValues) -> None:
    text = "write a command or manifests for TensorFlow Serving itself, instead of serving"
    flags.DEFINE_enum("render", None, ["docker", "kubernetes", "vertex"], text, flag_values=values)
    for name, default, text in (
        ("image", "tensorflow/serving:latest", "container image of --render"),
        ("output", None, "file for --render; unset: standard output"),
        ("replicas", "2,10", "smallest and largest number of replicas"),
        ("cpu", "2", "processors of a replica"),
        ("memory", None, "memory of a replica; unset: from the sandbox's measurement"),
        ("volume", None, "CLAIM:/PATH of the folder, if it is not in a bucket"),
        ("namespace", None, "namespace of the manifests"),
        ("registry", None, "vertex: projects/PROJECT/locations/REGION of trainer.push --register"),
        ("machine", None, "vertex: TYPE or TYPE:ACCELERATOR:COUNT of a replica"),
        ("service_account", None, "vertex: account that the replicas run as"),
        ("log_table", None, "vertex: bq://PROJECT.DATASET.TABLE, gets --sampling_rate of requests"),
        ("gateway", None, "Gateway of the cluster, which divides the requests by --canary"),
    ):
        flags.DEFINE_string(name, default, text, flag_values=values)
    text = "percent of the requests that the canary answers; unset: clients choose by label"
    flags.DEFINE_integer("canary", None, text, 0, 100, flag_values=values)
