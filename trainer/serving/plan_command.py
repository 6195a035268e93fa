"""serve --plan: how many replicas hold a rate, and how far the estimate is from a measurement."""

import math
from pathlib import Path

from absl import flags

import estimator_bridge as bridge
from estimator_bridge.output.terminal import quote_command
from trainer import storage
from trainer.config import arguments, commands
from trainer.console import show
from trainer.errors import UserError
from trainer.export.fingerprint import EXTRA, SANDBOX_REPORT
from trainer.kubernetes import names
from trainer.release.pushing import Deployment
from trainer.release.state import STABLE
from trainer.serving import planning

# Share of the processors that others may use while elapsed times are measured.
BUSY = 0.1
# Requests, or batches, whose processor time is measured.
NUM_TIMED = 500


def define(values: flags.FlagValues) -> None:
    """Defines the flags of --plan.

    Args:
        values: where to define them.
    """
    text = "compute how many replicas sustain --rate within --p99, instead of serving"
    flags.DEFINE_boolean("plan", False, text, flag_values=values)
    for name, text in (
        ("rate", "for --plan: requests with one row per second, such as 500/s"),
        ("p99", "for --plan: limit of the 99th percentile of the latency, such as 20ms"),
        ("signature", "for --plan: signature to query; unset: the default one"),
    ):
        flags.DEFINE_string(name, None, text, flag_values=values)
    text = "for --plan: duration of the second measurement"
    flags.DEFINE_float("measure_secs", 5.0, text, 1.0, flag_values=values)


def plan(place: str, values: flags.FlagValues) -> int:
    """Prints the plan; returns 0, or 3 if no number of replicas holds the rate.

    Args:
        place: an export, or a folder of trainer.push.
        values: the flags.

    Raises:
        UserError: a flag is wrong, or the sandbox has not measured the export.
    """
    arguments.require(values, "rate", "p99")
    rate, limit = planning.parse_rate(values.rate), planning.parse_secs(values.p99)
    workers = _count_processors(values.cpu)
    with commands.open_storage(values) as copies:
        export = _find_export(place, copies)
        report = storage.read_json(Path(export, EXTRA, SANDBOX_REPORT))
        if report is None:
            command = quote_command("python", "-m", "trainer.sandbox", place)
            raise UserError(
                f"{place}: no measurement; run {command}"
                if export == place
                else f"{place}: no measurement of the stable version; run python -m "
                "trainer.sandbox on an export before it is pushed"
            )
        times = planning.read_times(report, values.signature)
        choices = planning.choose(times, rate, limit, workers)
        if not choices:
            show(
                f"no number of replicas: one request of {times.signature} takes "
                f"{1000 * times.p99[0]:.2f} ms (p99) without any wait"
            )
            return 3
        show(_describe(choices, rate, workers, times))
        show(_measure_again(export, times, rate, choices, (workers, values.measure_secs)))
    return 0


def _count_processors(text: str) -> int:
    if not names.CPU.fullmatch(text):
        raise UserError(f"--cpu={text}: write a quantity such as 4 or 500m")
    number = float(text[:-1]) / 1000 if text.endswith("m") else float(text)
    if number < 1:
        raise UserError(f"--cpu={text}: a plan needs at least one processor")
    return math.floor(number)


def _find_export(place: str, copies: storage.Copies) -> str:
    if not storage.is_remote(place) and Path(place, storage.GRAPH).is_file():
        return place
    version = Deployment(place, "FOLDER").read().labels.get(STABLE)
    if version is None:
        raise UserError(f"{place}: no export, and no version is stable; push one first")
    local = copies.fetch(place, "FOLDER", lambda name: name.startswith(f"{version}/"))
    return str(Path(local, str(version)))


def _describe(
    choices: list[planning.Choice], rate: float, workers: int, times: planning.Times
) -> str:
    best = _find_best(choices)
    lines = [f"{times.signature}, {rate:g} requests/s, replicas of {workers} processor(s):"]
    lines += [
        f"  batches of {one.batch:>4}: {one.replicas:>4} replica(s), load {one.load:.0%}, "
        f"estimated p99 {1000 * one.p99:.1f} ms"
        for one in choices
    ]
    if best.batch == 1:
        lines.append("batching does not help at this rate")
    else:
        lines.append(f"batching helps; batching_parameters for batches of {best.batch}:")
        lines.append(planning.describe_batching(best, rate, workers).rstrip())
    return "\n".join(lines)


def _find_best(choices: list[planning.Choice]) -> planning.Choice:
    return min(choices, key=lambda one: (one.replicas, one.batch))


def _measure_again(
    export: str,
    times: planning.Times,
    rate: float,
    choices: list[planning.Choice],
    measured: tuple[int, float],
) -> str:
    """Returns how far the estimates, without and with batches, are from measurements here."""
    workers, secs = measured
    bridge.set_verbosity("error")
    bridge.prefer_onednn()
    # Imported here, because it imports TensorFlow.
    from trainer.serving import load

    here = load.count_workers(workers)
    lines = []
    with load.open_subject(export, times.signature) as subject:
        for choice in dict.fromkeys((choices[0], _find_best(choices))):
            share = rate / choice.replicas * here / workers
            estimated = planning.estimate(times, share, choice.batch, here).p99
            batches = f" in batches of up to {choice.batch}" if choice.batch > 1 else ""
            first = f"second measurement, {share:.4g} requests/s{batches} on {here} worker(s), by "
            asked = load.time_requests(subject, choice.batch, NUM_TIMED)
            queued = planning.simulate(share, asked, here, choice.batch)
            lines.append(f"{first}processor time: p99 {_describe_error(queued, estimated)}")
            if choice.batch > 1:
                # Nothing here puts requests together, as TensorFlow Serving does.
                continue
            found = load.measure(subject, share, here, secs)
            if found.others > BUSY:
                lines.append(
                    f"{first}the clock: this machine is too busy, others use {found.others:.0%} of "
                    "its processors; repeat it when idle"
                )
            else:
                error = _describe_error(found.p99, estimated)
                lines.append(f"{first}the clock for {secs:g} s: p99 {error}")
    return "\n".join(lines)


def _describe_error(measured: float, estimated: float) -> str:
    return (
        f"{1000 * measured:.2f} ms; the estimate of {1000 * estimated:.2f} ms is "
        f"{estimated / measured - 1:+.0%} off"
    )
