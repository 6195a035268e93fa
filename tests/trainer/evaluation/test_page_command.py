"""The page of a job: its figures are those of trainer.evaluate and scikit-learn."""

import json
import re
import shutil

import numpy as np
import pytest
from sklearn import metrics as sk

from trainer.errors import UserError
from trainer.evaluation import command, page_command
from trainer.evaluation.importance import REPEATS, measure_importance
from trainer.evaluation.page import SHOWN_ERRORS
from trainer.metrics.slices import Predictions
from trainer.reporting import html

pytestmark = pytest.mark.newest

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def page(trained, tmp_path_factory):
    """A binary classifier, its page, and its evaluation by trainer.evaluate."""
    job = trained("wide_deep", "bought", weight=True)
    folder = tmp_path_factory.mktemp("page")
    flags = ["--by=city", "--min_rows=60", "--threshold=0.35"]
    argv = [str(job.folder), f"--output={folder}/page.html", "--importance_rows=50", *flags]
    assert page_command.main(argv) == 0
    assert command.main([f"--job_dir={job.folder}", f"--output={folder}", *flags]) == 0
    text = (folder / "page.html").read_text(encoding="utf-8")
    return job, text, json.loads((folder / "evaluation.json").read_text())


def _read_table(text, first):
    """The rows of the table whose first heading is `first`: heading → cells."""
    body = text[re.search(f'<th scope="col"[^>]*>{first}</th>', text).end() :]
    body = body[: body.index("</table>")]
    rows = re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', body, re.DOTALL)
    return {name: re.findall(r"<td[^>]*>(.*?)</td>", cells, re.DOTALL) for name, cells in rows}


def test_the_figures_are_those_of_trainer_evaluate(page):
    _, text, evaluation = page
    shown = _read_table(text, "metrics")["this model"]
    names = ("auc", "auc_precision_recall", "accuracy", "log_loss", "calibration_error")
    assert shown == [html.text(evaluation["overall"][name]) for name in names]
    by_city = _read_table(text, "city")
    assert len(by_city) == len(evaluation["slices"]) + 1
    for part in evaluation["slices"]:
        cells = by_city[part["value"] + (" (few rows)" if part["few"] else "")]
        assert cells[0] == str(part["rows"])
        assert cells[1] == html.text(part["metrics"]["auc"])


def test_the_confusion_has_the_threshold_of_the_job(page):
    _, text, evaluation = page
    row = _read_table(text, "threshold")["0.35"]
    wanted = [evaluation["overall"][f"{name}_at_0.35"] for name in ("precision", "recall")]
    assert row[-2:] == [html.text(value) for value in wanted]


def test_the_page_has_every_section_and_escapes_the_values(page):
    _, text, _ = page
    titles = re.findall(r'<h2 id="s\d+">(.*?)</h2>', text)
    wanted = ["Data", "Curves", "Quality", "Slices", "Time", "Exports", "Configuration"]
    wanted += ["Weights of the wide part", "Model card", "Importance of columns", "Largest errors"]
    assert set(wanted) == set(titles)
    assert {"age", "city", "job"} & set(_read_table(text[text.index("largest of") :], "column"))
    assert len(_read_table(text, "row")) == SHOWN_ERRORS
    assert {"age", "city", "job"} <= set(_read_table(text, "column"))


@pytest.mark.parametrize(
    ("label", "wanted"),
    [("colour", "Rows by label (down) and prediction"), ("price", "Histogram of residuals")],
)
def test_several_classes_regression_and_a_private_column(trained, tmp_path, label, wanted):
    job = trained("linear", label)
    folder = tmp_path / "job"
    shutil.copytree(job.folder, folder)
    metrics = {"baselines": {HOSTILE: {}}, "exports": {"final": ["export/final/1"]}}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    schema = json.loads((folder / "schema.json").read_text())
    schema["columns"]["job"]["private"] = True
    (folder / "schema.json").write_text(json.dumps(schema))
    with pytest.raises(UserError, match="--by: column job is private"):
        page_command.main([str(folder), "--by=city*job"])
    assert page_command.main([str(folder), "--importance_rows=20"]) == 0
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert wanted in text
    # Neither the values of a private column nor its name.
    assert "smith" not in text and "cook" not in text and not re.search(r">job<", text)
    assert re.search(r">city<", text)
    assert "trainer.predict --export=export/final/1" in text
    assert HOSTILE not in text and "&lt;script&gt;alert(1)" in text


def test_the_importance_is_the_loss_of_the_metric():
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 40)
    right = labels + random.uniform(0, 0.5, 40)
    runs = [right, *(right[random.permutation(40)] for _ in range(REPEATS)), *[right] * REPEATS]
    predictions = Predictions(labels, np.concatenate(runs) / 2, None)
    used, unused = measure_importance("binary", predictions, ["unused", "used"][::-1], "auc")
    losses = [1 - sk.roc_auc_score(labels, scores) for scores in runs[1 : REPEATS + 1]]
    assert (used.column, unused.column) == ("used", "unused")
    assert used.mean == pytest.approx(np.mean(losses)) and used.half_width > 0
    assert (unused.mean, unused.half_width) == (0, 0)
