"""Commands on Apache Beam and Apache Spark, where the extras are installed: two real workers."""

import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.matrix, pytest.mark.slow]

ENGINES = {
    "beam": "--beam_options=--runner=DirectRunner --direct_num_workers=2 "
    "--direct_running_mode=multi_processing",
    "spark": "--spark_options=master=local-cluster[2,1,1024]",
}
PACKAGES = {"beam": "apache_beam", "spark": "pyspark"}


@pytest.fixture(params=ENGINES)
def engine(request):
    """The flags of an engine."""
    package = PACKAGES[request.param]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install '.[{request.param}]'")
    return [f"--engine={request.param}", ENGINES[request.param]]


@pytest.fixture
def run(run_module, tmp_path):
    """run("trainer.schema", "infer", ...) → the finished process, which runs in tmp_path."""
    # Not forked: the engines start processes of their own.
    return functools.partial(run_module, cwd=tmp_path, fresh=True)


@pytest.fixture
def data(make, tmp_path):
    """A folder of three files, by a relative path."""
    (tmp_path / "data").mkdir()
    for number in range(3):
        make.csv(tmp_path / "data" / f"part-{number}.csv", make.rows(300, seed=number))
    return "data"


def test_schemas_are_those_of_the_local_command(engine, data, run):
    argv = ["trainer.schema", "infer", f"--data={data}", "--label=bought"]
    here, there = run(*argv), run(*argv, *engine)
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout


def test_tfrecord_files_are_shared_among_the_tasks(engine, make, tmp_path, run):
    (tmp_path / "data").mkdir()
    for number in range(5):
        make.tfrecord(tmp_path / "data" / f"{number}.tfrecord", make.rows(60, seed=number))
    argv = ["trainer.schema", "infer", "--data=data", "--label=bought"]
    here, there = run(*argv), run(*argv, *engine)
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout and "reading the data: 5 task(s)" in there.stderr


def test_a_check_is_that_of_the_local_command(engine, data, make, tmp_path, run):
    schema = tmp_path / "schema.yaml"
    done = run("trainer.schema", "infer", f"--data={data}", "--label=bought", f"--output={schema}")
    assert done.returncode == 0, done.stderr
    (tmp_path / "data" / "part-1.csv").open("a").write("wrong\n")
    argv = ["trainer.schema", "check", f"--schema={schema}", f"--data={data}", "--format=json"]
    here, there = run(*argv), run(*argv, *engine)
    assert (there.returncode, there.stdout) == (3, here.stdout), there.stderr


def test_predictions_are_those_of_the_local_command(engine, data, trained, tmp_path, run):
    argv = ["trainer.predict", f"--export={trained('wide_deep', 'bought').export}"]
    argv += [f"--data={data}", "--columns=city", "--format=parquet"]
    assert run(*argv, "--output=here").returncode == 0
    there = run(*argv, "--output=there", *engine)
    assert there.returncode == 0, there.stderr
    assert "900 rows" in there.stderr and (tmp_path / "there" / "_SUCCESS").is_file()
    for number in range(3):
        name = f"part-{number}.parquet"
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_an_evaluation_is_that_of_the_local_command(engine, data, trained, tmp_path, run):
    argv = ["trainer.evaluate", f"--job_dir={trained('wide_deep', 'bought').folder}"]
    argv += [f"--data={data}", "--by=city,age"]
    assert run(*argv, "--output=here").returncode == 0
    there = run(*argv, "--output=there", *engine)
    assert there.returncode == 0, there.stderr
    found = [
        json.loads((tmp_path / name / "evaluation.json").read_text()) for name in ("here", "there")
    ]
    assert all(report.pop("evaluations") for report in found)
    assert found[0] == found[1] and found[0]["rows"] == 900
    (tmp_path / "few.py").write_text(_FEW)
    for name, flags in (("here", []), ("there", engine)):
        done = run("few", *argv, f"--output={name}", *flags)
        assert done.returncode == 0, done.stderr
        report = json.loads((tmp_path / name / "evaluation.json").read_text())
        assert report.pop("evaluations") and report["bounds"]
        found.append(report)
    assert found[2] == found[3] and found[2]["rows"] == 900


# Runs a module for which more than 100 rows are many.
_FEW = """
import runpy, sys
from trainer.metrics import rows_or_sums
rows_or_sums.EXACT_ROWS = 100
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def test_a_gate_is_that_of_the_local_command(engine, data, trained, tmp_path, run):
    (tmp_path / "few.py").write_text(_FEW)
    jobs = [trained("wide_deep", "bought").export, trained("linear", "bought").export]
    found = []
    for name, flags in (("here", []), ("there", engine)):
        candidate = shutil.copytree(jobs[0], tmp_path / name)
        argv = [f"--candidate={candidate}", f"--baseline={jobs[1]}", f"--data={data}"]
        done = run("few", "trainer.gate", *argv, "--by=city,age", "--group=level", *flags)
        assert done.returncode in (0, 3, 4), done.stderr
        report = json.loads((tmp_path / name / "assets.extra" / "gate.json").read_text())
        for subject in report["metrics"]:
            for metric in [one for one in subject["metrics"] if one.startswith("latency")]:
                del subject["metrics"][metric]
        found.append((done.returncode, report["rows"], report["metrics"], report["checks"]))
    assert found[0] == found[1] and found[0][1] == 900 and len(found[0][2]) > 5


# Runs a module for which files above 1 MiB are large.
_SMALL = """
import runpy, sys
from trainer.passes import planning
planning.TASK_BYTES = 1 << 20
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def test_a_large_file_is_divided(engine, make, trained, tmp_path, run):
    (tmp_path / "small.py").write_text(_SMALL)
    (tmp_path / "data").mkdir()
    rows = [{**row, "note": f'"{n}"\r\n\n, {"long " * 9}'} for n, row in enumerate(make.rows(100))]
    make.csv(tmp_path / "data" / "large.csv", rows * 300)
    assert (tmp_path / "data" / "large.csv").stat().st_size > 3 << 20
    infer = ["trainer.schema", "infer", "--data=data", "--label=bought"]
    here, there = run(*infer), run("small", *infer, *engine)
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout
    # JSON lines too, whose columns are listed first.
    lines = [json.dumps(row) + "\n" for row in rows * 300]
    (tmp_path / "large.jsonl").write_text("".join(lines))
    infer[2] = "--data=large.jsonl"
    here_too, there_too = run(*infer), run("small", *infer, *engine)
    assert there_too.returncode == 0, there_too.stderr
    assert there_too.stdout == here_too.stdout
    assert int(re.search(r"listing the columns: (\d+) task", there_too.stderr)[1]) >= 3
    shares = re.search(r"reading the data: (\d+) task", there.stderr)
    assert int(shares[1]) >= 3 and "dividing large files" in there.stderr
    argv = ["trainer.predict", f"--export={trained('wide_deep', 'bought').export}", "--data=data"]
    assert run(*argv, "--output=here").returncode == 0
    there = run("small", *argv, "--output=there", *engine)
    assert there.returncode == 0, there.stderr
    header, *whole = (tmp_path / "here" / "large.csv").read_bytes().splitlines()
    shards = sorted((tmp_path / "there").glob("large-*.csv"))
    assert len(shards) == int(shares[1]) and (tmp_path / "there" / "_SUCCESS").is_file()
    found = [path.read_bytes().splitlines() for path in shards]
    assert {lines[0] for lines in found} == {header}
    assert len(whole) == 30_000 and [row for lines in found for row in lines[1:]] == whole


@pytest.mark.skipif(importlib.util.find_spec("apache_beam") is None, reason="Beam is missing")
def test_a_pipeline_completes_its_output_alone(data, trained, tmp_path, run):
    export = trained("wide_deep", "bought").export
    # As the launcher of a template does; this runner runs the pipeline at once.
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "_SUCCESS").write_text("of an earlier run")
    argv = [f"--export={export}", f"--data={data}", "--output=there", "--runner=DirectRunner"]
    done = run("trainer.engines.launched", *argv, "--template_location=template")
    assert done.returncode == 0, done.stderr
    assert "3 file(s): the pipeline is in --template_location" in done.stderr
    assert (tmp_path / "there" / "_SUCCESS").read_text() == ""
    assert len((tmp_path / "there" / "part-2.csv").read_text().splitlines()) == 301
    argv = [f"--job_dir={trained('wide_deep', 'bought').folder}", f"--data={data}"]
    argv += ["--output=report", "--runner=DirectRunner", "--template_location=template"]
    done = run("trainer.engines.launched", *argv, env={"TRAINER_LAUNCHED": "trainer.evaluate"})
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the pipeline is in --template_location\n"
    assert json.loads((tmp_path / "report" / "evaluation.json").read_text())["rows"] == 900


def test_a_job_trains_on_encoded_rows_as_on_its_own(engine, data, make, tmp_path, run):
    make.csv(tmp_path / "eval.csv", make.rows(100, seed=9))
    flags = [f"--train_data={data}", "--eval_data=eval.csv", "--model=wide_deep", "--max_steps=20"]
    flags += ["--data.schema_file=schema.yaml", "--data.shuffle_rows=200", "--noexport.verify"]
    infer = ["trainer.schema", "infer", f"--data={data}", "--label=bought", "--output=schema.yaml"]
    assert run(*infer).returncode == 0
    done = run("trainer.prepare", *engine, "--", *flags, "--data.cache=cache")
    assert done.returncode == 0, done.stderr
    assert "encoding the rows: 4 task(s)" in done.stderr
    for cache in ("cache", "own"):
        job = run("trainer.task", *flags, f"--data.cache={cache}", f"--job_dir={cache}-job")
        assert job.returncode == 0, job.stderr
        origin = "read from the cache" if cache == "cache" else "read from files"
        assert origin in job.stdout + job.stderr
    first, second = (
        (tmp_path / f"{cache}-job" / "model.ckpt-20.data-00000-of-00001").read_bytes()
        for cache in ("cache", "own")
    )
    assert first == second


def test_a_file_that_differs_is_one_line(engine, data, tmp_path, run):
    (tmp_path / "data" / "part-2.csv").write_text("a,bought\n1,no\n")
    done = run("trainer.schema", "infer", f"--data={data}", "--label=bought", *engine)
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "has other columns than" in line


@pytest.mark.parametrize(
    "options, message",
    [
        (["--engine=beam", "--beam_options=--no_such_option=1"], "Beam has no such option"),
        (["--engine=beam", "--beam_options=--direct_num_workers=x"], "invalid int value: 'x'"),
        (["--engine=beam", "--beam_options=--runner=Nope"], "--runner=Nope: Unexpected pipeline"),
        (["--engine=spark", "--spark_options=master=nonsense"], "Master must either be yarn or "),
        (["--engine=spark", "--spark_options=spark.driver.memory=x"], "Invalid maximum heap size"),
        (
            ["--engine=spark", "--spark_options=master=local[1] spark.executor.memory=10m"],
            "Executor memory 10485760 must be at least",
        ),
    ],
)
def test_wrong_options_are_one_line(options, message, data, run):
    if importlib.util.find_spec(PACKAGES[options[0].partition("=")[2]]) is None:
        pytest.skip("the extra is not installed")
    done = run("trainer.schema", "infer", f"--data={data}", "--label=bought", *options)
    assert (done.returncode, done.stdout) == (2, "")
    *_, line = done.stderr.splitlines()
    assert message in line
    if "spark" in options[0]:
        # Nothing of Java's own lines, which are in a file.
        assert done.stderr.splitlines()[:-1] == ["reading the data: 3 task(s) on spark"]
        log = Path(line.partition("(Java's messages are in ")[2].rstrip(")"))
        assert log.stat().st_size
        log.unlink()


# A job of the user's own: it reads people.json, and prints the answers as JSON.
_SPARK_JOB = """
import sys
from pyspark.sql import SparkSession
import trainer.spark
session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
people = session.read.json("people.json")
answer = trainer.spark.batch_udf(sys.argv[1], outputs=["logistic", "classes"], batch_size=7)
people = people.withColumn("answer", answer()).select("number", "answer.*")
people.coalesce(1).write.json("answers")
predict = trainer.spark.predictor(sys.argv[1], columns=["city"], outputs=["logistic"])
rows = session.read.json("people.json").mapInArrow(predict, predict.schema)
rows.coalesce(1).write.json("mapped")
session.stop()
"""

# Likewise; its elements are dictionaries.
_BEAM_JOB = """
import json, sys
import apache_beam as beam
import pyarrow as pa
import trainer.beam

def write(kind):
    return lambda batch: print(*(json.dumps([kind, row]) for row in batch.to_pylist()), sep="\\n")

rows = [json.loads(line) for line in open("people.json")]
with beam.Pipeline() as pipeline:
    batches = pipeline | beam.Create(rows) | beam.BatchElements(5, 5)
    batches |= beam.Map(lambda rows: pa.RecordBatch.from_pylist(rows))
    found = batches | trainer.beam.Predict(sys.argv[1], columns=["city"], outputs=["logistic"])
    _ = found.predictions | "good" >> beam.Map(write("good"))
    _ = found.bad_rows | "bad" >> beam.Map(write("bad"))
"""


@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed")
def test_a_function_for_jobs_of_spark(trained, make, run, tmp_path):
    export = trained("wide_deep", "bought").export
    rows = [{**row, "number": number} for number, row in enumerate(make.rows(40))]
    rows[7]["age"] = 1e300
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "people.json").write_text(lines)
    (tmp_path / "people.jsonl").write_text(lines)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    environment["PYSPARK_PYTHON"] = sys.executable
    done = subprocess.run(
        [sys.executable, "-c", _SPARK_JOB, export],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (part,) = (tmp_path / "answers").glob("part-*.json")
    found = [json.loads(line) for line in part.read_text().splitlines()]
    assert [row["number"] for row in found] == list(range(40))
    assert "is not a finite number" in found[7]["error"] and "logistic" not in found[7]
    argv = ["trainer.predict", f"--export={export}", "--data=people.jsonl", "--output=here.jsonl"]
    assert run(*argv, "--bad_rows=write").returncode == 0
    here = [json.loads(line) for line in (tmp_path / "here.jsonl").read_text().splitlines()]
    assert len(here) == 39
    for ours, theirs in zip([*found[:7], *found[8:]], here):
        assert ours["logistic"] == pytest.approx(theirs["logistic"], abs=1e-6)
        assert ours["classes"] == theirs["classes"]
    (part,) = (tmp_path / "mapped").glob("part-*.json")
    mapped = [json.loads(line) for line in part.read_text().splitlines()]
    assert [row["city"] for row in mapped] == [row.get("city") or "" for row in rows]
    assert "is not a finite number" in mapped[7]["error"] and "logistic" not in mapped[7]
    for one, other in zip(mapped, found):
        assert one.get("logistic") == pytest.approx(other.get("logistic"), abs=1e-6)


@pytest.mark.skipif(importlib.util.find_spec("apache_beam") is None, reason="Beam is missing")
def test_a_transform_for_pipelines_of_beam(trained, make, tmp_path):
    rows = make.rows(12, missing=False)
    rows[7]["age"] = 1e300
    (tmp_path / "people.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = subprocess.run(
        [sys.executable, "-c", _BEAM_JOB, trained("wide_deep", "bought").export],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    (bad,) = [row for kind, row in found if kind == "bad"]
    assert "is not a finite number" in bad["error"] and bad["city"] == rows[7]["city"]
    assert len(found) == 12 and all(
        0 < row["logistic"] < 1 for kind, row in found if kind == "good"
    )


@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed")
def test_spark_submit_chooses_the_cluster(data, trained, tmp_path):
    import pyspark

    root = Path(__file__).parents[2]
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    environment = {**os.environ, "PYTHONPATH": str(root)}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_HOME": str(submit.parents[1])}
    done = subprocess.run(
        [submit, "--master=local-cluster[2,1,1024]", "--conf=spark.ui.enabled=false",
         f"--conf=spark.executorEnv.PYTHONPATH={root}",
         root / "trainer" / "engines" / "submitted.py", "trainer.predict", "--engine=spark",
         f"--export={trained('wide_deep', 'bought').export}", f"--data={data}", "--output=there"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    # Spark joins the two streams of Python.
    assert "predicting: 3 task(s) on spark" in done.stdout
    assert (tmp_path / "there" / "_SUCCESS").is_file()
    assert len((tmp_path / "there" / "part-2.csv").read_text().splitlines()) == 301
