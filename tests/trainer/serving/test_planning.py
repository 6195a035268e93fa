"""The plan holds in a simulated queue, and its estimate is compared with a measurement."""

import heapq
import json
import math
import random
import re
import shutil
import statistics

import numpy as np
import pytest

from trainer.serving import command, planning

pytestmark = pytest.mark.newest
LATENCIES = [
    {"signature": "serving_default", "batch": 1, "p50_ms": 2.0, "p99_ms": 3.0},
    {"signature": "serving_default", "batch": 64, "p50_ms": 5.0, "p99_ms": 6.0},
    {"signature": "serving_default", "batch": 1024, "p50_ms": 40.0, "p99_ms": 50.0},
]
TIMES = planning.read_times({"latencies": LATENCIES}, None)


def _simulate(rate, secs, workers, spread):
    """The 99th percentile of wait and answer of one of some workers."""
    rng = random.Random(5)
    free, now, taken = [0.0] * workers, 0.0, []
    for _ in range(100_000):
        now += rng.expovariate(rate)
        ended = max(now, heapq.heappop(free)) + secs * math.exp(rng.gauss(0, spread))
        taken.append(ended - now)
        heapq.heappush(free, ended)
    return float(np.quantile(taken, 0.99))


@pytest.mark.quick
@pytest.mark.parametrize("times", [1.0, 1.5, 3.0])
@pytest.mark.parametrize(("rate", "workers"), [(30, 1), (300, 1), (100, 2), (650, 2), (1900, 6)])
def test_the_answer_is_that_of_the_queue(rate, workers, times):
    # The 99th percentile of the time of a request is so many times its median.
    spread = math.log(times) / statistics.NormalDist().inv_cdf(0.99)
    estimated, load = planning.compute_answer(rate, 0.002, 0.002 * times, workers)
    assert load == pytest.approx(rate * 0.002 * math.exp(spread**2 / 2) / workers)
    assert estimated == pytest.approx(_simulate(rate, 0.002, workers, spread), rel=0.12)
    full = planning.compute_answer(workers / 0.002, 0.002, 0.002 * times, workers)
    assert full[0] == math.inf


@pytest.mark.quick
def test_measured_times_are_queued_like_the_model():
    rng = random.Random(7)
    times = [0.002 * math.exp(rng.gauss(0, 0.2)) for _ in range(500)]
    p50, p99 = np.quantile(times, (0.5, 0.99))
    queued = planning.simulate(600, times, 2)
    assert queued == pytest.approx(_simulate(600, 0.002, 2, 0.2), rel=0.08)
    assert queued == pytest.approx(planning.compute_answer(600, p50, p99, 2)[0], rel=0.12)


@pytest.mark.quick
def test_batches_are_filled_answered_together_and_queued():
    # Ten requests a second of one worker that takes no time: the first waits for the others.
    answered = planning.simulate(10, [1e-9], 1, batch=4)
    assert answered == pytest.approx(planning.find_timeout(10, 4), rel=0.01)
    # A batch of one row is a request.
    assert planning.simulate(300, [0.002, 0.003], 2, 1) == planning.simulate(300, [0.002, 0.003], 2)
    # Where single requests would need more than the worker has, batches hold the rate.
    assert planning.simulate(1000, [0.002], 1) > 1
    estimated = planning.estimate(TIMES, 1000, 64, 1)
    p50, p99 = (values[TIMES.batches.index(64)] for values in (TIMES.p50, TIMES.p99))
    spread = math.log(p99 / p50) / statistics.NormalDist().inv_cdf(0.99)
    rng = random.Random(7)
    times = [p50 * math.exp(rng.gauss(0, spread)) for _ in range(500)]
    assert planning.simulate(1000, times, 1, 64) == pytest.approx(estimated.p99, rel=0.12)


@pytest.mark.quick
def test_processor_times_are_taken_where_the_sandbox_has_them():
    one = {**LATENCIES[0], "cpu_p50_ms": 1.0, "cpu_p99_ms": 1.5}
    times = planning.read_times({"latencies": [one, *LATENCIES[1:]]}, None)
    assert (times.p50[:2], times.p99[:2]) == ([0.001, 0.005], [0.0015, 0.006])


@pytest.mark.long
@pytest.mark.quick
def test_the_fewest_replicas_are_chosen_and_batches_help_at_high_rates():
    choices = planning.choose(TIMES, 5000, 0.04, 2)
    alone = choices[0]
    # 5,000 requests of 2 ms are ten busy workers, at most 70 % of them used.
    assert (alone.batch, alone.replicas) == (1, 8) and alone.load <= 0.7
    fewer = planning.estimate(TIMES, 5000 / (alone.replicas - 1), 1, 2)
    assert fewer.load > 0.7 or fewer.p99 > 0.04
    best = min(choices, key=lambda one: one.replicas)
    assert best.batch > 1 and best.replicas < alone.replicas and best.p99 <= 0.04
    # With few requests, a batch is not filled in time.
    assert [one.batch for one in planning.choose(TIMES, 20, 0.04, 2)] == [1]
    assert not planning.choose(TIMES, 500, 0.002, 2)


@pytest.mark.quick
def test_the_parameters_are_those_of_tensorflow_serving():
    text = planning.describe_batching(planning.Choice(32, 4, 0.5, 0.02), 8000, 2)
    # Fields of BatchingParameters, after its guide: 31 more requests come in 15.5 ms.
    assert dict(re.findall(r"(\w+) { value: (\d+) }", text)) == {
        "max_batch_size": "32",
        "batch_timeout_micros": "15500",
        "num_batch_threads": "2",
        "max_enqueued_batches": "200",
    }


@pytest.mark.quick
@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--rate: not given"),
        (["--rate=500/s"], "--p99: not given"),
        (["--rate=fast", "--p99=20ms"], "--rate=fast: write requests per second"),
        (["--rate=500/s", "--p99=20"], "--p99=20: write a time such as 20ms"),
        (["--rate=500/s", "--p99=20ms", "--cpu=500m"], "--cpu=500m: a plan needs"),
        (["--rate=500/s", "--p99=20ms", "--cpu=nan"], "--cpu=nan: write a quantity"),
        (["--rate=500/s", "--p99=20ms"], "no measurement; run python -m trainer.sandbox"),
        (["--rate=500/s", "--p99=20ms", "--signature=x"], "the sandbox has measured serving_def"),
    ],
)
def test_wrong_options_print_one_line(tmp_path, capsys, flags, message):
    (tmp_path / "saved_model.pb").write_text("graph")
    if "--signature=x" in flags:
        (tmp_path / "assets.extra").mkdir()
        report = json.dumps({"latencies": LATENCIES})
        (tmp_path / "assets.extra/sandbox.json").write_text(report)
    assert command.main([str(tmp_path), "--plan", *flags]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_plan_is_measured_again(trained, tmp_path, capsys):
    pytest.importorskip("tensorflow_serving")
    from trainer.sandboxing import command as sandbox

    export = shutil.copytree(trained("linear", "bought").export, tmp_path / "1")
    assert sandbox.main([f"--export={export}"]) == 0
    capsys.readouterr()
    flags = ["--plan", "--cpu=1", "--measure_secs=1"]
    assert command.main([str(export), *flags, "--rate=40/s", "--p99=2s"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"batches of +1: +1 replica", text)
    first = r"40 requests/s on 1 worker\(s\), by "
    found = re.search(first + r"processor time: p99 ([\d.]+) ms; .* is [+-]\d+% off", text)
    assert found and float(found[1]) > 0
    by_clock = r"the clock(: this machine is too busy, others use \d+%| for 1 s: p99 [\d.]+ ms; )"
    assert re.search(first + by_clock, text)
    # So many requests that batches need fewer replicas.
    assert command.main([str(export), *flags, "--rate=50000/s", "--p99=2s"]) == 0
    text = capsys.readouterr().out
    assert "batching helps; batching_parameters for batches of" in text
    in_batches = (
        r"requests/s in batches of up to \d+ on 1 worker\(s\), by processor time: p99 [\d.]+"
    )
    assert (
        len(re.findall(in_batches + r" ms; the estimate of [\d.]+ ms is [+-]\d+% off", text)) == 1
    )
    assert command.main([str(export), *flags, "--rate=40/s", "--p99=0.001ms"]) == 3
    assert "no number of replicas" in capsys.readouterr().out
