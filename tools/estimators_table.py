"""Writes the table of all ready-made Estimators in docs/contrib_estimators.md.

python tools/estimators_table.py docs/contrib_estimators.md

The Estimators are those that record_estimators.py listed on the original packages.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "estimator_bridge" / "golden" / "estimators.json"
SUPPLIED = ROOT / "estimator_bridge" / "audit" / "symbols" / "supplied.json"
BEGIN = "<!-- all Estimators: written by tools/estimators_table.py -->"
END = "<!-- end of all Estimators -->"

# Estimators that record_estimators.py cannot find, because their packages are not in 1.15.5 or are
# not imported.
MORE = {
    "1.14.0": (
        "tf.contrib.boosted_trees.DNNBoostedTreeCombinedClassifier",
        "tf.contrib.boosted_trees.DNNBoostedTreeCombinedRegressor",
        "tf.contrib.boosted_trees.GradientBoostedDecisionTreeClassifier",
        "tf.contrib.boosted_trees.GradientBoostedDecisionTreeEstimator",
        "tf.contrib.boosted_trees.GradientBoostedDecisionTreeRanker",
        "tf.contrib.boosted_trees.GradientBoostedDecisionTreeRegressor",
        "tf.contrib.gan.GANEstimator",
        "tf.contrib.gan.StarGANEstimator",
    ),
}
# Names in tensorflow_estimator -> where a program finds the class.
PUBLIC = {
    "tf.estimator.EstimatorV2": "tf.estimator.Estimator",
    "tf.estimator.KMeansClustering": "tf.estimator.experimental.KMeans",
    "tf.estimator.LSTMAutoRegressor": "tf.contrib.timeseries.LSTMAutoRegressor",
    "tf.estimator.RNNClassifier": "tf.estimator.experimental.RNNClassifier",
    "tf.estimator.RNNEstimator": "tf.estimator.experimental.RNNEstimator",
    "tf.estimator.SavedModelEstimator": "tf.contrib.estimator.SavedModelEstimator",
    "tf.estimator.TPUEstimator": "tf.compat.v1.estimator.tpu.TPUEstimator",
    "tf.estimator.TimeSeriesRegressor": "tf.contrib.timeseries.TimeSeriesRegressor",
}
# Passed on to another package if it is installed.
PASSED_ON = {"tf.contrib.gan": "by the installed tensorflow-gan"}


def list_estimators():
    """Returns the place of each Estimator -> the versions in which it is, sorted."""
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    found = {}
    for version, names in [*recorded.items(), *MORE.items()]:
        for name in names:
            place = PUBLIC.get(name, name)
            place = place[:-2] if place.endswith("V2") else place
            found.setdefault(place, set()).add(version)
    return {name: sorted(versions) for name, versions in sorted(found.items())}


def is_supplied(name, supplied):
    """Returns whether the bridge supplies an Estimator.

    Args:
        name: its place.
        supplied: package of tf.contrib -> its names that are supplied.
    """
    package, _, last = name.rpartition(".")
    if not package.startswith("tf.contrib."):
        return True
    return last in supplied.get(package.removeprefix("tf.contrib."), ())


def render():
    """Returns the table, with its marks."""
    supplied = json.loads(SUPPLIED.read_text(encoding="utf-8"))
    rows = [BEGIN, "| Estimator | in TensorFlow | supplied |", "|---|---|---|"]
    count = 0
    estimators = list_estimators()
    for name, versions in estimators.items():
        there = is_supplied(name, supplied)
        passed_on = PASSED_ON.get(name.rpartition(".")[0])
        count += there or bool(passed_on)
        answer = passed_on or ("yes" if there else "**no**")
        rows.append(f"| `{name}` | {', '.join(versions)} | {answer} |")
    return "\n".join([*rows, "", f"{count} of {len(estimators)} are supplied.", END])


def main(path):
    text = Path(path).read_text(encoding="utf-8")
    marks = f"{re.escape(BEGIN)}.*{re.escape(END)}"
    Path(path).write_text(re.sub(marks, lambda _: render(), text, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
