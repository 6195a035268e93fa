"""A cluster whose machines share nothing but a bucket."""

import json
import socket
import time

import pytest

from trainer.cluster.processes import find_addresses

pytestmark = [pytest.mark.slow, pytest.mark.newest]


def _own_address():
    """An address of this machine that is not loopback: to the trainer, another machine's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            pytest.skip("this machine has no address but loopback")


def _start(start_module, make, cloud, tmp_path, roles, *flags):
    for number in range(2):
        rows = make.csv(tmp_path / f"train-{number}.csv", make.rows(300, seed=number))
        cloud.write(f"data/train-{number}.csv", open(rows, "rb").read())  # noqa: SIM115
    make.yaml(tmp_path / "schema.yaml", make.schema_values())
    host, cluster = _own_address(), {}
    for role in roles:
        if role != "evaluator":
            cluster.setdefault(role, []).extend(find_addresses(1, host))
    processes = {}
    # The evaluator first: a chief that has trained before it appears does its work itself.
    for place, role in sorted(enumerate(roles), key=lambda item: item[1] != "evaluator"):
        index = roles[:place].count(role)
        disk = tmp_path / f"{role}-{index}"
        disk.mkdir(exist_ok=True)
        config = {"cluster": cluster, "task": {"type": role, "index": index}}
        processes[role] = start_module(
            "trainer.task",
            "--train_data=gs://a-bucket/data/train-*.csv",
            "--eval_data=gs://a-bucket/data/train-0.csv",
            f"--data.schema_file={tmp_path}/schema.yaml",
            "--job_dir=gs://a-bucket/jobs/c",
            "--model=linear",
            "--batch_size=40",
            "--noexport.verify",
            "--norun.report",
            *flags,
            env={"TF_CONFIG": json.dumps(config), "XDG_CACHE_HOME": str(disk)},
        )
        deadline = time.monotonic() + 120
        status = "jobs/c/cluster/evaluator-0.1.json"
        while role == "evaluator" and status not in cloud.names("jobs/"):
            assert processes[role].poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
    return processes


def _finish(processes, limit_secs=240):
    deadline = time.monotonic() + limit_secs
    told = {}
    for role, process in processes.items():
        output, errors = process.communicate(timeout=max(1, deadline - time.monotonic()))
        told[role] = (process.returncode, output, errors)
    return told


def test_an_evaluator_on_another_machine(start_module, make, cloud, tmp_path):
    processes = _start(
        start_module, make, cloud, tmp_path, ["chief", "evaluator"],
        # Steps long enough for the chief to see that the evaluator is alive.
        "--train_steps=600", "--run.save_checkpoints_steps=300", "--engine=canned",
    )  # fmt: skip
    told = _finish(processes)
    assert {role: status for role, (status, _, _) in told.items()} == {
        "chief": 0,
        "evaluator": 0,
    }, told
    assert "\nevaluation at step 600" in told["evaluator"][2], told
    assert "\nevaluation at step 600" not in told["chief"][2]
    # The chief has what the evaluator measured and exported.
    metrics = json.loads(cloud.read("jobs/c/metrics.json"))
    assert metrics["last"]["step"] == 600 and metrics["exports"]["final"]
    lines = cloud.read("jobs/c/metrics.jsonl").decode().splitlines()
    evaluated = [json.loads(line)["step"] for line in lines if '"eval"' in line]
    assert evaluated[-1] == 600 and len(evaluated) == len(set(evaluated))
    names = cloud.names("jobs/c/export/final/")
    assert any(name.endswith("/saved_model.pb") for name in names)


@pytest.mark.matrix
def test_workers_in_step_on_machines_without_a_shared_folder(start_module, make, cloud, tmp_path):
    processes = _start(
        start_module, make, cloud, tmp_path, ["chief", "worker"],
        "--strategy=multi_worker_mirrored", "--train_steps=30",
    )  # fmt: skip
    told = _finish(processes)
    assert [status for status, _, _ in told.values()] == [0, 0], told
    assert "jobs/c/model.ckpt-30.index" in cloud.names("jobs/c/")
    assert json.loads(cloud.read("jobs/c/metrics.json"))["end_step"] == 30


def test_parameter_servers_without_a_shared_folder_are_refused(start_module, make, cloud, tmp_path):
    processes = _start(start_module, make, cloud, tmp_path, ["chief", "ps"], "--train_steps=30")
    for status, _, errors in _finish(processes, 60).values():
        assert status == 2, errors
        (line,) = errors.splitlines()
        assert line.startswith("error: job_dir gs://a-bucket/jobs/c: parameter servers write their")
        assert "--strategy=multi_worker_mirrored" in line
    assert cloud.names("jobs/") == []
