"""The canned Estimators: training, evaluation, prediction, export and resuming."""

import functools

from .api import check_lifecycle, columns, regression_head

_KINDS = {
    # suffix of the name -> (label, key of a prediction, key of an output of the export)
    "Classifier": ("binary", "probabilities", "scores"),
    "Regressor": ("regression", "predictions", "outputs"),
    "Estimator": ("regression", "predictions", "outputs"),
}

_OPTIONS = {
    "Baseline": lambda: {},
    "Linear": lambda: {"feature_columns": columns()},
    "DNN": lambda: {"feature_columns": columns(), "hidden_units": [5, 3], "dropout": 0.1},
    "BoostedTrees": lambda: {
        "feature_columns": columns(),
        "n_batches_per_layer": 1,
        "n_trees": 8,
        "max_depth": 2,
    },
    "DNNLinearCombined": lambda: {
        "linear_feature_columns": columns(),
        "dnn_feature_columns": columns(),
        "dnn_hidden_units": [5, 3],
    },
}


def _use(family, kind, api):
    label, key, answer = _KINDS[kind]
    options = _OPTIONS[family]()
    if kind == "Estimator":
        options["head"] = regression_head(api)
    make = functools.partial(getattr(api.estimator, family + kind), **options)
    # The v2 baselines read a batch before the iterator of a Dataset is initialized.
    check_lifecycle(api, make, label, (key, answer), tensors=family == "Baseline")
    if kind == "Classifier" and family == "Linear":
        several = functools.partial(make, n_classes=3)
        api.folder += "-several"
        check_lifecycle(api, several, "multiclass", (key, answer))


USES = {
    family + kind: functools.partial(_use, family, kind) for family in _OPTIONS for kind in _KINDS
}
