"""The commands that ask a trained job, its files and their own output in a bucket."""

import functools
import json
import re
from pathlib import Path

import pytest

from trainer.config import load_config
from trainer.config.commands import run
from trainer.engines import options
from trainer.errors import UserError
from trainer.evaluation import command
from trainer.prediction import command as predict
from trainer.schema import __main__ as schema_command
from trainer.watching import command as watch_command
from trainer.watching import report as watch_report

pytestmark = pytest.mark.newest

JOB = "gs://a-bucket/jobs/first"


@pytest.fixture(scope="module")
def done(trained):
    return trained("linear", "bought", run={"save_checkpoints_steps": 30})


@pytest.fixture
def job(done, cloud):
    """The job of `done` as its mirror would have stored it."""
    for path in done.folder.rglob("*"):
        name = path.relative_to(done.folder).as_posix()
        if path.is_file() and path.stat().st_size:
            content = path.read_bytes()
            if name in ("checkpoint", "config.yaml"):
                content = content.replace(str(done.folder).encode(), JOB.encode())
            cloud.write(f"jobs/first/{name}", content)
    return done


@pytest.fixture
def rows(make, cloud, tmp_path):
    """200 rows in two files of the bucket."""
    for number in range(2):
        path = make.csv(tmp_path / f"new-{number}.csv", make.rows(100, seed=number))
        cloud.write(f"data/new-{number}.csv", open(path, "rb").read())  # noqa: SIM115
    return "--data=gs://a-bucket/data/new-*.csv"


def _fetched(cloud):
    """Names of the objects that were read, relative to the job."""
    paths = [path for method, path in cloud.requests if method == "GET" and "alt=media" in path]
    names = [re.search(r"/o/([^?]+)", path).group(1) for path in paths]
    return {name[len("jobs/first/") :] for name in names if name.startswith("jobs/first/")}


def _refused(main, arguments, capsys):
    capsys.readouterr()
    assert main(arguments) == 2
    # Before it there may be what was done until then.
    *before, line = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ") and not [one for one in before if "error" in one.lower()]
    return line


def _left_behind(tmp_path):
    return [path for path in tmp_path.rglob("copies-*")]


def test_an_evaluation_of_the_last_checkpoint_is_stored_in_the_job(
    job, rows, cloud, capsys, tmp_path
):
    before = set(cloud.names("jobs/first/"))
    assert command.main([f"--job_dir={JOB}", rows, "--by=city"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == (
        f"{JOB}/evaluation/evaluation.json, {JOB}/evaluation/evaluation.png"
    )
    new = {"jobs/first/evaluation/evaluation.json", "jobs/first/evaluation/evaluation.png"}
    assert set(cloud.names("jobs/first/")) - before == new
    report = json.loads(cloud.read("jobs/first/evaluation/evaluation.json"))
    last = job.result.end_step
    assert report["rows"] == 200 and report["files"][0] == "gs://a-bucket/data/new-0.csv"
    assert report["evaluations"][0]["checkpoint"] == f"{JOB}/model.ckpt-{last}"
    # Of the checkpoints only the one that was wanted.
    data = {name for name in _fetched(cloud) if ".data-" in name}
    assert data == {f"model.ckpt-{last}.data-00000-of-00001"}
    assert not _left_behind(tmp_path)
    # Again, over what is there; and what was measured here is the same.
    assert command.main([f"--job_dir={JOB}/", rows, "--all_checkpoints"]) == 0
    steps = [
        one["step"]
        for one in json.loads(cloud.read("jobs/first/evaluation/evaluation.json"))["evaluations"]
    ]
    assert steps == [0, 30, last]


def test_a_checkpoint_and_an_output_may_be_elsewhere(job, rows, cloud, capsys, tmp_path):
    output = tmp_path / "report"
    wanted = [f"--checkpoint={JOB}/model.ckpt-30", f"--output={output}"]
    assert command.main([f"--job_dir={job.folder}", rows, *wanted]) == 0
    assert (
        command.main(
            [f"--job_dir={JOB}", rows, "--checkpoint=30", "--output=gs://a-bucket/reports/one/"]
        )
        == 0
    )
    here = json.loads((output / "evaluation.json").read_text())
    there = json.loads(cloud.read("reports/one/evaluation.json"))
    assert here["evaluations"][0]["step"] == 30
    assert here == there


def test_an_evaluation_error_takes_one_line(job, rows, cloud, capsys, tmp_path):
    def refused(*arguments):
        return _refused(command.main, [rows, *arguments], capsys)

    assert "there is no bucket 'no-such'" in refused("--job_dir=gs://no-such/x")
    assert "'No_Such' is no name of a bucket" in refused("--job_dir=gs://No_Such/x")
    assert "--job_dir: there is nothing in gs://a-bucket/jobs/frist" in refused(
        "--job_dir=gs://a-bucket/jobs/frist"
    )
    assert f"--checkpoint={JOB}/model.ckpt-31: no such checkpoint; choose one of the" in (
        refused(f"--job_dir={JOB}", f"--checkpoint={JOB}/model.ckpt-31")
    )
    assert "raise --storage.cache_gib" in refused(f"--job_dir={JOB}", "--storage.cache_gib=1e-6")
    assert "gs://no-such/x/: there is no bucket" in refused(
        f"--job_dir={JOB}", "--output=gs://no-such/x"
    )
    assert "storage.patience_secs" in refused(f"--job_dir={JOB}", "--storage.patience_secs=soon")
    assert "there is no /gcs/a-bucket" in refused(f"--job_dir={JOB}", "--storage.reader=mount")
    cloud.write("jobs/empty/notes.txt", b"x")
    assert "job_dir gs://a-bucket/jobs/empty: no config.yaml" in refused(
        "--job_dir=gs://a-bucket/jobs/empty"
    )
    cloud.fail("status", status=403, times=9, method="POST")
    line = refused(f"--job_dir={JOB}")
    assert "no permission to write" in line and f"{JOB}/evaluation/evaluation." in line
    cloud.faults.clear()
    cloud.fail("status", status=403, times=9)
    assert "no permission to list" in refused(f"--job_dir={JOB}")
    assert not _left_behind(tmp_path)


def test_an_export_in_a_bucket_predicts_rows(job, make, cloud, capsys):
    names = [*job.schema.used_features, "id"]
    row = {name: make.rows(1, seed=6, missing=False)[0][name] for name in names}
    question = f"--row={json.dumps(row)}"
    capsys.readouterr()
    assert predict.main([f"--export={job.export}", question]) == 0
    here = json.loads(capsys.readouterr().out)
    export = f"{JOB}/{Path(job.export).relative_to(job.folder).as_posix()}"
    for flag in (f"--job_dir={JOB}", f"--export={export}", f"--export={export}/"):
        assert predict.main([flag, question]) == 0
        assert json.loads(capsys.readouterr().out) == here
    # An export that is being stored has no saved_model.pb yet.
    cloud.write("jobs/first/export/best/99999999999/variables/variables.index", b"x")
    assert predict.main([f"--job_dir={JOB}", question]) == 0


def test_shards_of_predictions_are_stored_and_skipped_later(job, rows, cloud, capsys, tmp_path):
    arguments = [f"--job_dir={JOB}", rows, "--output=gs://a-bucket/out"]
    assert predict.main(arguments) == 0
    stored = ["out/_SUCCESS", "out/_predictions.json", "out/new-0.csv", "out/new-1.csv"]
    assert cloud.names("out/") == stored
    local = tmp_path / "local"
    assert predict.main([f"--export={job.export}", rows, f"--output={local}"]) == 0
    for name in ("new-0.csv", "new-1.csv"):
        assert cloud.read(f"out/{name}") == (local / name).read_bytes()
    capsys.readouterr()
    # Killed in between: the next run makes what is missing, and no more.
    before = cloud.generation("a-bucket", "out/new-0.csv")
    manifest = json.loads(cloud.read("out/_predictions.json"))
    del manifest["new-1.csv"]
    cloud.write("out/_predictions.json", json.dumps(manifest).encode())
    line = _refused(predict.main, arguments, capsys)
    assert "gs://a-bucket/out/new-1.csv is there already" in line
    assert cloud.names("out/") == stored
    seen = len(cloud.requests)
    assert predict.main([*arguments, "--overwrite"]) == 0
    writes = [request for request in cloud.requests[seen:] if request[0] in ("DELETE", "POST")]
    # A reader sees the mark only while all shards are there.
    assert writes[0][0] == "DELETE" and "/o/out/_SUCCESS?" in writes[0][1]
    assert cloud.names("out/") == stored
    assert "1 shard(s) written, 1 finished before: gs://a-bucket/out" in capsys.readouterr().err
    assert cloud.generation("a-bucket", "out/new-0.csv") == before
    assert not _left_behind(tmp_path)


def test_a_mark_in_a_bucket_is_gone_while_an_engine_predicts(job, rows, cloud, monkeypatch):
    from trainer.prediction import engine_work

    cloud.write("out/_SUCCESS", b"of an earlier run")

    def run_tasks(work, tasks, what, engine, finish):
        assert "out/_SUCCESS" not in cloud.names("out/")
        written = functools.reduce(work.merge, [work.run(task) for task in tasks])
        assert "out/_SUCCESS" not in cloud.names("out/")
        finish(written)
        return written

    def store_template(work, tasks, engine, finish, begin):
        # Whenever the service runs the pipeline.
        begin()
        assert "out/_SUCCESS" not in cloud.names("out/")

    monkeypatch.setattr(engine_work, "run_tasks", run_tasks)
    monkeypatch.setattr(engine_work, "store_template", store_template)
    monkeypatch.setattr(options, "require_package", lambda engine: None)
    arguments = [f"--job_dir={JOB}", rows, "--output=gs://a-bucket/out", "--engine=beam"]
    assert predict.main(arguments) == 0
    assert {"out/_SUCCESS", "out/new-0.csv", "out/new-1.csv"} < set(cloud.names("out/"))
    assert predict.main([*arguments, "--beam_options=--template_location=gs://a-bucket/t"]) == 0
    assert "out/_SUCCESS" not in cloud.names("out/")


def test_predictions_in_one_file_of_a_bucket(job, rows, cloud, capsys):
    arguments = [f"--job_dir={JOB}", rows, "--output=gs://a-bucket/out/all.jsonl"]
    assert predict.main(arguments) == 0
    assert len(cloud.read("out/all.jsonl").splitlines()) == 200
    assert "is there already" in _refused(predict.main, arguments, capsys)
    assert "there is no bucket" in _refused(
        predict.main, [*arguments[:2], "--output=gs://no-such/x/"], capsys
    )
    assert "--export: there is nothing in gs://a-bucket/model" in _refused(
        predict.main, ["--export=gs://a-bucket/model", "--row={}"], capsys
    )


def test_two_writers_of_one_file_do_not_overwrite_each_other(job, rows, cloud, capsys):
    arguments = [f"--job_dir={JOB}", rows, "--output=gs://a-bucket/out/all.csv"]
    # Written by another while this one predicts: after its look, before its first byte.
    seen = len(cloud.requests)

    class Meanwhile(list):
        def append(self, request):
            super().append(request)
            if request[0] == "POST" and "out/all.csv" not in cloud.names("out/"):
                cloud.write("out/all.csv", b"of another")

    cloud.requests = Meanwhile(cloud.requests[seen:])
    line = _refused(predict.main, arguments, capsys)
    cloud.requests = []
    assert "gs://a-bucket/out/all.csv: another program has written it meanwhile" in line
    assert cloud.read("out/all.csv") == b"of another"


def test_a_schema_is_proposed_and_checked_in_a_bucket(job, rows, make, cloud, capsys, tmp_path):
    def ask(*arguments):
        return run(schema_command.main, list(arguments))

    output = "--output=gs://a-bucket/schemas/new.yaml"
    assert ask("infer", rows, "--label=bought", output) == 0
    assert "--data.schema_file=gs://a-bucket/schemas/new.yaml" in capsys.readouterr().out
    assert "columns:" in cloud.read("schemas/new.yaml").decode()
    assert ask("infer", rows, "--label=bought", output) == 2
    assert "gs://a-bucket/schemas/new.yaml: already exists" in capsys.readouterr().err
    same = "gs://a-bucket/data/new-1.csv"
    assert ask("infer", rows, "--label=bought", f"--output={same}", "--overwrite") == 2
    assert f"--output: {same} is one of --data; name another" in capsys.readouterr().err
    schema = make.yaml(tmp_path / "schema.yaml", make.schema_values())
    for statistics in (JOB, f"{JOB}/statistics.json"):
        assert ask("check", f"--schema={schema}", rows, f"--statistics={statistics}") in (0, 1)
        assert "PSI" in capsys.readouterr().out
    for words in (
        ("gs://no-such/x", "there is no bucket 'no-such'"),
        ("gs://a-bucket/jobs/frist", "--statistics: there is nothing in gs://a-bucket/jobs/frist"),
    ):
        assert ask("check", f"--schema={schema}", rows, f"--statistics={words[0]}") == 2
        assert words[1] in capsys.readouterr().err


def test_a_schema_and_its_vocabulary_are_read_from_a_bucket(rows, make, cloud, capsys, tmp_path):
    values = make.schema_values()
    values["columns"]["city"] = {**values["columns"]["city"], "vocabulary_file": "words/city.txt"}
    known = values["columns"]["city"].pop("vocabulary")
    path = make.yaml(tmp_path / "schema.yaml", values)
    cloud.write("schemas/shop.yaml", open(path, "rb").read())  # noqa: SIM115
    check = ["check", "--schema=gs://a-bucket/schemas/shop.yaml", rows]
    assert run(schema_command.main, check) == 2
    assert "gs://a-bucket/schemas/words/city.txt: no such object" in capsys.readouterr().err
    cloud.write("schemas/words/city.txt", "\n".join([*known, "Rom", "Prag", ""]).encode())
    assert run(schema_command.main, check) == 0
    assert "outside the vocabulary" not in capsys.readouterr().out
    cloud.write("schemas/bad.yaml", b"columns: [")
    check[1] = "--schema=gs://a-bucket/schemas/bad.yaml"
    assert run(schema_command.main, check) == 2
    assert "error: schema gs://a-bucket/schemas/bad.yaml: line 1" in capsys.readouterr().err
    config = load_config(None, {"data.schema_file": "gs://a-bucket/schemas/shop.yaml"})
    assert config.data.schema_file == "gs://a-bucket/schemas/shop.yaml"


def test_a_warm_start_may_come_from_a_bucket(job, cloud, tmp_path):
    from trainer.models.warm_start import find_checkpoint

    last = job.result.end_step
    for path, step in ((JOB, last), (f"{JOB}/", last), (f"{JOB}/model.ckpt-30", 30)):
        here = find_checkpoint(path)
        assert here.startswith(str(tmp_path)) and here.endswith(f"/model.ckpt-{step}")
        for name in (f"model.ckpt-{step}.index", f"model.ckpt-{step}.data-00000-of-00001"):
            copied = (Path(here).parent / name).read_bytes()
            assert copied == (job.folder / name).read_bytes()
        assert (Path(here).parent / "schema.json").exists()
    cloud.write("jobs/empty/notes.txt", b"x")
    for path, words in (
        ("gs://no-such/x/y", "there is no bucket"),
        ("gs://a-bucket/jobs/empty", "train.warm_start: no checkpoint at 'gs://a-bucket/jobs/e"),
        ("gs://a-bucket/jobs/frist", "there is nothing in gs://a-bucket/jobs/frist"),
        ("gs://a-bucket/elsewhere/frist", "there is nothing in gs://a-bucket/elsewhere"),
    ):
        with pytest.raises(UserError, match=words):
            find_checkpoint(path)


def test_watch_reads_requests_and_keeps_its_state_in_a_bucket(done, cloud, make):
    def log(number):
        names = ("id", "age", "hours", "city", "job", "level")
        lines = [
            json.dumps({**{name: row[name] for name in names}, "logistic": 0.5, "time": 1.77e9})
            for row in make.rows(150, seed=number)
        ]
        cloud.write(f"logs/{number}.jsonl", ("\n".join(lines) + "\n").encode())

    flags = [f"--export={done.export}", "--requests=gs://a-bucket/logs/*.jsonl", "--noreplay"]
    flags.append("--state=gs://a-bucket/watch/first")

    def watch():
        status = watch_command.main(flags)
        document = json.loads(cloud.read("watch/first/watch.json"))
        assert watch_report.STATUS[document["status"]] == status
        assert cloud.read("watch/first/watch.html").startswith(b"<!doctype html>")
        return document["rows"], document["new_rows"]

    log(1)
    assert watch() == (150, 150)
    assert watch() == (150, 0)
    log(2)
    assert watch() == (300, 150)
