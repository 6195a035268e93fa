"""trainer.environment.cluster_spec: valid and invalid TF_CONFIG and CLUSTER_SPEC."""

import json
import os

import pytest

from trainer.environment.cluster_spec import (
    ALONE,
    Cluster,
    parse_cluster,
    tf_config,
)
from trainer.environment.variables import make_environment
from trainer.errors import UserError
from trainer.training.job import build_source

HOSTS = ["a:2222", "b:2222", "c:2222", "d:2222"]


def parse(cluster, role=None, index=0, **more):
    task = {"type": role, "index": index} if role else {}
    return parse_cluster({"TF_CONFIG": json.dumps({"cluster": cluster, "task": task}), **more})


@pytest.mark.parametrize("environ", [{}, {"TF_CONFIG": ""}, {"TF_CONFIG": "{}"}])
def test_an_empty_environment_is_a_job_without_a_cluster(environ):
    assert parse_cluster(environ) == ALONE
    assert not ALONE.is_distributed and not ALONE.has_others and ALONE.num_trainers == 1


def test_every_trainer_has_its_own_id():
    spec = {"chief": HOSTS[:1], "worker": HOSTS[1:3], "ps": HOSTS[3:]}
    places = [parse(spec, "chief"), parse(spec, "worker", 0), parse(spec, "worker", 1)]
    assert [place.trainer_id for place in places] == [0, 1, 2]
    assert {place.num_trainers for place in places} == {3}
    assert places[0].names == ["chief-0", "worker-0", "worker-1", "ps-0"]
    assert places[2].name == "worker-1"


def test_a_master_is_the_chief():
    cluster = parse({"master": HOSTS[:1], "ps": HOSTS[1:2]}, "master")
    assert cluster.role == "chief" and cluster.spec["chief"] == ("a:2222",)
    assert json.loads(cluster.to_tf_config()) == {
        "cluster": {"chief": ["a:2222"], "ps": ["b:2222"]},
        "task": {"type": "chief", "index": 0},
    }


def test_the_evaluator_is_removed_from_the_cluster():
    spec = {"chief": HOSTS[:1], "worker": HOSTS[1:2], "ps": HOSTS[2:3], "evaluator": HOSTS[3:]}
    cluster = parse(spec, "worker")
    assert "evaluator" not in cluster.spec and cluster.expects_evaluator
    assert "evaluator" in cluster.notes[0]
    evaluator = parse(spec, "evaluator")
    assert (evaluator.name, evaluator.is_distributed) == ("evaluator-0", False)


@pytest.mark.parametrize(
    "index, role, becomes", [(0, "chief", 0), (1, "worker", 0), (2, "worker", 1)]
)
def test_without_a_chief_worker_0_becomes_the_chief(index, role, becomes):
    cluster = parse({"worker": HOSTS[:3]}, "worker", index)
    assert (cluster.role, cluster.index) == (role, becomes)
    assert cluster.spec == {"chief": ("a:2222",), "worker": ("b:2222", "c:2222")}


def test_a_chief_with_an_evaluator_trains_alone_in_a_cluster():
    cluster = parse({"chief": HOSTS[:1], "evaluator": HOSTS[1:2]}, "chief")
    assert not cluster.is_distributed and cluster.has_others


def vertex(pools, pool, **task):
    return {"CLUSTER_SPEC": json.dumps({"cluster": pools, "task": {"type": pool, **task}})}


def test_vertex_pools_are_roles():
    pools = {
        "workerpool0": HOSTS[:1],
        "workerpool1": HOSTS[1:2],
        "workerpool2": [],
        "workerpool3": HOSTS[3:],
    }
    cluster = parse_cluster(vertex(pools, "workerpool1", index=0, trial="7"))
    assert cluster.spec == {"chief": ("a:2222",), "worker": ("b:2222",)}
    assert (cluster.name, cluster.trial, cluster.expects_evaluator) == ("worker-0", "7", True)


def test_cluster_spec_lists_the_evaluator_that_tf_config_omits():
    environ = vertex({"workerpool0": HOSTS[:1], "workerpool3": HOSTS[3:]}, "workerpool0", index=0)
    assert parse({"chief": HOSTS[:1]}, "chief", **environ).expects_evaluator


def test_a_single_trial_reads_its_number():
    assert parse_cluster({"CLOUD_ML_TRIAL_ID": "3"}).trial == "3"


@pytest.mark.parametrize(
    "text, said",
    [
        ("{", "TF_CONFIG: not JSON"),
        ("[]", "expected an object"),
        ('{"cluster": []}', None),
        (
            '{"cluster": {"chief": "a:1"}, "task": {"type": "chief"}}',
            "expected a list of host:port",
        ),
        ('{"cluster": {"boss": ["a:1"]}, "task": {"type": "boss"}}', "unknown role 'boss'"),
        ('{"cluster": {"chief": ["a"]}, "task": {"type": "chief"}}', "'a' is not host:port"),
        ('{"cluster": {"chief": ["a:99999"]}, "task": {"type": "chief"}}', "between 1 and 65535"),
        ('{"cluster": {"chief": ["a:1"]}}', "task.type is None"),
        (
            '{"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": -1}}',
            "a number from 0",
        ),
        (
            '{"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 1}}',
            "counted from 0",
        ),
        ('{"cluster": {"chief": ["a:1", "b:1"]}, "task": {"type": "chief"}}', "2 chiefs"),
        ('{"cluster": {"chief": ["a:1"], "ps": ["a:1"]}, "task": {"type": "ps"}}', "listed twice"),
        (
            '{"cluster": {"chief": ["a:1"], "master": ["b:1"]}, "task": {"type": "chief"}}',
            "both chief and master",
        ),
        ('{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps"}}', "neither a chief nor a worker"),
        (
            '{"cluster": {"chief": ["a:1"], "evaluator": ["b:1", "c:1"]}, '
            '"task": {"type": "chief"}}',
            "2 evaluators",
        ),
    ],
)
def test_invalid_descriptions_raise_one_line(text, said):
    if said is None:
        assert parse_cluster({"TF_CONFIG": text}) == ALONE
        return
    with pytest.raises(UserError) as refused:
        parse_cluster({"TF_CONFIG": text})
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_an_unknown_pool():
    with pytest.raises(UserError, match="unknown pool 'workerpool9'"):
        parse_cluster(vertex({"workerpool9": HOSTS[:1]}, "workerpool9"))


def test_tf_config_is_set_and_restored(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "as it was")
    cluster = parse({"master": HOSTS[:1], "ps": HOSTS[1:2]}, "ps")
    with tf_config(cluster):
        assert json.loads(os.environ["TF_CONFIG"])["cluster"]["chief"] == ["a:2222"]
    with tf_config(ALONE):
        assert "TF_CONFIG" not in os.environ
    assert os.environ["TF_CONFIG"] == "as it was"


@pytest.mark.parametrize("num_files", [5, 3, 2, 1])
def test_the_processes_together_read_the_data_once_per_epoch(make, tmp_path, num_files):
    rows = make.rows(101, missing=False)
    for number in range(num_files):
        make.csv(tmp_path / f"train-{number}.csv", rows[number::num_files])
    make.csv(tmp_path / "eval.csv", rows)
    files = sorted(tmp_path.glob("train-*.csv"))
    config = make.config(tmp_path / "job", files, tmp_path / "eval.csv")
    job = make.prepare(config, make.schema())
    spec = {"chief": tuple(HOSTS[:1]), "worker": tuple(HOSTS[1:3])}
    clusters = [Cluster(spec, "chief"), Cluster(spec, "worker", 0), Cluster(spec, "worker", 1)]
    wanted = sorted(row["age"] for row in rows)
    read, epochs = [], [[], []]
    for cluster in clusters:
        source = build_source(job, True, cluster)
        share = [age for chunk in source.read(names=["age"]) for age in chunk["age"].tolist()]
        read += share
        # The second epoch goes through the same rows in another order.
        taker = source.iterate((1, cluster.trainer_id, 0))
        taken = [taker.take(len(share))["age"].tolist() for _ in epochs]
        assert taken[0] != taken[1]
        for epoch, ages in zip(epochs, taken):
            epoch += ages
    assert sorted(read) == wanted
    assert [sorted(epoch) for epoch in epochs] == [wanted, wanted]


def test_files_without_training_rows_leave_no_process_without_rows(make, tmp_path):
    rows = make.rows(40, missing=False)
    for number in range(4):
        part = [{**row, "age": number * 10 + place % 10} for place, row in enumerate(rows)]
        make.csv(tmp_path / f"train-{number}.csv", part)
    files = [str(path) for path in sorted(tmp_path.glob("train-*.csv"))]
    data = {"train": files, "eval_after": "20", "eval_by": ["age"]}
    config = make.config(tmp_path / "job", data=data)
    job = make.prepare(config, make.schema())
    spec = {"chief": tuple(HOSTS[:1]), "worker": tuple(HOSTS[1:])}
    for num_trainers in (2, 3):
        spec["worker"] = tuple(HOSTS[1:num_trainers])
        places = [Cluster(spec, "chief")]
        places += [Cluster(spec, "worker", index) for index in range(num_trainers - 1)]
        shares = []
        for place in places:
            chunks = build_source(job, True, place).read(names=["age"])
            shares.append([age for chunk in chunks for age in chunk["age"].tolist()])
        assert all(shares) and sum(map(len, shares)) == 80
    one = make.csv(tmp_path / "one.csv", rows[:1])
    job = make.prepare(make.config(tmp_path / "job", one, one), make.schema())
    source = build_source(job, True, Cluster(spec, "worker", 0))
    with pytest.raises(UserError, match="none of its rows is for this process"):
        source.iterate((1, 1, 0)).take(1)


def test_a_launcher_sets_the_run_id():
    spec = {"chief": HOSTS[:1], "ps": HOSTS[1:2]}
    environ = make_environment(spec, "ps", 0, "7f")
    assert parse_cluster(environ).run_id == "7f"
    assert parse(spec, "ps").run_id is None
