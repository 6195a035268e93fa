"""Whole jobs whose data and job_dir are in a bucket: real processes against the emulator."""

import json
import os
import re
import signal
import time

import pytest
from repeated_flags import keep_last

from estimator_bridge import BridgeError
from estimator_bridge.downgrade import files, operations
from trainer import task
from trainer.api import jobs

pytestmark = [pytest.mark.slow, pytest.mark.newest]
JOB = "gs://a-bucket/jobs/first"


@pytest.fixture(scope="module")
def shop_files(make, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    for number in range(2):
        make.csv(folder / f"train-{number}.csv", make.rows(300, seed=number), compress=number == 1)
    make.csv(folder / "eval.csv", make.rows(200, seed=9))
    make.yaml(folder / "schema.yaml", make.schema_values())
    return folder


@pytest.fixture
def flags(cloud, shop_files):
    for path in shop_files.glob("*.csv"):
        cloud.write(f"data/{path.name}", path.read_bytes())
    return [
        "--train_data=gs://a-bucket/data/train-*.csv",
        "--eval_data=gs://a-bucket/data/eval.csv",
        f"--data.schema_file={shop_files}/schema.yaml",
        f"--job_dir={JOB}",
        "--model=linear",
        "--batch_size=50",
        "--run.log_step_count_steps=20",
        "--storage.patience_secs=20",
        "--noexport.verify",
        "--norun.report",
    ]


def _disk(tmp_path, name):
    """The cache folder of a machine of its own."""
    (tmp_path / name).mkdir(exist_ok=True)
    return {"XDG_CACHE_HOME": str(tmp_path / name)}


def _pointed(cloud):
    """Steps of the checkpoints that the bucket's pointer names, each of which must be whole."""
    names = cloud.names("jobs/first/")
    if "jobs/first/checkpoint" not in names:
        return []
    text = cloud.read("jobs/first/checkpoint").decode()
    steps = [int(line.rpartition("-")[2][:-1]) for line in text.splitlines()[:1]]
    for step in steps:
        for suffix in ("index", "data-00000-of-00001"):
            assert f"jobs/first/model.ckpt-{step}.{suffix}" in names
    return steps


def test_a_killed_job_resumes_on_an_empty_disk(run_module, start_module, cloud, flags, tmp_path):
    # Each may write the best export.
    for_1x = ("estimator_bridge", "run", "--exports_for=1.15", "-m", "trainer.task")
    steps = ["--train_steps=100000", "--run.save_checkpoints_steps=200"]
    process = start_module(*for_1x, *flags, *steps, env=_disk(tmp_path, "one"))
    deadline = time.monotonic() + 120
    # Looked at while it is being written: what the pointer names is always whole.
    while (_pointed(cloud) or [0])[0] < 400:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (stored,) = _pointed(cloud)
    done = run_module(
        *for_1x,
        *flags,
        f"--train_steps={stored + 100}",
        "--export.verify",
        "--run.report",
        "--run.save_checkpoints_steps=200",
        env=_disk(tmp_path, "two"),
    )
    assert done.returncode == 0, done.stderr
    assert f"resuming at step {stored:,} from {JOB}/model.ckpt-{stored}" in done.stderr
    assert f"last, step {stored + 100:,}" in done.stdout
    assert "loaded in a fresh process, each answered" in done.stderr
    assert f"Summary of {JOB}" in done.stdout and str(tmp_path) not in done.stdout
    names = cloud.names("jobs/first/")
    assert _pointed(cloud) == [stored + 100]
    exports = [name for name in names if name.endswith("/saved_model.pb")]
    assert {name.split("/")[3] for name in exports} == {"best", "final"}
    for name in exports:
        (tmp_path / "saved_model.pb").write_bytes(cloud.read(name))
        export = files.read(str(tmp_path))
        # Nothing is left to rewrite.
        assert not files.rewrite(export, operations.find("1.15"))
    metrics = json.loads(cloud.read("jobs/first/metrics.json"))
    assert metrics["end_step"] == stored + 100
    assert metrics["exports"]["final"][0].startswith(f"{JOB}/export/final/")
    assert f"job_dir: {JOB}\n" in cloud.read("jobs/first/config.yaml").decode()
    assert not [name for name in names if "temp" in name or "/." in name or "tmp" in name]
    # A third machine finds nothing left to train, and does not change what is there.
    before = {name: cloud.generation("a-bucket", name) for name in exports}
    done = run_module(
        "trainer.task", *flags, f"--train_steps={stored + 100}", env=_disk(tmp_path, "three")
    )
    assert done.returncode == 0, done.stderr
    assert "nothing to train" in done.stderr
    assert all(cloud.generation("a-bucket", name) == before[name] for name in before)


def test_a_refused_export_is_named_by_its_address(flags, monkeypatch, capsys):
    def refuse(config, *more):
        raise BridgeError(f"--exports_for=1.15: {config.job_dir}/export/final/1: no TopKV2")

    monkeypatch.setattr(jobs, "_run_job", refuse)
    assert task.main(flags) == 2
    assert f"--exports_for=1.15: {JOB}/export/final/1: no TopKV2" in capsys.readouterr().err


def test_a_stopped_job_stores_its_last_step(start_module, run_module, cloud, flags, tmp_path):
    process = start_module(
        "trainer.task", *flags, "--train_steps=100000", env=_disk(tmp_path, "one")
    )
    deadline = time.monotonic() + 120
    while "jobs/first/checkpoint" not in cloud.names("jobs/first/"):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.2)
    time.sleep(1)
    # Uploads fail at first; what was saved at the end must arrive all the same.
    cloud.fail("status", method="POST", times=3)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 143, errors
    saved = int(errors.rpartition("checkpoint saved at step ")[2].split(";")[0].replace(",", ""))
    assert _pointed(cloud) == [saved]
    # --fresh begins anew, there too; naming another folder is refused.
    done = run_module(
        "trainer.task", *flags, "--train_steps=20", "--fresh=gs://a-bucket/jobs", timeout=60
    )
    assert done.returncode == 2 and _pointed(cloud) == [saved]
    assert f"must be the job_dir, {JOB}" in done.errors[-1]
    done = run_module("trainer.task", *flags, "--train_steps=20", f"--fresh={JOB}/")
    assert done.returncode == 0, done.stderr
    assert _pointed(cloud) == [20]
    assert f"jobs/first/model.ckpt-{saved}.index" not in cloud.names("jobs/first/")


def test_of_two_jobs_in_one_job_dir_one_ends(start_module, cloud, flags, tmp_path):
    steps = ["--train_steps=100000", "--run.save_checkpoints_steps=300"]
    both = [
        start_module("trainer.task", *flags, *steps, env=_disk(tmp_path, name))
        for name in ("one", "two")
    ]
    deadline = time.monotonic() + 120
    while all(process.poll() is None for process in both):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    (loser,) = [process for process in both if process.poll() is not None]
    (winner,) = [process for process in both if process is not loser]
    _, errors = loser.communicate(timeout=30)
    assert loser.returncode == 2
    last = errors.splitlines()[-1]
    assert last.startswith("error: gs://a-bucket/jobs/first: ") and "Traceback" not in errors
    assert "another writer has begun to work there" in last and "another --job_dir" in last
    assert json.loads(cloud.read("jobs/first/writer.json"))["pid"] == winner.pid
    while _pointed(cloud) < [300]:
        assert winner.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    winner.send_signal(signal.SIGTERM)
    _, errors = winner.communicate(timeout=60)
    assert winner.returncode == 143, errors
    # The claim stays, so that no earlier job overwrites the result.
    assert json.loads(cloud.read("jobs/first/writer.json"))["pid"] == winner.pid
    saved = re.search(r"checkpoint saved at step ([\d,]+)", errors)
    # In the middle of an evaluation there is nothing to save.
    pointed = _pointed(cloud)
    assert pointed == [int(saved.group(1).replace(",", ""))] if saved else pointed >= [300]


def test_a_wrong_job_dir_is_reported_before_anything_is_stored(run_module, cloud, flags):
    cloud.write("data/empty-folder/x/y.csv", b"a")
    wrong = {
        "--job_dir=gs://no-such-bucket/x": "there is no bucket 'no-such-bucket'",
        "--job_dir=gs://No_Bucket/x": "'No_Bucket' is no name of a bucket",
        "--job_dir=gs://a-bucket": "a whole bucket; name a folder",
        "--train_data=gs://a-bucket/data/tarin-*.csv": "no object matches",
        "--train_data=gs://no-such-bucket/x.csv": "there is no bucket 'no-such-bucket'",
        "--storage=mount": "there is no /gcs/a-bucket",
        "--storage.cache_gib=0.000001": "raise --storage.cache_gib",
    }
    for flag, words in wrong.items():
        done = run_module("trainer.task", *keep_last([*flags, "--train_steps=10", flag]))
        assert done.returncode == 2, (flag, done.stderr)
        assert words in done.errors[-1] and len(done.errors) == 1, (flag, done.stderr)
    cloud.fail("status", status=403, times=1000)
    done = run_module("trainer.task", *flags, "--train_steps=10")
    assert done.returncode == 2
    assert "no permission to list" in done.stderr and "roles/storage.objectViewer" in done.stderr
    cloud.faults.clear()
    assert cloud.names("jobs/") == []


def test_a_job_that_loses_its_permission_reports_it_once(start_module, cloud, flags, tmp_path):
    steps = ["--train_steps=100000", "--run.save_checkpoints_steps=300"]
    job = start_module("trainer.task", *flags, *steps, env=_disk(tmp_path, "one"))
    deadline = time.monotonic() + 120
    while not _pointed(cloud):
        assert job.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    cloud.fail("status", status=403, method="POST", times=10000)
    _, errors = job.communicate(timeout=120)
    assert job.returncode == 2, errors
    last = errors.splitlines()[-1]
    assert "no permission to write" in last and "objectUser" in last
    assert errors.count("no permission to write") == 1 and "Traceback" not in errors
    # What was trained is still there.
    assert os.path.exists(os.path.join(last.rpartition(" ")[2], "checkpoint"))


def test_a_dry_run_stores_nothing(run_module, cloud, flags, shop_files):
    cloud.write("schema.yaml", (shop_files / "schema.yaml").read_bytes())
    # What Vertex AI says of a managed data set and of folders takes the place of these flags.
    said = ("--train_data", "--eval_data", "--job_dir", "--data.schema_file")
    rest = [flag for flag in flags if not flag.startswith(said)]
    done = run_module(
        "trainer.task",
        *rest,
        "--data.schema_file=gs://a-bucket/schema.yaml",
        "--train_steps=10",
        "--dry_run",
        env={
            "AIP_DATA_FORMAT": "csv",
            "AIP_TRAINING_DATA_URI": "gs://a-bucket/data/train-*",
            "AIP_VALIDATION_DATA_URI": "gs://a-bucket/data/eval.csv",
            "AIP_CHECKPOINT_DIR": "gs://a-bucket/jobs/first/",
        },
    )
    assert done.returncode == 0, done.stderr
    assert cloud.names("jobs/") == []
