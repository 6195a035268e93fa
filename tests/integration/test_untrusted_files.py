"""Files and settings of others, mutated: no code runs, nothing is written elsewhere, and every
error is one line.

`make fuzz` runs 10,000 mutations of each kind; a plain run a few of each. A round that fails prints
its number: `make fuzz ARGS='--fuzz_first=NUMBER --fuzz_rounds=1 -k NAME'` repeats it.
"""

import ast
import contextlib
import io
import json
import os
import shutil
import traceback
from pathlib import Path

import numpy as np
import pytest
from fuzzing import (
    ODD,
    Fault,
    Hang,
    generator,
    guarded,
    mutate_bytes,
    mutate_file,
    mutate_values,
)

from estimator_bridge import BridgeError
from estimator_bridge.convert.read.checkpoint import open_checkpoint
from estimator_bridge.convert.read.job_dir import read_job_dir
from estimator_bridge.convert.read.rows import read_files
from estimator_bridge.convert.write.module import write_module
from trainer.config import Config, flags, list_options, load_config, to_yaml
from trainer.console import Console
from trainer.data_validation.infer import list_json_names
from trainer.data_validation.profile_pass import ProfilePass, finish
from trainer.data_validation.reading import CsvStyle
from trainer.engines.options import LOCALLY
from trainer.environment.cluster_spec import parse_cluster
from trainer.errors import UserError
from trainer.evaluation.checkpoint_metrics import _build_source
from trainer.inputs.files import find_files
from trainer.inputs.scan import scan_files
from trainer.job_dir import checkpoints, quarantine
from trainer.job_dir.trained_job import load_model
from trainer.passes.local import run_here
from trainer.prediction.description import describe_export, load_data_config
from trainer.prediction.file_predictor import FilePredictor
from trainer.prediction.predictor import Predictor
from trainer.vertex import jobs, rehearse

pytestmark = pytest.mark.newest

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 30
# Rounds that have failed once: they are always played.
MENDED = {
    "test_description_of_a_job_for_evaluate": (8318, 8352),
    "test_description_of_a_job_for_convert_and_verify": (7305, 7870, 7983),
    "test_a_hparams_file": (300798,),
}
DESCRIPTION = ("config.yaml", "schema.json", "statistics.json")
JOB = """# gcloud ai custom-jobs create --region=us-central1 --display-name=shop --config=job.yaml
workerPoolSpecs:
- machineSpec: {machineType: n1-standard-8}
  replicaCount: 1
  containerSpec:
    imageUri: gcr.io/project/trainer:1
    command: [python, -m, trainer.task]
    args: [--hparams=census, --job_dir=gs://bucket/job]
baseOutputDirectory: {outputUriPrefix: gs://bucket/out}
"""


@pytest.fixture(scope="session")
def job(trained):
    return trained("wide_deep", "bought", run={"save_checkpoints_steps": 30}, weight=True)


@pytest.fixture(scope="session")
def predictor(job):
    return Predictor(str(next(job.folder.glob("export/final/*"))))


@pytest.fixture
def fuzz(request, tmp_path):
    """fuzz(round) calls round(rng, folder) for each number; an error of the user is well."""
    name = request.node.name

    def run(one_round):
        first = request.config.option.fuzz_first
        rounds = request.config.option.fuzz_rounds or ROUNDS
        accepted, faults = 0, {}
        for number in (*range(first, first + rounds), *MENDED.get(name, ())):
            folder = tmp_path / "round"
            folder.mkdir()
            try:
                accepted += bool(_play(one_round, generator(name, number), folder))
            except (Exception, Hang) as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(frame.filename).name}:{frame.lineno}"
                faults.setdefault(place, f"--fuzz_first={number}: {place}: {error!r:.300}")
            finally:
                shutil.rmtree(folder)
        assert not faults, "\n".join(faults.values())
        # If nothing were accepted, the mutations would test only the first check.
        assert accepted or rounds < ROUNDS

    return run


def _play(one_round, rng, folder):
    """Plays a round; returns whether the mutated files were accepted."""
    prepared = one_round(rng, folder)
    try:
        with guarded(folder):
            prepared()
    except (UserError, BridgeError) as error:
        message = str(error)
        if "\n" in message or not message.isprintable() or len(message) > 2000:
            raise Fault(f"not one line: {message!r:.300}") from error
        return False
    return True


def _copy(job, folder, names):
    for name in names:
        shutil.copy(job.folder / name, folder / name)


def _mutated_description(job, rng, folder, mutated=DESCRIPTION[:2]):
    _copy(job, folder, DESCRIPTION)
    mutate_file(folder / rng.choice(mutated), rng)


def test_description_of_a_job_for_evaluate(job, fuzz, shop):
    def one_round(rng, folder):
        _mutated_description(job, rng, folder)

        def read():
            model = load_model(str(folder), False, lambda line: None)
            files = find_files([str(shop / "eval.csv")], model.config.data.format, "data")
            next(iter(_build_source(model, files, ()).read()), None)

        return read

    fuzz(one_round)


def test_description_of_a_job_for_predict(job, predictor, fuzz, shop):
    def one_round(rng, folder):
        _mutated_description(job, rng, folder)
        export = folder / "export" / "final" / "1"
        export.mkdir(parents=True)

        def read():
            data = load_data_config(str(export), {"format": None, "header": None})
            describe_export(str(export))
            before, predictor.path = predictor.path, str(export)
            try:
                files = find_files([str(shop / "eval.csv")], data.format, "data")
                for batch in FilePredictor(predictor, data, (), ()).predict(files[0]):
                    assert batch.num_rows
            finally:
                predictor.path = before

        return read

    fuzz(one_round)


def test_description_of_a_job_for_convert_and_verify(job, fuzz, shop):
    def one_round(rng, folder):
        _mutated_description(job, rng, folder, DESCRIPTION)

        def read():
            plan = read_job_dir(str(folder))
            tree = ast.parse(write_module(plan, "x/y").code)
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            if any("canary" in name for name in names):
                raise Fault("text of the job is code")
            read_files(plan, [str(shop / "eval.csv")], 20)

        return read

    fuzz(one_round)


def test_checkpoints(job, fuzz):
    def one_round(rng, folder):
        names = [path.name for path in job.folder.iterdir() if path.name.startswith("model.ckpt")]
        _copy(job, folder, [*names, "checkpoint"])
        mutate_file(folder / rng.choice([*names, "checkpoint"]), rng)

        def read():
            quarantine.quarantine_corrupt(str(folder), lambda line: None)
            checkpoints.read_step(checkpoints.latest_checkpoint(str(folder)))
            opened = open_checkpoint(str(folder))
            for name in opened.names:
                opened.get(name)

        return read

    fuzz(one_round)


def test_a_job_file_of_vertex(fuzz):
    def one_round(rng, folder):
        (folder / "job.yaml").write_text(JOB)
        mutate_file(folder / "job.yaml", rng)

        def read():
            made = jobs.read_job(str(folder / "job.yaml"))
            count = rehearse.count_replicas(made)
            rehearse.list_replicas(made, ["localhost:1"] * min(count, 100), [])

        return read

    fuzz(one_round)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "tfrecord"])
def test_data_files(kind, job, fuzz, make, tmp_path):
    rows = make.rows(60, missing=False)
    write = {"csv": make.csv, "csv.gz": make.csv}.get(kind) or getattr(make, kind)
    source = Path(write(tmp_path / f"data.{kind}", rows))
    schema = make.schema("bought")

    def one_round(rng, folder):
        path = folder / f"data.{kind}"
        path.write_bytes(mutate_bytes(source.read_bytes(), rng))
        data = Config.model_validate({"data": {"max_bad_rows": rng.choice((0, 50))}}).data
        style = CsvStyle(",", "utf-8", "auto", (), "bought")

        def read():
            files = find_files([str(path)], "auto", "data")
            if rng.random() < 0.5:
                scan_files(files, schema, data, Console())
            elif rng.random() < 0.5:
                one = ProfilePass(style, list_json_names(files, style.limits, LOCALLY), ())
                finish(run_here(one, files, "reading the data"), files)
            else:
                read_files(read_job_dir(str(job.folder)), [str(path)], 20)

        return read

    fuzz(one_round)


def test_examples_sent_to_an_export(predictor, fuzz, make):
    serialized = [make.example(row) for row in make.rows(4, missing=False)]

    def one_round(rng, folder):
        example = rng.choice(serialized)
        # One changed bit is often one of a value, so that the example remains valid.
        bit = 1 << rng.randrange(8 * len(example))
        flipped = (int.from_bytes(example, "big") ^ bit).to_bytes(len(example), "big")
        examples = [flipped if rng.random() < 0.7 else mutate_bytes(example, rng)]
        name = predictor.find_signature("predict", "example")

        def run():
            key = next(iter(predictor.signatures[name].inputs))
            predictor.run_rows(name, {key: np.array(examples, object)}, len(examples))

        return run

    fuzz(one_round)


def _reload(config, folder):
    """A configuration that is accepted must mean the same after it has been written and read."""
    path = folder / "again.yaml"
    path.write_text(to_yaml(config), encoding="utf-8")
    again = load_config(str(path), {})
    if to_yaml(again) != to_yaml(config):
        raise Fault("the configuration is another one after it has been written and read")


def test_a_hparams_file(fuzz):
    presets = sorted((ROOT / "hparams").glob("*.yaml"))

    def one_round(rng, folder):
        path = folder / "hparams.yaml"
        shutil.copy(rng.choice(presets), path)
        mutate_file(path, rng)

        def read():
            _reload(load_config(str(path), {}), folder)

        return read

    fuzz(one_round)


def test_flags(fuzz):
    defaults = {option.name: option.default for option in list_options()}
    names = [*defaults, *flags.list_aliases(), "hparams", "fresh", "reuse", "dry_run", "user.x"]
    texts = [str(value) for value in ODD if len(str(value)) < 100] + ["0.1", "100", "csv", "[8,4]"]

    def one_round(rng, folder):
        argv = ["--hparams=census", f"--job_dir={folder}"] if rng.random() < 0.5 else []
        for _ in range(rng.randint(1, 3)):
            name, text = rng.choice(names), rng.choice(texts)
            if rng.random() < 0.6:
                name, text = rng.choice(list(defaults.items()))
            kinds = (f"--{name}={text}",) * 4 + (f"--no{name}", f"--{name}", text)
            argv.append(str(rng.choice(kinds)))
        if rng.random() < 0.3:
            place = rng.randrange(len(argv))
            # A command line may have bytes that are not text.
            changed = mutate_bytes(os.fsencode(argv[place].encode("utf-8", "replace")), rng)
            argv[place] = os.fsdecode(changed).replace("\0", "")

        def read():
            with contextlib.redirect_stdout(io.StringIO()):
                command = flags.parse_command_line(argv)
            if command is not None:
                _reload(load_config(command.hparams, command.overrides), folder)

        return read

    fuzz(one_round)


def test_the_environment_of_a_cluster(fuzz):
    spec = {role: [f"{role}-{number}:2222" for number in (0, 1)] for role in ("worker", "ps")}
    pools = {"workerpool0": ["a:1"], "workerpool1": ["b:1", "c:1"], "workerpool3": ["d:1"]}
    clusters = [
        ("TF_CONFIG", {**spec, "chief": ["chief:2222"]}, "worker"),
        ("TF_CONFIG", {**spec, "master": ["chief:2222"], "evaluator": ["e:1"]}, "evaluator"),
        ("TF_CONFIG", spec, "ps"),
        ("CLUSTER_SPEC", pools, "workerpool1"),
    ]

    def one_round(rng, folder):
        variable, cluster, role = rng.choice(clusters)
        task = {"type": role, "index": rng.choice((0, 1)), "trial": "7"}
        value = {"cluster": cluster, "task": task, "run": "r1", "environment": "cloud"}
        if rng.random() < 0.7:
            text = json.dumps(mutate_values(value, rng))
        else:
            text = mutate_bytes(json.dumps(value).encode(), rng).decode(errors="surrogateescape")

        def read():
            cluster = parse_cluster({variable: text})
            if cluster.spec and cluster.role != "evaluator":
                again = parse_cluster({"TF_CONFIG": cluster.to_tf_config()})
                if (again.spec, again.name) != (cluster.spec, cluster.name):
                    raise Fault(f"{cluster} is {again} for TensorFlow")

        return read

    fuzz(one_round)
