"""The gate rejects models that are worse, for the right reason, and never crashes on a baseline."""

import json
import shutil
import types
from pathlib import Path

import numpy as np
import pytest

from trainer.errors import TemporaryError, UserError
from trainer.gating import answers, command
from trainer.gating.judging import conclude, judge
from trainer.gating.rules import Rules, load_rules

pytestmark = pytest.mark.newest


@pytest.fixture(scope="module")
def jobs(trained):
    """name → export: a good model, and one that has learnt too little."""
    return {
        "good": trained("linear", "bought").export,
        "bad": trained("linear", "bought", train={"max_steps": 2, "learning_rate": 0.001}).export,
    }


@pytest.fixture(scope="module")
def data(make, tmp_path_factory):
    """A file of so many rows that the models differ by more than the noise."""
    return make.csv(tmp_path_factory.mktemp("data") / "late.csv", make.rows(1000, seed=3))


@pytest.fixture
def gate(jobs, data, tmp_path, capsys):
    """gate(status, candidate, *flags, rules=None) → gate.json."""
    folder = Path(shutil.copytree(jobs["good"], tmp_path / "candidate"))

    def run(status, *flags, rules=None, candidate="good"):
        shutil.rmtree(folder)
        shutil.copytree(jobs[candidate], folder)
        if rules is not None:
            (tmp_path / "rules.yaml").write_text(json.dumps(rules))
            flags = (*flags, f"--rules={tmp_path / 'rules.yaml'}")
        argv = [f"--candidate={folder}", f"--data={data}", *flags]
        assert command.main(argv) == status, capsys.readouterr()
        out, err = capsys.readouterr()
        if status == 2:
            return err
        document = json.loads((folder / "assets.extra/gate.json").read_text())
        assert (folder / "assets.extra/gate.txt").read_text() == out
        assert out.startswith(document["verdict"])
        return document

    return run


def verdicts(document):
    return {(check["where"], check["what"]): check["verdict"] for check in document["checks"]}


def test_a_worse_model_is_rejected_and_a_better_one_blessed(gate, jobs):
    worse = gate(3, f"--baseline={jobs['good']}", candidate="bad")
    assert worse["verdict"] == "not blessed" and not worse["first_model"]
    assert verdicts(worse) == {("all rows", "relative change of auc"): "fail"}
    assert gate(0, f"--baseline={jobs['bad']}")["verdict"] == "blessed"
    forced = gate(0, f"--baseline={jobs['good']}", "--force", "--reason=a test", candidate="bad")
    assert forced["forced"] and forced["judged"] == "not blessed" and forced["reason"] == "a test"


def test_within_noise_is_inconclusive_and_says_how_many_rows_are_missing(gate, jobs):
    overall = gate(0)["metrics"][0]["metrics"]["auc"]
    assert (
        overall["candidate_interval"][0] < overall["candidate"] < overall["candidate_interval"][1]
    )
    bound = (overall["candidate"] + overall["candidate_interval"][0]) / 2
    rules = {"rules": [{"metric": "auc", "lower_bound": bound}]}
    unsure = gate(4, rules=rules)
    (check,) = unsure["checks"]
    # Half the distance needs four times the rows.
    assert check["verdict"] == "inconclusive" and check["more_rows"] == 3000
    rules["rules"][0]["within_noise"] = "pass"
    assert gate(0, rules=rules)["verdict"] == "blessed"
    # Equal models: the change is exactly 0, whatever the noise of each.
    same = gate(
        0, f"--baseline={jobs['good']}", rules=[{"metric": "auc", "change": {"absolute": 0}}]
    )
    assert same["metrics"][0]["metrics"]["auc"]["change_interval"] == [0, 0]


def test_slices_gaps_and_costs(gate, jobs, tmp_path):
    document = gate(
        3,
        f"--baseline={jobs['good']}",
        "--group=age",
        rules={
            "min_rows": 60,
            "rules": [
                {"metric": "auc", "change": {"absolute": -0.001}, "by": ["city", "city * level"]},
                {"metric": "accuracy", "max_gap": 0.9, "by": ["city"]},
                {"metric": "precision", "lower_bound": 0.1},
                {"metric": "size_mb", "upper_bound": 0.0001},
                {"metric": "latency_p99_ms", "upper_bound": 60000},
                {"metric": "log_loss", "change": {"relative": 0.01}},
            ],
        },
    )
    found = verdicts(document)
    assert found["all rows", "size_mb"] == "fail"
    assert {one for key, one in found.items() if key[1] != "size_mb"} == {"pass", "too few rows"}
    assert found["city = Ulm", "change of auc"] == "pass"
    assert any(what == "gap of accuracy" for _, what in found)
    places = {one["by"] for one in document["metrics"]}
    assert places == {"", "city", "city*level"}
    page = (tmp_path / "candidate/assets.extra/gate.html").read_text()
    for part in ("city = Ulm", "Rows that moved most", 'aria-label="ROC"', "too few rows"):
        assert part in page
    assert "http://" not in page.replace("http://www.w3.org/", "") and "<script" not in page


def test_too_few_groups_do_not_decide(gate, jobs, make, tmp_path, monkeypatch):
    rules = [
        {"metric": "auc", "change": {"absolute": -0.5}, "within_noise": "pass"},
        {"metric": "auc", "max_gap": 1, "by": ["city"]},
        {"metric": "size_mb", "upper_bound": 100},
    ]
    flags = [f"--baseline={jobs['good']}", "--by=city"]
    # Five levels. All samples of one group would be equal, which is no certainty.
    documents = [gate(4, *flags, "--group=level", rules=rules)]
    monkeypatch.setattr("trainer.metrics.rows_or_sums.EXACT_ROWS", 100)
    documents.append(gate(4, *flags, "--group=level", rules=rules))
    for document in documents:
        assert document["verdict"] == "inconclusive"
        checks = document["checks"]
        assert [one["verdict"] for one in checks] == ["too few groups", "too few groups", "pass"]
        assert checks[0]["groups"] == 5 and checks[0]["value"] == 0 and checks[0]["low"] is None
        assert document["metrics"][0]["metrics"]["auc"]["change_interval"] == [None, None]
    summary = (tmp_path / "candidate/assets.extra/gate.txt").read_text()
    assert "in 5 group(s); an interval needs 20" in summary and "nan" not in summary
    assert gate(0, *flags, "--group=age", rules=rules)["verdict"] == "blessed"
    # Without --group, each row is a group.
    few = make.csv(tmp_path / "few.csv", make.rows(12, seed=1))
    (check, *_) = gate(4, *flags, f"--data={few}", rules=[rules[0]])["checks"]
    assert (check["verdict"], check["groups"]) == ("too few groups", 12)


def test_rows_are_decoded_once(gate, jobs, make, tmp_path, monkeypatch):
    path = make.csv(tmp_path / "late.csv", make.rows(90))
    decoded, decode = [], answers.RowSource._decode

    def count(source, batch, name, words):
        decoded.append(name)
        return decode(source, batch, name, words)

    monkeypatch.setattr(answers.RowSource, "_decode", count)
    gate(0, f"--baseline={jobs['good']}", f"--data={path}")
    # By the candidate and by the baseline.
    assert decoded.count("age") == 2


def test_an_engine_finds_what_this_process_does(gate, jobs, make, large_file, tmp_path, beam_here):
    folder = tmp_path / "late"
    folder.mkdir()
    large_file(folder / "large.parquet")
    for number in range(3):
        make.csv(folder / f"part-{number}.csv", make.rows(120, seed=number))
    flags = [f"--baseline={jobs['bad']}", f"--data={folder}", "--by=city,city*level"]
    here = gate(0, *flags, "--group=age")
    there = gate(0, *flags, "--group=age", "--engine=beam")
    for document in (here, there):
        # Times are measured, and differ.
        for subject in document["metrics"]:
            for name in [name for name in subject["metrics"] if name.startswith("latency")]:
                del subject["metrics"][name]
    assert len(there["metrics"]) > 5 and there["metrics"] == here["metrics"]
    assert there["checks"] == here["checks"]


def test_of_many_rows_only_sums_are_kept(
    gate, jobs, make, large_file, tmp_path, beam_here, monkeypatch
):
    folder = tmp_path / "late"
    folder.mkdir()
    large_file(folder / "large.parquet")
    for number in range(3):
        make.csv(folder / f"part-{number}.csv", make.rows(600, seed=number))
    # Up to 1,000 samples of each slice would take most of the time.
    monkeypatch.setattr("trainer.gating.resampling.MAX_SAMPLES", 300)
    change = {"absolute": -0.01}
    rules = [{"metric": "auc", "change": change, "by": ["city", "age"], "within_noise": "pass"}]
    flags = [f"--baseline={jobs['bad']}", f"--data={folder}", "--by=city*level"]
    documents = [gate(0, *flags, rules=rules)]
    # Fewer than the file has rows, and more than a share of it.
    monkeypatch.setattr("trainer.metrics.rows_or_sums.EXACT_ROWS", 100)
    documents += [gate(0, *flags, *more, rules=rules) for more in ([], ["--engine=beam"])]
    # Slices of many groups.
    flags = [f"--baseline={jobs['bad']}", f"--data={folder}", "--by=city", "--group=age"]
    groups = [gate(0, *flags, *more) for more in ([], ["--engine=beam"])]
    for document in (*documents, *groups):
        for subject in document["metrics"]:
            for name in [name for name in subject["metrics"] if name.startswith("latency")]:
                del subject["metrics"][name]
    rows, here, there = documents
    assert here["metrics"] == there["metrics"] and here["checks"] == there["checks"]
    assert groups[0]["metrics"] == groups[1]["metrics"]
    assert len(here["metrics"]) == len(rows["metrics"]) > 20
    for one, other in zip(rows["metrics"], here["metrics"]):
        assert one["by"] == other["by"]
    names = [
        {(one["by"], one["value"]): one["rows"] for one in d["metrics"]} for d in documents[:2]
    ]
    assert names[0] == names[1]
    overall, summed = (document["metrics"][0]["metrics"] for document in (rows, here))
    for name, found in summed.items():
        is_rough = name == "auc_precision_recall"
        expected = pytest.approx(overall[name]["candidate"], rel=2e-2 if is_rough else 1e-4)
        assert found["candidate"] == expected, name
    low, high = overall["auc"]["change_interval"]
    assert summed["auc"]["change_interval"] == pytest.approx([low, high], abs=0.3 * (high - low))
    assert summed["auc"]["change"] == pytest.approx(overall["auc"]["change"], rel=1e-4)
    page = (tmp_path / "candidate/assets.extra/gate.html").read_text()
    assert 'aria-label="ROC"' in page and "Rows that moved most" not in page


def test_an_engine_that_is_away_is_not_the_fault_of_the_baseline(jobs, data, monkeypatch, capsys):
    answer = answers.answer

    def fail(export, question, files, engine):
        if export == jobs["bad"]:
            raise TemporaryError("the cluster is away")
        return answer(export, question, files, engine)

    monkeypatch.setattr("trainer.gating.answers.answer", fail)
    argv = [f"--candidate={jobs['good']}", f"--baseline={jobs['bad']}", f"--data={data}"]
    assert command.main(argv) == 75
    assert "the cluster is away" in capsys.readouterr().err


def test_a_baseline_that_no_longer_answers_has_a_verdict_of_its_own(gate, jobs, tmp_path):
    damaged = Path(shutil.copytree(jobs["good"], tmp_path / "damaged"))
    for path in (damaged / "variables").iterdir():
        path.write_bytes(path.read_bytes()[:50])
    empty = tmp_path / "empty"
    empty.mkdir()
    other_columns = Path(shutil.copytree(jobs["good"], tmp_path / "other"))
    schema = other_columns / "assets.extra/schema.json"
    schema.write_text(schema.read_text().replace('"city"', '"town"'))
    other_label = Path(shutil.copytree(jobs["good"], tmp_path / "label"))
    schema = other_label / "assets.extra/schema.json"
    values = json.loads(schema.read_text())
    values["label"]["vocabulary"].reverse()
    schema.write_text(json.dumps(values))
    for baseline in (damaged, empty, other_columns, other_label):
        document = gate(4, f"--baseline={baseline}")
        assert document["verdict"] == "baseline does not answer" and document["baseline_error"]
    # What does not depend on the baseline is still judged.
    rules = [{"metric": "auc", "lower_bound": 0.999}, {"metric": "auc", "change": {"absolute": 0}}]
    assert gate(3, f"--baseline={damaged}", rules=rules)["verdict"] == "not blessed"
    assert "no such folder" in gate(2, f"--baseline={tmp_path / 'none'}")


def test_the_baseline_is_found(jobs, data, tmp_path, capsys):
    from trainer import storage
    from trainer.release import push_command

    job, served = tmp_path / "job", tmp_path / "served"
    for stamp, name in ((1700000000, "good"), (1700000001, "bad")):
        shutil.copytree(jobs[name], job / "export" / "final" / str(stamp))
    first = job / "export" / "final" / "1700000000"
    data = f"--data={data}"
    assert command.main([f"--candidate={first}", data]) == 0
    assert "first model" in capsys.readouterr().out
    # A pipeline judges before it pushes for the first time; a wrong path is a mistake all the same.
    argv = [f"--candidate={first}", data, f"--baseline={served}"]
    assert command.main(argv) == 2 and "no such folder" in capsys.readouterr().err
    assert command.main([*argv, "--may_be_first"]) == 0
    assert "first model" in capsys.readouterr().out
    assert push_command.main([f"--export={first}", f"--to={served}"]) == 0
    # The newest export of the job, against the blessed one and against the one that is served.
    for baseline in ("latest-blessed", served):
        assert command.main([f"--candidate={job}", data, f"--baseline={baseline}"]) == 3
        path = job / "export/final/1700000001/assets.extra/gate.json"
        found = storage.read_json(path)["baseline"]
        assert found == str(first if baseline == "latest-blessed" else served / "1")
    assert push_command.main([f"--job_dir={job}", f"--to={served}"]) == 3
    # The file of the versions is lost: what the folder contains may still be served.
    state = served / "push.json"
    lost = state.rename(tmp_path / "push.json")
    assert command.main([f"--candidate={job}", data, f"--baseline={served}", "--may_be_first"]) == 3
    lost.rename(state)
    shutil.rmtree(served / "1")
    assert command.main([f"--candidate={job}", data, f"--baseline={served}"]) == 4
    document = storage.read_json(path)
    assert "which is stable, has been removed; push its" in document["baseline_error"]


def test_an_export_without_a_schema_of_its_own(jobs, data, tmp_path, make, capsys):
    legacy = Path(shutil.copytree(jobs["good"], tmp_path / "legacy"))
    shutil.rmtree(legacy / "assets.extra")
    argv = [f"--candidate={legacy}", f"--data={data}", f"--baseline={jobs['good']}"]
    assert command.main(argv) == 2 and "--schema" in capsys.readouterr().err
    values = make.schema_values("bought")
    values["columns"]["age"]["default"] = 49.0
    path = make.yaml(tmp_path / "schema.yaml", values)
    assert command.main([*argv, f"--schema={path}"]) in (0, 4)
    document = json.loads((legacy / "assets.extra/gate.json").read_text())
    assert document["baseline_error"] is None


@pytest.mark.parametrize("kind", ["example", "columns"])
def test_an_export_of_another_trainer(kind, data, tmp_path, make, capsys):
    """As trainers of 2018 exported: tf.Example, or tensors [rows, 1]; no assets."""
    from estimator_bridge import tf

    v1, path = tf.compat.v1, tmp_path / "legacy"
    with tf.Graph().as_default(), v1.Session() as session:
        if kind == "example":
            text = v1.placeholder(tf.string, [None])
            spec = {"level": v1.FixedLenFeature([1], tf.int64)}
            inputs, level = {"examples": text}, v1.parse_example(text, spec)["level"]
        else:
            level = v1.placeholder(tf.int64, [None, 1])
            inputs = {"level": level}
        weight = v1.get_variable("weight", initializer=[[0.1]])
        logits = tf.matmul(tf.cast(level, tf.float32), weight)
        scores = tf.nn.softmax(tf.concat([tf.zeros_like(logits), logits], 1))
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(path), inputs, {"probabilities": scores})
    columns = {name: {**one, "use": []} for name, one in make.schema_values()["columns"].items()}
    columns["level"] = {"type": "int", "identities": 5}
    schema = {"columns": columns, "label": make.labels["bought"]}
    schema_file = make.yaml(tmp_path / "schema.yaml", schema)
    argv = [f"--candidate={path}", f"--data={data}", f"--schema={schema_file}"]
    assert command.main([*argv, f"--baseline={path}"]) == 0, capsys.readouterr()
    document = json.loads((path / "assets.extra/gate.json").read_text())
    assert document["rows"] == 1000 and document["baseline_error"] is None
    assert 0.4 < document["metrics"][0]["metrics"]["auc"]["candidate"] < 0.6


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([{"metric": "auk", "lower_bound": 1}], "did you mean auc"),
        ([{"metric": "auc"}], "give lower_bound"),
        ([{"metric": "auc", "lower": 1}], "lower"),
        ([{"metric": "auc", "lower_bound": 1, "by": ["town"]}], "no column 'town'"),
        ([{"metric": "auc", "max_gap": 0.1}], "max_gap needs by"),
        ([{"metric": "size_mb", "upper_bound": 1, "by": ["city"]}], "cannot be sliced; remove by"),
        ([{"metric": "auc", "change": {"absolute": 1, "relative": 1}}], "not both"),
        ({"confidence": 2, "rules": [{"metric": "auc", "lower_bound": 1}]}, "confidence"),
        ([], "rules"),
    ],
)
def test_rules_are_validated_before_anything_runs(gate, rules, message):
    assert message in gate(2, "--data=not/there.csv", rules=rules)


def test_values_that_training_refuses_are_refused(gate, make, tmp_path):
    rows = make.rows(20, missing=False)
    rows[1]["age"] = float("inf")
    message = gate(2, f"--data={make.csv(tmp_path / 'endless.csv', rows)}")
    assert "column age: inf is not a finite number" in message


def test_a_check_without_a_value_does_not_bless():
    from trainer.gating.comparison import Subject
    from trainer.gating.measured import Measured

    nan = Measured({"auc": float("nan")}, {"auc": np.full(10, np.nan)})
    rules = Rules.model_validate({"rules": [{"metric": "auc", "lower_bound": 0.5}]})
    checks = judge(rules, [Subject("", "", 10, nan, None)], False)
    assert [check.verdict for check in checks] == ["undefined"]
    assert conclude(checks) == "inconclusive"


# Each line has the one before it nine times.
BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    "text, words",
    [(BOMB, "aliases"), ("[" * 50_000, "nested too deeply"), ("rules: 2020-99-99", "in quotes")],
    ids=["aliases", "nested", "date"],
)
def test_a_hostile_file_of_rules_is_one_line(tmp_path, text, words):
    assert words in refuse(tmp_path, text)


def refuse(folder, text):
    """The one line that refuses a file of rules."""
    (folder / "rules.yaml").write_text(text)
    schema = types.SimpleNamespace(task="binary")
    with pytest.raises(UserError) as error:
        load_rules(str(folder / "rules.yaml"), schema, 0.5)
    assert "\n" not in str(error.value) and "rules.yaml" in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    "rule",
    [
        "metric: auc, lower_bound: .nan",
        "metric: auc, lower_bound: -.inf",
        "metric: auc, upper_bound: .inf",
        "metric: auc, lower_bound: yes",
        "metric: auc, change: {absolute: .nan}",
        "metric: auc, change: {relative: off}",
        "metric: auc, max_gap: .inf, by: [city]",
        "metric: auc, max_gap: yes, by: [city]",
    ],
)
def test_a_bound_is_a_finite_number(tmp_path, rule):
    message = refuse(tmp_path, f"- {{{rule}, within_noise: pass}}")
    assert "finite number" in message or "is not a number" in message


def test_a_threshold_is_a_finite_number(capsys):
    assert command.main(["--candidate=x", "--data=x", "--threshold=nan"]) == 2
    assert "--threshold=nan: write a finite number" in capsys.readouterr().err


def test_bounds_may_be_integers_and_exponents(tmp_path):
    path = tmp_path / "rules.yaml"
    # YAML 1.1 reads 1e-3 as text.
    path.write_text("- {metric: auc, lower_bound: 0, change: {absolute: -1e-3}}")
    (rule,) = load_rules(str(path), types.SimpleNamespace(task="binary"), 0.5).rules
    assert (rule.lower_bound, rule.change.absolute) == (0, -0.001)


@pytest.mark.parametrize(
    "text, words",
    [
        ("", "has no rules; write for example - {metric: auc, change: {absolute: -0.002}}"),
        ("# nothing yet", "has no rules"),
        ("rules:", "has no rules"),
        ("metric: auc", "has no rules"),
        ("- {metric: auc, change: -0.1}", "change: got -0.1: write 'name: value' lines"),
        ("- {metric: auc, lower_bound: 1, by: city}", "by: got 'city': write a list"),
        ("- auc", "rules.1: got 'auc': write 'name: value' lines"),
        ("- {lower_bound: 1}", "metric: is missing"),
        ("- {metric: auc, lowr_bound: 1}", "no such key; did you mean lower_bound?"),
        ("- {metric: auc, lower_bound: 1, lower_bound: 0}", "appears twice"),
        ("confidence: .nan\nrules: [{metric: auc, lower_bound: 1}]", "confidence"),
        ("min_rows: yes\nrules: [{metric: auc, lower_bound: 1}]", "min_rows"),
    ],
)
def test_a_message_about_rules_is_in_words_of_the_file(tmp_path, text, words):
    message = refuse(tmp_path, text)
    assert words in message and "instance of" not in message
